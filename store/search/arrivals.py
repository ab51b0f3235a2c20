"""What has come since a list was shown: frames that the same search would list now.

The list is of two legs (`store.search.search`, `store.search.tolerant`), so both are asked here, too: by
words with the filters, or by what few words may have been read as; and the nearest by meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database
from store.core.times import now_ms
from store.frames.frames import captured_ms_of
from store.search import hybrid, pieces, query
from store.search.filters import Filters
from store.search.finder import Finder
from store.search.hybrid import Order, SemanticQuery
from store.search.query import Query
from store.search.tolerant import LITTLE, fuzzy_query

_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True)
class ListedSearch:
    """A search as the list of it was made; `query_vector` and the rest as for `store.search.search.search`."""

    text: str
    filters: Filters
    order: Order | None = None
    query_vector: npt.NDArray[np.floating] | None = None
    vector_model: str | None = None
    vector_problem: str | None = None


def newest_id(database: Database, listed: ListedSearch) -> int | None:
    """The newest frame of the list, None where there is none. Raises `DeadlineExceeded`."""
    with database.read(_DEADLINE_S) as connection:
        near, words = _legs(database, connection, listed)
        by_words = Finder(connection, words, listed.filters, _end_ms(listed.filters)) if words else None
        found = by_words.by_time(1, 0, None, newest_first=True) if by_words else []
        return max([*found, *near], default=None)


def count_new(database: Database, listed: ListedSearch, after_id: int, at_most: int = 100) -> int:
    """How many frames of the list are newer than `after_id`, counted no further than `at_most`."""
    filters = listed.filters
    later = replace(filters, start_ms=max(filters.start_ms, captured_ms_of(after_id)))
    with database.read(_DEADLINE_S) as connection:
        near, words = _legs(database, connection, listed)
        arrived = {frame_id for frame_id in near if frame_id > after_id}
        if words:
            finder = Finder(connection, words, later, _end_ms(later))
            arrived |= set(finder.by_time(at_most, 0, after_id, newest_first=False))
    return min(len(arrived), at_most)


def _legs(
    database: Database, connection: apsw.Connection, listed: ListedSearch
) -> tuple[set[int], Query | None]:
    """The frames near by meaning, and the question by words; None where it has no word."""
    asked, filters, end_ms = query.parse(listed.text), listed.filters, _end_ms(listed.filters)
    is_worded = asked.is_browse or asked.tree is not None
    order: Order = listed.order or "relevance"
    is_by_time = order != "relevance"
    words = asked if is_by_time else pieces.split_ngrams(asked) or asked
    by_words = words if is_worded else None
    if words.tree is not None and Finder(connection, words, filters, end_ms).count(LITTLE) < LITTLE:
        wider = fuzzy_query(connection, asked, is_by_time=is_by_time)
        by_words = words if wider is None else query.parse(wider)
    asking = SemanticQuery(
        listed.query_vector, listed.vector_model, listed.vector_problem, is_exact=hybrid.is_exact(asked)
    )
    leg = hybrid.semantic_ids(database, connection, asked, filters, end_ms, asking, "hybrid", order)
    return set(leg.near), by_words


def _end_ms(filters: Filters) -> int:
    # The end is not part of the range, this millisecond is.
    return now_ms() + 1 if filters.end_ms is None else filters.end_ms
