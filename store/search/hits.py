"""The hits of a page: each frame with the piece of its text that shows why it was found.

A `Cursor` says where a page ended, as an opaque string: it names the last frame that was shown, not a number
of rows, so that frames which arrive or go in between neither repeat nor hide another one. It carries a hash
of the question it belongs to; with another question it is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args

import apsw

from store.core import tokenizer
from store.core.database import Database
from store.core.errors import StoreError
from store.embeddings.knn import Near
from store.frames import frames, visible_windows
from store.frames.frames import FrameRow, FrameStatus, captured_ms_of
from store.frames.visible_windows import OtherWindow
from store.ocr import readings
from store.search.fuzzy import MatchKind
from store.search.query import Query
from store.search.snippet import Snippet, block, marked, of_chunk, snippet, without_debris


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
    alike: tuple[int, ...] = ()
    """Further frames of the same run of look-alikes, in order of time; see `folded`."""
    host: str = ""
    beside: OtherWindow | None = None
    """The window that the snippet stands in, where that is another than the one in front."""

    @property
    def shown_in(self) -> OtherWindow:
        """(app, title, address) of the window that the snippet stands in."""
        return self.beside or (self.app_name, self.window_name, self.browser_url)

    @property
    def span_ms(self) -> tuple[int, int]:
        """When the first and the last of its frames were captured."""
        moments = [self.captured_ms, *map(captured_ms_of, self.alike)]
        return min(moments), max(moments)


def of_rows(
    database: Database,
    connection: apsw.Connection,
    asked: Query,
    kind: MatchKind,
    rows: Sequence[Cursor],
    by_words: Container[int],
    near: Mapping[int, Near],
) -> Iterator[Hit]:
    """The frames of some rows, in their order, each made when it is asked for.

    `by_words` are those that match by words, in the way `kind`; `near` those found by meaning.
    """
    found = frames.get_many(database, [row.id for row in rows])
    for row in rows:
        has_words = not asked.is_browse and row.id in by_words
        nearby = near.get(row.id)
        matched = (*([kind] if has_words else []), *(["meaning"] if nearby else []))
        frame = found[row.id]
        shown, beside = _shown(connection, asked, frame, None if has_words else nearby)
        yield Hit(
            frame.id, frame.captured_ms, frame.app_name, frame.window_name, frame.browser_url, frame.focused,
            frame.monitor, shown.text, shown.highlights, row.score, matched, frame.status,
            host=frame.host, beside=beside,
        )  # fmt: skip


RUN_GAP_MS = 30 * 60_000
"""Look-alike frames further apart than this are not of one run."""
_SAME_SHARE = 0.8


def folded(hits: Iterable[Hit], limit: int) -> tuple[list[Hit], int]:
    """Up to `limit` hits with those that look alike folded into the first of them, and how many were taken.

    Alike are frames of one window and address, each at most `RUN_GAP_MS` from the run, whose matched lines
    have four of five words in common: a changed figure in a short line is a hit of its own.
    """
    runs: list[_Run] = []
    places: dict[tuple[Any, ...], list[_Run]] = {}
    taken = 0
    for hit in hits:
        # What is near in meaning alone is a group of its own.
        place = (hit.app_name, hit.window_name, hit.browser_url, hit.beside, hit.matched == ("meaning",))
        words, at_ms = _matched_words(hit), hit.captured_ms
        run = next((run for run in places.get(place, ()) if run.continues(at_ms, words)), None)
        if run is not None:
            run.alike.append(hit.frame_id)
            run.first_ms, run.last_ms = min(run.first_ms, at_ms), max(run.last_ms, at_ms)
        elif len(runs) == limit:
            break
        else:
            runs.append(_Run(hit, words, at_ms, at_ms, []))
            places.setdefault(place, []).append(runs[-1])
        taken += 1
    return [replace(run.hit, alike=tuple(sorted(run.alike))) for run in runs], taken


@dataclass(slots=True)
class _Run:
    hit: Hit
    words: frozenset[str]
    first_ms: int
    last_ms: int
    alike: list[int]

    def continues(self, at_ms: int, words: frozenset[str]) -> bool:
        """Whether a frame of its window with these words belongs to it."""
        if not self.first_ms - RUN_GAP_MS <= at_ms <= self.last_ms + RUN_GAP_MS:
            return False
        return len(self.words & words) >= _SAME_SHARE * max(len(self.words), len(words))


def _matched_words(hit: Hit) -> frozenset[str]:
    """The words of the lines with highlights, of the first line where there are none."""
    lines, at = [], 0
    for line in hit.snippet.split("\n"):
        end = at + len(line)
        if any(a < end and b > at for a, b in hit.highlights) or not (hit.highlights or at):
            lines.append(line)
        at = end + 1
    return frozenset(token.text for line in lines for token in tokenizer.tokens(line))


def _shown(
    connection: apsw.Connection, asked: Query, frame: FrameRow, near: Near | None
) -> tuple[Snippet, OtherWindow | None]:
    """The piece with the words; of a frame found by meaning alone, the chunk that was nearest. And the window
    that it stands in, where that is not the one in front.
    """
    sql = "select text, layout from readings where frame_id = ? and is_current = 1"
    text, layout = connection.execute(sql, (frame.id,)).fetchone() or ("", None)
    heading = frame.window_name, frame.browser_url
    shown = (
        of_chunk(text, near.start, near.end, heading) if near is not None else snippet(text, asked, heading)
    )
    lines = list(readings.places(layout)) if layout else []
    piece = without_debris(shown, readings.doubts(connection, frame.id, shown.start), block(shown, lines))
    boxes = [line.box for line in marked(shown, lines)]
    if not visible_windows.lies_beside(frame.window_places, boxes):
        return piece, None
    return piece, visible_windows.windows_of(connection, frame.id).of_all(boxes)


_MAX_CHARS = 4_096
_MAX_ID = 2**62
# Far beyond any score; keeps arithmetic with a made-up cursor finite.
_MAX_NUMBER = 1e9


class BadCursor(StoreError):
    """The cursor is damaged, or belongs to another query, order or filter."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page.

    `key` is the hash of the question, `end_ms` the end of its range when the first page was made.
    `kind` is the way in which the words were taken, `is_near` whether the row was found by meaning.
    The rest is for relevance: the row's score, the block of ids ``[low, high)`` it was ranked in,
    and the statistics the scores were made with (`store.core.full_text.Statistics`).
    """

    key: str
    end_ms: int
    id: int
    kind: MatchKind = "text"
    is_near: bool = False
    score: float = 0.0
    low: int = 0
    high: int = 0
    average: float = 1.0
    weights: tuple[float, ...] = ()


def encode(cursor: Cursor) -> str:
    """The cursor as base64url text."""
    packed = json.dumps(list(asdict(cursor).values()), separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def decode(text: str, key: str) -> Cursor:
    """The cursor in `text`. Raises `BadCursor` unless `encode` made it for the question `key`."""
    if len(text) > _MAX_CHARS:
        raise BadCursor("the cursor is too long")
    try:
        packed = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        values = json.loads(packed)
    except (UnicodeError, binascii.Error, ValueError, RecursionError) as error:
        raise BadCursor("the cursor is damaged") from error
    if not _is_sound(values):
        raise BadCursor("the cursor is damaged")
    if values[0] != key:
        raise BadCursor("the cursor belongs to another query or other filters")
    read = Cursor(*values)
    return replace(read, weights=tuple(read.weights))


def _is_sound(values: Any) -> bool:
    if not isinstance(values, list) or len(values) != len(fields(Cursor)):
        return False
    key, end_ms, frame_id, kind, is_near, score, low, high, average, weights = values
    return (
        isinstance(key, str)
        and kind in get_args(MatchKind)
        and isinstance(is_near, bool)
        and all(type(number) is int and 0 <= number <= _MAX_ID for number in (end_ms, frame_id, low, high))
        and isinstance(weights, list)
        and all(type(n) in (int, float) and 0 <= n <= _MAX_NUMBER for n in (score, average, *weights))
        and average >= 1
    )
