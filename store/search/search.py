"""Search: the frames that match a text and some filters, page by page.

Rows and total come from the same ``where``; nothing is filtered after it. A time
range is a range of ids, which the table and the full-text index both walk in order. Pages follow
a cursor, so that page 1,000 costs what page 1 costs.

By relevance, the newest `RANKED_BLOCK` matches are put in order and come first; then the next
newest, and so on. A word that is on every frame thus costs no more than others, and `strategy`
says when it was so.

Where the caller hands in what the question means, as a vector, frames are also found by meaning
and both lists become one (`store.search.hybrid`). When one half cannot answer the other does, and
`fallback_reason` says why.

A search forgives (`store.search.fuzzy`): words without spaces are looked for in pieces, too. When the words,
whole or in pieces, are on fewer than `LITTLE` frames, the search is made again with what they may have been
read as, under the same filters. Frames that have only a look-alike say ``lookalike`` in `Hit.matched`, and
`Page.strategy` ends in ``+lookalike``; a cursor remembers that its list was made this way.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database
from store.core.full_text import Statistics
from store.core.times import now_ms
from store.frames.frames import captured_ms_of
from store.ocr import readings
from store.search import fuzzy, hybrid, query
from store.search import hits as cursors
from store.search.filters import Filters
from store.search.finder import RANKED_BLOCK, Block, Finder, Ranked
from store.search.hits import BadCursor, Cursor, Hit, of_rows, with_match_kind
from store.search.hybrid import FusedPage, Mode, Order, SemanticQuery, SemanticResult, is_exact
from store.search.query import Query

log = logging.getLogger(__name__)

TOTAL_LIMIT = 5_000
"""Totals are exact up to here; above, `Page.total` is this number and `total_is_exact` false."""
MAX_OFFSET = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in order, where the next page begins, and how they were found."""

    hits: tuple[Hit, ...]
    next_cursor: str | None
    total: int
    total_is_exact: bool
    mode: Literal["hybrid", "fts", "semantic", "browse"]  # what it was in the end
    strategy: str  # browse, newest, oldest, bm25, bm25_newest_1000, rrf, rrf_newest_1000, cosine
    fallback_reason: str | None
    reading: query.Reading
    index_fresh_to_ms: int | None
    meaning_since_ms: int | None = None  # older frames were looked for by words only


def search(
    database: Database,
    text: str,
    filters: Filters,
    *,
    mode: Mode = "hybrid",
    order: Order | None = None,
    limit: int = 20,
    cursor: str | None = None,
    offset: int = 0,
    deadline_s: float = 5.0,
    query_vector: npt.NDArray[np.floating] | None = None,
    vector_model: str | None = None,
    vector_problem: str | None = None,
    is_exact: bool | None = None,
    in_pieces: bool = False,
    above_chance: bool = True,
) -> Page:
    """One page of the frames that match `text` and `filters`.

    Blank text is a browse, newest first unless `order` is ``oldest``. `offset` skips rows beyond the
    cursor, or from the first page on.

    `query_vector` is `text` as a unit vector of `vector_model`; where there is none,
    `vector_problem` may say why, for `fallback_reason`. ``hybrid`` and ``semantic`` then answer by
    words. `is_exact` says whether these very words are wanted, where the text was made from another
    that knew better. A list that began by words goes on by words (``first_page_by_words``).

    `in_pieces` has ``hybrid`` by relevance look for words without spaces in pieces, too, behind what
    holds them whole (`store.search.fuzzy`); `Page.reading` and `Hit.matched` say so.

    What means something near the question has to stand out of the store, unless `above_chance` is false:
    for somebody who judges each hit by himself.

    Raises `BadCursor`, and `DeadlineExceeded` when the database takes longer than `deadline_s`.
    """
    if limit < 1 or not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"limit must be at least 1 and offset from 0 to {MAX_OFFSET}: {limit}, {offset}")
    asked = query.parse(text)
    order = _order(asked, order)
    is_cut = in_pieces and mode == "hybrid" and order == "relevance"
    words = (fuzzy.split_ngrams(asked) if is_cut else None) or asked
    log.debug("search read as %s, order %s", words.reading, order)
    # What a cursor must agree in with the question it is used for.
    key = hashlib.sha256("\n".join((filters.hash(), order, mode, asked.text)).encode()).hexdigest()[:16]
    place = None if cursor is None else cursors.decode(cursor, key)
    end_ms = place.end_ms if place else _end_ms(filters)
    asking = SemanticQuery(query_vector, vector_model, vector_problem, is_exact, above_chance)
    if place and not place.seen:
        asking = SemanticQuery(None, None, asking.reason or "first_page_by_words", is_exact)
    with database.read(deadline_s) as connection:
        leg = hybrid.semantic_ids(database, connection, asked, filters, end_ms, asking, mode, order)
        finder = None
        if asked.is_browse or asked.tree is not None:
            finder = Finder(connection, words, filters, end_ms)
        start = Cursor(key, end_ms, 0)
        if leg.near or (place and place.seen):
            found = _by_meaning(finder, leg, mode, order, start, place, limit, offset)
        else:
            found = _by_words(finder, asked, order, start, place, limit, offset)
        hits = of_rows(database, connection, words, found.rows, found.by_words, leg.near)
        if words.whole is not None:
            as_asked = Finder(connection, asked, filters, end_ms).among(hit.frame_id for hit in hits)
            hits = tuple(hit if hit.frame_id in as_asked else with_match_kind(hit, "pieces") for hit in hits)
        return _page(hits, found, leg, words.reading, readings.index_fresh_to_ms(database))


