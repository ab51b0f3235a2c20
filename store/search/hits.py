"""The hits of a page: each frame with the piece of its text that shows why it was found."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import apsw

from store.core.database import Database, scalar
from store.embeddings.knn import Near
from store.frames import frames
from store.frames.frames import FrameRow, FrameStatus
from store.search import snippet
from store.search.cursor import Cursor
from store.search.query import Query
from store.search.snippet import Snippet

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
    matched: tuple[str, ...]
    """"text" or, in its place, "pieces" or "lookalike"; "meaning"; () in a browse."""
    status: FrameStatus


def of_rows(
    database: Database,
    connection: apsw.Connection,
    asked: Query,
    ranked: Sequence[Cursor],
    by_words: Container[int] | None,
    near: Mapping[int, Near],
) -> tuple[Hit, ...]:
    """The frames of some rows, in their order.

    `by_words` are those that match by words (None: all of them), `near` those found by meaning.
    """
    found = frames.get_many(database, [row.id for row in ranked])
    hits = []
    for row in ranked:
        has_words = not asked.is_browse and (by_words is None or row.id in by_words)
        nearby = near.get(row.id)
        matched = (*(["text"] if has_words else []), *(["meaning"] if nearby else []))
        shown = _shown(connection, asked, row.id, None if has_words else nearby)
        hits.append(_hit(found[row.id], shown, row.score, matched))
    return tuple(hits)


def with_match_kind(hit: Hit, words: str) -> Hit:
    """`hit`, where its words were found in another way than as they stand."""
    return replace(hit, matched=tuple(words if each == "text" else each for each in hit.matched))


def _shown(connection: apsw.Connection, asked: Query, frame_id: int, near: Near | None) -> Snippet:
    """The piece with the words; of a frame found by meaning alone, the chunk that was nearest."""
    text = scalar(
        connection,
        # One text at a time, and in a browse only its beginning (SEA-11).
        """
        select iif(:is_browse, substr(text, 1, :chars), text)
        from readings
        where frame_id = :id and is_current = 1
        """,
        {"id": frame_id, "is_browse": asked.is_browse, "chars": _BROWSE_CHARS},
    )
    if near is not None:
        return snippet.around(text or "", near.start, near.end)
    return snippet.snippet(text or "", asked)


def _hit(frame: FrameRow, shown: Snippet, score: float, matched: tuple[str, ...]) -> Hit:
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
        matched=matched,
        status=frame.status,
    )
