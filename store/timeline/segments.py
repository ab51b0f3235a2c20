"""Activity segments, kept in step with the frames they are derived from.

`store.frames.activity_intervals` says what a segment is. `heartbeat` takes one step of that fold where a
frame is the last one near; a frame that arrives late, is extended or goes makes `rebuild` fold its
neighbourhood again. Both give the same line. It is stored as the screen was; idle time
(`store.timeline.gaps`), which the ledger tells later, is taken out whenever it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import apsw

from store.core.database import Database, column, rows, scalar
from store.core.records import columns, insert, load
from store.frames import apps
from store.frames.activity_intervals import (
    MERGE_GAP_MS,
    Segment,
    ShownFrame,
    fold_intervals,
    joined,
    step,
    window,
)
from store.frames.frames import ID_STEP, MAX_CAPTURED_MS, FrameRow, captured_ms_of
from store.timeline import gaps
from store.timeline.gaps import Interval, subtract_intervals
from store.timeline.totals import Totals, of_segments

_HALF_A_DAY_MS = 12 * 3_600_000


def segments(database: Database, start_ms: int, end_ms: int) -> list[Segment]:
    """The segments that touch ``[start_ms, end_ms)``, in order, clipped to it, without idle time."""
    found: list[Segment] = []
    with database.read() as connection:
        for piece in _stored(connection, start_ms, end_ms):
            if found and found[-1].end_ms == piece.start_ms and window(found[-1]) == window(piece):
                found[-1] = joined(found[-1], piece)
            else:
                found.append(piece)
        if found:
            found[0] = replace(found[0], start_ms=max(found[0].start_ms, start_ms))
            found[-1] = replace(found[-1], end_ms=min(found[-1].end_ms, end_ms))
        return gaps.without_idle(connection, found)


def totals(database: Database, start_ms: int, end_ms: int) -> Totals:
    """Durations by app, window and URL in ``[start_ms, end_ms)``."""
    return of_segments(segments(database, start_ms, end_ms), start_ms, end_ms)


def segment_of(database: Database, frame: FrameRow) -> Segment | None:
    """The segment that covers a frame's moment, or None when the line has a hole there.

    Half a day is looked at either way.
    """
    around = segments(database, frame.captured_ms - _HALF_A_DAY_MS, frame.captured_ms + _HALF_A_DAY_MS)
    return next(
        (
            segment
            for segment in reversed(around)
            if segment.start_ms <= frame.captured_ms <= segment.end_ms and segment.first_frame_id <= frame.id
        ),
        None,
    )


# -- writing (inside `database.write()`) --------------------------------------------------


def heartbeat(connection: apsw.Connection, frame: FrameRow) -> None:
    """Put a frame that was just inserted on the line."""
    if frame.focused is False:
        return
    shown = ShownFrame(
        frame.id, frame.captured_ms, frame.ended_ms, frame.app_name, frame.window_name,
        frame.browser_url, bool(frame.focused),
    )  # fmt: skip
    current = _containing(connection, frame.id)
    if _is_followed(connection, frame.id, max(shown.ended_ms, current.end_ms if current else 0)):
        rebuild(connection, shown.captured_ms, shown.ended_ms + 1)
        return
    last = _shown(connection, current.last_frame_id) if current else None
    ended, opened, _ = step(current, last, shown)
    if ended:
        _update(connection, ended)
    if opened.first_frame_id == shown.id:
        _insert(connection, opened)
    else:
        _update(connection, opened)


def extend(connection: apsw.Connection, frame_id: int, ended_ms: int) -> None:
    """A frame's `ended_ms` has grown: let its segment reach as far."""
    shown = _shown(connection, frame_id)
    if shown is None:
        return
    current = _containing(connection, frame_id)
    if current is None or current.last_frame_id != frame_id:
        is_covered = current is not None and not shown.focused and ended_ms <= current.end_ms
        if not is_covered:
            rebuild(connection, shown.captured_ms, ended_ms + 1)
    elif _is_followed(connection, frame_id, max(ended_ms, current.end_ms)):
        rebuild(connection, shown.captured_ms, ended_ms + 1)
    elif ended_ms > current.end_ms:
        _update(connection, replace(current, end_ms=ended_ms))


def rebuild(connection: apsw.Connection, start_ms: int, end_ms: int) -> None:
    """Fold the line again after frames in ``[start_ms, end_ms)`` came, went or changed.

    Starts with the segment before the range and goes on until the fold starts a segment that is
    already stored: from there on nothing can differ, for a fold remembers nothing else.
    """
    before = _one(connection, "start_ms < :at", {"at": start_ms})
    from_id = before.first_frame_id if before else start_ms * ID_STEP
    until_id = MAX_CAPTURED_MS * ID_STEP
    current: Segment | None = None
    last: ShownFrame | None = None
    fresh: list[Segment] = []
    for frame in _frames_from(connection, from_id):
        ended, current, last = step(current, last, frame)
        if current.first_frame_id != frame.id:
            continue
        if ended:
            fresh.append(ended)
        starts = "select 1 from segments where start_ms = ? and first_frame_id = ?"
        if frame.captured_ms >= end_ms and scalar(connection, starts, (frame.captured_ms, frame.id)):
            until_id, current = frame.id, None
            break
    if current:
        fresh.append(current)
    connection.execute(
        """
        delete from segments
        where start_ms between :from_ms and :until_ms and first_frame_id >= :from_id
            and first_frame_id < :until_id
        """,
        {
            "from_ms": captured_ms_of(from_id),
            "until_ms": captured_ms_of(until_id),
            "from_id": from_id,
            "until_id": until_id,
        },
    )
    for segment in fresh:
        _insert(connection, segment)


