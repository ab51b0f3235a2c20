"""Memory search: observations, session summaries, user prompts, insights and chats by meaning or by words.

::

    vector given:  the nearest 100 documents of the asked types
                   -> those within the window                    (90 days, only without a range)
    and by words:  the documents with all of them                (the same types, filters and window)
                   -> one entry per (type, id)
                   -> both lists as one by reciprocal rank
                   -> best first, the newer of two equal ones
                   -> limit
    without a vector, or when nothing near is left: by words alone, and `fallback_reason` says why

Types, project, concept, file, kind and an explicit range narrow the documents before the nearest
are taken, so that none is lost to those that do not count. The log has counts, never the query.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from store.core.database import Database, rows
from store.memory import entries as memory_entries
from store.memory import insights, retrievers
from store.memory.entries import ENTRY_TYPES, EntryType, MemoryEntry, MemoryFilters
from store.memory.insights import Insight, InsightFilter
from store.memory.retrievers import Match, RetrievalQuery, Strategy
from store.search import query

log = logging.getLogger(__name__)

MEMORY_LIMIT = 20
NO_FILTERS = MemoryFilters()

Order = Literal["relevance", "date"]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Entries in order, and how they were found."""

    entries: tuple[MemoryEntry, ...]
    strategy: Strategy
    fallback_reason: str | None


def search_memory(
    database: Database,
    asked: RetrievalQuery,
    types: Sequence[EntryType] = ENTRY_TYPES,
    filters: MemoryFilters = NO_FILTERS,
    *,
    now_ms: int,
    limit: int = MEMORY_LIMIT,
    order: Order = "relevance",
    fill: bool = False,
    deadline_s: float = 5.0,
) -> MemoryPage:
    """The entries that answer best. Blank text gives the newest ones.

    `order` ``date`` puts the best `limit` by date. With `fill`, entries that pass the filters and
    were not found follow, newest first. Raises `DeadlineExceeded`.
    """
    parsed = query.parse(asked.text)
    with database.read(deadline_s) as connection:
        if parsed.is_browse:
            found, strategy, reason = list[Match](), "newest", None
        else:
            found, strategy, reason = retrievers.find_documents(
                database, connection, asked, parsed, types, filters, now_ms
            )
        chosen = retrievers.distinct(found)[:limit]
        if parsed.is_browse or fill:
            chosen += retrievers.newest(
                connection, types, retrievers.windowed(filters, now_ms), {m.key for m in chosen}, limit
            )
        chosen = chosen[:limit]
        if order == "date":
            chosen.sort(key=lambda match: (-match.created_ms, -match.id))
        entries = memory_entries.load(database, [match.key for match in chosen])
        sql = "select id, text from memory_documents where id in (select value from json_each(?))"
        texts = dict(rows(connection, sql, (str([match.document for match in chosen]),)))
    log.info(
        "memory search %s: %d found, %d loaded (%s)", strategy, len(found), len(entries), reason or "whole"
    )
    by_key = {match.key: match for match in chosen}
    shown = []
    for entry in entries:
        match = by_key[entry.type, entry.id]
        text = texts.get(match.document, "")
        shown.append(memory_entries.with_snippet(entry, text, parsed, round(match.score, 6)))
    return MemoryPage(tuple(shown), strategy, reason)  # type: ignore[arg-type]  # one of Strategy


# -- insights -----------------------------------------------------------------------------
# Insights found by words and meaning: all that fit, those that fit best first, a page of them at a time.

MOST = 10_000
"""Insights with the words that one search tells apart. By meaning it is the nearest hundred as elsewhere."""


@dataclass(frozen=True, slots=True)
class Found:
    """One page, and how many fit in all."""

    insights: list[Insight]
    total: int


def search_insights(
    database: Database,
    asked: RetrievalQuery,
    wanted: InsightFilter,
    *,
    limit: int,
    offset: int = 0,
    deadline_s: float = 5.0,
) -> Found:
    """The current insights that `wanted` lets through and the question finds; blank text finds nothing.

    The whole of time is searched where no range is given. Raises `DeadlineExceeded`.
    """
    parsed = query.parse(asked.text)
    if parsed.is_browse:
        return Found([], 0)
    filters = MemoryFilters(
        wanted.start_ms or 0, wanted.end_ms, frame_id=wanted.frame_id, persona_id=wanted.persona_id
    )
    with database.read(deadline_s) as connection:
        found, _, _ = retrievers.find_documents(
            database, connection, asked, parsed, ("insight",), filters, now_ms=0, candidates=MOST
        )
    ids = [match.id for match in retrievers.distinct(found)]
    page = {each.id: each for each in insights.get_many(database, ids[offset : offset + limit])}
    return Found([page[number] for number in ids[offset : offset + limit] if number in page], len(ids))
