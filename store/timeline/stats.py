"""How much there is: counts for status, health and the setup check."""

from __future__ import annotations

from dataclasses import dataclass

from store.core.database import Database, rows, scalar
from store.frames.frames import id_range


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts over everything stored; times are None while there is no frame."""

    frames: int
    frames_read: int
    frames_to_read: int
    frames_failed: int
    pictures_bytes: int
    first_ms: int | None
    last_ms: int | None
    chats: int


def store_stats(database: Database) -> Stats:
    with database.read() as connection:
        ((frames, read, waiting, failed, size, first, last),) = rows(
            connection,
            """
            select count(*), count(*) filter (where reading_state = 'read'),
                count(*) filter (where reading_state = 'pending'),
                count(*) filter (where reading_state = 'failed'),
                coalesce(sum(size_bytes) filter (where media_path is not null), 0),
                min(captured_ms), max(captured_ms)
            from frames
            """,
        )
        chats = scalar(connection, "select count(*) from conversations")
    return Stats(frames, read, waiting, failed, size, first, last, chats)


def pictures_between(database: Database, start_ms: int, end_ms: int) -> tuple[int, int | None]:
    """(bytes of the pictures captured in a range, when the first of them was captured)."""
    first, after = id_range(start_ms, end_ms)
    with database.read() as connection:
        ((size, oldest),) = rows(
            connection,
            """
            select coalesce(sum(size_bytes), 0), min(captured_ms)
            from frames
            where id >= ? and id < ?
            """,
            (first, after),
        )
    return size, oldest


def newest_read(database: Database, limit: int) -> list[int]:
    """Ids of the newest frames whose text was read, newest first."""
    with database.read() as connection:
        found = rows(
            connection,
            "select id from frames where reading_state = 'read' order by id desc limit ?",
            (limit,),
        )
    return [frame_id for (frame_id,) in found]


def last_turn_status(database: Database) -> str | None:
    """How the last question that has ended ended: ``done`` or ``failed``; None before the first."""
    with database.read() as connection:
        found = scalar(
            connection, "select status from turns where status <> 'running' order by id desc limit 1"
        )
    return None if found is None else str(found)


def damage(database: Database) -> str | None:
    """What SQLite's own check of the file says is wrong, or None. Takes as long as reading the file."""
    with database.read(deadline_s=60) as connection:
        verdict = scalar(connection, "pragma quick_check(1)")
    return None if verdict == "ok" else str(verdict)