def stored_line(connection: apsw.Connection) -> list[Segment]:
    """Every stored piece, in order."""
    return _segments(connection, "order by start_ms, first_frame_id")


def folded_line(connection: apsw.Connection) -> list[Segment]:
    """Every piece as the frames give it: what `stored_line` has to be."""
    return list(fold_intervals(_frames_from(connection, 0)))


_SHOWN = "id, captured_ms, ended_ms, app_name, window_name, browser_url, coalesce(focused, 0) = 1"
# By id, never by the index of focus, which would sort all frames after a moment.
_MAY_HAVE_FOCUS = "(+focused is null or +focused = 1)"


def _frames_from(connection: apsw.Connection, from_id: int) -> Iterator[ShownFrame]:
    sql = f"select {_SHOWN} from frames where id >= ? and {_MAY_HAVE_FOCUS} order by id"
    return (ShownFrame(*row) for row in connection.execute(sql, (from_id,)))


def _shown(connection: apsw.Connection, frame_id: int) -> ShownFrame | None:
    sql = f"select {_SHOWN} from frames where id = ? and {_MAY_HAVE_FOCUS}"
    return next(iter(load(ShownFrame, connection.execute(sql, (frame_id,)))), None)


def _is_followed(connection: apsw.Connection, frame_id: int, reach_ms: int) -> bool:
    """Whether a later frame is near enough to have a say in the same stretch."""
    sql = f"select 1 from frames where id > ? and id < ? and {_MAY_HAVE_FOCUS} limit 1"
    return scalar(connection, sql, (frame_id, (reach_ms + MERGE_GAP_MS + 1) * ID_STEP)) is not None


def _stored(connection: apsw.Connection, start_ms: int, end_ms: int) -> list[Segment]:
    # Segments do not overlap: only the last one that starts before the range can reach into it.
    sql = "select start_ms from segments where start_ms <= ? order by start_ms desc limit 1"
    first_ms = scalar(connection, sql, (start_ms,))
    return _segments(
        connection,
        """
        where start_ms >= :first and start_ms < :end and (end_ms > :start or start_ms >= :start)
        order by start_ms, first_frame_id
        """,
        {"first": start_ms if first_ms is None else first_ms, "start": start_ms, "end": end_ms},
    )


def _containing(connection: apsw.Connection, frame_id: int) -> Segment | None:
    """The last segment that starts with this frame or before it."""
    return _one(
        connection,
        "start_ms <= :at and first_frame_id <= :id",
        {"at": captured_ms_of(frame_id), "id": frame_id},
    )


def _one(connection: apsw.Connection, condition: str, parameters: dict[str, int]) -> Segment | None:
    last = f"where {condition} order by start_ms desc, first_frame_id desc limit 1"
    return next(iter(_segments(connection, last, parameters)), None)


def _segments(connection: apsw.Connection, tail: str, parameters: Any = ()) -> list[Segment]:
    return load(Segment, connection.execute(f"select {columns(Segment)} from segments {tail}", parameters))


def _insert(connection: apsw.Connection, segment: Segment) -> None:
    insert(connection, "segments", **asdict(segment))
    if segment.app_name:
        apps.give_slot(connection, segment.app_name)


def _update(connection: apsw.Connection, segment: Segment) -> None:
    connection.execute(
        """
        update segments set end_ms = :end_ms, last_frame_id = :last_frame_id, frames = :frames
        where start_ms = :start_ms and first_frame_id = :first_frame_id
        """,
        asdict(segment),
    )


# -- visits -------------------------------------------------------------------------------
# What was on the screen while a window was visited: the frames, texts and addresses behind segments.


def frames_of(connection: apsw.Connection, visit: Segment, start_ms: int, end_ms: int) -> list[int]:
    """Ids of the frames of a visit that were shown in a range, in order of time."""
    return column(
        connection,
        """
        select id from frames
        where id between :first_frame_id and :last_frame_id and captured_ms < :until and ended_ms >= :since
            and app_name is :app_name and window_name is :window_name and browser_url is :browser_url
            and (focused is null or focused = 1)
        order by id
        """,
        {**asdict(visit), "since": start_ms, "until": end_ms},
    )


def text_of(connection: apsw.Connection, frame_id: int) -> tuple[int, int, str] | None:
    """(frame, reading, text) of a frame, or None while it was not read."""
    sql = "select frame_id, id, text from readings where frame_id = ? and is_current = 1"
    found = rows(connection, sql, (frame_id,))
    return (found[0][0], found[0][1], found[0][2]) if found else None


def urls_of(connection: apsw.Connection, frame_id: int) -> list[str]:
    """Addresses that stand in a frame's text, in alphabetical order."""
    return column(connection, "select url from frame_urls where frame_id = ? order by url", (frame_id,))


def spans(database: Database, start_ms: int, end_ms: int) -> list[Interval]:
    """(start, end) of the segments that begin in a range, without idle time; each lasts a millisecond
    at least.
    """
    with database.read() as connection:
        sql = "select start_ms, end_ms from segments where start_ms >= ? and start_ms < ?"
        found = rows(connection, sql, (start_ms, end_ms))
        reach_ms = max((end for _, end in found), default=end_ms) + 1
        without_use = gaps.idle_intervals(connection, start_ms, reach_ms)
    return subtract_intervals([(start, max(end, start + 1)) for start, end in found], without_use)
