"""Idle time: stretches of the ledger in which nobody touched keyboard or mouse.

Capture enters them beside its looks, as runs of no looks with the reason ``idle``. The screen was
recorded meanwhile: what it showed stays, and only the time belongs to nobody (lesson ACT-2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import apsw

from store.core.database import Database, rows
from store.frames.activity_intervals import Segment
from store.timeline.gaps import LONGEST_RUN_MS, Interval, clipped, merge_intervals, subtract_intervals


def idle_intervals(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Interval]:
    """The idle time of ``[start_ms, end_ms)``: intervals in order, cut to it, that do not meet."""
    found = rows(
        connection,
        """
        select start_ms, end_ms
        from decisions
        where reason = 'idle' and start_ms >= :first and start_ms < :end and end_ms > :start
        order by start_ms
        """,
        {"first": start_ms - LONGEST_RUN_MS, "start": start_ms, "end": end_ms},
    )
    return merge_intervals(clipped(found, start_ms, end_ms))


def duration_ms(database: Database, start_ms: int, end_ms: int) -> int:
    """How much of ``[start_ms, end_ms)`` was idle."""
    with database.read() as connection:
        return sum(end - start for start, end in idle_intervals(connection, start_ms, end_ms))


def without_idle(connection: apsw.Connection, line: list[Segment]) -> list[Segment]:
    """A line of activity without idle time; a segment around such a stretch becomes several.

    `line` as `store.timeline.segments.segments` gives it: in order and without overlap.
    """
    if not line:
        return line
    idle = idle_intervals(connection, line[0].start_ms, line[-1].end_ms + 1)
    return [part for segment in line for part in _parts(connection, segment, idle)] if idle else line


def _parts(connection: apsw.Connection, segment: Segment, idle: list[Interval]) -> Iterable[Segment]:
    span = (segment.start_ms, segment.end_ms)
    if segment.start_ms == segment.end_ms:
        return () if any(start <= segment.start_ms < end for start, end in idle) else (segment,)
    left = subtract_intervals([span], idle)
    return (segment,) if left == [span] else [_cut(connection, segment, *part) for part in left]


def _cut(connection: apsw.Connection, segment: Segment, start_ms: int, end_ms: int) -> Segment:
    """A part of a segment, with those of its frames that were on the screen then.

    Where the part lies between two looks, it has the frame before it.
    """
    ((first_id, last_id, count, before_id),) = rows(
        connection,
        """
        select
            min(id) filter (where ended_ms >= :start),
            max(id) filter (where ended_ms >= :start),
            count(*) filter (where ended_ms >= :start),
            max(id)
        from frames
        where id between :first and :last and captured_ms < :end
            and app_name is :app and window_name is :window and browser_url is :url
            and (focused is null or focused = 1)
        """,
        {
            "first": segment.first_frame_id, "last": segment.last_frame_id,
            "start": start_ms, "end": end_ms,
            "app": segment.app_name, "window": segment.window_name, "url": segment.browser_url,
        },
    )  # fmt: skip
    return replace(
        segment,
        start_ms=start_ms,
        end_ms=end_ms,
        first_frame_id=first_id or before_id or segment.first_frame_id,
        last_frame_id=last_id or before_id or segment.first_frame_id,
        frames=count,
    )
