"""A home folder with days of realistic frames, for looking at the pages.

``python -m tests.end_to_end.demo_home FOLDER``

The pictures are the shared screens; their true words stand in for OCR, so nothing is read here.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from store.core import preferences
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.preferences import DayClock
from store.frames import apps, frames
from store.frames.frames import Still
from store.frames.media import Media
from store.ocr import readings
from store.ocr.readings import Box, DraftLine, DraftWord, TextDraft
from store.sources import entities
from store.sources.entities import Provenance
from store.spool import process_state
from store.spool.queue import Capture
from store.timeline import segments
from tests.factories import CASES

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 20, 18, 3, 0, tzinfo=ZONE)
SCREENS = CASES / "screens" / "frames"

EARLIER = 4
"""Each frame of the days before is shown for so much longer: they are seen as days, not frame by frame."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is on the screen: an app, a window, and the screens that may show it."""

    app: str
    window: str
    url: str | None
    screens: tuple[str, ...]
    weight: int


SCENES = (
    Scene("Code", "retention.py - recall - Visual Studio Code", None, ("code_dark12", "code_dark13"), 9),
    Scene("Code", "settings.py - recall - Visual Studio Code", None, ("code_light13", "code_solar14"), 5),
    Scene("Chrome", "SQLite FTS5 Extension", "https://sqlite.org/fts5.html", ("docs_sidebar",), 4),
    Scene("Chrome", "Retention in practice", "https://en.wikipedia.org/wiki/Data_retention",
          ("article_sans14", "article_serif16", "article_sans12_2col"), 4),
    Scene("Chrome", "产品周报 第46周", "https://docs.example.cn/weekly/46", ("zh_light16", "zh_mixed14"), 3),
    Scene("Slack", "#backend - Recall", None, ("chat_dark",), 5),
    Scene("Thunderbird", "Inbox - Mozilla Thunderbird", None, ("mail_light",), 2),
    Scene("Grafana", "Ingest - Dashboards", "http://localhost:3000/d/ingest", ("dash_dark", "dash_light"), 2),
    Scene("LibreOffice Calc", "costs-2026.ods - Calc", None, ("table_light12", "table_zebra11"), 2),
    Scene("Terminal", "pytest -q", None, ("xt_dejavu10_code", "xt_noto11_dark"), 1),
)  # fmt: skip


def fill(folder: Path, days: int = 3) -> Database:
    """The database of a home in `folder`, with `days` working days up to `NOW`."""
    data_dir = DataDir(folder).create()
    database = open_database(data_dir)
    choice = random.Random(7)
    shelf = Media(data_dir.media)
    for back in range(days):
        morning = (NOW - timedelta(days=back)).replace(hour=8, minute=32, second=10)
        end = min(NOW - timedelta(seconds=20), morning.replace(hour=18, minute=40))
        _day(database, shelf, choice, morning, end, EARLIER if back else 1)
    with database.write() as connection:
        apps.assign_slots(connection, _ms(NOW))
    remember(database)
    return database


def remember(database: Database) -> None:
    """Let ingest's rules make memory of what is there, days among it; and people as chats store them."""
    preferences.choose_day_clock(database, DayClock(ZONE))
    days = DailySummaryWriter(database, lambda: _ms(NOW))
    loop = ObservationLoop(database, lambda: _ms(NOW), threading.Event(), days=days)
    while loop.step():
        pass
    frame = frames.nearest(database, _ms(NOW))
    learned = Provenance(_ms(NOW), frame_id=frame.id if frame else None)
    with database.write() as connection:
        anna, _ = entities.store_entity(connection, "person", "Anna Bauer", learned, "Leads the rollout")
        for predicate, value in (("works at", "Contoso"), ("works at", "Fabrikam"), ("birthday", "12 May")):
            entities.store_fact(connection, anna, predicate, learned, object_value=value)
        entities.store_entity(connection, "person", "A. Bauer", learned)


