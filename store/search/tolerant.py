"""Search that forgives: words without spaces are found in pieces, and words that look alike are found.

Words without spaces are looked for in pieces, too (`store.search.pieces`). When the words of a question,
whole or in pieces, are on fewer than `LITTLE` frames, it is asked again with what they may have been
read as (`store.search.fuzzy`), under the very same filters. Frames that have only a look-alike say
``lookalike`` in `Hit.matched`, and `Page.strategy` ends in ``+lookalike``. A cursor remembers that its
list was made this way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import apsw

from store.core.database import Database
from store.search import fuzzy, pieces, query
from store.search import search as plain
from store.search.filters import Filters
from store.search.hits import with_match_kind
from store.search.hybrid import Mode, is_exact
from store.search.query import Query
from store.search.search import Page

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
            page = plain.search(database, text, filters, mode=mode, cursor=cursor, in_pieces=True, **options)
            if cursor is not None or mode != "hybrid" or page.mode == "browse":
                return page
            if _by_words(page) >= LITTLE:
                return page
        order = options.get("order")
        # No vector: what the words alone find.
        known = plain.search(database, text, filters, order=order, limit=LITTLE, in_pieces=True)
        if not is_second and known.total >= LITTLE:
            return page
        wider = fuzzy_query(connection, asked, is_by_time=order in ("newest", "oldest"))
        if wider is None:
            if is_second:
                raise plain.BadCursor("what looked alike is gone: search again")
            return page
        inner = cursor.removeprefix(_MARK) if cursor else None
        page = plain.search(
            database, wider, filters, mode=mode, cursor=inner, is_exact=is_exact(asked), **options
        )
    return _marked(page, known)


def fuzzy_query(connection: apsw.Connection, asked: Query, *, is_by_time: bool = False) -> str | None:
    """What the second pass asks; None when no frame holds anything that looks alike."""
    return fuzzy.expand_query(connection, asked if is_by_time else pieces.split_ngrams(asked) or asked)


def _by_words(page: Page) -> int:
    return sum(bool({"text", "pieces"}.intersection(hit.matched)) for hit in page.hits)


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
