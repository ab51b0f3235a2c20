"""The sample week's questions with and without background, asked of a model that believes its background.

The model is made up and as gullible as can be: of everything in its prompt it believes the line that shares
most words with the question, and says in words of its own what it names: from the screen with its citation,
from the background without one. So what background can spoil, it spoils here. Each question is asked once in
a window that is closed and summarised, so that there is something to tell, then twice in evidence mode: told
nothing, and told of all of that.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from assistant.context import session_closing
from assistant.context.background import VERSION
from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.errors import TurnRefused
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import TurnResult
from assistant.core.texts import matches, question_words
from assistant.evidence.particulars import particulars
from assistant.language.small_words import language_of
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from bench import sample_truth
from bench.answers import LAST_DAY
from bench.evals.answer_check import Case, Checked, Figures, judge, of_sample, request_of, total
from bench.evals.other_questions import SEED, ZONE
from bench.report import Report
from store.chats import conversations
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, ContextSettings, EmbeddingSettings
from store.core.times import now_ms
from store.memory import chat_sessions, context_packs
from tests.stub_model import StubModel

ON_REQUEST = True
"""Left out when all measurements run."""

_FRAME = re.compile(r"^\[\[(e\d+)\]\]")


def main(report: Report) -> None:
    """Print both ways side by side."""
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home")
        command = [sys.executable, "-m", "ingest", "--home", str(home.home), "demo", "--seed", str(SEED)]
        subprocess.run([*command, "--tz", ZONE.key, "--until", LAST_DAY], check=True, capture_output=True)
        week = sample_truth.read(home)
        if week is None:
            raise SystemExit("the sample week was not made")
        database = open_database(home)
        with StubModel() as stub:
            stub.reply(gullible)
            entry = ChatModelSettings("gullible", stub.base_url, "gullible", context_tokens=32_768)
            models = ChatModels(ChatSettings(models=(entry,)), {}, waits_s=())
            embedder = QueryEmbedder(EmbeddingSettings(), database)
            context = ContextServices(database, ContextSettings(), models, embedder.asked, now_ms)
            deps = TurnServices(database, models, now_ms)
            found = compare(deps, context, list(of_sample(week)), "gullible")
            for line in table(found.without, found.told):
                report.line(f"  {line}")
            embedder.close()
            models.close()
        database.close_thread()


def _named(line: str) -> str:
    """What a line names, not as it says it; its longest words where it names nothing."""
    named = [each.text for each in particulars(line, language_of(line))]
    longest = sorted(set(re.findall(r"\w+", line)), key=len, reverse=True)[:3]
    return " and ".join(dict.fromkeys(named or longest))


def gullible(request: Mapping[str, Any]) -> dict[str, Any]:
    """What the line that shares most words with the question names, wherever it stands."""
    told = request["messages"][-1]["content"]
    question = told.rsplit("Question: ", 1)[-1]
    words = question_words(question)
    background = [
        line.removeprefix("- ")
        for each in request["messages"]
        if each["role"] == "system"
        for line in each["content"].split("\n")
        if line.startswith("- 20")
    ]
    number, best, best_line, best_id = 0, 0, "", ""
    frame_id = ""
    for line in told.split("\n"):
        if match := _FRAME.match(line):
            frame_id = match[1]
        elif line.startswith("| ") and (number := matches(words, line)) > best:
            best, best_line, best_id = number, line.removeprefix("| "), frame_id
    said = max(background, key=lambda line: matches(words, line), default="")
    parts = (
        [f"As far as I can see, it is {_named(best_line)} [[{best_id}]]."]
        if best_line
        else ["I do not know."]
    )
    if said and matches(words, said) > best:
        parts.append(f"I take it from before that it was {_named(said)}.")
    evidence = [{"id": best_id, "quote": best_line}] if best_line else []
    return {"answer_md": "\n\n".join(parts), "evidence": evidence}


# -- both ways --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """One way of asking all questions. `latency_ms` are of each answer, tokens what went to the model."""

    figures: Figures
    checked: tuple[Checked, ...]
    tokens: tuple[int, ...]
    pack_tokens: tuple[int, ...]
    latency_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Both ways."""

    without: Run
    told: Run


