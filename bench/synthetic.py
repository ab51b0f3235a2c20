"""A home filled with made-up frames in bulk: words by Zipf's law, as in text; every twentieth Chinese.

The same seed gives the same frames; each window is shown for five minutes. Pictures play no part in a search
and are not made, nor is memory derived.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import apsw
import numpy as np

from bench.repeating import repeat
from engines.embeddings.protocol import Embedder
from store.core import tokenizer
from store.core.database import Database, rows, scalar
from store.embeddings import vectors
from store.frames.activity_intervals import PIECE_MS
from store.frames.frames import ID_STEP
from store.search.filters import Filters
from store.timeline import totals

WORDS = 150
VOCABULARY = 20_000
START_MS = 1_780_000_200_000
STEP_MS = 30_000
TITLES = 5_000  # different ones in each app
APPS = ("Code", "Firefox", "Slack", "Terminal", "WeChat", "Zoom", "LibreOffice", "Files")
CHINESE = "今天下午开会讨论预算周报总结和下周计划学习教程发布文件会议记录明天部署测试结果项目进度数据分析"

_APART = str.maketrans({character: f"{character} " for character in CHINESE})
_WORDS_PER_LINE = 10
_LINES = 1_000  # different ones that vectors are made of
_AT_ONCE = 10_000
_DIFFERENT = 500_000
_SEED = 7


@dataclass(frozen=True, slots=True)
class Filled:
    """What was made."""

    vocabulary: list[str]  # the commonest word first
    frames: int

    @property
    def everything(self) -> Filters:
        return Filters(START_MS, START_MS + self.frames * STEP_MS)


def fill(database: Database, frames: int, words: int = WORDS) -> Filled:
    """Put in `frames` frames, one each `STEP_MS`, with readings of so many words, index and segments.

    Of more than `_DIFFERENT` those after it are the same once more.
    """
    times = max(1, frames // _DIFFERENT)
    if times > 1:
        fill(database, _DIFFERENT, words)
        with _in_bulk(database) as connection:
            repeat(connection, times, _DIFFERENT * STEP_MS)
        return filled(database)
    rng = random.Random(_SEED)
    vocabulary = _vocabulary(rng)
    stream = _drawn(rng, vocabulary, 1_000_000)
    with _in_bulk(database) as connection:
        for first in range(0, frames, _AT_ONCE):
            numbers = range(first, min(frames, first + _AT_ONCE))
            made = [_frame(vocabulary, START_MS + number * STEP_MS) for number in numbers]
            texts = [_text(rng, stream, number, words) for number in numbers]
            connection.executemany(_FRAME, made)
            read = zip(made, texts, strict=True)
            connection.executemany(_READING, (_reading(frame["at"], text) for frame, text in read))
            read = zip(made, texts, strict=True)
            connection.executemany(_INDEX, ({**frame, "text": _spaced(text)} for frame, text in read))
        connection.execute(_DERIVED)
    return Filled(vocabulary, frames)


@contextmanager
def _in_bulk(database: Database) -> Iterator[apsw.Connection]:
    """Nothing is durable meanwhile, no trigger runs, indexes come last, and FTS5 cuts the words itself: with
    these words it does so as our tokenizer does, once Chinese is `_spaced`.
    """
    path = str(database.data_dir.database)
    database.close_thread()
    _tokenize(path, tokenizer.NAME, "unicode61")
    connection = apsw.Connection(path)
    connection.execute("pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -300000")
    of_tables = "type <> 'table' and sql is not null and tbl_name in ('frames', 'readings')"
    put_off = rows(connection, f"select type, name, sql from sqlite_master where {of_tables}")
    for kind, name, _ in put_off:
        connection.execute(f"drop {kind} {name}")
    connection.execute("insert into frames_fts (frames_fts, rank) values ('hashsize', 100000000)")
    connection.execute("begin")
    yield connection
    connection.execute("commit")
    connection.execute("delete from frames_fts_config where k = 'hashsize'")
    for *_, sql in put_off:
        connection.execute(sql)
    connection.execute(totals.RECOUNT)
    connection.execute("pragma journal_mode = wal")
    connection.close()
    _tokenize(path, "unicode61", tokenizer.NAME)


def _tokenize(path: str, before: str, after: str) -> None:
    """Let the index of words name another tokenizer, from the next connection on."""
    connection = apsw.Connection(path)
    connection.execute("pragma writable_schema = on")
    connection.execute(
        "update sqlite_master set sql = replace(sql, ?, ?) where name = 'frames_fts'",
        (f"tokenize = '{before}'", f"tokenize = '{after}'"),
    )
    connection.close()


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
            connection.executemany(
                "insert into vector_counts (kind, thing_id, number) values ('frame', ?, 1)",
                [(each,) for each in of_frames],
            )
        connection.execute("delete from embedding_queue where kind = 'frame'")
    return len(ids)


def filled(database: Database) -> Filled:
    """What `fill` made in this home some time ago."""
    with database.read() as connection:
        return Filled(_vocabulary(random.Random(_SEED)), scalar(connection, "select count(*) from frames"))


def insert(connection: apsw.Connection, rng: random.Random, vocabulary: list[str], captured_ms: int) -> None:
    """One more frame with its index row, as ingest commits it."""
    frame = _frame(vocabulary, captured_ms)
    text = " ".join(rng.choices(vocabulary[:1000], k=WORDS))
    connection.execute(_FRAME, frame)
    connection.execute(_READING, _reading(captured_ms, text))
    connection.execute(_INDEX, {**frame, "text": text})


_FRAME = """
insert into frames (id, capture_id, captured_ms, ended_ms, monitor, width_px, height_px, app_name,
    window_name, browser_url, focused, source, media_type, size_bytes, sha256, pixels_sha256, reading_state,
    stored_ms, read_ms)
