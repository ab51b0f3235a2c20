"""Search: the frames that match a text and some filters, page by page.

Rows and total come from the same ``where``; nothing is filtered after it. A time
range is a range of ids, which the table and the full-text index both walk in order. Pages follow
a cursor, so that page 1,000 costs what page 1 costs.

First come the frames that have the words, and `Page.total` counts them. By relevance, the newest
`RANKED_BLOCK` matches are put in order and come first; then the next newest, and so on. A word that is on
every frame thus costs no more than others, and `strategy` says when it was so. Words that most frames have
tell none from another: their frames come newest first (``newest_common``).

Where no frame holds the words as they stand, what they may have been read as is looked for
(`store.search.fuzzy`), and `strategy` and `Hit.matched` say so.

Where the caller hands in what the question means, as a vector, the frames near in meaning that have not the
words follow as a group of their own with a count of its own (`Page.near`). When one half cannot answer the
other does, and `fallback_reason` says why.
"""

from __future__ import annotations

import hashlib
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal

import apsw

from store.core.database import Database
from store.core.full_text import Statistics
from store.core.times import now_ms
from store.embeddings.knn import WORDS_ONLY, Near, RetrievalQuery
from store.frames.frames import captured_ms_of
from store.ocr import readings
from store.search import fuzzy, query
from store.search import hits as cursors
from store.search.filters import Filters
from store.search.finder import RANKED_BLOCK, Block, Finder, Ranked
from store.search.fuzzy import MatchKind
from store.search.hits import BadCursor, Cursor, Hit, folded, of_rows
from store.search.query import Query
from store.search.semantic import NEAR_LIMIT, Mode, Order, SemanticResult, nearest_frames

log = logging.getLogger(__name__)

TOTAL_LIMIT = 5_000
"""Totals are exact up to here; above, `Page.total` is this number and `total_is_exact` false. So it is with a
lower one where counting on would take long (`finder.ENOUGH_S`): there are at least so many."""
MAX_OFFSET = 10_000
COMMON_LEAST = 100
"""So many frames and more are common when they are most of those that the filters let through."""
FOLD_DEPTH = 5
"""With runs folded, a page looks at so many frames for each of its cards."""


