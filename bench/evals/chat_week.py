"""A week of scripted chats, and what is told of them in a new one: does it hold what was settled?

A set is a folder with ``week.json``: subjects, each with the sentence that settled something, a question
about it and words that only this subject uses; and chats of these subjects by day. The chats are held,
closed and summarised as those of a person are, without a model. Then each question is asked in a chat of
its own.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assistant.context import session_closing
from assistant.context.background import VERSION, ContextRequest, prepare
from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.texts import HAN
from assistant.evidence import marks
from bench.report import Report, is_closed, percentile
from store.chats import conversations
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import ChatSettings, ContextSettings, EmbeddingSettings
from store.memory import chat_sessions, chat_summaries
from store.memory.chat_summaries import UNSOURCED

WEEK = "week.json"
_MONDAY_MS = 1_794_787_200_000  # 16 November 2026, 00:00 UTC
_DAY_MS = 86_400_000
_ASKED_EACH = 5
"""How often each question is asked, to time it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What one question was told. `leaks` are words of other subjects in it."""

    subject: str
    text: str
    holds: bool
    leaks: tuple[str, ...]
    build_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Week:
    """What was told a day after a week of chats, and two months later; `thin` are `hold`'s pairs."""

    judged: tuple[Judged, ...]
    later: tuple[Judged, ...]
    thin: tuple[tuple[int, int], ...]


def judge(folder: Path) -> Week:
    """Hold the chats of a set in a home of its own and ask about its subjects."""
    week = json.loads((folder / WEEK).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as home:
        database = open_database(DataDir(Path(home) / "home"))
        models = ChatModels(ChatSettings(), {}, waits_s=())
        embedder = QueryEmbedder(EmbeddingSettings(), database)
        clock = _Clock()
        pace = ContextPace(build_budget_ms=60_000.0)
        context = ContextServices(database, ContextSettings(), models, embedder.asked, clock, pace)
        thin = [hold(context, clock, chat) for chat in sorted(week["chats"], key=_when)]
        clock.now_ms = _MONDAY_MS + 8 * _DAY_MS
        judged = [_judge(context, subject, week["subjects"]) for subject in week["subjects"]]
        clock.now_ms += 60 * _DAY_MS
        later = [_judge(context, subject, week["subjects"]) for subject in week["subjects"]]
        embedder.close()
        models.close()
        database.close_thread()
    return Week(tuple(judged), tuple(later), tuple(thin))


class _Clock:
    now_ms = _MONDAY_MS

    def __call__(self) -> int:
        return self.now_ms


def _when(chat: Mapping[str, Any]) -> int:
    hours, minutes = map(int, chat["time"].split(":"))
    return _MONDAY_MS + (chat["day"] - 1) * _DAY_MS + hours * 3_600_000 + minutes * 60_000


def hold(context: ContextServices, clock: _Clock, chat: Mapping[str, Any]) -> tuple[int, int]:
    """Ask and answer a chat in a window and close it; (its questions, the characters of its summary)."""
    database = context.database
    clock.now_ms = _when(chat)
    turns = chat["turns"]
    chat_id = conversations.create(database, turns[0]["content"], clock())
    session_id = chat_sessions.create(database, clock(), chat_id)
    for at, turn in enumerate(turns):
        if turn["role"] != "user":
            continue
        answer = turns[at + 1]["content"] if at + 1 < len(turns) else ""
        clock.now_ms += 60_000
        stored = conversations.add_turn(
            database, chat_id, mode="agent", model="scripted", question=turn["content"], start_ms=None,
            end_ms=None, timezone="Europe/Berlin", now_ms=clock(), session_id=session_id,
        )  # fmt: skip
        payload = {"claims": [asdict(claim) for claim in marks.check(answer, ())]}
        conversations.finish_turn(database, stored.id, answer, payload, [], clock())
    session_closing.close(context, session_id, "window")
    summary = chat_summaries.get(database, [session_id])[session_id]
    said = sum(len(text) for text in summary.fields.values() if text)
    return sum(turn["role"] == "user" for turn in turns), said


def _judge(context: ContextServices, subject: Mapping[str, Any], subjects: Any) -> Judged:
    told, taken = "", []
    for _ in range(_ASKED_EACH):
        chat_id = conversations.create(context.database, "a new chat", context.clock())
        session_id = chat_sessions.create(context.database, context.clock(), chat_id)
        began_s = time.process_time()
        prepared = prepare(context, ContextRequest(subject["question"], chat_id, session_id, VERSION))
        taken.append((time.process_time() - began_s) * 1_000)
        told = prepared.system_augmentation
    # Headings ("[Long-term history]") and the words before what has no source are of no subject.
    lines = [line for line in told.replace(UNSOURCED, "").split("\n") if not line.startswith("[")]
    form = _form("\n".join(lines))
    foreign = [word for other in subjects if other is not subject for word in other["other_words"]]
    leaks = tuple(word for word in foreign if _stands(_form(word), form))
    return Judged(subject["id"], told, _form(subject["settled"]) in form, leaks, tuple(taken))


def _stands(word: str, text: str) -> bool:
    """Whether a text has a word, and not only as a part of another ("count" in "counter"); signs anywhere."""
    return word in text and (bool(HAN.search(word)) or bool(re.search(rf"\b{re.escape(word)}\b", text)))


def _form(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def measure(report: Report, folder: Path) -> None:
    """Print the totals of a set, and of an open one what went wrong."""
    week = judge(folder)
    report.line(f"  {folder}: {len(week.thin)} chats")
    for name, answers in (("", week.judged), (", two months later", week.later)):
        holds = sum(each.holds for each in answers)
        clean = sum(not each.leaks for each in answers)
        goal = "" if name else "11 of 12"
        report.row(f"told what was settled{name}", f"{holds} of {len(answers)}", goal=goal)
        report.row(f"told nothing of other subjects{name}", f"{clean} of {len(answers)}", goal="95 %")
        sizes = sum(len(each.text) for each in answers) // max(1, len(answers))
        report.row("characters told, mean", f"{sizes:,}")
    taken = [ms for each in week.judged for ms in each.build_ms]
    report.row("a pack, p95 of CPU", f"{percentile(taken, 0.95):.1f} ms", goal="50 ms")
    long = [said for questions, said in week.thin if questions >= 5]
    report.row("characters of a chat of five questions, least", f"{min(long, default=0):,}", goal="300")
    if not is_closed(folder.name):
        for each in week.judged:
            if not each.holds or each.leaks:
                report.line(f"  {each.subject}: holds={each.holds} leaks={each.leaks}\n{each.text}\n")
