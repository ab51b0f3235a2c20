"""Memory search over 20,000 observations and their 60,000 documents: by words, by meaning, by metadata.

Three years of use, 20 observations a day. Titles and lines follow Zipf's law; vectors are made up, which
costs a search what real ones do. The window of 90 days is what a search without a range looks in.
Of a folder with a week of chats it measures besides what a new chat is told of them.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.evals import chat_week
from bench.report import Report, percentile, timed_ms
from bench.synthetic import START_MS, VOCABULARY, filled
from store.core.database import Database, open_database, rows, scalar
from store.core.paths import DataDir
from store.embeddings import vectors
from store.embeddings.knn import RetrievalQuery
from store.frames.frames import ID_STEP
from store.memory import documents, observation_writer, search, timeline
from store.memory.entries import MemoryFilters
from store.memory.observations import HOUR_MS, Draft, Fact

OBSERVATIONS = 20_000
QUERIES = 60

_EVERY_MS = 72 * 60_000
_NOW_MS = START_MS + OBSERVATIONS * _EVERY_MS
_MODEL, _DIMENSION = "made up", 384
_KINDS = ("coding", "mail", "reading", "chat", "meeting")
_EVERYTHING = MemoryFilters(start_ms=START_MS, end_ms=_NOW_MS)
_QUARTER = MemoryFilters()


def main(report: Report) -> None:
    """Print p50 and p95 of every way to search memory, and of rebuilding its index."""
    for folder in report.folders:
        if (folder / chat_week.WEEK).is_file():
            chat_week.measure(report, folder)
    rng, made_up = random.Random(5), _MadeUp()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        words = filled(database).vocabulary
        _fill(database, rng, made_up, words)
        number = scalar(database.connection(), "select count(*) from memory_documents")
        report.row("documents", f"{number:,}")
        _searches(report, database, rng, made_up, words)
        _timelines(report, database, rng)
        [taken] = timed_ms(lambda: documents.rebuild_index(database), 1, warmup=0)
        report.row("the index of words made anew", f"{taken:.0f} ms")
        database.close_thread()


def _searches(
    report: Report, database: Database, rng: random.Random, made_up: _MadeUp, words: list[str]
) -> None:
    def asked(text: str, *, by_meaning: bool = False) -> RetrievalQuery:
        return RetrievalQuery(text, made_up.vectors(1)[0], _MODEL) if by_meaning else RetrievalQuery(text)

    def two() -> str:
        return " ".join(rng.choices(words[:2_000], k=2))

    ways: dict[str, tuple[Callable[[], RetrievalQuery], MemoryFilters]] = {
        "by words, 90 days": (lambda: asked(two()), _QUARTER),
        "by words, everything": (lambda: asked(two()), _EVERYTHING),
        "by words, the commonest, everything": (lambda: asked(words[0]), _EVERYTHING),
        "by meaning, 90 days": (lambda: asked(two(), by_meaning=True), _QUARTER),
        "by meaning, everything": (lambda: asked(two(), by_meaning=True), _EVERYTHING),
        "by meaning, of one file": (
            lambda: asked(two(), by_meaning=True),
            MemoryFilters(start_ms=START_MS, file="module7.py"),
        ),
        "by meaning, of one kind": (
            lambda: asked(two(), by_meaning=True),
            MemoryFilters(start_ms=START_MS, kind="coding"),
        ),
        "newest, everything": (lambda: RetrievalQuery(""), _EVERYTHING),
    }
    for name, (ask, filters) in ways.items():
        calls = [
            partial(search.search_memory, database, ask(), filters=filters, now_ms=_NOW_MS)
            for _ in range(QUERIES)
        ]
        assert any(call().entries for call in calls), name
        _row(report, name, calls)


def _timelines(report: Report, database: Database, rng: random.Random) -> None:
    ids = [number for (number,) in rows(database.connection(), "select id from observations")]
    calls = [
        partial(timeline.get_context_timeline, database, rng.choice(ids), depth_before=10, depth_after=10)
        for _ in range(QUERIES)
    ]
    _row(report, "around an observation", calls)


def _row(report: Report, name: str, calls: list[Callable[[], object]]) -> None:
    taken = [ms for call in calls for ms in timed_ms(call, 1, warmup=0)]
    value = f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms"
    report.row(f"{name}, p50 / p95", value, goal="median 300 ms, p95 500 ms")


def _fill(database: Database, rng: random.Random, made_up: _MadeUp, words: list[str]) -> None:
    vectors.activate_model(database, _MODEL, _DIMENSION)
    with database.write() as connection:
        for n in range(OBSERVATIONS):
            observation_writer.put(connection, _draft(rng, words, START_MS + n * _EVERY_MS), _NOW_MS)
        ids = [number for (number,) in rows(connection, "select id from memory_documents order by id")]
        for number, vector in zip(ids, vectors.quantize(made_up.vectors(len(ids))), strict=True):
            vectors.add(connection, "document", number, _MODEL, [(0, 1, vector)])


def _draft(rng: random.Random, words: list[str], start_ms: int) -> Draft:
    def text(count: int) -> str:
        return " ".join(rng.choices(words, cum_weights=_WEIGHTS, k=count))

    return Draft(
        hour=start_ms // HOUR_MS,
        place=str(start_ms),
        start_ms=start_ms,
        end_ms=start_ms + 1_800_000,
        active_ms=1_200_000,
        app_name="Code",
        kind=rng.choice(_KINDS),
        project=f"project{rng.randrange(20)}",
        title=text(6),
        narrative=text(40),
        facts=tuple(Fact(text(10), start_ms * ID_STEP) for _ in range(6)),
        concepts=tuple(rng.sample(words[:300], 4)),
        files=(f"src/module{rng.randrange(400)}.py",),
        urls=(f"https://example.org/{rng.randrange(2_000)}",),
        frame_ids=(),
        fingerprint=str(start_ms),
    )


_WEIGHTS = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))


class _MadeUp:
    """Unit vectors around some subjects: those of one have a cosine of about 0.5, others of 0."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(5)
        self._subjects = self._normal(200)

    def vectors(self, count: int) -> npt.NDArray[np.float32]:
        found = self._subjects[self._rng.integers(0, len(self._subjects), count)] + self._normal(count)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def _normal(self, count: int) -> npt.NDArray[np.float32]:
        return self._rng.standard_normal((count, _DIMENSION), np.float32)
