"""A home filled with made-up frames in bulk: words by Zipf's law, as in text; every twentieth Chinese.

The same seed gives the same frames. Pictures play no part in a search and are not made.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from store.database import Database
from store.filters import Filters
from store.frames import ID_STEP

WORDS = 150
VOCABULARY = 20_000
START_MS = 1_780_000_000_000
STEP_MS = 30_000
TITLES = 5_000  # different ones in each app
APPS = ("Code", "Firefox", "Slack", "Terminal", "WeChat", "Zoom", "LibreOffice", "Files")
CHINESE = "今天下午开会讨论预算周报总结和下周计划学习教程发布文件会议记录明天部署测试结果项目进度数据分析"

_WORDS_PER_LINE = 10


@dataclass(frozen=True, slots=True)
class Filled:
    """What was made. The two times are seconds: rows alone, and the text index over them."""

    vocabulary: list[str]  # the commonest word first
    everything: Filters
    frames: int
    rows_s: float
    index_s: float


def fill(database: Database, frames: int, seed: int = 7) -> Filled:
    """Add `frames` frames, one each `STEP_MS`, with readings and index."""
    rng = random.Random(seed)
    vocabulary = _vocabulary(rng)
    began = time.perf_counter()
    with database.write() as connection:
        connection.executemany(_FRAME, _frames(rng, vocabulary, frames))
        connection.executemany(_READING, _readings(rng, vocabulary, frames))
    stored = time.perf_counter()
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('rebuild')")
    indexed = time.perf_counter()
    return Filled(
        vocabulary=vocabulary,
        everything=Filters(START_MS, START_MS + frames * STEP_MS),
        frames=frames,
        rows_s=stored - began,
        index_s=indexed - stored,
    )


_FRAME = """
insert into frames (id, capture_id, captured_ms, ended_ms, monitor, width_px, height_px, app_name,
    window_name, browser_url, focused, source, media_type, size_bytes, sha256, pixels_sha256, reading_state,
    stored_ms, read_ms)
values (:id, :id, :at, :at, 'DP-1', 1920, 1080, :app, :window, :url, 1, 'screen', 'image/webp', 60000, '', '',
    'read', :at, :at)
"""

_READING = """
insert into readings (frame_id, engine, language, text, layout, words, duration_ms, read_ms, is_current)
values (:id, 'bench', 'eng', :text, x'', :words, 1, :at, 1)
"""


def _frames(rng: random.Random, vocabulary: list[str], frames: int) -> Iterator[dict[str, object]]:
    for number in range(frames):
        at = START_MS + number * STEP_MS
        app = rng.choice(APPS)
        word = vocabulary[rng.randrange(TITLES)]
        yield {
            "id": at * ID_STEP,
            "at": at,
            "app": app,
            "window": f"{word} - {app}",
            "url": f"https://example.com/{word}" if app == "Firefox" else None,
        }


def _readings(rng: random.Random, vocabulary: list[str], frames: int) -> Iterator[dict[str, object]]:
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    stream = rng.choices(vocabulary, cum_weights=weights, k=1_000_000)
    for number in range(frames):
        captured_ms = START_MS + number * STEP_MS
        at = rng.randrange(len(stream) - WORDS)
        lines = [
            " ".join(stream[row : row + _WORDS_PER_LINE]) for row in range(at, at + WORDS, _WORDS_PER_LINE)
        ]
        if number % 20 == 0:
            lines[3:6] = ["".join(rng.choices(CHINESE, k=30)) for _ in range(3)]
        yield {"id": captured_ms * ID_STEP, "at": captured_ms, "text": "\n".join(lines), "words": WORDS}


def _vocabulary(rng: random.Random) -> list[str]:
    """Distinct words of 3 to 9 letters, the shorter ones first, as in language."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 3 + len(words) * 7 // VOCABULARY
        words["".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", k=length))] = None
    return list(words)