def _page(
    hits: tuple[Hit, ...], found: _Found, leg: SemanticResult, reading: query.Reading, fresh_to_ms: int | None
) -> Page:
    return Page(
        hits=hits,
        next_cursor=cursors.encode(found.next) if found.next else None,
        total=min(found.total, TOTAL_LIMIT),
        total_is_exact=found.total <= TOTAL_LIMIT and found.is_whole,
        mode=found.mode,
        strategy=found.strategy,
        fallback_reason=leg.reason,
        reading=reading,
        index_fresh_to_ms=fresh_to_ms,
        meaning_since_ms=leg.since_ms,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """One page of rows before their frames are read, and how it was found."""

    rows: list[Cursor]
    next: Cursor | None
    total: int
    mode: Literal["hybrid", "fts", "semantic", "browse"]
    strategy: str
    by_words: frozenset[int] | None = None  # None: every row
    is_whole: bool = True


def _by_words(
    finder: Finder | None,
    asked: Query,
    order: Order,
    start: Cursor,
    place: Cursor | None,
    limit: int,
    offset: int,
) -> _Found:
    total, rows = 0, list[Cursor]()
    if finder is not None:
        rows = _rows(finder, order, place, start, limit + 1, offset)
        total = finder.count(TOTAL_LIMIT + 1)
    following = rows[limit - 1] if len(rows) > limit else None
    mode: Literal["browse", "fts"] = "browse" if asked.is_browse else "fts"
    return _Found(rows[:limit], following, total, mode, _strategy(asked, order, total))


def _by_meaning(
    finder: Finder | None,
    leg: SemanticResult,
    mode: Mode,
    order: Order,
    start: Cursor,
    place: Cursor | None,
    limit: int,
    offset: int,
) -> _Found:
    """By words and meaning, or by meaning alone."""
    with_words = finder if mode == "hybrid" else None
    page = FusedPage(with_words, list(leg.near), start, place)
    rows = page.rows(limit + 1, offset) if order == "relevance" else []
    if order != "relevance":
        rows = _near_by_time(leg, start, place, newest_first=order == "newest")[offset : offset + limit + 1]
    words = with_words.collect(TOTAL_LIMIT + 1) if with_words else 0
    total = hybrid.total(with_words, words, leg.near, TOTAL_LIMIT + 1)
    by_words = finder.among(row.id for row in rows) if finder else set[int]()
    following = None
    if len(rows) > limit:
        seen = page.seen_up_to(rows[limit - 1]) if order == "relevance" else _BY_TIME
        following = replace(rows[limit - 1], seen=seen)
    newest = f"_newest_{RANKED_BLOCK}" if words > RANKED_BLOCK else ""
    strategy = f"rrf{newest}" if with_words else "cosine" if order == "relevance" else order
    is_whole = leg.is_whole if mode == "semantic" else True
    shown = [replace(row, score=hybrid.shown_score(row)) for row in rows[:limit]]
    how: Literal["hybrid", "semantic"] = "hybrid" if with_words else "semantic"
    return _Found(shown, following, total, how, strategy, frozenset(by_words), is_whole)


# In place of marks: by time a list needs none, but its cursor tells that meaning made it.
_BY_TIME = cursors.pack([0])


def _near_by_time(
    leg: SemanticResult, start: Cursor, place: Cursor | None, *, newest_first: bool
) -> list[Cursor]:
    ids = sorted(leg.near, reverse=newest_first)
    if place is not None:
        ids = [number for number in ids if (number < place.id if newest_first else number > place.id)]
    return [replace(start, id=number) for number in ids]


def _order(asked: Query, order: Order | None) -> Order:
    if asked.is_browse:
        return "oldest" if order == "oldest" else "newest"
    return order or "relevance"


def _strategy(asked: Query, order: Order, total: int) -> str:
    if order != "relevance":
        return "browse" if asked.is_browse else order
    return "bm25" if total <= RANKED_BLOCK else f"bm25_newest_{RANKED_BLOCK}"


def _end_ms(filters: Filters) -> int:
    # The end is not part of the range, this millisecond is.
    return now_ms() + 1 if filters.end_ms is None else filters.end_ms


def _rows(
    finder: Finder, order: Order, place: Cursor | None, start: Cursor, limit: int, offset: int
) -> list[Cursor]:
    """Up to `limit` rows beyond `place`, each as the cursor that would follow it."""
    if order != "relevance":
        after_id = place.id if place else None
        ids = finder.by_time(limit, offset, after_id, newest_first=order == "newest")
        return [replace(start, id=frame_id) for frame_id in ids]
    if place is None:
        after, statistics = None, finder.statistics()
    elif len(place.weights) != finder.phrase_count:
        raise BadCursor("the cursor is damaged")
    else:
        after = Ranked(place.score, place.id, Block(place.low, place.high))
        statistics = Statistics(place.average, place.weights)
    return [
        replace(
            start,
            id=each.id,
            score=each.score,
            low=each.block.low,
            high=each.block.high,
            average=statistics.average,
            weights=statistics.weights,
        )
        for each in finder.by_relevance(limit, offset, after, statistics)
    ]


LITTLE = 3
_MARK = "~"


def fuzzy_search(
    database: Database,
    text: str,
    filters: Filters,
    *,
    mode: Mode = "hybrid",
    cursor: str | None = None,
    deadline_s: float = 5.0,
    **options: Any,
) -> Page:
    """As `store.search.search.search`; ``fts`` and ``semantic`` ask for one thing alone and have no second
    pass.

    Raises `BadCursor` and `DeadlineExceeded` as that does; the deadline is for both passes.
    """
    with database.read(deadline_s) as connection:
        is_second = cursor is not None and cursor.startswith(_MARK)
        asked = query.parse(text)
        if not is_second:
            page = search(database, text, filters, mode=mode, cursor=cursor, in_pieces=True, **options)
            if cursor is not None or mode != "hybrid" or page.mode == "browse":
                return page
            if sum(bool({"text", "pieces"}.intersection(hit.matched)) for hit in page.hits) >= LITTLE:
                return page
        order = options.get("order")
        # No vector: what the words alone find.
        known = search(database, text, filters, order=order, limit=LITTLE, in_pieces=True)
        if not is_second and known.total >= LITTLE:
            return page
        wider = fuzzy_query(connection, asked, is_by_time=order in ("newest", "oldest"))
        if wider is None:
            if is_second:
                raise BadCursor("what looked alike is gone: search again")
            return page
        inner = cursor.removeprefix(_MARK) if cursor else None
        page = search(database, wider, filters, mode=mode, cursor=inner, is_exact=is_exact(asked), **options)
    return _marked(page, known)


def fuzzy_query(connection: apsw.Connection, asked: Query, *, is_by_time: bool = False) -> str | None:
    """What the second pass asks; None when no frame holds anything that looks alike."""
    return fuzzy.expand_query(connection, asked if is_by_time else fuzzy.split_ngrams(asked) or asked)


def _marked(page: Page, known: Page) -> Page:
    """`page` with each hit saying how its words were found; `known` are those that need no look-alike."""
    ways = {hit.frame_id: hit.matched[0] for hit in known.hits}
    return replace(
        page,
        hits=tuple(with_match_kind(hit, ways.get(hit.frame_id, "lookalike")) for hit in page.hits),
        next_cursor=_MARK + page.next_cursor if page.next_cursor else None,
        strategy=f"{page.strategy}+lookalike",
        reading=known.reading,
    )


# -- new results --------------------------------------------------------------------------
# What has come since a list was shown: frames that the same search would list now.
#
# The list is of two legs (by words, by meaning), so both are asked here, too: by
# words with the filters, or by what few words may have been read as; and the nearest by meaning.

_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True)
class ListedSearch:
    """A search as the list of it was made; `query_vector` and the rest as for `search`."""

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
    words = asked if is_by_time else fuzzy.split_ngrams(asked) or asked
    by_words = words if is_worded else None
    if words.tree is not None and Finder(connection, words, filters, end_ms).count(LITTLE) < LITTLE:
        wider = fuzzy_query(connection, asked, is_by_time=is_by_time)
        by_words = words if wider is None else query.parse(wider)
    asking = SemanticQuery(
        listed.query_vector, listed.vector_model, listed.vector_problem, is_exact=hybrid.is_exact(asked)
    )
    leg = hybrid.semantic_ids(database, connection, asked, filters, end_ms, asking, "hybrid", order)
    return set(leg.near), by_words
