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
import json
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from typing import Literal

import apsw

from store.core.database import Database, rows
from store.core.full_text import Statistics
from store.embeddings import knn
from store.embeddings.knn import WORDS_ONLY, Near, RetrievalQuery, SemanticUnavailable
from store.frames import frames
from store.ocr import readings
from store.search import fuzzy, query
from store.search import hits as cursors
from store.search.filters import Filters, end_of
from store.search.finder import RANKED_BLOCK, Block, Finder, Ranked
from store.search.fuzzy import MatchKind
from store.search.hits import BadCursor, Cursor, Hit, folded, of_rows
from store.search.query import Query

log = logging.getLogger(__name__)

Mode = Literal["hybrid", "fts", "semantic"]
Order = Literal["relevance", "newest", "oldest"]

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
    mode: Mode | Literal["browse"]  # what it was in the end
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
    meaning: RetrievalQuery | Callable[[], RetrievalQuery] = WORDS_ONLY,
    above_chance: bool = True,
    fold: bool = False,
) -> Page:
    """One page of the frames that match `text` and `filters`.

    Blank text is a browse, newest first unless `order` is ``oldest``. `offset` skips rows beyond the
    cursor, or from the first page on. ``fts`` takes words as they stand.

    `meaning` is `text` as a vector, or says why there is none, for `fallback_reason`: then ``hybrid`` and
    ``semantic`` answer by words. One that is still being made is waited for beside the words. What means
    something near the question has to stand out of the store, unless `above_chance` is false: for somebody
    who judges each hit by himself.

    `fold` has a run of look-alike frames be one hit (`store.search.hits.folded`); totals are of frames.

    Raises `BadCursor`, and `DeadlineExceeded` when the database takes longer than `deadline_s`.
    """
    if limit < 1 or not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"limit must be at least 1 and offset from 0 to {MAX_OFFSET}: {limit}, {offset}")
    asked = query.parse(text)
    order = _order(asked, order)
    log.debug("search read as %s, order %s", asked.reading, order)
    # What a cursor must agree in with the question it is used for.
    key = hashlib.sha256("\n".join((filters.hash(), order, mode, asked.text)).encode()).hexdigest()[:16]
    place = None if cursor is None else cursors.decode(cursor, key)
    start = Cursor(key, place.end_ms if place else end_of(filters), 0)
    needed = (limit * FOLD_DEPTH if fold else limit) + 1
    with database.read(deadline_s) as connection:
        own = _Search(connection, asked, filters, mode, order, place, start, needed, offset)
        first_found = cache(own.first_found)
        leg = nearest_frames(
            database, asked, own.everything, meaning, mode, order, above_chance=above_chance,
            meanwhile=None if mode == "semantic" else first_found,
        )  # fmt: skip
        is_semantic = mode == "semantic" and bool(leg.near)
        if is_semantic:
            strategy = "cosine" if order == "relevance" else order
            way, words = next(own.ways()), _Words([], len(leg.near), strategy)
        else:
            way, words = first_found()
        having = way.finder.among(leg.near) if way.finder and leg.near and not is_semantic else set[int]()
        near = [each for each in leg.near.values() if each.id not in having]
        rows = [*words.rows, *own.near_rows(near, way.kind, offset - words.passed)][:needed]
        by_words = having | {row.id for row in rows if not row.is_near}
        found = of_rows(database, connection, way.asked, way.kind, rows, by_words, leg.near)
        is_folded = fold and not asked.is_browse
        hits, taken = folded(found, limit) if is_folded else (list(islice(found, limit)), limit)
        next_cursor = cursors.encode(rows[taken - 1]) if len(rows) > taken else None
        fresh_to_ms = readings.index_fresh_to_ms(database)
        return _page(asked, mode, way.asked, words, leg, len(near), hits, next_cursor, fresh_to_ms)


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


