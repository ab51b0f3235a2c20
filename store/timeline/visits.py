"""What was on the screen while a window was visited: the frames, texts and addresses behind segments."""

from __future__ import annotations

import apsw

from store.core.database import Database, rows
from store.timeline import idle
from store.timeline.gaps import Interval, subtract_intervals
from store.timeline.segments import Segment


def frames_of(connection: apsw.Connection, visit: Segment, start_ms: int, end_ms: int) -> list[int]:
    """Ids of the frames of a visit that were shown in a range, in order of time."""
    found = rows(
        connection,
        """
        select id from frames
        where id between :first and :last and captured_ms < :end and ended_ms >= :start
            and app_name is :app and window_name is :window and browser_url is :url
            and (focused is null or focused = 1)
        order by id
        """,
        {
            "first": visit.first_frame_id, "last": visit.last_frame_id,
            "start": start_ms, "end": end_ms,
            "app": visit.app_name, "window": visit.window_name, "url": visit.browser_url,
        },
    )  # fmt: skip
    return [frame_id for (frame_id,) in found]


def text_of(connection: apsw.Connection, frame_id: int) -> tuple[int, int, str] | None:
    """(frame, reading, text) of a frame, or None while it was not read."""
    found = rows(
        connection,
        "select frame_id, id, text from readings where frame_id = ? and is_current = 1",
        (frame_id,),
    )
    return (found[0][0], found[0][1], found[0][2]) if found else None


def urls_of(connection: apsw.Connection, frame_id: int) -> list[str]:
    """Addresses that stand in a frame's text, in alphabetical order."""
    found = rows(connection, "select url from frame_urls where frame_id = ? order by url", (frame_id,))
    return [url for (url,) in found]


def spans(database: Database, start_ms: int, end_ms: int) -> list[Interval]:
    """(start, end) of the segments that begin in a range, without idle time; each lasts a millisecond
    at least.
    """
    with database.read() as connection:
        found = rows(
            connection,
            "select start_ms, end_ms from segments where start_ms >= ? and start_ms < ?",
            (start_ms, end_ms),
        )
        reach_ms = max((end for _, end in found), default=end_ms) + 1
        without_use = idle.idle_intervals(connection, start_ms, reach_ms)
    return subtract_intervals([(start, max(end, start + 1)) for start, end in found], without_use)
