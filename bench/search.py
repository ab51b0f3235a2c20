"""Search and browse over 100,000 frames of 150 words: a page of 20, beside the raw query.

The words follow Zipf's law, as text does; every twentieth frame is Chinese. Keyword queries are
drawn from all frequencies, one to three words, with and without filters.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.report import Report, percentile, timed_ms
from bench.synthetic import CHINESE, START_MS, STEP_MS, VOCABULARY, fill
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.frames.frames import id_range
from store.search import query
from store.search.filters import Filters
from store.search.search import search

FRAMES = 100_000
QUERIES = 200

_EVERYTHING = Filters(START_MS, START_MS + FRAMES * STEP_MS)


def main(report: Report) -> None:
    """Print p50 and p95 of keyword search and browse beside the same page in raw SQL."""
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        vocabulary = fill(database, FRAMES).vocabulary
        _keyword(report, database, rng, vocabulary)
        _browse(report, database)
        database.close_thread()


def _keyword(report: Report, database: Database, rng: random.Random, vocabulary: list[str]) -> None:
    cases: dict[str, Callable[[], str]] = {
        "keyword, any frequency": lambda: _asked(rng, vocabulary),
        "keyword, the commonest word": lambda: vocabulary[0],
        "keyword, a rare word": lambda: vocabulary[rng.randrange(VOCABULARY // 2, VOCABULARY)],
        "keyword, a phrase": lambda: f'"{vocabulary[rng.randrange(9)]} {vocabulary[rng.randrange(9)]}"',
        "keyword, a prefix": lambda: vocabulary[rng.randrange(200)][:3] + "*",
        "keyword, Chinese": lambda: CHINESE[(at := rng.randrange(40)) : at + 2],
    }
    for name, ask in cases.items():
        texts = [ask() for _ in range(QUERIES if name.endswith("frequency") else 20)]
        _compare(
            report,
            name,
            [lambda text=text: search(database, text, _EVERYTHING) for text in texts],
            [lambda text=text: _raw_keyword(database, text) for text in texts],
            goal="p95 50 ms",
        )
    for name, filters in _filtered().items():
        texts = [_asked(rng, vocabulary) for _ in range(40)]
        pages = [lambda text=text, f=filters: search(database, text, f) for text in texts]
        _compare(report, f"keyword, {name}", pages, [], goal="p95 50 ms")


def _browse(report: Report, database: Database) -> None:
    first = search(database, "", _EVERYTHING)
    deep = search(database, "", _EVERYTHING, offset=10_000)
    for name, cursor in (("browse, page 1", None), ("browse, page 500", deep.next_cursor)):
        _compare(
            report,
            name,
            [lambda at=cursor: search(database, "", _EVERYTHING, cursor=at)] * 50,
            [lambda: _raw_browse(database)] * 50,
            goal="p95 15 ms",
        )
    assert len(first.hits) == 20
    for name, filters in _filtered().items():
        pages = [lambda f=filters: search(database, "", f)] * 20
        _compare(report, f"browse, {name}", pages, [], goal="p95 15 ms")


def _filtered() -> dict[str, Filters]:
    start, end = _EVERYTHING.start_ms, _EVERYTHING.end_ms
    return {
        "one day": Filters(START_MS + 86_400_000, START_MS + 2 * 86_400_000),
        "one app": Filters(start, end, app_name="wechat"),
        "several apps": Filters(start, end, app_name="e"),
        "a window": Filters(start, end, window_name="tme - code"),
        "a window that never was": Filters(start, end, window_name="no such window"),
    }


def _compare(
    report: Report,
    name: str,
    pages: list[Callable[[], object]],
    raw: list[Callable[[], object]],
    goal: str,
) -> None:
    taken, least = _measured(pages), _measured(raw)
    limit = f"{percentile(least, 0.5):.2f} / {percentile(least, 0.95):.2f} ms (raw SQL)" if least else ""
    value = f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms"
    report.row(f"{name}, p50 / p95", value, goal=goal, limit=limit)


def _measured(calls: list[Callable[[], object]]) -> list[float]:
    return [ms for call in calls for ms in timed_ms(call, 1)]


def _raw_keyword(database: Database, text: str) -> None:
    low, high = id_range(_EVERYTHING.start_ms, _EVERYTHING.end_ms or 0)
    with database.read() as connection:
        connection.execute(
            """
            select rowid from frames_fts
            where frames_fts match ? and rowid >= ? and rowid < ?
            order by rank
            limit 20
            """,
            (query.parse(text).match, low, high),
        ).fetchall()


def _raw_browse(database: Database) -> None:
    low, high = id_range(_EVERYTHING.start_ms, _EVERYTHING.end_ms or 0)
    with database.read() as connection:
        connection.execute(
            "select * from frames where id >= ? and id < ? order by id desc limit 20", (low, high)
        ).fetchall()


def _asked(rng: random.Random, vocabulary: list[str]) -> str:
    """One to three words; each rank of the vocabulary's decades is as likely as another."""
    return " ".join(vocabulary[int(VOCABULARY ** rng.random()) - 1] for _ in range(rng.randint(1, 3)))
