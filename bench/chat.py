"""Chat retrieval and packing: 8 hours out of 100,000 frames at one a second, beside raw SQL.

Every frame has 150 words in 15 lines, most of them those of the frame before, as on a real screen;
looks are reported every ten seconds and the window changes once a minute.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

from assistant.retrieval.packing import pack
from assistant.retrieval.retrieval import retrieve
from assistant.retrieval.sampling import select_in
from bench.report import Report, percentile, timed_ms
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.frames.activity_intervals import MERGE_GAP_MS
from store.ocr.readings import Box, DraftLine, DraftWord, TextDraft, encode
from store.search.filters import Filters

FRAMES = 100_000
STEP_MS = 1_000
START_MS = 1_780_000_000_000
HOUR_MS = 3_600_000
TIMES = 30
_LINES = 15
_APPS = ("Code", "Firefox", "Slack", "Terminal", "WeChat", "Zoom", "LibreOffice", "Files")
_ZONE = ZoneInfo("Asia/Shanghai")


def main(report: Report) -> None:
    """Print p50 and p95 of the whole retrieval with packing, its parts, and the least SQL there is."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        _fill(database, random.Random(7))
        middle = START_MS + FRAMES * STEP_MS // 2
        for hours in (1, 3, 8, 24):
            scope = Filters(middle - hours * HOUR_MS // 2, middle + hours * HOUR_MS // 2)
            _measure(report, database, scope, f"{hours} h")
        scope = Filters(middle - 4 * HOUR_MS, middle + 4 * HOUR_MS, app_name="zoom")
        _measure(report, database, scope, "8 h, one app")
        database.close_thread()


def _measure(report: Report, database: Database, scope: Filters, name: str) -> None:
    now_ms = START_MS + FRAMES * STEP_MS
    words = ("retention", "budget")

    def whole() -> None:
        found = retrieve(database, scope, words, now_ms)
        packed = pack(found, "What did I do about retention?", _ZONE, 32_000, words)
        assert len(packed.entries) > 10

    def selection() -> list[int]:
        with database.read() as connection:
            return select_in(connection, scope)

    chosen = selection()
    marks = ", ".join("?" * len(chosen))

    def least() -> None:
        with database.read() as connection:
            connection.execute(
                f"""
                select f.*, r.text from frames f
                join readings r on r.frame_id = f.id and r.is_current = 1
                where f.id in ({marks})
                """,
                chosen,
            ).fetchall()

    raw = timed_ms(least, TIMES)
    limit = f"{percentile(raw, 0.5):.2f} / {percentile(raw, 0.95):.2f} ms (its {len(chosen)} rows, raw SQL)"
    for part, call in (("retrieve and pack", whole), ("select alone", selection)):
        taken = timed_ms(call, TIMES)
        value = f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms"
        goal = "50 ms" if part == "retrieve and pack" and name == "8 h" else ""
        report.row(f"{part}, {name}, p50 / p95", value, goal=goal, limit=limit)


def _fill(database: Database, rng: random.Random) -> None:
    """Frames, readings, looks and segments in bulk; no pictures and no index, which play no part."""
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(3, 9))) for _ in range(2_000)]
    lines = [_line(rng, vocabulary) for _ in range(_LINES)]
    with database.write() as connection:
        for number in range(FRAMES):
            at_ms = START_MS + number * STEP_MS
            lines[rng.randrange(_LINES)] = _line(rng, vocabulary)
            text, layout = _encoded(lines)
            app = _APPS[number // 60 % len(_APPS)]
            connection.execute(
                """
                insert into frames (id, capture_id, captured_ms, ended_ms, monitor, width_px, height_px,
                    app_name, window_name, focused, source, batch_id, media_path, media_type, size_bytes,
                    sha256, pixels_sha256, reading_state, stored_ms, read_ms)
                values (?, ?, ?, ?, 'DP-1', 1920, 1080, ?, ?, 1, 'screen', ?, '2026/05/28/x.webp',
                    'image/webp', 100000, ?, ?, 'read', ?, ?)
                """,
                (at_ms * 1024, str(number), at_ms, at_ms + STEP_MS, app, f"{app} window {number // 60}",
                 f"batch-{number // 10}", "0" * 64, "1" * 64, at_ms, at_ms),
            )  # fmt: skip
            connection.execute(
                """
                insert into readings (frame_id, engine, language, text, layout, words, duration_ms,
                    read_ms, is_current)
                values (?, 'bench', 'eng', ?, ?, 150, 1, ?, 1)
                """,
                (at_ms * 1024, text, layout, at_ms),
            )
            if number % 10 == 0:
                connection.execute(
                    "insert into look_batches (id, start_ms, end_ms, looks) values (?, ?, ?, 20)",
                    (f"batch-{number // 10}", at_ms, at_ms + 10 * STEP_MS),
                )
            if number % 60 == 0:
                connection.execute(
                    """
                    insert into segments (start_ms, end_ms, app_name, window_name, first_frame_id,
                        last_frame_id, frames)
                    values (?, ?, ?, ?, ?, ?, 60)
                    """,
                    (at_ms, at_ms + MERGE_GAP_MS, app, f"{app} window {number // 60}", at_ms * 1024,
                     (at_ms + 59 * STEP_MS) * 1024),
                )  # fmt: skip


def _line(rng: random.Random, vocabulary: list[str]) -> str:
    return " ".join(rng.choices(vocabulary, k=10))


def _encoded(lines: list[str]) -> tuple[str, bytes]:
    box = Box(0, 0, 100, 16)
    draft = (DraftLine(box, 0.9, tuple(DraftWord(word, box, 0.9) for word in line.split())) for line in lines)
    return encode(TextDraft(tuple(draft), "bench", "eng", 1))
