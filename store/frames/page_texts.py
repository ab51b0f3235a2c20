"""What the browser told of the pages on a frame, kept until the frame was read: `store.spool.page_text`."""

from __future__ import annotations

import zlib

import apsw

from store.core.database import Database
from store.spool import page_text
from store.spool.page_text import PageText


def add(connection: apsw.Connection, frame_id: int, pages: list[PageText]) -> None:
    """For who reads the frame. Call inside `Database.write()`."""
    content = zlib.compress(page_text.encode(pages), 6)
    connection.execute("insert into page_texts (frame_id, content) values (?, ?)", (frame_id, content))


def of_frame(database: Database, frame_id: int) -> list[PageText]:
    """Empty where nothing was told, or the frame was read already."""
    content = database.scalar("select content from page_texts where frame_id = ?", (frame_id,))
    return page_text.decode(zlib.decompress(content)) if content else []
