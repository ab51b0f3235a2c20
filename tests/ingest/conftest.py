"""A home to work in, and an engine that reads what a test wrote into its script."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PIL import Image

from engines.ocr.protocol import Box, OcrEngine, OcrLine, OcrWord
from ingest.core.home import Home, open_home
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.memory.observations import HOUR_MS
from store.spool.queue import Capture, Entry
from tests.factories import NOON_MS, Clock, capture, picture, webp
from tests.ingest.remembering import Shoot, shooting


@pytest.fixture
def home(migrated: DataDir) -> Iterator[Home]:
    home = open_home(migrated, Settings())
    yield home
    home.database.close_thread()


@pytest.fixture
def shoot(database: Database, data_dir: DataDir) -> Shoot:
    return shooting(database, data_dir)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOON_MS + 3 * HOUR_MS)


class ScriptedEngine:
    """Obeys the protocol of `engines.ocr.protocol`: every picture has the same words, or an error."""

    name = "scripted"
    version = "1"
    languages = ("eng",)

    def __init__(self, text: str = "hello world", errors: list[Exception] | None = None) -> None:
        self.text = text
        self.errors = errors or []
        self.reads = 0
        self.is_closed = False

    def models(self) -> str:
        return "scripted"

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        self.reads += 1
        if self.errors:
            raise self.errors.pop(0)
        return [ocr_line(line, row) for row, line in enumerate(self.text.splitlines())]

    def close(self) -> None:
        self.is_closed = True


def ocr_line(text: str, row: int = 0) -> OcrLine:
    words, x = [], 4
    for word in text.split():
        words.append(OcrWord(word, Box(x, 4 + 20 * row, 8 * len(word), 14), 0.95))
        x += 8 * (len(word) + 1)
    return OcrLine(text, Box(4, 4 + 20 * row, x, 14), 0.95, tuple(words))


def opener(engine: OcrEngine) -> Callable[[], OcrEngine]:
    return lambda: engine


def queue(home: Home, image: Image.Image | bytes | None = None, **changes: object) -> Capture:
    """Put one capture into the spool."""
    record = capture(**changes)  # type: ignore[arg-type]
    shown = picture(record.captured_ms) if image is None else image
    home.spool.put(record, shown if isinstance(shown, bytes) else webp(shown))
    return record


def taken(home: Home, record: Capture | None = None) -> Entry:
    """Claim the oldest entry, or the one of `record`."""
    names = [name for name in home.spool.waiting() if record is None or record.capture_id in name]
    entry = home.spool.take(names[0])
    assert entry is not None
    return entry


@pytest.fixture(autouse=True)
def plenty_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's limit is meant for its own process, not for one that runs a test suite."""
    monkeypatch.setattr("ingest.worker.worker.used_bytes", lambda: 0)
