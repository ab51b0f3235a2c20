"""Search that forgives the reader of the pictures: a second pass for words that look alike.

When the words of a question are on fewer than `LITTLE` frames, it is asked again with what its words
may have been read as (`store.lookalikes`), under the very same filters. Frames that have only a
look-alike say ``lookalike`` in `Hit.matched`, and `Page.strategy` ends in ``+lookalike``. A cursor
remembers that its list was made this way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from store import lookalikes, query
from store import search as plain
from store.database import Database
from store.filters import Filters
from store.meaning import Mode, is_exact
from store.search import Hit, Page

LITTLE = 3
_MARK = "~"


def search(
    database: Database,
    text: str,
    filters: Filters,
    *,
    mode: Mode = "hybrid",
    cursor: str | None = None,
    deadline_s: float = 5.0,
    **options: Any,
) -> Page:
    """As `store.search.search`; ``fts`` and ``semantic`` ask for one thing alone and have no second pass.

    Raises `BadCursor` and `DeadlineExceeded` as that does; the deadline is for both passes.
    """
    with database.read(deadline_s) as connection:
        is_second = cursor is not None and cursor.startswith(_MARK)
        asked = query.parse(text)
        if not is_second:
            page = plain.search(database, text, filters, mode=mode, cursor=cursor, **options)
            if cursor is not None or mode != "hybrid" or not _is_little(database, text, filters, page):
                return page
        wider = lookalikes.expanded(connection, asked)
        if wider is None:
            if is_second:
                raise plain.BadCursor("what looked alike is gone: search again")
            return page
        inner = cursor.removeprefix(_MARK) if cursor else None
        page = plain.search(
            database, wider, filters, mode=mode, cursor=inner, is_exact=is_exact(asked), **options
        )
        exact = plain.search(database, text, filters, mode="fts", order="newest", limit=LITTLE)
    return _marked(page, {hit.frame_id for hit in exact.hits}, asked.reading)


def _is_little(database: Database, text: str, filters: Filters, page: Page) -> bool:
    if page.mode == "browse" or sum("text" in hit.matched for hit in page.hits) >= LITTLE:
        return False
    if page.mode == "fts":
        return page.total < LITTLE
    return plain.search(database, text, filters, mode="fts", order="newest", limit=1).total < LITTLE


def _marked(page: Page, exact: set[int], reading: Literal["expression", "words"]) -> Page:
    return replace(
        page,
        hits=tuple(hit if hit.frame_id in exact else _as_lookalike(hit) for hit in page.hits),
        next_cursor=_MARK + page.next_cursor if page.next_cursor else None,
        strategy=f"{page.strategy}+lookalike",
        reading=reading,
    )


def _as_lookalike(hit: Hit) -> Hit:
    return replace(hit, matched=tuple("lookalike" if each == "text" else each for each in hit.matched))