@dataclass(frozen=True, slots=True)
class NearGroup:
    """How many frames are near in meaning without having the words."""

    total: int = 0
    total_is_exact: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in order, those by words first, where the next page begins, and how they were found.

    `total` counts the frames that match by words; in ``semantic`` those near in meaning.
    """

    hits: tuple[Hit, ...]
    next_cursor: str | None
    total: int
    total_is_exact: bool
    near: NearGroup
    mode: Literal["hybrid", "fts", "semantic", "browse"]  # what it was in the end
    strategy: (
        str  # browse, newest, newest_common, oldest, bm25, bm25_newest_1000, cosine; +pieces, +lookalike
    )
    fallback_reason: str | None
    reading: query.Reading
    words: Query
    """The words as they were looked for: to mark them on a frame."""
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
    meaning: RetrievalQuery = WORDS_ONLY,
    above_chance: bool = True,
    fold: bool = False,
) -> Page:
    """One page of the frames that match `text` and `filters`.

    Blank text is a browse, newest first unless `order` is ``oldest``. `offset` skips rows beyond the
    cursor, or from the first page on. ``fts`` takes words as they stand.

    `meaning` is `text` as a vector, or says why there is none, for `fallback_reason`: then ``hybrid`` and
    ``semantic`` answer by words. What means something near the question has to stand out of the store, unless
    `above_chance` is false: for somebody who judges each hit by himself.

    `fold` has a run of look-alike frames be one hit (`store.search.hits.folded`); totals are of frames.

    Raises `BadCursor`, and `DeadlineExceeded` when the database takes longer than `deadline_s`.
    """
    if limit < 1 or not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"limit must be at least 1 and offset from 0 to {MAX_OFFSET}: {limit}, {offset}")
    asked = query.parse(text)
    order = _order(asked, order)
    log.debug("search read as %s, order %s", asked.reading, order)
    place, start = _start(asked, filters, order, mode, cursor)
    needed = (limit * FOLD_DEPTH if fold else limit) + 1
    with database.read(deadline_s) as connection:
        allow = partial(Finder, connection, query.parse(""), filters, start.end_ms)
        leg = nearest_frames(database, asked, allow, meaning, mode, order, above_chance=above_chance)
        is_semantic = mode == "semantic" and bool(leg.near)
        ways = _ways(connection, asked, filters, start.end_ms, mode)
        if is_semantic:
            way, words = next(ways), _Words([], len(leg.near), "cosine" if order == "relevance" else order)
        else:
            list_words = partial(_by_words, allow, order, start, place, needed, offset)
            way, words = _first_found(ways, list_words, place)
        start = replace(start, kind=way.kind)
        having = way.finder.among(leg.near) if way.finder and leg.near and not is_semantic else set[int]()
        near = [each for each in leg.near.values() if each.id not in having]
        rows = [*words.rows, *_near_rows(near, order, start, place, offset - words.passed)][:needed]
        by_words = having | {row.id for row in rows if not row.is_near}
        found = of_rows(database, connection, way.asked, way.kind, rows, by_words, leg.near)
        is_folded = fold and not asked.is_browse
        hits, taken = folded(found, limit) if is_folded else (list(islice(found, limit)), limit)
        next_cursor = cursors.encode(rows[taken - 1]) if len(rows) > taken else None
        fresh_to_ms = readings.index_fresh_to_ms(database)
        return _page(asked, mode, way.asked, words, leg, len(near), hits, next_cursor, fresh_to_ms)


def _start(
    asked: Query, filters: Filters, order: Order, mode: Mode, cursor: str | None
) -> tuple[Cursor | None, Cursor]:
    """Where the page before ended, and where all pages of this question begin. Raises `BadCursor`."""
    # What a cursor must agree in with the question it is used for.
    key = hashlib.sha256("\n".join((filters.hash(), order, mode, asked.text)).encode()).hexdigest()[:16]
    place = None if cursor is None else cursors.decode(cursor, key)
    return place, Cursor(key, place.end_ms if place else _end_ms(filters), 0)


def _page(
    asked: Query, mode: Mode, looked_for: Query, words: _Words, leg: SemanticResult, near: int,
    hits: Sequence[Hit], next_cursor: str | None, fresh_to_ms: int | None,
) -> Page:  # fmt: skip
    is_semantic = mode == "semantic" and bool(leg.near)
    return Page(
        hits=tuple(hits),
        next_cursor=next_cursor,
        total=min(words.total, TOTAL_LIMIT),
        total_is_exact=words.is_whole and words.total < (NEAR_LIMIT if is_semantic else TOTAL_LIMIT + 1),
        near=NearGroup(near, len(leg.near) < NEAR_LIMIT),
        mode="browse" if asked.is_browse else mode if leg.near else "fts",
        strategy=words.strategy,
        fallback_reason=leg.reason,
        reading=asked.reading,
        words=looked_for,
        index_fresh_to_ms=fresh_to_ms,
        meaning_since_ms=leg.since_ms,
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to take the words of a question, and what finds its frames; None where there is no word."""

    kind: MatchKind
    asked: Query
    finder: Finder | None


def _ways(
    connection: apsw.Connection, asked: Query, filters: Filters, end_ms: int, mode: Mode
) -> Iterator[_Way]:
    """The ways to take the words, the next one for when the one before finds no frame."""
    if asked.tree is None:
        yield _Way("text", asked, Finder(connection, asked, filters, end_ms) if asked.is_browse else None)
        return
    for kind, taken in fuzzy.readings(connection, asked):
        yield _Way(kind, taken, Finder(connection, taken, filters, end_ms))
        if mode != "hybrid":
            return


@dataclass(frozen=True, slots=True)
class _Words:
    """A page of what matches by words. `passed` rows of the offset were among them; there may be more than
    `total` where that is not `is_whole`.
    """

    rows: list[Cursor]
    total: int
    strategy: str
    passed: int = 0
    is_whole: bool = True


def _first_found(
    ways: Iterable[_Way], list_words: Callable[[_Way], _Words], place: Cursor | None
) -> tuple[_Way, _Words]:
    """The first way that finds a frame, else the words as they stand; for a later page that of its list."""
    first = None
    for way in ways:
        if place is None or place.kind == way.kind:
            words = list_words(way)
            first = first or (way, words)
            if words.total or place:
                return way, words
    if first is None:
        raise BadCursor("what looked alike is gone: search again")
    return first


