"""Imported messages by what they say (R0.60 to R0.67); see `store.memory.source_search` for the ways to find."""

from __future__ import annotations

from dataclasses import dataclass

from store.core.database import Database
from store.memory import source_search
from store.memory.retrievers import RetrievalQuery
from store.memory.source_search import Mode, Question, TextStrategy
from store.search import query, snippet
from store.sources import messages
from store.sources.messages import EVERY_MESSAGE, Filters, Message


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that was found, and the piece of it that answers with (start, end) of the words in it."""

    message: Message
    score: float
    snippet: str
    highlights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Hits best first; `reading` is how the text was understood (C24)."""

    hits: tuple[MessageHit, ...]
    strategy: TextStrategy
    fallback_reason: str | None
    reading: str


def search_messages(
    database: Database,
    asked: RetrievalQuery,
    filters: Filters = EVERY_MESSAGE,
    *,
    mode: Mode = "hybrid",
    limit: int = 20,
    deadline_s: float | None = 5.0,
) -> MessagePage:
    """The messages that answer best, never one outside the filters. Blank text gives the newest.

    Raises `DeadlineExceeded`.
    """
    parsed = query.parse(asked.text)
    question = Question(source_search.MESSAGES, asked, parsed, mode, filters.condition(), filters.values())
    with database.read(deadline_s) as connection:
        found = source_search.find_texts(database, connection, question, limit)
        loaded = messages.get_many(connection, [number for _, number in found.ranked])
    hits = []
    for score, number in found.ranked:
        shown = snippet.snippet(loaded[number].body, parsed)
        hits.append(MessageHit(loaded[number], round(score, 6), shown.text, shown.highlights))
    return MessagePage(tuple(hits), found.strategy, found.reason, parsed.reading)
