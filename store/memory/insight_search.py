"""Insights found by words and meaning: all that fit, those that fit best first, a page of them at a time."""

from __future__ import annotations

from dataclasses import dataclass

from store.core.database import Database
from store.memory import insights, retrievers
from store.memory.insights import Insight, InsightFilter
from store.memory.memory_filters import MemoryFilters
from store.memory.retrievers import RetrievalQuery
from store.search import query

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