def _by_words(
    allow: Callable[[], Finder],
    order: Order,
    start: Cursor,
    place: Cursor | None,
    limit: int,
    offset: int,
    way: _Way,
) -> _Words:
    """The page beyond `place`, and how it came about."""
    finder, asked_order = way.finder, order
    start = replace(start, kind=way.kind)
    if finder is None:
        return _Words([], 0, _strategy(way, order, order, 0))
    is_over = place is not None and place.is_near
    behind = None if is_over else place
    # A row of a list by relevance knows the block it was ranked in.
    is_ranked = order == "relevance" and (behind is None or behind.high > 0)
    rows = _rows(finder, "relevance", behind, start, limit, offset) if is_ranked else []
    total = finder.count(TOTAL_LIMIT + 1)
    is_whole = not finder.is_cut
    if order == "relevance" and (not is_ranked or (behind is None and is_whole and _is_common(allow, total))):
        order = "newest"
    if order != "relevance":
        rows = _rows(finder, order, behind, start, limit, offset)
    strategy = _strategy(way, asked_order, order, total if is_whole else TOTAL_LIMIT)
    if is_over:
        return _Words([], total, strategy, is_whole=is_whole)
    passed = offset if rows or not offset else len(_rows(finder, order, behind, start, offset, 0))
    return _Words(rows, total, strategy, passed, is_whole)


def _is_common(allow: Callable[[], Finder], total: int) -> bool:
    """Whether most frames have the words; not asked of so many that they are not counted."""
    return COMMON_LEAST <= total <= TOTAL_LIMIT and allow().count(2 * total) < 2 * total


def _near_rows(
    near: Iterable[Near], order: Order, start: Cursor, place: Cursor | None, offset: int
) -> list[Cursor]:
    """What is near in meaning, beyond `place` and `offset` further on."""

    def rank(row: Cursor) -> tuple[float, int]:
        if order == "relevance":
            return -row.score, -row.id
        return 0.0, -row.id if order == "newest" else row.id

    rows = sorted((replace(start, id=each.id, score=each.score, is_near=True) for each in near), key=rank)
    if place is not None and place.is_near:
        ids = [row.id for row in rows]
        # Scores move a little when texts come in: a row that is still there says where the list goes on.
        shown = ids.index(place.id) + 1 if place.id in ids else bisect_right(rows, rank(place), key=rank)
        rows = rows[shown:]
    return rows[offset:]


def _order(asked: Query, order: Order | None) -> Order:
    if asked.is_browse:
        return "oldest" if order == "oldest" else "newest"
    return order or "relevance"


def _strategy(way: _Way, asked: Order, order: Order, total: int) -> str:
    suffix = "" if way.kind == "text" else f"+{way.kind}"
    if order == "relevance":
        return ("bm25" if total <= RANKED_BLOCK else f"bm25_newest_{RANKED_BLOCK}") + suffix
    if asked == "relevance":
        return "newest_common" + suffix
    return "browse" if way.asked.is_browse else order + suffix


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


# -- new results --------------------------------------------------------------------------
# What has come since a list was shown: frames that the same search would list now.

MAX_NEW = 100
_DEADLINE_S = 5.0


def newest_id(
    database: Database, question: RetrievalQuery, filters: Filters, order: Order | None
) -> int | None:
    """The newest frame of the list, None where there is none. Raises `DeadlineExceeded`."""
    with database.read(_DEADLINE_S) as connection:
        near, finder = _legs(database, connection, question, filters, order, filters)
        found = finder.by_time(1, 0, None, newest_first=True) if finder else []
        return max([*found, *near], default=None)


def count_new(
    database: Database, question: RetrievalQuery, filters: Filters, order: Order | None, after_id: int
) -> int:
    """How many frames of the list are newer than `after_id`, counted no further than `MAX_NEW`."""
    later = replace(filters, start_ms=max(filters.start_ms, captured_ms_of(after_id)))
    with database.read(_DEADLINE_S) as connection:
        near, finder = _legs(database, connection, question, filters, order, later)
        arrived = {frame_id for frame_id in near if frame_id > after_id}
        if finder:
            arrived |= set(finder.by_time(MAX_NEW, 0, after_id, newest_first=False))
    return min(len(arrived), MAX_NEW)


def _legs(
    database: Database,
    connection: apsw.Connection,
    question: RetrievalQuery,
    filters: Filters,
    order: Order | None,
    passing: Filters,
) -> tuple[Iterable[int], Finder | None]:
    """The frames near by meaning, and those by words, taken as the list does, that pass `passing`."""
    asked, end_ms = query.parse(question.text), _end_ms(filters)
    allow = partial(Finder, connection, query.parse(""), filters, end_ms)
    leg = nearest_frames(database, asked, allow, question, "hybrid", _order(asked, order))
    ways = list(_ways(connection, asked, filters, end_ms, "hybrid"))
    way = next((way for way in ways if way.finder and way.finder.count(1)), ways[0])
    return leg.near, Finder(connection, way.asked, passing, end_ms) if way.finder else None
