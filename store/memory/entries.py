"""Entries of memory as lists show them: one shape for whatever they are (R4.38)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from store.chats.conversations import title_of
from store.core.database import Database
from store.memory import chat_summaries, insights, observations, summaries
from store.memory.chat_summaries import ChatSummary
from store.memory.insights import Insight
from store.memory.memory_filters import EntryType
from store.memory.observations import Observation
from store.memory.summaries import SessionSummary, UserPrompt
from store.search import snippet
from store.search.query import Query

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

    def ids(kind: EntryType) -> list[int]:
        return [number for each, number in wanted if each == kind]

    found: dict[Key, MemoryEntry] = {}
    for observation in observations.get_many(database, ids("observation")):
        found["observation", observation.id] = of_observation(observation)
    for session in summaries.get_sessions(database, ids("session")):
        found["session", session.id] = of_session(session)
    for prompt in summaries.get_prompts(database, ids("prompt")):
        found["prompt", prompt.id] = of_prompt(prompt)
    for insight in insights.get_many(database, ids("insight")):
        found["insight", insight.id] = of_insight(insight)
    for chat in chat_summaries.get(database, ids("chat")).values():
        found["chat", chat.session_id] = of_chat(chat)
    return [found[key] for key in wanted if key in found]


def of_observation(body: Observation) -> MemoryEntry:
    return MemoryEntry("observation", body.id, body.start_ms, body.end_ms, body.title, body)


def of_session(body: SessionSummary) -> MemoryEntry:
    said = next((text for text in body.fields.values() if text), "")
    return MemoryEntry("session", body.id, body.start_ms, body.end_ms, title_of(said), body)


def of_prompt(body: UserPrompt) -> MemoryEntry:
    title = title_of(body.text)
    return MemoryEntry("prompt", body.id, body.created_ms, body.created_ms + 1, title, body)


def of_insight(body: Insight) -> MemoryEntry:
    title = body.title or title_of(body.summary)
    return MemoryEntry("insight", body.id, body.anchor.start_ms, body.anchor.end_ms, title, body)


def of_chat(body: ChatSummary) -> MemoryEntry:
    said = next((text for text in body.fields.values() if text), "")
    return MemoryEntry("chat", body.session_id, body.started_ms, body.ended_ms + 1, title_of(said), body)


def with_snippet(entry: MemoryEntry, text: str, asked: Query, score: float) -> MemoryEntry:
    """The entry with the piece of its text that answers."""
    shown = snippet.snippet(text, asked)
    return replace(entry, snippet=shown.text, highlights=shown.highlights, score=score)
