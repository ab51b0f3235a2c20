"""Frames for search tests: real rows and readings, without a picture to encode."""

from __future__ import annotations

import uuid
from typing import Any

import apsw

from store.core.database import Database
from store.frames import frames
from store.frames.frames import Still
from store.ocr import readings
from store.search.filters import Filters
from store.search.hits import Hit
from store.search.search import Page, search
from tests.factories import NOON_MS, capture, text_draft

ALWAYS = Filters(0, 2 * NOON_MS)
STILL = Still(
    media_path="none.webp",
    media_type="image/webp",
    size_bytes=1,
    sha256="0" * 64,
    pixels_sha256="0" * 64,
    width_px=64,
    height_px=48,
)


def add_frame(
    connection: apsw.Connection, text: str | None = None, captured_ms: int = NOON_MS, **changes: Any
) -> int:
    """A frame in the store; with `text`, one that was read. Names are empty unless given."""
    names: dict[str, Any] = {"app_name": None, "window_name": None, **changes}
    record = capture(captured_ms, capture_id=str(uuid.uuid4()), **names)
    frame_id = frames.insert(connection, record, STILL, captured_ms)
    if text is not None:
        readings.add(connection, frame_id, text_draft(text), (), captured_ms)
    return frame_id


def add_texts(database: Database, *texts: str) -> list[int]:
    """One read frame per text, a second apart; their ids."""
    with database.write() as connection:
        return [add_frame(connection, text, NOON_MS + 1000 * n) for n, text in enumerate(texts)]


def walk(database: Database, text: str, filters: Filters = ALWAYS, **options: Any) -> list[Hit]:
    """The hits of all pages in order."""
    page = search(database, text, filters, **options)
    hits = list(page.hits)
    while page.next_cursor:
        page = search(database, text, filters, cursor=page.next_cursor, **options)
        hits += page.hits
    return hits


def ids(page: Page | list[Hit]) -> list[int]:
    return [hit.frame_id for hit in (page.hits if isinstance(page, Page) else page)]
