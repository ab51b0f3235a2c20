"""Which frames wait to be read, and what became of the tries.

The frames themselves are the queue: a state, the number of tries and the next one (OCR-2). What
writes here runs inside `database.write()`.
"""

from __future__ import annotations

import apsw

from store.core.database import Database, scalar
from store.frames.frames import FrameRow, captured_ms_of, id_range, select_rows


def pending_frames(database: Database, now_ms: int, limit: int) -> list[FrameRow]:
    """Frames whose text is still to be read and whose next try is due, oldest first."""
    with database.read() as connection:
        return select_rows(
            connection,
            """
            where reading_state = 'pending' and coalesce(reading_next_ms, 0) <= :now
            order by id
            limit :limit
            """,
            {"now": now_ms, "limit": limit},
        )


def count_pending(database: Database) -> int:
    """How many frames wait to be read."""
    with database.read() as connection:
        return int(scalar(connection, "select count(*) from frames where reading_state = 'pending'"))


def count_unread(connection: apsw.Connection, start_ms: int, end_ms: int) -> int:
    """How many frames of ``[start_ms, end_ms)`` still wait to be read: no word finds them yet."""
    first, after = id_range(start_ms, end_ms)
    sql = "select count(*) from frames where reading_state = 'pending' and id >= ? and id < ?"
    return int(scalar(connection, sql, (first, after)))


def index_fresh_to_ms(database: Database) -> int | None:
    """Up to which moment every frame has been read: None when there is no frame at all.

    Frames that could not be read do not hold it back, they are counted as failed; nor do those that
    are read again, whose last reading is searched meanwhile.
    """
    with database.read() as connection:
        waiting = scalar(
            connection, "select min(id) from frames where reading_state = 'pending' and read_ms is null"
        )
        if waiting is not None:
            before = scalar(connection, "select max(id) from frames where id < ?", (waiting,))
            return None if before is None else captured_ms_of(before)
        newest = scalar(connection, "select max(id) from frames")
    return None if newest is None else captured_ms_of(newest)


def mark_reading_failed(connection: apsw.Connection, frame_id: int, error: str, next_ms: int | None) -> None:
    """Count a failed reading: tried again at `next_ms`, or given up with None.

    A frame that had been read before keeps that reading.
    """
    connection.execute(
        """
        update frames
        set reading_state = case
                when :next_ms is not null then 'pending'
                when read_ms is not null then 'read'
                else 'failed'
            end,
            reading_attempts = reading_attempts + 1,
            reading_error = :error,
            reading_next_ms = :next_ms
        where id = :id
        """,
        {"id": frame_id, "error": error, "next_ms": next_ms},
    )


def mark_unavailable(connection: apsw.Connection, frame_id: int, reason: str) -> None:
    """No engine can read this frame now; `requeue_unavailable` tries again when one can."""
    connection.execute(
        "update frames set reading_state = 'unavailable', reading_error = :reason where id = :id",
        {"id": frame_id, "reason": reason},
    )


def requeue_unavailable(connection: apsw.Connection) -> int:
    """An engine has become available: queue every frame that waited for one."""
    connection.execute(
        """
        update frames
        set reading_state = 'pending', reading_error = null
        where reading_state = 'unavailable'
        """
    )
    return connection.changes()


def read_again(database: Database, frame_id: int) -> bool:
    """Queue a frame whose text was read, or could not be; False when it waits already or is unknown.

    Search uses the reading there is until the new one is stored.
    """
    with database.write() as connection:
        connection.execute(
            """
            update frames
            set reading_state = 'pending', reading_attempts = 0, reading_error = null,
                reading_next_ms = null
            where id = ? and reading_state <> 'pending'
            """,
            (frame_id,),
        )
        return bool(connection.changes())
