"""Activity segments, kept in step with the frames they are derived from.

`store.frames.activity_intervals` says what a segment is. A frame that comes, is extended or goes lets the
line be folded again near it. It is stored as the screen was; idle time (`store.timeline.gaps`), which the
ledger tells later, is taken out whenever it is read.

A picture that was imported is on no line: it is a moment, of which no time is known (`moments`).

Each host has a line of its own. Where several are asked for together they become one, so that no moment
counts twice: of two machines that were in use at once the one counts whose stretch began last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain
from operator import attrgetter
from typing import Any

import apsw

from store.core.database import Database, column, rows, scalar
from store.core.records import columns, insert, load
from store.frames import apps, frames
from store.frames.activity_intervals import ON_LINE, Segment, fold_intervals, joined, window
from store.frames.frames import HOSTS, ID_STEP, MAX_CAPTURED_MS, FrameRow, captured_ms_of
from store.timeline import gaps
from store.timeline.gaps import Interval, merge_intervals, subtract_intervals
from store.timeline.totals import Totals, of_segments

_HALF_A_DAY_MS = 12 * 3_600_000


def segments(database: Database, start_ms: int, end_ms: int, host: str | None = None) -> list[Segment]:
    """The segments that touch ``[start_ms, end_ms)``, in order and without overlap, clipped to it, without
    idle time: of one host, or of all.
    """
    with database.read() as connection:
        wanted = column(connection, _HOSTS) if host is None else [host]
        lines = [line for each in wanted if (line := _line(connection, start_ms, end_ms, each))]
        return lines[0] if len(lines) == 1 else _united(connection, lines)


def by_host(database: Database, start_ms: int, end_ms: int) -> dict[str, list[Segment]]:
    """The line of each host by its name, "" for this machine; none where there is no other."""
    with database.read() as connection:
        names = column(connection, _HOSTS)
        if names in ([], [""]):
            return {}
        return {name: _line(connection, start_ms, end_ms, name) for name in names}


_HOSTS = HOSTS.format(table="segments")


def moments(database: Database, start_ms: int, end_ms: int, host: str | None = None) -> list[Segment]:
    """The pictures imported of ``[start_ms, end_ms)``, in order: each a stretch that lasts no time."""
    if host:  # imports are this machine's
        return []
    return database.records(
        Segment,
        """
        select captured_ms, captured_ms, app_name, window_name, browser_url, id, id, 1, host
        from frames where source = 'import' and captured_ms >= ? and captured_ms < ? order by captured_ms, id
        """,
        (start_ms, end_ms),
    )


def _line(connection: apsw.Connection, start_ms: int, end_ms: int, host: str) -> list[Segment]:
    found: list[Segment] = []
    for piece in _stored(connection, start_ms, end_ms, host):
        if found and found[-1].end_ms == piece.start_ms and window(found[-1]) == window(piece):
            found[-1] = joined(found[-1], piece)
        else:
            found.append(piece)
    if found:
        found[0] = replace(found[0], start_ms=max(found[0].start_ms, start_ms))
        found[-1] = replace(found[-1], end_ms=min(found[-1].end_ms, end_ms))
    return gaps.without_idle(connection, found, host)


def _united(connection: apsw.Connection, lines: list[list[Segment]]) -> list[Segment]:
    """One line of several. What is covered by a later stretch goes on when that one ends before it."""
    found: list[Segment] = []
    open_: list[Segment] = []  # by their starts: the last one counts
    at_ms = 0
    by_start = sorted((segment for line in lines for segment in line), key=attrgetter("start_ms"))
    for segment in (*by_start, None):
        while open_ and (segment is None or at_ms < segment.start_ms):
            last = open_[-1]
            until_ms = last.end_ms if segment is None else min(last.end_ms, segment.start_ms)
            if at_ms < until_ms:
                is_whole = (at_ms, until_ms) == (last.start_ms, last.end_ms)
                found.append(last if is_whole else gaps.cut(connection, last, at_ms, until_ms))
                at_ms = until_ms
            if last.end_ms <= at_ms:
                open_.pop()
        if segment is None:
            break
        at_ms = segment.start_ms
        if segment.duration_ms:
            open_.append(segment)
        else:
            found.append(segment)
    return found


def imported_ms(database: Database) -> list[int]:
    """When each of all imported pictures was taken, the newest first."""
    return database.column("select captured_ms from frames where source = 'import' order by captured_ms desc")


def totals(database: Database, start_ms: int, end_ms: int, host: str | None = None) -> Totals:
    """Durations by app, window and URL in ``[start_ms, end_ms)``, of one host or of all."""
    return of_segments(segments(database, start_ms, end_ms, host), start_ms, end_ms)


def segment_of(database: Database, frame: FrameRow) -> Segment | None:
    """The segment of its host that covers a frame's moment, or None when the line has a hole there.

    Half a day is looked at either way.
    """
    span = (frame.captured_ms - _HALF_A_DAY_MS, frame.captured_ms + _HALF_A_DAY_MS)
    return next(
        (
            segment
            for segment in reversed(segments(database, *span, frame.host))
            if segment.start_ms <= frame.captured_ms <= segment.end_ms and segment.first_frame_id <= frame.id
        ),
        None,
    )


# -- writing (inside `database.write()`) --------------------------------------------------


def heartbeat(connection: apsw.Connection, frame: FrameRow) -> None:
    """Put a frame that was inserted on the line, or what it has grown by."""
    if frame.focused is not False and frame.source != "import":
        _rebuild(connection, frame.captured_ms, frame.ended_ms + 1, frame.host)


def extend(connection: apsw.Connection, frame_id: int) -> None:
    """A frame's `ended_ms` has grown: let its segment reach as far."""
    for frame in frames.select_rows(connection, "where id = :id", {"id": frame_id}):
        heartbeat(connection, frame)


