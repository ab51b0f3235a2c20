"""Frames: one stored picture of one monitor each, and what became of every capture id.

A frame id carries its time (``captured_ms * 1024 + n``), so ids sort by time and a time range is
an id range. Neighbours follow (monitor, captured_ms, id), never the id alone across monitors.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

import apsw

from store.core import records
from store.core.database import Database, column, scalar
from store.core.errors import StoreError, existing
from store.frames import text_index, visible_windows
from store.spool.queue import PAINTED_OVER, Capture

ID_STEP = 1024
"""Frames that one millisecond can hold."""
MAX_CAPTURED_MS = 2**43
"""A frame id stays below 2**53, which JavaScript holds exactly: good until the year 2248."""

_LARGEST_PACKED_PX = 10_000_000
"""A 4K screen has 8.3 million. Several pictures are held in memory while a pack is made."""

FrameStatus = Literal["stored", "searchable", "failed"]


@dataclass(frozen=True, slots=True)
class Still:
    """A picture on disk: where it is (relative to ``media/``) and what it is."""

    media_path: str
    media_type: str
    size_bytes: int
    sha256: str
    pixels_sha256: str
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A row of `frames`; the columns are explained in ``migrations/*.sql``."""

    id: int
    capture_id: str
    captured_ms: int
    ended_ms: int
    utc_offset_min: int | None
    monitor: str
    width_px: int
    height_px: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    pid: int | None
    trigger: str | None
    source: str
    batch_id: str | None
    media_path: str | None
    media_type: str
    size_bytes: int
    sha256: str
    pixels_sha256: str
    media_gone_reason: str | None
    reading_state: str
    reading_attempts: int
    reading_error: str | None
    reading_next_ms: int | None
    stored_ms: int
    read_ms: int | None
    media_gone_ms: int | None = None
    preview_path: str | None = None
    preview_sha256: str | None = None
    preview_bytes: int | None = None
    host: str = ""
    visible_id: int | None = None
    window_places: str | None = None

    @property
    def status(self) -> FrameStatus:
        """``searchable`` once read, ``failed`` when reading was given up, else ``stored``."""
        if self.reading_state == "read":
            return "searchable"
        return "failed" if self.reading_state == "failed" else "stored"


