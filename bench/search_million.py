"""Search over 1,000,000 frames or more, over the wire: every goal of the store beside raw SQLite.

The web process is the real one; frames come in from a process of their own. Beside the time on the
wall stands the processor time of the web process, which other work on the machine moves less.

Takes minutes and 4 GB under the temporary folder, most of it to make the frames, so it runs only when it is
named. ``RECOLLECT_BENCH_FRAMES`` and ``RECOLLECT_BENCH_WORDS`` ask for another number of frames, and of words
on each; ``RECOLLECT_BENCH_HOME`` keeps the home and uses it again, also for `bench.scale`. Ten million frames
of 20 words are made in 10 minutes of one core and take 13 GB::

    RECOLLECT_BENCH_FRAMES=10000000 RECOLLECT_BENCH_WORDS=20 RECOLLECT_BENCH_HOME=FOLDER \\
        python -m bench search_million scale
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench.inserting import Taken, inserted, inserting
from bench.report import Report, percentile, timed_ms
from bench.synthetic import CHINESE, START_MS, STEP_MS, WORDS, Filled, add_vectors, fill, filled
from bench.wire import Wire, served
from engines.embeddings.protocol import EmbedderUnavailable, open_embedder
from store.core.database import Database, open_database, scalar
from store.core.paths import DataDir
from store.frames import text_index
from store.frames.frames import ID_STEP, id_range
from store.search import query

ON_REQUEST = True
"""Left out when all measurements run."""

FRAMES = int(os.environ.get("RECOLLECT_BENCH_FRAMES", "1000000"))
_WORDS_EACH = int(os.environ.get("RECOLLECT_BENCH_WORDS", str(WORDS)))
_MONTH_MS = 30 * 86_400_000
_END_S = (START_MS + 10 * FRAMES * STEP_MS) / 1000
_QUERIES = 100
_RAW = 5
_ROUNDS = 4

Asked = dict[str, object]
Make = Callable[[random.Random, list[str]], Asked]


def main(report: Report) -> None:
    """Print p50 and p95 of each kind of search."""
    with made_home() as (database, made):
        _index(report, database)
        has_meaning = _with_meaning(report, database, made)
        with served(database.data_dir) as wire:
            _words(report, database, made, wire)
            _browsing(report, database, made, wire)
            if has_meaning:
                _meaning(report, made, wire)
            report.row("resident memory of the web process", f"{wire.rss_mb():.0f} MB")
            _while_inserting(report, database, made, wire)


@contextmanager
def made_home() -> Iterator[tuple[Database, Filled]]:
    """A home with as many frames as are asked for."""
    kept = os.environ.get("RECOLLECT_BENCH_HOME")
    home = DataDir(Path(kept or tempfile.mkdtemp()) / "home")
    try:
        database = open_database(home)
        made = filled(database)
        yield database, made if made.frames else fill(database, FRAMES, _WORDS_EACH)
        database.close_thread()
    finally:
        if not kept:
            shutil.rmtree(home.home.parent)


def _index(report: Report, database: Database) -> None:
    """How fast the index is made anew, by some of its frames, and its size."""
    began = time.process_time()
    number = sum(text_index.rebuild_some(database) for _ in range(10))
    spent_s = time.process_time() - began
    with database.write() as connection:
        text_index.abort_rebuild(connection)
        index_bytes, words = (
            scalar(connection, f"select {what}")
            for what in (
                "sum(length(block)) from frames_fts_data",
                "avg(words) from (select words from readings limit 1000)",
            )
        )
    frames = filled(database).frames
    report.row("index, build rate", f"{number / spent_s:,.0f} frames/s")
    report.row(
        "index, size",
        f"{index_bytes / frames:,.0f} B/frame",
        limit=f"{index_bytes / frames / words:.1f} B/word",
    )


def _with_meaning(report: Report, database: Database, made: Filled) -> bool:
    """Whether every frame has a vector now."""
    try:
        embedder = open_embedder("local")
    except EmbedderUnavailable as error:
        report.line(f"  nothing by meaning: {error}")
        return False
    add_vectors(database, embedder, made.vocabulary)
    embedder.close()
    return True


# -- what is asked --------------------------------------------------------------------------

_KEYWORD = "p95 50 ms"
_WORDS: tuple[tuple[str, str, Make], ...] = (
    ("keyword, any frequency", _KEYWORD, lambda rng, words: {"q": _some(rng, words, rng.randint(1, 3))}),
    ("keyword, the commonest word", _KEYWORD, lambda rng, words: {"q": words[0]}),
    ("keyword, two common words", _KEYWORD, lambda rng, words: {"q": " ".join(rng.sample(words[:10], 2))}),
    ("keyword, a phrase", _KEYWORD, lambda rng, words: {"q": f'"{" ".join(rng.sample(words[:9], 2))}"'}),
    ("keyword, Chinese", _KEYWORD, lambda rng, words: {"q": CHINESE[(at := rng.randrange(40)) : at + 2]}),
    ("keyword, a prefix of three", _KEYWORD, lambda rng, words: {"q": rng.choice(words[:200])[:3] + "*"}),
    ("keyword, a prefix of one", _KEYWORD, lambda rng, words: {"q": rng.choice(words)[:1] + "*"}),
    (
        "two words, a month, an app",
        "p95 30 ms",
        lambda rng, words: {**_month(rng), "q": _some(rng, words, 2)},
    ),
    ("the commonest word, a window", _KEYWORD, lambda rng, words: {"q": words[0], **_window(words[1])}),
    (
        "a word, a window",
        _KEYWORD,
        lambda rng, words: {"q": _some(rng, words, 1), **_window(rng.choice(words))},
    ),
)
_BROWSING: tuple[tuple[str, Make], ...] = (
    ("browse", lambda rng, words: {}),
    ("browse, an app", lambda rng, words: {"app_name": "wechat"}),
    ("browse, several apps", lambda rng, words: {"app_name": "e"}),
    ("browse, a window", lambda rng, words: _window(words[3])),
    ("browse, a window that never was", lambda rng, words: {"window_name": "no such window"}),
    ("browse, an address", lambda rng, words: {"browser_url": f"/{words[3]}"}),
    ("browse, without focus", lambda rng, words: {"focused": "false"}),
)
_MEANING: tuple[tuple[str, Make], ...] = (
    ("hybrid, any frequency", lambda rng, words: {"q": _some(rng, words, rng.randint(1, 3))}),
    ("hybrid, the commonest word", lambda rng, words: {"q": f"{words[0]} {words[rng.randrange(10)]}"}),
    ("hybrid, a month, an app", lambda rng, words: {**_month(rng), "q": _some(rng, words, 2)}),
    ("hybrid, a window", lambda rng, words: {"q": _some(rng, words, 2), **_window(rng.choice(words))}),
)


def _words(report: Report, database: Database, made: Filled, wire: Wire) -> None:
    rng = random.Random(11)
    for name, goal, make in _WORDS:
        asked = [{"mode": "fts", **make(rng, made.vocabulary)} for _ in range(_QUERIES)]
        raw = [lambda each=each: _raw_words(database, each) for each in asked[:_RAW]]
        _row(report, wire, name, asked, goal, raw if "prefix" not in name else [])


def _browsing(report: Report, database: Database, made: Filled, wire: Wire) -> None:
    rng = random.Random(12)
    for name, make in _BROWSING:
        raw = [lambda: _raw_browse(database)] * _RAW if name == "browse" else []
        _row(report, wire, name, [make(rng, made.vocabulary)] * _QUERIES, "p95 15 ms", raw)
    for name, asked in (("browse", {}), ("keyword", {"q": made.vocabulary[0], "mode": "fts"})):
        cursor = _ask(wire, asked | {"offset": 10_000})["pagination"]["next_cursor"]
        if cursor is not None:  # else too few frames were asked for
            _row(report, wire, f"{name}, page 500 by cursor", [{**asked, "cursor": cursor}] * 50, "as page 1")


def _meaning(report: Report, made: Filled, wire: Wire) -> None:
    rng = random.Random(13)
    while _ask(wire, {"q": made.vocabulary[0]})["search"]["fallback_reason"] == "index_building":
        pass
    for name, make in _MEANING:
        asked = [make(rng, made.vocabulary) for _ in range(_QUERIES)]
        _row(report, wire, name, asked, "p95 100 ms")
        hybrid = sum(_ask(wire, each)["search"]["mode"] == "hybrid" for each in asked[:_RAW])
        if not hybrid:
            raise RuntimeError(f"{name}: nothing was found by meaning")


def _while_inserting(report: Report, database: Database, made: Filled, wire: Wire) -> None:
    """Both sides alone, then at once, in turns: neither may take more than 1.5 times as long."""
    rng = random.Random(14)
    alone, together = list[Taken](), list[Taken]()
    inserted_alone, inserted_together = list[Taken](), list[Taken]()
    for _ in range(_ROUNDS):
        asked = [{"q": _some(rng, made.vocabulary, 2), "mode": "fts"} for _ in range(_QUERIES // 2)]
        alone += _measured(wire, asked)
        inserted_alone += inserted(database, _QUERIES // 4)
        with inserting(database.data_dir, inserted_together):
            together += _measured(wire, asked)
    for name, before, after in (
        ("search while frames come in", alone, together),
        ("insert while somebody searches", inserted_alone, inserted_together),
    ):
        (wall, cpu), (wall_after, cpu_after) = (
            [percentile(each, 0.5) for each in zip(*taken, strict=True)] for taken in (before, after)
        )
        report.row(
            f"{name}, p50",
            f"{wall_after / wall:.2f} x alone",
            goal="1.5 x",
            limit=f"{wall:.1f} ms alone; CPU {cpu_after / cpu:.2f} x {cpu:.1f} ms",
        )


def _some(rng: random.Random, words: list[str], count: int) -> str:
    """Words of which each decade of the vocabulary's ranks is as likely as another."""
    return " ".join(words[int(len(words) ** rng.random()) - 1] for _ in range(count))


