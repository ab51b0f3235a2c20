"""Words that frames are marked with."""

from __future__ import annotations

import apsw

from store.database import Database, rows
from store.upserts import plain

MAX_TAG_CHARS = 64


def add(connection: apsw.Connection, frame_id: int, tag: str, now_ms: int) -> bool:
    """Mark a frame; False when it has the tag already. Case does not matter, the first writing stays.

    Raises `ValueError` for a blank or overlong tag.
    """
    tag = " ".join(plain(tag).split())
    if not 0 < len(tag) <= MAX_TAG_CHARS:
        raise ValueError(f"a tag has 1 to {MAX_TAG_CHARS} characters")
    connection.execute(
        "insert or ignore into frame_tags (frame_id, tag, created_ms) values (?, ?, ?)",
        (frame_id, tag, now_ms),
    )
    return connection.changes() > 0


def remove(connection: apsw.Connection, frame_id: int, tag: str) -> bool:
    """Take a tag off a frame; False when it had none such."""
    connection.execute("delete from frame_tags where frame_id = ? and tag = ?", (frame_id, tag))
    return connection.changes() > 0


def of_frame(database: Database, frame_id: int) -> list[str]:
    """The tags of a frame, in alphabetical order."""
    with database.read() as connection:
        found = rows(connection, "select tag from frame_tags where frame_id = ? order by tag", (frame_id,))
    return [tag for (tag,) in found]