_OF_CAPTURE = (
    "capture_id", "captured_ms", "utc_offset_min", "monitor", "app_name", "window_name", "browser_url",
    "focused", "pid", "trigger", "source", "batch_id", "host",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What became of a capture id."""

    capture_id: str
    outcome: str
    frame_id: int | None
    reason: str | None
    captured_ms: int


def id_range(start_ms: int, end_ms: int) -> tuple[int, int]:
    """The half-open range of frame ids captured in ``[start_ms, end_ms)``."""
    return start_ms * ID_STEP, end_ms * ID_STEP


def captured_ms_of(frame_id: int) -> int:
    """The capture time that a frame id carries."""
    return frame_id // ID_STEP


def get(database: Database, frame_id: int) -> FrameRow:
    """One frame. Raises `NotFound`."""
    return existing(get_many(database, [frame_id]).get(frame_id), "frame", frame_id)


def count(connection: apsw.Connection, first_id: int, after_id: int, host: str | None = None) -> int:
    """How many frames have an id in ``[first_id, after_id)``, of one host or of all.

    Of all in an index a twentieth of the table's size.
    """
    sql = "select count(*) from frames where {} and id >= :first and id < :after"
    parameters = {"first": first_id, "after": after_id, "host": host}
    if host is not None:
        return int(scalar(connection, sql.format("host = :host"), parameters))
    both = " + ".join(f"({sql.format(focus)})" for focus in ("focused is null", "focused in (0, 1)"))
    return int(scalar(connection, f"select {both}", parameters))


def get_many(database: Database, frame_ids: Iterable[int]) -> dict[int, FrameRow]:
    """The frames that exist among these ids, by id."""
    wanted = [frame_id for frame_id in frame_ids if 0 <= frame_id < 2**63]
    with database.read() as connection:
        return {
            row.id: row
            for frame_id in wanted
            for row in select_rows(connection, "where id = :id", {"id": frame_id})
        }


def has_picture(connection: apsw.Connection, frame_id: int, sha256: str) -> bool:
    """Whether a frame is still there with this very picture."""
    sql = "select 1 from frames where id = ? and sha256 = ? and media_path is not null"
    return scalar(connection, sql, (frame_id, sha256)) is not None


def by_capture_id(database: Database, capture_id: str) -> FrameRow | None:
    with database.read() as connection:
        rows = select_rows(connection, "where capture_id = :capture_id", {"capture_id": capture_id})
    return rows[0] if rows else None


def latest_on_monitor(database: Database, monitor: str, before_ms: int) -> FrameRow | None:
    """The last frame of a monitor captured at or before a moment."""
    with database.read() as connection:
        tail = "where monitor = :on and captured_ms <= :at order by captured_ms desc, id desc limit 1"
        rows = select_rows(connection, tail, {"on": monitor, "at": before_ms})
    return rows[0] if rows else None


HOSTS = """
with recursive names (name) as (
    select (select min(host) from {table})
    union all
    select (select min(host) from {table} where host > name) from names where name is not null
)
select name from names where name is not null
"""
"""The hosts of a table: a step per host in its index, not per row."""


def hosts(connection: apsw.Connection) -> list[str]:
    """Of which machines there are frames, in alphabetical order; "" is this one."""
    return column(connection, HOSTS.format(table="frames"))


def newest_id(database: Database) -> int | None:
    """The frame captured last, None without any."""
    found: int | None = database.scalar("select max(id) from frames")
    return found


def newest_shown(
    database: Database, start_ms: int, end_ms: int, app_names: Collection[str] = ()
) -> int | None:
    """The newest frame of a range, of these apps where some are named; None without any.

    One that shows something, where there is one: a window that nobody knows is blacked out. And one of the
    screen that is used, for another one may not have changed for long.
    """
    first, after = id_range(start_ms, end_ms)
    found: int | None = database.scalar(
        """
        select id from (
            select max(id) as id, 0 as rank from frames
            where id >= :first and id < :after and (focused is null or focused = 1)
                and case when :apps = '[]'
                    then app_name not in (select value from json_each(:painted)) or source = 'import'
                    else app_name in (select value from json_each(:apps)) end
            union all
            select max(id), 1 from frames where id >= :first and id < :after and :apps = '[]'
        ) where id is not null order by rank limit 1
        """,
        {
            "first": first,
            "after": after,
            "apps": json.dumps(list(app_names)),
            "painted": json.dumps(list(PAINTED_OVER)),
        },
    )
    return found


def neighbours(database: Database, frame: FrameRow) -> tuple[int | None, int | None]:
    """(previous, next) frame ids on the same monitor, by time and id."""
    with database.read() as connection:
        before, after = _beside(connection, frame, "monitor = :monitor", 1)
    return before[0].id if before else None, after[0].id if after else None


def of_window(
    database: Database, frame: FrameRow, span_ms: int, at_most: int
) -> tuple[list[FrameRow], list[FrameRow]]:
    """The frames of an app's process before a frame and after it, in order of time: so many on either side
    and so near. Those of other apps between them are left out.
    """
    near = "captured_ms between :captured_ms - :span and :captured_ms + :span"
    of_app = f"monitor = :monitor and host = :host and app_name is :app_name and pid is :pid and {near}"
    with database.read() as connection:
        before, after = _beside(connection, frame, of_app, at_most, span=span_ms)
    return before[::-1], after


def _beside(
    connection: apsw.Connection, frame: FrameRow, condition: str, at_most: int, **values: int
) -> list[list[FrameRow]]:
    """The frames before one and after it that meet a condition, the nearest first."""
    return [
        select_rows(
            connection,
            f"where {condition} and (captured_ms, id) {side} (:captured_ms, :id)"
            f" order by captured_ms {way}, id {way} limit :most",
            {**asdict(frame), "most": at_most, **values},
        )
        for side, way in (("<", "desc"), (">", "asc"))
    ]


def nearest(database: Database, at_ms: int) -> FrameRow | None:
    """The frame captured nearest to a moment; the earlier of two that are equally far."""
    edge = {"edge": at_ms * ID_STEP}
    with database.read() as connection:
        before = select_rows(connection, "where id < :edge order by id desc limit 1", edge)
        after = select_rows(connection, "where id >= :edge order by id limit 1", edge)
    return min(before + after, key=lambda frame: abs(frame.captured_ms - at_ms), default=None)


def outcome(database: Database, capture_id: str) -> IngestOutcome | None:
    """What became of a capture id, or None when ingest has not seen it."""
    sql = "select capture_id, outcome, frame_id, reason, captured_ms from ingest_records where capture_id = ?"
    return database.first(IngestOutcome, sql, (capture_id,))


# -- writing (inside `database.write()`) --------------------------------------------------


def insert(connection: apsw.Connection, capture: Capture, still: Still, now_ms: int) -> int:
    """Add a frame with its index row and its outcome; returns the new id.

    The frame can be found by app, window and URL at once, and by its text when it was read. A
    frame that no look batch counted (an import, an upload) gets its own `kept` row in the ledger.
    """
    frame_id = _new_id(connection, capture.captured_ms)
    values = {name: getattr(capture, name) for name in _OF_CAPTURE}
    # Only what a capture daemon wrote can be made again byte for byte out of its pixels (`Media.exact`).
    is_small = still.width_px * still.height_px <= _LARGEST_PACKED_PX
    values["is_packable"] = is_small and capture.batch_id is not None and still.media_type == "image/webp"
    times = {"ended_ms": capture.captured_ms, "stored_ms": now_ms}
    if capture.visible is not None:
        values["visible_id"] = visible_windows.keep(connection, capture.visible)
        places = capture.places
        values["window_places"] = None if places is None else json.dumps(places, separators=(",", ":"))
    records.insert(connection, "frames", id=frame_id, **values, **asdict(still), **times)
    text_index.add(connection, frame_id)
    record_outcome(connection, capture.capture_id, "stored", capture.captured_ms, frame_id)
    if capture.app_name:
        records.insert_new(connection, "apps", name=capture.app_name, first_ms=capture.captured_ms)
    if capture.batch_id is None:
        records.insert(
            connection, "decisions", monitor=capture.monitor, decision="kept", reason=capture.source,
            start_ms=capture.captured_ms, end_ms=capture.captured_ms, looks=1,
        )  # fmt: skip
    return frame_id


def extend(connection: apsw.Connection, capture_id: str, ended_ms: int) -> int | None:
    """Say that a frame was still on the screen at `ended_ms`; returns its id, None if unknown."""
    sql = "update frames set ended_ms = max(ended_ms, ?) where capture_id = ? returning id"
    row = connection.execute(sql, (ended_ms, capture_id)).fetchone()
    return row[0] if row else None


def record_outcome(
    connection: apsw.Connection,
    capture_id: str,
    outcome: str,
    captured_ms: int,
    frame_id: int | None = None,
    reason: str | None = None,
) -> None:
    """Note what became of a capture id (stored, deduplicated, excluded, failed, deleted)."""
    connection.execute(
        """
        insert into ingest_records (capture_id, outcome, frame_id, reason, captured_ms, recorded_ms)
        values (?, ?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))
        on conflict (capture_id) do update
        set outcome = excluded.outcome, frame_id = excluded.frame_id, reason = excluded.reason
        """,
        (capture_id, outcome, frame_id, reason, captured_ms),
    )


def set_browser_url(connection: apsw.Connection, frame_id: int, url: str) -> None:
    """Fill in the address of the page on the picture, in the row and in the index.

    An address that capture knew is never replaced.
    """
    known = scalar(connection, "select browser_url is not null from frames where id = ?", (frame_id,))
    if known != 0:
        return
    text_index.remove(connection, frame_id)
    connection.execute("update frames set browser_url = ? where id = ?", (url, frame_id))
    text_index.add(connection, frame_id)


def select_rows(connection: apsw.Connection, tail: str, parameters: dict[str, Any]) -> list[FrameRow]:
    """Frames by the rest of a select statement; `tail` comes from constants, values are bound."""
    sql = f"select {records.columns(FrameRow)} from frames {tail}"
    return records.load(FrameRow, connection.execute(sql, parameters))


def _new_id(connection: apsw.Connection, captured_ms: int) -> int:
    first, after = id_range(captured_ms, captured_ms + 1)
    newest = scalar(connection, "select max(id) from frames where id >= ? and id < ?", (first, after))
    frame_id = first if newest is None else cast(int, newest) + 1
    if frame_id >= after:
        raise StoreError(f"more than {ID_STEP} frames at {captured_ms} ms")
    return frame_id
