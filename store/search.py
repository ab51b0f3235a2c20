"""Search: the frames that match a text and some filters, page by page.

Rows and total come from the same ``where``; nothing is filtered after it (SEA-2, SEA-7). A time
range is a range of ids, which the table and the full-text index both walk in order. Pages follow
a cursor, so that page 1,000 costs what page 1 costs (SEA-9).

By relevance, the newest `RANKED_BLOCK` matches are put in order and come first; then the next
newest, and so on. A word that is on every frame thus costs no more than others, and `strategy`
says when it was so.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace
from typing import Literal

import apsw

from store import cursor as cursors
from store import frames, query, reading_queue, snippet
from store.cursor import BadCursor, Cursor
from store.database import Database, scalar
from store.filters import Filters
from store.finder import RANKED_BLOCK, Block, Finder, Ranked
from store.frames import FrameRow, FrameStatus
from store.query import Query
from store.ranking import Statistics
from store.snippet import spans
from store.times import now_ms

__all__ = ["BadCursor", "Filters", "Hit", "Order", "Page", "search", "spans"]

log = logging.getLogger(__name__)

TOTAL_LIMIT = 10_000
"""Totals are exact up to here; above, `Page.total` is this number and `total_is_exact` false."""
MAX_OFFSET = 10_000

Mode = Literal["hybrid", "fts", "semantic"]
Order = Literal["relevance", "newest", "oldest"]
# Enough of a text to end its beginning at a word.
_BROWSE_CHARS = 2 * snippet.SNIPPET_CHARS


@dataclass(frozen=True, slots=True)
class Hit:
    """A frame that was found. `highlights` are (start, end) characters of `snippet`."""

    frame_id: int
    captured_ms: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    monitor: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    score: float  # higher is better; 0 unless the order is relevance
    matched: tuple[str, ...]  # ("text",), or () in a browse
    status: FrameStatus


@dataclass(frozen=True, slots=True)
class Page:
    """Hits in order, where the next page begins, and how they were found."""

    hits: tuple[Hit, ...]
    next_cursor: str | None
    total: int
    total_is_exact: bool
    mode: Literal["fts", "browse"]
    strategy: str  # browse, newest, oldest, bm25, bm25_newest_2000
    fallback_reason: str | None
    reading: Literal["expression", "words"]
    index_fresh_to_ms: int | None


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
) -> Page:
    """One page of the frames that match `text` and `filters`.

    Blank text is a browse, newest first unless `order` is ``oldest``. There are words only:
    ``hybrid`` and ``semantic`` answer with words and say so in `fallback_reason`. `offset` skips
    rows beyond the cursor, or from the first page on.

    Raises `BadCursor`, and `DeadlineExceeded` when the database takes longer than `deadline_s`.
    """
    if limit < 1 or not 0 <= offset <= MAX_OFFSET:
        raise ValueError(f"limit must be at least 1 and offset from 0 to {MAX_OFFSET}: {limit}, {offset}")
    asked = query.parse(text)
    order = _order(asked, order)
    log.debug("search read as %s, order %s", asked.reading, order)
    key = _key(asked, filters, order)
    place = None if cursor is None else cursors.decode(cursor, key)
    end_ms = place.end_ms if place else _end_ms(filters)
    with database.read(deadline_s) as connection:
        total, rows = 0, list[Cursor]()
        if asked.is_browse or asked.tree is not None:
            finder = Finder(connection, asked, filters, end_ms)
            rows = _rows(finder, asked, order, place, Cursor(key, end_ms, 0), limit + 1, offset)
            total = finder.count(TOTAL_LIMIT + 1)
        hits = _hits(database, connection, asked, rows[:limit])
        fresh_to_ms = reading_queue.index_fresh_to_ms(database)
    return Page(
        hits=hits,
        next_cursor=cursors.encode(rows[limit - 1]) if len(rows) > limit else None,
        total=min(total, TOTAL_LIMIT),
        total_is_exact=total <= TOTAL_LIMIT,
        mode="browse" if asked.is_browse else "fts",
        strategy=_strategy(asked, order, total),
        fallback_reason=None if asked.is_browse or mode == "fts" else "no_embeddings",
        reading=asked.reading,
        index_fresh_to_ms=fresh_to_ms,
    )


def _order(asked: Query, order: Order | None) -> Order:
    if asked.is_browse:
        return "oldest" if order == "oldest" else "newest"
    return order or "relevance"


def _strategy(asked: Query, order: Order, total: int) -> str:
    if order != "relevance":
        return "browse" if asked.is_browse else order
    return "bm25" if total <= RANKED_BLOCK else f"bm25_newest_{RANKED_BLOCK}"


def _key(asked: Query, filters: Filters, order: Order) -> str:
    """What a cursor must agree in with the question it is used for."""
    question = "\n".join((filters.hash(), order, asked.text))
    return hashlib.sha256(question.encode()).hexdigest()[:16]


def _end_ms(filters: Filters) -> int:
    # The end is not part of the range, this millisecond is.
    return now_ms() + 1 if filters.end_ms is None else filters.end_ms


def _rows(
    finder: Finder, asked: Query, order: Order, place: Cursor | None, start: Cursor, limit: int, offset: int
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


def _hits(
    database: Database, connection: apsw.Connection, asked: Query, rows: list[Cursor]
) -> tuple[Hit, ...]:
    found = frames.get_many(database, [row.id for row in rows])
    return tuple(_hit(connection, asked, found[row.id], row.score) for row in rows)


def _hit(connection: apsw.Connection, asked: Query, frame: FrameRow, score: float) -> Hit:
    text = scalar(
        connection,
        # One text at a time, and in a browse only its beginning (SEA-11).
        """
        select iif(:is_browse, substr(text, 1, :chars), text)
        from readings
        where frame_id = :id and is_current = 1
        """,
        {"id": frame.id, "is_browse": asked.is_browse, "chars": _BROWSE_CHARS},
    )
    shown = snippet.snippet(text or "", asked)
    return Hit(
        frame_id=frame.id,
        captured_ms=frame.captured_ms,
        app_name=frame.app_name,
        window_name=frame.window_name,
        browser_url=frame.browser_url,
        focused=frame.focused,
        monitor=frame.monitor,
        snippet=shown.text,
        highlights=shown.highlights,
        score=score,
        matched=() if asked.is_browse else ("text",),
        status=frame.status,
    )