@dataclass(frozen=True, slots=True)
class _Search:
    """A search inside one read: what was asked, where the page before ended, where all of its pages begin."""

    connection: apsw.Connection
    asked: Query
    filters: Filters
    mode: Mode
    order: Order
    place: Cursor | None
    start: Cursor
    needed: int
    offset: int

    def finder(self, asked: Query) -> Finder:
        return Finder(self.connection, asked, self.filters, self.start.end_ms)

    def everything(self) -> Finder:
        """All that the filters let through."""
        return self.finder(query.parse(""))

    def ways(self) -> Iterator[_Way]:
        """The ways to take the words, the next one for when the one before finds no frame."""
        asked = self.asked
        if asked.tree is None:
            yield _Way("text", asked, self.finder(asked) if asked.is_browse else None)
            return
        for kind, taken in fuzzy.readings(self.connection, asked):
            yield _Way(kind, taken, self.finder(taken))
            if self.mode != "hybrid":
                return

    def first_found(self) -> tuple[_Way, _Words]:
        """The first way that finds a frame, else the words as they stand; of a later page its own."""
        first = None
        for way in self.ways():
            if self.place is None or self.place.kind == way.kind:
                words = self.by_words(way)
                first = first or (way, words)
                if words.total or self.place:
                    return way, words
        if first is None:
            raise BadCursor("what looked alike is gone: search again")
        return first

    def by_words(self, way: _Way) -> _Words:
        """The page beyond `place`, and how it came about."""
        finder, order, place = way.finder, self.order, self.place
        start = replace(self.start, kind=way.kind)
        if finder is None:
            return _Words([], 0, _strategy(way, order, order, 0))
        is_over = place is not None and place.is_near
        behind = None if is_over else place
        # A row of a list by relevance knows the block it was ranked in.
        is_ranked = order == "relevance" and (behind is None or behind.high > 0)
        rows = _rows(finder, "relevance", behind, start, self.needed, self.offset) if is_ranked else []
        total = finder.count(TOTAL_LIMIT + 1)
        is_whole = not finder.is_cut
        is_first = behind is None and is_whole
        if order == "relevance" and (not is_ranked or (is_first and self.is_common(total))):
            order = "newest"
        if order != "relevance":
            rows = _rows(finder, order, behind, start, self.needed, self.offset)
        strategy = _strategy(way, self.order, order, total if is_whole else TOTAL_LIMIT)
        if is_over:
            return _Words([], total, strategy, is_whole=is_whole)
        is_passed = rows or not self.offset
        passed = self.offset if is_passed else len(_rows(finder, order, behind, start, self.offset, 0))
        return _Words(rows, total, strategy, passed, is_whole)

    def is_common(self, total: int) -> bool:
        """Whether most frames have the words; not asked of so many that they are not counted."""
        return COMMON_LEAST <= total <= TOTAL_LIMIT and self.everything().count(2 * total) < 2 * total

    def near_rows(self, near: Iterable[Near], kind: MatchKind, offset: int) -> list[Cursor]:
        """What is near in meaning, beyond `place` and `offset` further on."""

        def rank(row: Cursor) -> tuple[float, int]:
            if self.order == "relevance":
                return -row.score, -row.id
            return 0.0, -row.id if self.order == "newest" else row.id

        start, place = replace(self.start, kind=kind, is_near=True), self.place
        rows = sorted((replace(start, id=each.id, score=each.score) for each in near), key=rank)
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
            start, id=each.id, score=each.score, low=each.block.low, high=each.block.high,
            average=statistics.average, weights=statistics.weights,
        )
        for each in finder.by_relevance(limit, offset, after, statistics)
    ]  # fmt: skip


# -- by meaning ---------------------------------------------------------------------------
# The half of a search that goes by meaning: which frames say nearly what was asked.
#
# The vectors of lines choose the nearest; which of them are about the matter their words decide, each
# compared with those of the question in meaning. Where no one knows words, what stands out of the store does.
# It answers under the very filters of the other half, and says in one word why it does not.

NEAR_LIMIT = 150
"""Frames that are found by meaning at most."""
LOOKED_AT = (30, 60)
"""So many of the nearest texts are looked at word by word, the second half only where one of the first says
what is asked: words that were never looked at take 0.5 ms each.
"""
SAYS = 0.42
"""What a text has to say of the words of a question (`RetrievalQuery.likeness`). Of 30 searches for what
is on no frame 29 find nothing, of 20 in other words 11 their frame; 27 and 6 by what stands out alone.
"""


