"""Memory search: observations, session summaries, user prompts, insights and chats by meaning or by words.

::

    vector given:  the nearest documents of the asked types      (within 90 days, where no range is given)
    and by words:  the documents with all of them                (the same types, filters and window)
                   -> one entry per (type, id), both lists as one by reciprocal rank
                   -> best first, the newer of two equal ones
    without a vector, or when nothing is near: by words alone, and `fallback_reason` says why

How documents are found is `store.memory.retrievers`. Types, project, concept, file, kind and range narrow
them before the nearest are taken, so that none is lost to those that do not count. The log has counts, never
the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from store.core.database import Database, column, rows
from store.embeddings.knn import RetrievalQuery
from store.memory import entries as memory_entries
from store.memory import insights, retrievers
from store.memory.chat_summaries import UNSOURCED, ChatSummary
from store.memory.entries import (
    ENTRY_TYPES,
    MEMORY_WINDOW_MS,
    TYPE_OF,
    EntryType,
    Key,
    MemoryEntry,
    MemoryFilters,
    conditions,
)
from store.memory.insights import Insight, InsightFilter
from store.memory.observations import MODEL_SAYS
from store.memory.retrievers import Question
from store.search import query
from store.search.snippet import snippet

MEMORY_LIMIT = 20
_DEADLINE_S = 5.0
NO_FILTERS = MemoryFilters()

Order = Literal["relevance", "date"]
Strategy = Literal["hybrid", "semantic", "fts", "newest"]


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
) -> MemoryPage:
    """The entries that answer best. Blank text gives the newest ones.

    `order` ``date`` puts the best `limit` by date. With `fill`, entries that pass the filters and
    were not found follow, newest first. Raises `DeadlineExceeded`.
    """
    parsed = query.parse(asked.text)
    if not filters.has_range:
        filters = replace(filters, start_ms=now_ms - MEMORY_WINDOW_MS)
    question = Question(retrievers.DOCUMENTS, asked, parsed, "hybrid", *conditions(types, filters))
    with database.read(_DEADLINE_S) as connection:
        found = retrievers.find_texts(database, connection, question, limit)
        ranked = found.ranked + (retrievers.newest(connection, question, 2 * limit) if fill else [])
        ids = str([document for _, document in ranked])
        documents = {document: row for document, *row in rows(connection, _DOCUMENTS, (ids,))}
        chosen: dict[Key, tuple[float, int, str]] = {}
        for score, document in ranked:
            doc_type, number, created_ms, text = documents[document]
            chosen.setdefault((TYPE_OF[doc_type], number), (score, created_ms, text))
        keys = list(chosen)[:limit]
        if order == "date":
            keys.sort(key=lambda key: (-chosen[key][1], -key[1]))
        entries = memory_entries.load(database, keys)
    shown = []
    for entry in entries:
        score, _, text = chosen[entry.type, entry.id]
        text = entry.body.borne_out(text) if isinstance(entry.body, Insight) else text
        told = snippet(text, parsed)
        mark = _mark_before(text, told.start) if isinstance(entry.body, ChatSummary) else ""
        highlights = tuple((start + len(mark), end + len(mark)) for start, end in told.highlights)
        shown.append(replace(entry, snippet=mark + told.text, highlights=highlights, score=round(score, 6)))
    return MemoryPage(tuple(shown), "fts" if found.strategy == "fts5" else found.strategy, found.reason)


def _mark_before(text: str, start: int) -> str:
    """What marks a place in what a chat came to, and stands before it."""
    before = text[:start]
    if MODEL_SAYS in before.rpartition("\n")[2]:
        return MODEL_SAYS
    return f"{UNSOURCED} " if UNSOURCED in before else ""


_DOCUMENTS = """
select id, doc_type, sqlite_id, created_ms, text
from memory_documents where id in (select value from json_each(?))
"""
_OF_DOCUMENTS = """
select d.sqlite_id from json_each(?) j cross join memory_documents d on d.id = j.value order by j.key
"""


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
    question = Question(retrievers.DOCUMENTS, asked, parsed, "hybrid", *conditions(("insight",), filters))
    with database.read(_DEADLINE_S) as connection:
        found = retrievers.find_texts(database, connection, question, MOST)
        ids = column(connection, _OF_DOCUMENTS, (str([document for _, document in found.ranked]),))
    page = {each.id: each for each in insights.get_many(database, ids[offset : offset + limit])}
    return Found([page[number] for number in ids[offset : offset + limit] if number in page], len(ids))