def _window(word: str) -> Asked:
    return {"window_name": f"{word} - code"}


def _month(rng: random.Random) -> Asked:
    start_ms = START_MS + rng.randrange(max(1, FRAMES * STEP_MS - _MONTH_MS))
    return {"start_time": start_ms / 1000, "end_time": (start_ms + _MONTH_MS) / 1000, "app_name": "wechat"}


# -- how it is measured -----------------------------------------------------------------------


def _ask(wire: Wire, asked: Asked) -> dict[str, Any]:
    """The answer to a question, as the API gives it."""
    found: dict[str, Any] = json.loads(wire.get(_address(asked)))
    return found


def _address(asked: Asked) -> str:
    return f"/api/v1/search?{urlencode({'start_time': 0, 'end_time': _END_S, **asked})}"


def _taken(wire: Wire, asked: Sequence[Asked]) -> list[float]:
    """Milliseconds of each answer."""
    return [wall for wall, _ in _measured(wire, asked)]


def _measured(wire: Wire, asked: Sequence[Asked]) -> list[Taken]:
    """What each answer took, and of the web process's processor time."""
    found = []
    for address in map(_address, asked):
        before, began = wire.cpu_s(), time.perf_counter()
        wire.get(address)
        taken = time.perf_counter() - began
        found.append((taken * 1000, (wire.cpu_s() - before) * 1000))
    return found