@dataclass(frozen=True, slots=True)
class SemanticResult:
    """The frames found by meaning, best first; `reason` says why there are none."""

    near: dict[int, Near]
    reason: str | None
    since_ms: int | None = None
    """Frames before this time were not looked at: there are more vectors than the index holds."""


def nearest_frames(
    database: Database,
    asked: Query,
    allow: Callable[[], Finder],
    meaning: RetrievalQuery | Callable[[], RetrievalQuery],
    mode: Mode,
    order: Order,
    *,
    above_chance: bool = True,
    meanwhile: Callable[[], object] | None = None,
) -> SemanticResult:
    """The frames that mean what is asked, at most `NEAR_LIMIT`, among those that `allow` lets through; with
    `above_chance` only what stands out of the store (`store.embeddings.knn`, as for `meanwhile`).

    Operators, quotes and ``*`` ask for exact words, and an order by time has no place for "nearly":
    there words answer alone (``exact_query``, ``ordered_by_time``), unless meaning alone is asked.
    """
    if asked.is_browse or mode == "fts":
        return SemanticResult({}, None)
    if mode == "hybrid" and asked.is_exact:
        return SemanticResult({}, "exact_query")
    if mode == "hybrid" and order != "relevance":
        return SemanticResult({}, "ordered_by_time")
    allowed = allow()
    try:
        found = knn.nearest(
            database,
            "frame",
            meaning,
            low=allowed.range.low,
            high=allowed.range.high,
            narrow=_narrow(allowed) if allowed.is_narrowed else None,
            limit=NEAR_LIMIT,
            meanwhile=meanwhile,
        )
    except SemanticUnavailable as error:
        return SemanticResult({}, error.reason)
    if above_chance:
        found = _saying(database, found, (meaning() if callable(meaning) else meaning).likeness)
    near = {each.id: each for each in found}
    # The first moment of which the index holds every frame, and its first id.
    since_ms = frames.captured_ms_of(knn.first_held(database, "frame") + frames.ID_STEP - 1)
    first, _ = frames.id_range(since_ms, since_ms)
    is_cut = first > allowed.range.low
    reason = "older_than_vectors" if is_cut and first >= allowed.range.high else "no_vector_hits"
    return SemanticResult(near, None if near else reason, since_ms if is_cut else None)


def _saying(
    database: Database, found: Sequence[Near], likeness: Callable[[Sequence[str]], Sequence[float]] | None
) -> list[Near]:
    """Those of the nearest whose words say what is asked, the likest first; where that cannot be told, those
    that stand out.

    A sentence of another world is as near to some line as a question to its answer (z of 2.6 to 4.2 and of
    2.9 to 5.9); but no word of that line means what one of its words means.
    """
    if likeness is None:
        return [near for near in found if near.stands_out]
    sql = """
        select r.frame_id, substr(r.text, 1 + j.value ->> 1, (j.value ->> 2) - (j.value ->> 1))
        from json_each(?) j cross join readings r on r.frame_id = j.value ->> 0 and r.is_current = 1
        """
    places = json.dumps([(near.id, near.start, near.end) for near in found])
    with database.read() as connection:
        texts: dict[int, str] = dict(rows(connection, sql, (places,)))
    different = list(dict.fromkeys(texts[near.id] for near in found if near.id in texts))
    shares: dict[str, float] = {}
    for start, end in pairwise((0, *LOOKED_AT)):
        likenesses = likeness(different[start:end])
        shares.update(zip(different[start:], likenesses, strict=False))
        if max(likenesses, default=0.0) < SAYS:
            break
    if not shares:
        return [near for near in found if near.stands_out]
    weighed = [
        near._replace(score=(near.score + shares[texts[near.id]]) / 2)
        for near in found
        if shares.get(texts.get(near.id, ""), 0.0) >= SAYS
    ]
    return sorted(weighed, key=lambda near: (-near.score, -near.id))


def _narrow(allowed: Finder) -> knn.Narrow:
    def narrow(ids: list[int] | None, at_most: int) -> list[int]:
        if ids is None:
            return allowed.by_time(at_most, 0, None, newest_first=True)
        return list(allowed.among(ids))

    return narrow
