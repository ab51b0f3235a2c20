"""A home filled with made-up frames in bulk: words by Zipf's law, as in text; every twentieth Chinese.

The same seed gives the same frames. Pictures play no part in a search and are not made.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import apsw
import numpy as np

from engines.embeddings.protocol import Embedder
from store.core.database import Database, scalar
from store.embeddings import vectors
from store.frames.frames import ID_STEP
from store.search.filters import Filters

WORDS = 150
VOCABULARY = 20_000
START_MS = 1_780_000_000_000
STEP_MS = 30_000
TITLES = 5_000  # different ones in each app
APPS = ("Code", "Firefox", "Slack", "Terminal", "WeChat", "Zoom", "LibreOffice", "Files")
CHINESE = "今天下午开会讨论预算周报总结和下周计划学习教程发布文件会议记录明天部署测试结果项目进度数据分析"

_WORDS_PER_LINE = 10
_LINES = 1_000  # different ones that vectors are made of
_SEED = 7


@dataclass(frozen=True, slots=True)
class Filled:
    """What was made. The two times are seconds: rows alone, and the text index over them."""

    vocabulary: list[str]  # the commonest word first
    frames: int
    rows_s: float = 0.0
    index_s: float = 0.0

    @property
    def everything(self) -> Filters:
        return Filters(START_MS, START_MS + self.frames * STEP_MS)


def fill(database: Database, frames: int) -> Filled:
    """Add `frames` frames, one each `STEP_MS`, with readings; then the index over all of them."""
    rng = random.Random(_SEED)
    vocabulary = _vocabulary(rng)
    times = range(START_MS, START_MS + frames * STEP_MS, STEP_MS)
    began = time.perf_counter()
    with database.write() as connection:
        connection.executemany(_FRAME, (_frame(rng, vocabulary, at) for at in times))
        connection.executemany(_READING, _readings(rng, vocabulary, times))
    stored = time.perf_counter()
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('rebuild')")
    return Filled(vocabulary, frames, stored - began, time.perf_counter() - stored)


def add_vectors(database: Database, embedder: Embedder, vocabulary: list[str]) -> int:
    """A vector for each frame that has none; returns how many.

    Each is the embedding of one of `_LINES` lines of the frames' words, moved by as much chance as
    leaves a cosine of about 0.7, so that a question finds some frames near and most far away.
    """
    rng, chance = random.Random(_SEED), np.random.default_rng(_SEED)
    lines = [" ".join(_drawn(rng, vocabulary, _WORDS_PER_LINE)) for _ in range(_LINES)]
    embedded = embedder.embed(lines)
    vectors.activate_model(database, embedder.name, embedder.dimension)
    with database.write() as connection:
        model = vectors.active(connection)
        assert model is not None
        found = connection.execute(
            "select id from frames where id not in (select thing_id from vectors where kind = 'frame')"
        )
        ids = [frame_id for (frame_id,) in found]
        for start in range(0, len(ids), _LINES):
            of_frames = ids[start : start + _LINES]
            noise = chance.normal(0, embedder.dimension**-0.5, (len(of_frames), embedder.dimension))
            packed = vectors.quantize(embedded[chance.integers(_LINES, size=len(of_frames))] + noise)
            connection.executemany(
                "insert into vectors (kind, thing_id, model_id, chunk_start, chunk_end, vector)"
                " values ('frame', ?, ?, 0, 60, ?)",
                [(each, model.id, row.tobytes()) for each, row in zip(of_frames, packed, strict=True)],
            )
        connection.execute("delete from embedding_queue where kind = 'frame'")
    return len(ids)


def filled(database: Database) -> Filled:
    """What `fill` made in this home some time ago."""
    with database.read() as connection:
        return Filled(_vocabulary(random.Random(_SEED)), scalar(connection, "select count(*) from frames"))


def insert(connection: apsw.Connection, rng: random.Random, vocabulary: list[str], captured_ms: int) -> None:
    """One more frame with its index row, as ingest commits it."""
    connection.execute(_FRAME, _frame(rng, vocabulary, captured_ms))
    text = " ".join(rng.choices(vocabulary[:1000], k=WORDS))
    connection.execute(_READING, _reading(captured_ms, text))
    connection.execute(
        """
        insert into frames_fts (rowid, text, app_name, window_name, browser_url)
        select id, text, app_name, window_name, browser_url from frame_texts where id = ?
        """,
        (captured_ms * ID_STEP,),
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


def _frame(rng: random.Random, vocabulary: list[str], at_ms: int) -> dict[str, object]:
    app, word = rng.choice(APPS), vocabulary[rng.randrange(TITLES)]
    return {
        "id": at_ms * ID_STEP,
        "at": at_ms,
        "app": app,
        "window": f"{word} - {app}",
        "url": f"https://example.com/{word}" if app == "Firefox" else None,
    }


def _readings(rng: random.Random, vocabulary: list[str], times: range) -> Iterator[dict[str, object]]:
    stream = _drawn(rng, vocabulary, 1_000_000)
    for number, at_ms in enumerate(times):
        first = rng.randrange(len(stream) - WORDS)
        lines = [
            " ".join(stream[at : at + _WORDS_PER_LINE]) for at in range(first, first + WORDS, _WORDS_PER_LINE)
        ]
        if number % 20 == 0:
            lines[3:6] = ["".join(rng.choices(CHINESE, k=30)) for _ in range(3)]
        yield _reading(at_ms, "\n".join(lines))


def _drawn(rng: random.Random, vocabulary: list[str], count: int) -> list[str]:
    """Words by Zipf's law: the second is half as frequent as the first."""
    weights = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
    return rng.choices(vocabulary, cum_weights=weights, k=count)


def _reading(at_ms: int, text: str) -> dict[str, object]:
    return {"id": at_ms * ID_STEP, "at": at_ms, "text": text, "words": WORDS}


def _vocabulary(rng: random.Random) -> list[str]:
    """Distinct words of 3 to 9 letters, the shorter ones first, as in language."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 3 + len(words) * 7 // VOCABULARY
        words["".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", k=length))] = None
    return list(words)