def rebuild(connection: apsw.Connection, start_ms: int, end_ms: int) -> None:
    """Fold the lines again after frames in ``[start_ms, end_ms)`` came, went or changed."""
    for host in {*frames.hosts(connection), *column(connection, _HOSTS)}:
        _rebuild(connection, start_ms, end_ms, host)


def _rebuild(connection: apsw.Connection, start_ms: int, end_ms: int, host: str) -> None:
    """Fold the line of one host again.

    Starts with the segment before the range and goes on until the fold starts a segment that is
    already stored: from there on nothing can differ, for a fold remembers nothing else. A piece has at most
    five minutes of frames: in half a millisecond the newest one is folded again.
    """
    before = "select first_frame_id from segments where host = ? and start_ms < ?"
    latest = scalar(
        connection, f"{before} order by start_ms desc, first_frame_id desc limit 1", (host, start_ms)
    )
    from_id = start_ms * ID_STEP if latest is None else int(latest)
    until_id = MAX_CAPTURED_MS * ID_STEP
    fresh: set[Segment] = set()
    for segment in fold_intervals(_frames_from(connection, from_id, host)):
        starts = "select 1 from segments where host = ? and start_ms = ? and first_frame_id = ?"
        start = host, segment.start_ms, segment.first_frame_id
        if segment.start_ms >= end_ms and scalar(connection, starts, start):
            until_id = segment.first_frame_id
            break
        fresh.add(segment)
    stored = set(
        _segments(
            connection,
            """
            where host = :host and start_ms between :from_ms and :until_ms and first_frame_id >= :from_id
                and first_frame_id < :until_id
            """,
            {
                "host": host,
                "from_ms": captured_ms_of(from_id),
                "until_ms": captured_ms_of(until_id),
                "from_id": from_id,
                "until_id": until_id,
            },
        )
    )
    for segment in stored - fresh:
        connection.execute(
            "delete from segments where host = ? and start_ms = ? and first_frame_id = ?",
            (host, segment.start_ms, segment.first_frame_id),
        )
    for segment in fresh - stored:
        insert(connection, "segments", **asdict(segment))
        if segment.app_name:
            apps.give_slot(connection, segment.app_name)


def stored_line(connection: apsw.Connection) -> list[Segment]:
    """Every stored piece, in order."""
    return _segments(connection, "order by start_ms, first_frame_id")


def folded_line(connection: apsw.Connection) -> list[Segment]:
    """Every piece as the frames give it: what `stored_line` has to be."""
    lines = (fold_intervals(_frames_from(connection, 0, host)) for host in frames.hosts(connection))
    return sorted(chain.from_iterable(lines), key=attrgetter("start_ms", "first_frame_id"))


def _frames_from(connection: apsw.Connection, from_id: int, host: str) -> Iterator[tuple[Segment, bool]]:
    sql = f"""
        select captured_ms, ended_ms, app_name, window_name, browser_url, id, id, 1, host,
            coalesce(focused, 0) = 1
        from frames where host = ? and id >= ? and {ON_LINE} order by id
    """
    for *shown, is_focused in connection.execute(sql, (host, from_id)):
        yield Segment(*shown), bool(is_focused)


def _stored(connection: apsw.Connection, start_ms: int, end_ms: int, host: str) -> list[Segment]:
    # Segments of a host do not overlap: only the last one that starts before the range can reach into it.
    sql = "select start_ms from segments where host = ? and start_ms <= ? order by start_ms desc limit 1"
    first_ms = scalar(connection, sql, (host, start_ms))
    return _segments(
        connection,
        """
        where host = :host and start_ms >= :first and start_ms < :end
            and (end_ms > :start or start_ms >= :start)
        order by start_ms, first_frame_id
        """,
        {"host": host, "first": start_ms if first_ms is None else first_ms, "start": start_ms, "end": end_ms},
    )


def _segments(connection: apsw.Connection, tail: str, parameters: Any = ()) -> list[Segment]:
    return load(Segment, connection.execute(f"select {columns(Segment)} from segments {tail}", parameters))


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
            and host = :host and (focused is null or focused = 1)
            and (source <> 'import' or id = :first_frame_id)
        order by id
        """,
        {**asdict(visit), "since": start_ms, "until": end_ms},
    )


def text_of(connection: apsw.Connection, frame_id: int) -> str | None:
    """The text of a frame, or None while it was not read."""
    sql = "select text from readings where frame_id = ? and is_current = 1"
    text: str | None = scalar(connection, sql, (frame_id,))
    return text


def urls_of(connection: apsw.Connection, frame_id: int) -> list[str]:
    """Addresses that stand in a frame's text, in alphabetical order."""
    return column(connection, "select url from frame_urls where frame_id = ? order by url", (frame_id,))


def spans(database: Database, start_ms: int, end_ms: int) -> list[Interval]:
    """(start, end) of the segments that begin in a range, without idle time; each lasts a millisecond
    at least.
    """
    used: list[Interval] = []
    with database.read() as connection:
        for host in column(connection, _HOSTS):
            sql = "select start_ms, end_ms from segments where host = ? and start_ms >= ? and start_ms < ?"
            found = rows(connection, sql, (host, start_ms, end_ms))
            reach_ms = max((end for _, end in found), default=end_ms) + 1
            without_use = gaps.idle_intervals(connection, start_ms, reach_ms, host)
            used += subtract_intervals([(start, max(end, start + 1)) for start, end in found], without_use)
    return merge_intervals(used)
