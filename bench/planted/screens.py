"""The sample week's scenes in a database, one frame each: as they were drawn, or as they are read.

The drawn lines show what is the checker's doing alone; read by the engine of this machine, with its
slips, torn lines and confidences, they show what a person gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from zoneinfo import ZoneInfo

from PIL import Image

from assistant.core.strings import duration
from engines.ocr.protocol import OcrEngine
from ingest.demo import drawing, generator
from ingest.demo.days import Moment, Options, Visit, all_visits, plan
from ingest.demo.drawing import Canvas
from ingest.demo.story import figures
from ingest.reading.reader import draft_of
from store.core.database import Database
from store.frames import frames
from store.frames.frames import Still
from store.ocr import readings
from store.ocr.readings import Box, DraftLine, DraftWord, TextDraft
from store.timeline import segments

ZONE = ZoneInfo("Europe/Berlin")
SEED = 1
_STILL = Still("none", "image/webp", 1, "0" * 64, "0" * 64, 1280, 800)


@dataclass(frozen=True, slots=True)
class Screen:
    """The frame that stands for a scene, every line that was on it, and the text it is stored with."""

    frame_id: int
    captured_ms: int
    lines: tuple[str, ...]
    text: str


def values() -> dict[str, str]:
    """The figures of the week that `fill` puts into a database."""
    return figures(SEED, 0)


def fill(database: Database, engine: OcrEngine | None = None) -> dict[str, Screen]:
    """One frame for each scene, at its last and fullest; by the scene's name in the story. Without an
    engine the frames are read without a mistake.
    """
    found = drawing.find_fonts()
    options = Options(date(2026, 11, 20), ZONE, seed=SEED, chinese=found.chinese is not None)
    fullest: dict[str, tuple[Visit, Moment]] = {}
    for visit in all_visits(plan(options)):
        fullest[visit.script.id] = visit, visit.moments[-1]
    return {name: _stored(database, found, engine, *shown) for name, shown in fullest.items()}


def measured(database: Database, screens: Mapping[str, Screen]) -> dict[str, str]:
    """What code has measured of the week: the longest app with its time, and the one after it."""
    times = [screen.captured_ms for screen in screens.values()]
    first, second, *_ = segments.totals(database, min(times), max(times) + 1).by_app
    return {"app": first.name or "", "spent": duration(first.duration_ms), "other_app": second.name or ""}


def _stored(
    database: Database, found: drawing.Fonts, engine: OcrEngine | None, visit: Visit, moment: Moment
) -> Screen:
    canvas = generator.picture(found, ZONE, visit, moment)
    lines = tuple(canvas.lines)
    draft = _drawn(lines) if engine is None else _read(engine, canvas)
    with database.write() as connection:
        frame_id = frames.insert(connection, generator.capture(SEED, ZONE, visit, moment), _STILL, 0)
        readings.add(connection, frame_id, draft, (), 0)
        row = frames.get(database, frame_id)
        frames.extend(connection, row.capture_id, moment.ended_ms)
        segments.heartbeat(connection, frames.get(database, frame_id))
    stored = readings.current_reading(database, frame_id)
    assert stored is not None
    return Screen(frame_id, moment.captured_ms, lines, stored.text)


def _read(engine: OcrEngine, canvas: Canvas) -> TextDraft:
    with Image.open(BytesIO(canvas.webp())) as image:
        return draft_of(engine, engine.read(image.convert("RGB")), 0)


def _drawn(lines: tuple[str, ...]) -> TextDraft:
    drafted = []
    for at, line in enumerate(lines):
        words, x = [], 0
        for word in line.split():
            words.append(DraftWord(word, Box(x, at * 20, 10 * len(word), 16), 0.95))
            x += 10 * (len(word) + 1)
        if words:
            drafted.append(DraftLine(Box(0, at * 20, max(x, 1), 16), 0.95, tuple(words)))
    return TextDraft(tuple(drafted), "drawn", "eng", 1)
