"""A picture with a known word, sent the whole way of a frame: spool, worker, index, search.

It flies in a home of its own, so that the person's sees nothing of it. The worker is the one that reads
theirs, with the same settings for reading; what could ask an endpoint is switched off.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import OcrSettings
from store.core.times import now_ms
from store.search.filters import Filters
from store.search.search import search
from store.spool.queue import Capture, Spool
from store.timeline import totals

WORD = "marigold"
_SIZE_PX = 900, 240
_LONGEST_S = 120.0
_OFF = {
    "RECOLLECT_EMBEDDING_ENGINE": "off",
    "RECOLLECT_MEMORY_REFINE": "off",
    "RECOLLECT_CONTEXT_SUMMARIES": "off",
}

Reached = Literal["nothing", "stored", "read", "found"]


def fly(settings: OcrSettings) -> tuple[Reached, str]:
    """Send one; returns how far it came, and what the worker said where it failed. Takes seconds.

    Raises `OSError` where no temporary file can be written.
    """
    with tempfile.TemporaryDirectory(prefix="recollect-canary-") as folder:
        data_dir, at_ms = DataDir(Path(folder)).create(), now_ms()
        record = Capture(capture_id=str(uuid.uuid4()), captured_ms=at_ms, source="screen", app_name="Canary")
        Spool(data_dir.spool).put(record, _picture())
        said = _work(data_dir, settings)
        database = open_database(data_dir)
        try:
            return _reached(database, at_ms), said
        finally:
            database.close_thread()


def _picture() -> bytes:
    image = Image.new("RGB", _SIZE_PX, "white")
    ImageDraw.Draw(image).text((40, 80), f"the {WORD} is here", "black", ImageFont.load_default(20))
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True)
    return buffer.getvalue()


def _work(data_dir: DataDir, settings: OcrSettings) -> str:
    """Let a worker empty the spool; returns the last line that it wrote, "" when all went well."""
    ours = ("RECOLLECT_", "OPENAI_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    reading = {
        "RECOLLECT_OCR_ENGINE": settings.engine,
        "RECOLLECT_OCR_LANGUAGES": ",".join(settings.languages),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ingest", "--home", str(data_dir.home), "--once"],
            env={**own, **reading, **_OFF}, capture_output=True, text=True, timeout=_LONGEST_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the worker did not come to its end in {_LONGEST_S:.0f} s"
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def _reached(database: Database, at_ms: int) -> Reached:
    stats = totals.store_stats(database)
    if search(database, WORD, Filters(at_ms, at_ms + 1), mode="fts", order="newest", limit=1).hits:
        return "found"
    return "read" if stats.frames_read else "stored" if stats.frames else "nothing"