values (:id, :id, :at, :ended, 'DP-1', 1920, 1080, :app, :window, :url, 1, 'screen', 'image/webp', 60000, '',
    '', 'read', :at, :at)
"""

_READING = """
insert into readings (frame_id, engine, language, text, layout, words, duration_ms, read_ms, is_current)
values (:id, 'bench', 'eng', :text, x'', :words, 1, :at, 1)
"""

_INDEX = """
insert into frames_fts (rowid, text, app_name, window_name, browser_url)
values (:id, :text, :app, :window, coalesce(:url, ''))
"""

# What triggers and the fold of activity make of frames.
_DERIVED = f"""
insert or ignore into window_names (name) select distinct window_name from frames;
insert or ignore into browser_urls (name)
select distinct browser_url from frames where browser_url is not null;
insert or ignore into apps (name, first_ms) select app_name, min(captured_ms) from frames group by app_name;
insert into segments
    (start_ms, end_ms, app_name, window_name, browser_url, first_frame_id, last_frame_id, frames)
select min(captured_ms), max(ended_ms) + 1, app_name, window_name, browser_url, min(id), max(id), count(*)
from frames
group by captured_ms / {PIECE_MS};
"""


def _frame(vocabulary: list[str], at_ms: int) -> dict[str, Any]:
    app, title = _shown(at_ms // PIECE_MS)
    word = vocabulary[title]
    return {
        "id": at_ms * ID_STEP,
        "at": at_ms,
        "ended": at_ms + STEP_MS - 1,
        "app": app,
        "window": f"{word} - {app}",
        "url": f"https://example.com/{word}" if app == "Firefox" else None,
    }


@lru_cache(1)
def _shown(piece: int) -> tuple[str, int]:
    """The app of five minutes, and the number of the word in its title."""
    chance = random.Random(piece)
    return chance.choice(APPS), chance.randrange(TITLES)


def _text(rng: random.Random, stream: list[str], number: int, words: int) -> str:
    first = rng.randrange(len(stream) - words)
    lines = [
        " ".join(stream[at : at + _WORDS_PER_LINE]) for at in range(first, first + words, _WORDS_PER_LINE)
    ]
    if number % 20 == 0:
        lines[1:4] = ["".join(rng.choices(CHINESE, k=30)) for _ in range(3)]
    return "\n".join(lines)


def _spaced(text: str) -> str:
    return text if text.isascii() else text.translate(_APART)


def _drawn(rng: random.Random, vocabulary: list[str], count: int) -> list[str]:
    """Words by Zipf's law: the second is half as frequent as the first."""
    weights = list(accumulate(1 / rank for rank in range(1, len(vocabulary) + 1)))
    return rng.choices(vocabulary, cum_weights=weights, k=count)


def _reading(at_ms: int, text: str) -> dict[str, object]:
    return {"id": at_ms * ID_STEP, "at": at_ms, "text": text, "words": len(text.split())}


def _vocabulary(rng: random.Random) -> list[str]:
    """Distinct words of 3 to 9 letters, the shorter ones first, as in language."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = 3 + len(words) * 7 // VOCABULARY
        words["".join(rng.choices("etaoinshrdlucmfwypvbgkjqxz", k=length))] = None
    return list(words)
