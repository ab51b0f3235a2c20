"""Answers without a model to questions of foreign sets: right, wrong, missed, refused.

Each question goes through the real turn over a real home. It is *right* when the answer, or a line quoted
under it, shows what it must (of a summary two of the groups), or when it says plainly that nothing is there
and nothing is; *wrong* when a look-alike stands at its head, or when it answers what is on no frame; *missed*
otherwise. Right ones that say "not found" before they show it are counted beside, too::

    python -m bench questions
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assistant.core.errors import TimeRangeRequired, TurnRefused
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import TurnRequest, TurnResult
from assistant.core.strings import own_sentences, sentences
from assistant.core.texts import normalize
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench.question_sets import Question, QuestionSet, home_with, read
from bench.report import Report, is_closed
from engines.embeddings.protocol import Embedder, EmbedderUnavailable, open_embedder
from store.core.settings import ChatSettings, EmbeddingSettings

ON_REQUEST = True
"""Left out when all measurements run."""

Verdict = Literal["right", "wrong", "missed", "refused"]
_SUMMARY_GROUPS = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a question. `is_hedged`: what is right stands below a "not found"."""

    question: Question
    verdict: Verdict
    shown: str
    is_hedged: bool = False


def main(report: Report) -> None:
    """Print the verdicts of every folder by form and language; of an open one the answers, too."""
    try:
        embedder: Embedder | None = open_embedder("local")
    except EmbedderUnavailable as error:
        report.line(f"  without meaning: {error}")
        embedder = None
    judged = {folder.name: judge_set(folder / "questions.json", embedder) for folder in report.folders}
    report.line(f"  right, wrong, missed, refused of all (right as the nearest only): {', '.join(judged)}")
    groups = {name: {"all": ones, **_groups(ones)} for name, ones in judged.items()}
    for name in dict.fromkeys(name for by_name in groups.values() for name in by_name):
        report.row(name, " | ".join(_counted(by_name.get(name, [])) for by_name in groups.values()))
    for one in (one for name, ones in judged.items() if not is_closed(name) for one in ones):
        if one.verdict != "right":
            shown = one.shown.replace("\n", "\n      ")
            report.line(f"  {one.verdict}: {one.question.text}\n      {shown}")


def judge_set(path: Path, embedder: Embedder | None) -> list[Judged]:
    """Every question of a set, asked without a model and judged."""
    asked = read(path)
    with home_with(asked, embedder) as (database, _):
        asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder) if embedder else None
        services = TurnServices(database, ChatModels(ChatSettings(), {}), lambda: asked.now_ms, asking)
        return [_judged(services, asked, question) for question in asked.questions]


def _judged(services: TurnServices, asked: QuestionSet, question: Question) -> Judged:
    try:
        result = _asked(services, asked, question)
    except TurnRefused as refusal:
        return Judged(question, "refused", str(refusal))
    if result.error:
        return Judged(question, "refused", result.error.message)
    shown = "\n".join([result.answer_md, *(item.quote for item in result.evidence if item.n is not None)])
    return judged(question, result.answer_md, shown)


def _asked(services: TurnServices, asked: QuestionSet, question: Question) -> TurnResult:
    """The answer, behind those to all that it goes on from."""
    before = None if question.after is None else asked.questions[question.after]
    chat_id = _asked(services, asked, before).chat_id if before else None
    return _answered(services, TurnRequest(question.text, asked.timezone, asked.now_ms, chat_id=chat_id))


def _answered(services: TurnServices, request: TurnRequest) -> TurnResult:
    try:
        return answer(services, request)
    except TimeRangeRequired as refusal:
        if refusal.problem != "missing":
            raise
        return answer(services, replace(request, start_ms=0))


def judged(question: Question, answer_md: str, shown: str) -> Judged:
    """The verdict on an answer; `shown` is all that a reader sees of it."""
    head = _form(_headline(answer_md))
    text = _form(shown)
    found = [any(_form(one) in text for one in group) for group in question.must]
    is_nothing = _says_nothing(head)
    if question.form == "nothing":
        return Judged(question, "right" if is_nothing else "wrong", shown)
    needed = min(_SUMMARY_GROUPS, len(question.must)) if question.form == "summary" else len(question.must)
    heads_right = all(any(_form(one) in head for one in group) for group in question.must)
    if not heads_right and any(_form(one) in head for one in question.must_not):
        return Judged(question, "wrong", shown)
    if sum(found) >= needed:
        return Judged(question, "right", shown, is_nothing)
    return Judged(question, "missed", shown)


def _headline(answer_md: str) -> str:
    """The first line that is about the question."""
    lines = (line.strip() for line in answer_md.split("\n"))
    return next((line for line in lines if line and line not in own_sentences()), "")


def _says_nothing(head: str) -> bool:
    """Whether an answer begins by saying that nothing was found, or that nothing was recorded."""
    names = ("nothing_found", "one_nothing_found", "nothing_together", "no_captures")
    said = (re.split(r"\{\w+\}", _form(one)) for name in names for one in sentences("turn")[name])
    return any(re.match(".*?".join(map(re.escape, parts)), head) for parts in said)


def _form(text: str) -> str:
    """Without the marks of Markdown and without case, white space collapsed."""
    return normalize(re.sub(r"\\(?=\W)|\*\*", "", text))


def _groups(judged: list[Judged]) -> dict[str, list[Judged]]:
    """The questions by their form, and by their language."""
    groups: dict[str, list[Judged]] = {}
    for key in ("form", "language"):
        for one in judged:
            groups.setdefault(getattr(one.question, key), []).append(one)
    return groups


def _counted(judged: list[Judged]) -> str:
    counts = Counter(one.verdict for one in judged)
    hedged = sum(one.is_hedged for one in judged)
    counted = " ".join(f"{counts[verdict]:>2}" for verdict in ("right", "wrong", "missed", "refused"))
    return f"{counted} of {len(judged):>2} ({hedged:>2})"
