"""What the assistant's tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from store.database import Database
from store.frames import ID_STEP


def insert_bare_frames(database: Database, ids: Iterable[int], **columns: Callable[[int], Any]) -> None:
    """Rows without pictures, for what only looks at rows; `columns` give values by id."""
    names = ", ".join(columns)
    marks = ", ".join("?" * len(columns))
    with database.write() as connection:
        connection.executemany(
            f"""
            insert into frames (id, capture_id, captured_ms, ended_ms, width_px, height_px, source,
                media_type, size_bytes, sha256, pixels_sha256, stored_ms{", " if names else ""}{names})
            values (?, ?, ?, ?, 64, 48, 'screen', 'image/webp', 1, '', '', 0
                {", " if marks else ""}{marks})
            """,
            [(n, str(n), n // ID_STEP, n // ID_STEP, *(value(n) for value in columns.values())) for n in ids],
        )
