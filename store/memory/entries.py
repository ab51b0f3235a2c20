"""Entries of memory as lists show them: one shape for whatever they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from store.chats.conversations import title_of
from store.core.database import Database, clean_text
from store.core.records import narrowed
from store.memory import chat_summaries, documents, insights, observations
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import DocType, SessionSummary, Summary, UserPrompt
from store.memory.insights import Insight
from store.memory.observations import Observation

# -- filters ------------------------------------------------------------------------------
# What a memory search may be narrowed by: columns and terms of entries, never words of the index.

EntryType = Literal["observation", "session", "prompt", "insight", "chat"]
ENTRY_TYPES: tuple[EntryType, ...] = ("observation", "session", "prompt", "insight", "chat")
RecordType = Literal["observation", "session", "prompt"]
RECORD_TYPES: tuple[RecordType, ...] = ("observation", "session", "prompt")
"""What happened by itself: of these a timeline and the recent context are made."""
DOC_TYPES: dict[EntryType, DocType] = {
    "observation": "observation", "session": "session_summary", "prompt": "user_prompt",
    "insight": "insight", "chat": "chat_summary",
}  # fmt: skip
TYPE_OF: dict[str, EntryType] = {doc_type: entry_type for entry_type, doc_type in DOC_TYPES.items()}

MEMORY_WINDOW_DAYS = 90
MEMORY_WINDOW_MS = MEMORY_WINDOW_DAYS * 86_400_000
"""How far back a search without a range looks, in the unit of the columns."""


@dataclass(frozen=True, slots=True)
class MemoryFilters:
    """Half-open range of what entries overlap, and what they carry; None means any.

    `concept` and `kind` are whole and case-insensitive, `file` is a part of a path. All three are
    things that only observations have; `frame_id` and `persona_id` are those of an insight.
    """

    start_ms: int | None = None
    end_ms: int | None = None
    project: str | None = None
    concept: str | None = None
    file: str | None = None
    kind: str | None = None
    frame_id: int | None = None
    persona_id: int | None = None

    @property
    def has_range(self) -> bool:
        return self.start_ms is not None or self.end_ms is not None


def conditions(types: Sequence[EntryType], filters: MemoryFilters) -> tuple[str, dict[str, Any]]:
    """The filters as a condition on ``memory_documents m``, and the values it binds."""
    among, values = narrowed(_CONDITIONS, filters, "m.doc_type in (select value from json_each(:types))")
    texts = {name: clean_text(value) for name, value in values.items() if isinstance(value, str)}
    values |= texts | {"types": json.dumps([DOC_TYPES[each] for each in types])}
    return among, values | ({"file": texts["file"].casefold()} if "file" in texts else {})


PROMPT_PROJECT = """exists (
    select 1
    from messages asked
    join turns t on t.conversation_id = asked.conversation_id and t.n = asked.turn
    join evidence e on e.turn_id = t.id and e.n is not null
    join observation_frames shown on shown.frame_id = e.frame_id
    join observations work on work.id = shown.observation_id
    where asked.id = {message} and coalesce(work.edits ->> 'project', work.project) = :project collate nocase
)"""
"""SQL: the answer to a question cites a frame of work on the project, which makes the question one of it."""

_OF_OBSERVATION = (
    "m.doc_type = 'observation' and exists (select 1 from observations o where o.id = m.sqlite_id and {})"
)
_OF_INSIGHT = "m.doc_type = 'insight' and exists (select 1 from insights i where i.id = m.sqlite_id and {})"
_CONDITIONS = {
    "start_ms": "m.ended_ms > :start_ms",
    "end_ms": "m.created_ms < :end_ms",
    "frame_id": _OF_INSIGHT.format("i.frame_id = :frame_id"),
    "persona_id": _OF_INSIGHT.format("i.persona_id = :persona_id"),
    "project": "(m.project = :project collate nocase or m.doc_type = 'user_prompt' and "
    f"{PROMPT_PROJECT.format(message='m.sqlite_id')})",
    "kind": _OF_OBSERVATION.format("coalesce(o.edits ->> 'kind', o.kind) = :kind collate nocase"),
    # What a person wrote as concepts stands in place of the derived ones.
    "concept": _OF_OBSERVATION.format(
        """
        iif(o.edits -> 'concepts' is null,
            exists (
                select 1 from observation_terms t
                where t.observation_id = o.id and t.term = 'concept' and t.value = :concept collate nocase
            ),
            exists (
                select 1 from json_each(o.edits, '$.concepts') e where e.value = :concept collate nocase
            ))
        """
    ),
    "file": _OF_OBSERVATION.format(
        """
        exists (
            select 1 from observation_terms t
            where t.observation_id = o.id and t.term = 'file'
                and instr(recollect_casefold(t.value), :file)
        )
        """
    ),
}


Key = tuple[EntryType, int]
Body = Observation | SessionSummary | UserPrompt | Insight | ChatSummary


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """`title` is one line; `snippet` and `score` say how it was found; `body` is the whole of it."""

    type: EntryType
    id: int
    start_ms: int
    end_ms: int
    title: str
    body: Body
    snippet: str = ""
    highlights: tuple[tuple[int, int], ...] = ()
    score: float = 0.0


def load(database: Database, keys: Iterable[Key]) -> list[MemoryEntry]:
    """The entries that exist among these, in the order of the keys."""
    wanted = list(keys)
    found: dict[Key, MemoryEntry] = {}
    for kind, load_many in _LOADERS.items():
        for entry in map(_entry, load_many(database, [number for each, number in wanted if each == kind])):
            found[kind, entry.id] = entry
    return [found[key] for key in wanted if key in found]


def _entry(body: Body) -> MemoryEntry:
    match body:
        case Observation():
            return MemoryEntry("observation", body.id, body.start_ms, body.end_ms, body.title, body)
        case SessionSummary():
            return MemoryEntry("session", body.id, body.start_ms, body.end_ms, _title(body), body)
        case UserPrompt():
            title = title_of(body.text)
            return MemoryEntry("prompt", body.id, body.created_ms, body.created_ms + 1, title, body)
        case Insight():
            title = body.title or title_of(body.summary)
            return MemoryEntry("insight", body.id, body.anchor.start_ms, body.anchor.end_ms, title, body)
    return MemoryEntry("chat", body.session_id, body.started_ms, body.ended_ms + 1, _title(body), body)


def _title(summary: Summary) -> str:
    return title_of(next(filter(None, summary.fields.values()), ""))


_LOADERS: dict[EntryType, Callable[[Database, list[int]], Iterable[Body]]] = {
    "observation": observations.get_many,
    "session": documents.get_sessions,
    "prompt": documents.get_prompts,
    "insight": insights.get_many,
    "chat": lambda database, ids: chat_summaries.get(database, ids).values(),
}
