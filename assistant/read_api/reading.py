"""Frames and activity as a call may see them: past today's rules, and only then counted.

Rules are regular expressions and word rules over app, title and address, which SQL cannot ask
for. So a page is read, what the rules keep back is taken out, and the next page fills the space,
until the page is full or `MAX_ROUNDS` pages were read. The page is then short and says how to go
on; nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assistant.read_api.calls import ReadCall
from assistant.read_api.errors import ReadRefused
from store.frames import frames
from store.frames.activity_intervals import Segment
from store.frames.frames import FrameRow
from store.search import search
from store.search.search import Filters, Hit, Order, Page
from store.timeline import ledger
from store.timeline import segments as activity
from store.timeline.gaps import Gap
from store.timeline.totals import Totals, of_segments

MAX_ROUNDS = 50
"""Pages that one answer may read: some tenths of a second where a rule hides almost everything."""


@dataclass(frozen=True, slots=True)
class Found:
    """Hits that may be seen and are wanted. `passed_over` were neither.

    `page` is the last page that was read: it says how it searched, and counts everything.
    """

    hits: tuple[Hit, ...]
    passed_over: int
    next_cursor: str | None
    page: Page


def find(
    call: ReadCall,
    text: str,
    filters: Filters,
    *,
    limit: int,
    order: Order | None = None,
    cursor: str | None = None,
    wanted: Callable[[Hit], bool] = lambda hit: True,
) -> Found:
    """Up to `limit` hits that the rules let out and `wanted` accepts, and where they go on."""
    asked = call.library.embedder.asked(text)
    hits: list[Hit] = []
    looked_at = 0
    for _ in range(MAX_ROUNDS):
        page = search.fuzzy_search(
            call.database, text, filters, limit=limit - len(hits), order=order, cursor=cursor, **asked
        )
        hits += [hit for hit in page.hits if call.shows(hit) and wanted(hit)]
        looked_at += len(page.hits)
        cursor = page.next_cursor
        if cursor is None or len(hits) == limit:
            break
    call.returned += len(hits)
    return Found(tuple(hits), looked_at - len(hits), cursor, page)


def frame(call: ReadCall, frame_id: int) -> FrameRow:
    """One frame. Raises `Refused` when a rule leaves its window out, `FrameNotFound` when there is none."""
    found = frames.get(call.database, frame_id)
    if not call.shows(found):
        raise ReadRefused("withheld", f"an exclusion rule of today leaves out the window of frame {frame_id}")
    return found


def neighbours(call: ReadCall, of: FrameRow) -> tuple[int | None, int | None]:
    """(previous, next) frame ids on the same monitor; None also where a rule hides that frame."""
    ids = frames.neighbours(call.database, of)
    found = frames.get_many(call.database, [frame_id for frame_id in ids if frame_id is not None])
    seen = {frame_id for frame_id, row in found.items() if call.shows(row)}
    previous, following = (frame_id if frame_id in seen else None for frame_id in ids)
    return previous, following


def segments(call: ReadCall, start_ms: int, end_ms: int) -> list[Segment]:
    """The stretches of activity of a range, without those in windows that a rule leaves out."""
    return [each for each in activity.segments(call.database, start_ms, end_ms) if call.shows(each)]


def summary(call: ReadCall, start_ms: int, end_ms: int) -> tuple[Totals, list[Gap]]:
    """Time by app, window and address, and the gaps with their reasons."""
    totals = of_segments(segments(call, start_ms, end_ms), start_ms, end_ms)
    return totals, ledger.gaps(call.database, start_ms, end_ms, call.now_ms)