def compare(
    deps: TurnServices,
    context: ContextServices,
    cases: Sequence[Case],
    model: str | None = None,
) -> Compared:
    """Ask all cases three times; no chat, summary or digest is left behind."""
    context = replace(
        context,
        settings=replace(context.settings, enabled=True, opt_out=(), in_evidence_mode=True, summaries="off"),
        pace=ContextPace(build_budget_ms=5_000.0, telemetry_sample=0.0),
    )
    told = replace(deps, context=context)
    asked: list[int] = []
    try:
        for case in cases:
            asked += _remember(told, context, case, model)
        return Compared(
            _run(replace(deps, context=None), None, cases, model),
            _run(told, context, cases, model),
        )
    finally:
        for chat_id in asked:
            conversations.delete(deps.database, chat_id)


def _remember(deps: TurnServices, context: ContextServices, case: Case, model: str | None) -> list[int]:
    """Ask a case in a window of its own that is closed; the chats that it left."""
    session_id = chat_sessions.create(context.database, context.clock())
    try:
        result = answer(deps, replace(request_of(case, model), session_id=session_id))
    except TurnRefused:
        return []
    session_closing.close(context, session_id, "window")
    return [result.chat_id]


def _run(
    deps: TurnServices,
    context: ContextServices | None,
    cases: Sequence[Case],
    model: str | None,
) -> Run:
    checked: list[Checked] = []
    tokens: list[int] = []
    packs: list[int] = []
    latency: list[float] = []
    for case in cases:
        request = request_of(case, model)
        if context:
            session_id = chat_sessions.create(context.database, context.clock())
            request = replace(request, session_id=session_id, context_version=VERSION)
        began_s = time.perf_counter()
        try:
            result = answer(deps, request)
        except TurnRefused as error:
            checked.append(Checked(case.id, case.kind, case.message, False, str(error)))
            continue
        latency.append((time.perf_counter() - began_s) * 1_000)
        tokens.append((result.usage.input_tokens or 0) if result.usage else 0)
        packs.append(_pack_tokens(deps, result))
        conversations.delete(deps.database, result.chat_id)
        checked.append(_judged(case, result))
    return Run(total(checked), tuple(checked), tuple(tokens), tuple(packs), tuple(latency))


def _judged(case: Case, result: TurnResult) -> Checked:
    if result.error:
        return Checked(case.id, case.kind, case.message, False, result.error.message)
    return judge(case, result)


def _pack_tokens(deps: TurnServices, result: TurnResult) -> int:
    stored = context_packs.of_turn(deps.database, result.chat_id, result.turn_id)
    return stored.tokens if stored else 0


def table(without: Run, told: Run) -> list[str]:
    """Both runs, line by line."""
    lines = [f"{'':<26}{'without':>14}{'with':>14}"]
    for name in ("right", "groundedness", "precision", "coverage"):
        before, after = (getattr(run.figures, name) for run in (without, told))
        lines.append(f"{name:<26}{_share(before):>14}{_share(after):>14}")
    rows: tuple[tuple[str, Sequence[float], Sequence[float]], ...] = (
        ("tokens read, mean", without.tokens, told.tokens),
        ("of them background", without.pack_tokens, told.pack_tokens),
    )
    for name, before, after in rows:
        lines.append(f"{name:<26}{_number(before, mean):>14}{_number(after, mean):>14}")
    times = _number(without.latency_ms, median), _number(told.latency_ms, median)
    lines.append(f"{'ms an answer, median':<26}{times[0]:>14}{times[1]:>14}")
    return lines


def _share(share: Any) -> str:
    return f"{share.count} of {share.of}"


def _number(values: Sequence[float], how: Any) -> str:
    return f"{how(values):,.0f}" if values else "nothing"
