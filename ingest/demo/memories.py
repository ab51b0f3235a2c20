"""What somebody has besides the screen after a week: messages, events, places, people, chats and insights.

All of it is told in ``memories.toml``. Chats and insights are stored as answered; their quotes are looked
for on the frames when they are first shown, as those of any frame that was read again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from string import Template
from typing import Any
from zoneinfo import ZoneInfo

from ingest.demo.story import figures, story
from ingest.importers.sources.source_import import UPSERT
from store.chats import conversations, personas
from store.chats.records import Anchor, AnchoredChat, StoredEvidence
from store.core.database import Database
from store.frames import frames
from store.memory import chat_sessions, insights
from store.search import search
from store.search.filters import Filters
from store.sources import entities, imports
from store.sources.entities import Provenance

_MODEL = "sample story"
Row = dict[str, Any]


@dataclass(frozen=True)
class _Week:
    """The days of the story by weekday, and how its moments and figures are told."""

    database: Database
    zone: ZoneInfo
    dates: Mapping[int, date]
    figures: Mapping[str, str]

    def filled(self, value: Any) -> Any:
        """A value of the story with its figures, and [weekday, clock] as epoch milliseconds."""
        match value:
            case str():
                return Template(value).substitute(self.figures)
            case [int(weekday), str(clock)]:
                at = datetime.combine(self.dates[weekday], time.fromisoformat(clock), self.zone)
                return round(at.timestamp() * 1000)
            case list():
                return tuple(map(self.filled, value))
            case dict():
                return {name: self.filled(each) for name, each in value.items()}
        return value


def add(database: Database, zone: ZoneInfo, seed: int, dates: Mapping[int, date]) -> None:
    """Put them in, once; `dates` are the days of the last week by weekday, all five of them."""
    if conversations.list_chats(database, 1):
        return
    week = _Week(database, zone, dates, figures(seed, 0))
    document = week.filled(tomllib.loads(Path(__file__).with_name("memories.toml").read_text("utf-8")))
    evening = week.filled([4, "18:00"])
    for kind, (record, upsert) in UPSERT.items():
        _bring(database, kind, [record(**row) for row in document[kind]], upsert, evening)
    for row in document["entities"]:
        _remember(database, row, evening)
    personas.ensure_built_in(database, week.filled([0, "08:00"]))
    for row in sorted(document["chats"], key=lambda chat: int(chat["at"])):
        _tell(week, row)


def _bring(database: Database, kind: imports.Kind, records: list[Any], upsert: Any, now_ms: int) -> None:
    with database.write() as connection:
        number = imports.begin(connection, kind, f"{kind} of the sample week", "toml", now_ms)
        upsert(connection, number, records)
        imports.finish(connection, number, now_ms)


def _remember(database: Database, row: Row, now_ms: int) -> None:
    learned = Provenance(now_ms)
    with database.write() as connection:
        entity, _ = entities.store_entity(connection, row["kind"], row["name"], learned, row["description"])
        for predicate, value in row["facts"]:
            entities.store_fact(connection, entity, predicate, learned, object_value=value)


def _tell(week: _Week, row: Row) -> None:
    """A chat, or an insight of the stretch that it is about."""
    database, at_ms = week.database, row["at"]
    persona = next(each for each in personas.list_personas(database) if each.builtin == row["voice"])
    anchor = Anchor("moment", *row["about"]) if "about" in row else None
    question = row.get("question") or _label(week.zone, *row["about"])
    anchored = AnchoredChat(anchor) if anchor else None
    chat = conversations.create(database, question, at_ms, persona.system_prompt, anchored)
    turn = conversations.add_turn(
        database, chat, mode="auto", model=_MODEL, question=question, timezone=week.zone.key, now_ms=at_ms,
        start_ms=anchor.start_ms if anchor else None, end_ms=anchor.end_ms if anchor else None,
        persona=persona, session_id=chat_sessions.create(database, at_ms, chat),
    )  # fmt: skip
    answer, claims, evidence = _answer(week, row["answer"])
    conversations.finish_turn(database, turn.id, answer, {"claims": claims}, evidence, at_ms + 4_000)
    if anchor:
        said = (("system", persona.system_prompt), ("user", question), ("assistant", answer))
        messages = [{"role": role, "content": content} for role, content in said]
        insights.put(database, turn.id, anchor, row["title"], messages, at_ms + 5_000)


def _label(zone: ZoneInfo, start_ms: int, end_ms: int) -> str:
    start, end = (datetime.fromtimestamp(ms / 1000, zone) for ms in (start_ms, end_ms))
    return f"What was I doing here? {start.day} {start:%b %Y %H:%M} – {end:%H:%M}"


def _answer(week: _Week, sentences: tuple[str, ...]) -> tuple[str, list[Row], list[StoredEvidence]]:
    """The answer with its numbers, its claims, and the frames that they cite; a blank sentence parts two
    paragraphs.
    """
    text, claims, evidence = "", [], list[StoredEvidence]()
    quotes = {fact.id: week.filled(fact.text) for scene in story().scenes.values() for fact in scene.facts}
    for sentence in sentences:
        said, _, fact = map(str.strip, sentence.partition("|"))
        shown = fact and _shown(week.database, quotes[fact], len(evidence) + 1)
        if shown:
            evidence.append(shown)
            said = f"{said} [{shown.n}]"
        start = len(text)
        text += f"{said} " if said else "\n\n"
        if said:
            numbers = [shown.n] if shown else []
            place = {"start": start, "end": start + len(said), "citations": numbers}
            claims.append({"text": said, **place, "state": "cited" if numbers else "no_source"})
    return text.rstrip(), claims, evidence


def _shown(database: Database, quote: str, n: int) -> StoredEvidence | None:
    """The first frame that shows a line; None where it was read otherwise."""
    hits = search.search(database, f'"{quote}"', Filters(0), mode="fts", order="oldest", limit=1).hits
    if not hits:
        return None
    frame = frames.get(database, hits[0].frame_id)
    return StoredEvidence(
        n, frame.id, frame.captured_ms, frame.app_name, frame.window_name, frame.focused, frame.browser_url,
        quote, quote, state="not_checked", needs_check=True,
    )  # fmt: skip