def recording(data_dir: DataDir, now_ms: int) -> None:
    """Capture as it looks while it records."""
    state = process_state.CaptureState(
        pid=1, started_ms=now_ms - 3_600_000, written_ms=now_ms - 900, looked_ms=now_ms - 2_000,
        kept_ms=now_ms - 9_000, state="recording", source="screen", window_source="x11",
        monitors=("DP-1",), looks=7_200, kept=640,
    )  # fmt: skip
    state.write(data_dir.spool)


def _day(
    database: Database, shelf: Media, choice: random.Random, morning: datetime, end: datetime, pace: int
) -> None:
    at = morning
    while at < end:
        if 12 <= at.hour < 13:
            at = at.replace(hour=13, minute=4)
        scene = choice.choices(SCENES, [s.weight for s in SCENES])[0]
        stop = min(end, at + timedelta(seconds=choice.randint(40, 600)))
        while at < stop:
            until = min(stop, at + pace * timedelta(seconds=choice.randint(20, 90)))
            _frame(database, shelf, choice, scene, at, until)
            at = until
        if choice.random() < 0.06:
            at += timedelta(minutes=choice.randint(4, 15))


def _frame(
    database: Database, shelf: Media, choice: random.Random, scene: Scene, at: datetime, until: datetime
) -> None:
    name = choice.choice(scene.screens)
    capture_id = str(uuid.UUID(int=choice.getrandbits(128), version=4))
    still = _still(shelf, name, _ms(at), capture_id)
    record = Capture(
        capture_id=capture_id, captured_ms=_ms(at), source="screen", monitor="DP-1", app_name=scene.app,
        window_name=scene.window, browser_url=scene.url, focused=True, utc_offset_min=480,
    )  # fmt: skip
    draft = truth(SCREENS / f"{name}.json")
    with database.write() as connection:
        frame_id = frames.insert(connection, record, still, _ms(at))
        if draft.lines:
            readings.add(connection, frame_id, draft, [scene.url] if scene.url else [], _ms(at) + 900)
        frames.extend(connection, capture_id, _ms(until))
    frame = frames.get(database, frame_id)
    with database.write() as connection:
        segments.heartbeat(connection, frame)


_stills: dict[tuple[Path, str], Still] = {}


def _still(shelf: Media, name: str, captured_ms: int, capture_id: str) -> Still:
    """Each screen is decoded once; every further frame of it is a link to the same file."""
    first = _stills.get((shelf.folder, name))
    if first is None:
        content = (SCREENS / f"{name}.webp").read_bytes()
        first = shelf.keep(content, "image/webp", captured_ms, capture_id)
        _stills[shelf.folder, name] = first
        return first
    day = datetime.fromtimestamp(captured_ms / 1000, UTC).strftime("%Y/%m/%d")
    relative = f"{day}/{capture_id}.webp"
    path = shelf.folder / relative
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.hardlink_to(shelf.folder / first.media_path)
    return replace(first, media_path=relative)


@cache
def truth(path: Path) -> TextDraft:
    """The true words of a screen as a reading; words without a box are left out."""
    words = [w for w in json.loads(path.read_text(encoding="utf-8"))["words"] if w[3] > w[1] and w[4] > w[2]]
    lines: list[list[list[object]]] = []
    for word in words:
        if lines and _same_line(lines[-1][-1], word):
            lines[-1].append(word)
        else:
            lines.append([word])
    return TextDraft(tuple(_line(line) for line in lines), "truth", "eng+chi_sim", 0)


def _same_line(before: list[object], word: list[object]) -> bool:
    _, _, top, right, bottom = before
    height = bottom - top  # type: ignore[operator]
    return abs(word[2] - top) < height / 2 and -height < word[1] - right < 2 * height  # type: ignore[operator]


def _line(words: list[list[object]]) -> DraftLine:
    drafts = []
    text = ""
    for value, left, top, right, bottom in words:
        box = Box(left, top, right - left, bottom - top)  # type: ignore[arg-type,operator]
        drafts.append(DraftWord(str(value), box, 0.96))
        joined = not text or (ord(text[-1]) > 0x2E80 and ord(str(value)[0]) > 0x2E80)
        text += str(value) if joined else f" {value}"
    return DraftLine(readings.union(d.box for d in drafts), 0.96, tuple(drafts), text)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