def _row(
    report: Report,
    wire: Wire,
    name: str,
    asked: Sequence[Asked],
    goal: str,
    raw: Sequence[Callable[[], object]] = (),
) -> None:
    wall, cpu = (list(each) for each in zip(*_measured(wire, asked), strict=True))
    limit = f"CPU {percentile(cpu, 0.5):.1f} / {percentile(cpu, 0.95):.1f} ms"
    if raw:
        # Of the same questions at the same time: other work on the machine slows both.
        ours = _taken(wire, asked[: len(raw)])
        least = [ms for call in raw for ms in timed_ms(call, 1, warmup=0)]
        ratio = percentile(ours, 0.5) / percentile(least, 0.5)
        limit += (
            f"; raw SQL {percentile(least, 0.5):.2f} / {percentile(least, 0.95):.2f} ms, ratio {ratio:.3f}"
        )
    value = f"{percentile(wall, 0.5):.1f} / {percentile(wall, 0.95):.1f} ms"
    report.row(f"{name}, p50 / p95", value, goal=goal, limit=limit)


def _raw_words(database: Database, asked: Asked) -> None:
    """The same frames by SQLite's own bm25, without filters by name, totals, texts or snippets."""
    low = int(float(str(asked.get("start_time", 0))) * 1000) * ID_STEP
    with database.read() as connection:
        connection.execute(
            "select rowid from frames_fts where frames_fts match ? and rowid >= ? order by rank limit 20",
            (query.parse(str(asked["q"])).match, low),
        ).fetchall()


def _raw_browse(database: Database) -> None:
    low, high = id_range(START_MS, START_MS + FRAMES * STEP_MS)
    with database.read() as connection:
        connection.execute(
            "select * from frames where id >= ? and id < ? order by id desc limit 20", (low, high)
        ).fetchall()
