"""The timeline of memory: what was done, learned and asked around one moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import apsw

from store.core.database import Database, rows
from store.core.translation import gettext
from store.memory import entries as memory_entries
from store.memory.entries import PROMPT_PROJECT, RECORD_TYPES, Key, MemoryEntry, RecordType

TIMELINE_DEPTH = 10
MAX_DEPTH = 50
TIMELINE_DEPTH_HOUR = 1
"""Hours that one step of depth spans with ``unit=hours``."""
_HOUR_MS = 3_600_000
_MOST = 500
"""Entries per side with ``unit=hours``; those nearest to the anchor."""

Unit = Literal["records", "hours"]
_NAMED = re.compile(
    r"(?:(observation|obs|session|(?:session_)?summary|(?:user_)?prompt|frame|chat_?|insight)[:_\s]*#?|#)?"
    r"([0-9]{1,18})(?:_[a-z_]+)?",
    re.ASCII | re.IGNORECASE,
)


class BadAnchor(ValueError):
    """The anchor is neither an id, such as ``frame:ID``, nor an ISO time."""


class UnknownAnchor(LookupError):
    """No entry of memory has this id."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the timeline is around: an entry, or with `type` ``time`` just a moment."""

    type: RecordType | Literal["time"]
    id: int | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class ContextTimeline:
    """Entries in the order of time; `before` of them come before the anchor.

    `anchor` may be a moment: then no entry is the anchor itself.
    """

    anchor: Anchor
    entries: tuple[MemoryEntry, ...]
    before: int

    def is_anchor(self, entry: MemoryEntry) -> bool:
        return (entry.type, entry.id) == (self.anchor.type, self.anchor.id)


def get_context_timeline(
    database: Database,
    anchor: int | str,
    *,
    depth_before: int = TIMELINE_DEPTH,
    depth_after: int = TIMELINE_DEPTH,
    unit: Unit = "records",
    project: str | None = None,
) -> ContextTimeline:
    """What lies around an anchor: an id with its kind (``observation:ID``, ``session:``, ``prompt:``,
    ``frame:``, ``chat:``, ``insight:``), a bare one (123, ``"#123"``), or an ISO time (UTC unless it says
    its offset).

    A bare id is an observation's, or a frame's where no observation has it. A frame and an insight stand for
    their moment, a chat for the last question in it.

    The anchor is always there and comes on top of the depths. Raises `BadAnchor`, `UnknownAnchor`,
    and `ValueError` for a depth beyond 0 to `MAX_DEPTH`.
    """
    for depth in (depth_before, depth_after):
        if not 0 <= depth <= MAX_DEPTH:
            raise ValueError(f"a depth is from 0 to {MAX_DEPTH}, not {depth}")
    with database.read() as connection:
        found = resolve(connection, anchor)
        earlier = _side(connection, found, depth_before, unit, project, is_later=False)
        later = _side(connection, found, depth_after, unit, project, is_later=True)
        middle: list[Key] = [] if found.type == "time" or found.id is None else [(found.type, found.id)]
        entries = memory_entries.load(database, [*reversed(earlier), *middle, *later])
    keys = set(earlier)
    return ContextTimeline(found, tuple(entries), sum((e.type, e.id) in keys for e in entries))


def resolve(connection: apsw.Connection, anchor: int | str) -> Anchor:
    """The moment an anchor stands for. Raises `BadAnchor` and `UnknownAnchor`."""
    text = str(anchor).strip().strip("[]()").strip()
    if named := _NAMED.fullmatch(text):
        return _entry(connection, named[1] and named[1].lower(), int(named[2]))
    try:
        at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return Anchor("time", None, round(at.timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise BadAnchor(
            gettext("an anchor is an id such as frame:ID or session:ID, or an ISO 8601 time")
        ) from error


def _entry(connection: apsw.Connection, kind: str | None, number: int) -> Anchor:
    kinds = [kind] if kind else ["observation", "frame"]
    for each in kinds:
        for found in rows(connection, _ANCHORS[each], (number,)):
            return Anchor(*found)
    raise UnknownAnchor(f"there is no {kinds[0]} {number}")


def _side(
    connection: apsw.Connection,
    anchor: Anchor,
    depth: int,
    unit: Unit,
    project: str | None,
    *,
    is_later: bool,
) -> list[Key]:
    """The entries on one side, the nearest first. Of one moment, types come in their usual order."""
    if depth == 0:
        return []
    direction, sign = ("asc", ">") if is_later else ("desc", "<")
    reach_ms = depth * TIMELINE_DEPTH_HOUR * _HOUR_MS
    edge_ms = anchor.at_ms + (reach_ms if is_later else -reach_ms)
    rank = RECORD_TYPES.index(anchor.type) if anchor.type != "time" else -1
    values = {
        "at": anchor.at_ms, "rank": rank, "id": -1 if anchor.id is None else anchor.id, "edge": edge_ms,
        "project": project, "limit": depth if unit == "records" else _MOST,
    }  # fmt: skip
    branches = []
    for number, kind in enumerate(RECORD_TYPES):
        table, time, condition = _TABLES[kind]
        in_reach = "" if unit == "records" else f"and {time} {'<=' if is_later else '>='} :edge"
        branches.append(
            f"""
            select * from (
                select {number} as type, id, {time} as at_ms
                from {table}
                where {time} {sign}= :at and ({time}, {number}, id) {sign} (:at, :rank, :id)
                    and {condition} {in_reach} and {_PROJECT[kind]}
                order by {time} {direction}, id {direction}
                limit :limit
            )
            """
        )
    order = f"order by at_ms {direction}, type {direction}, id {direction} limit :limit"
    found = rows(connection, f"{' union all '.join(branches)} {order}", values)
    return [(RECORD_TYPES[kind], number) for kind, number, _ in found]


_TABLES: dict[RecordType, tuple[str, str, str]] = {
    "observation": ("observations", "start_ms", "is_hidden = 0"),
    "session": ("session_summaries", "start_ms", "true"),
    "prompt": ("messages", "created_ms", "role = 'user'"),
}
_PROMPT = "select 'prompt', id, created_ms from messages where id = ? and role = 'user'"
_OBSERVATION = "select 'observation', id, start_ms from observations where id = ? and is_hidden = 0"
_SESSION = "select 'session', id, start_ms from session_summaries where id = ?"
_ANCHORS = {
    "observation": _OBSERVATION,
    "obs": _OBSERVATION,
    "session": _SESSION,
    "session_summary": _SESSION,
    "summary": _SESSION,
    "prompt": _PROMPT,
    "user_prompt": _PROMPT,
    "frame": "select 'time', null, captured_ms from frames where id = ?",
    "insight": "select 'time', null, start_ms from insights where id = ?",
    "chat": """
        select 'prompt', id, created_ms from messages
        where conversation_id = ? and role = 'user' order by id desc limit 1
    """,
    "chat_": "select 'time', null, ended_ms from chat_summaries where session_id = ?",
}
"""By kind: the type, id and moment of what is told by this id."""
_PROJECT: dict[RecordType, str] = {
    "observation": "(:project is null or coalesce(edits ->> 'project', project) = :project collate nocase)",
    "session": "(:project is null or project = :project collate nocase)",
    "prompt": f"(:project is null or {PROMPT_PROJECT.format(message='messages.id')})",
}
