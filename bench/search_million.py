"""Search over 1,000,000 frames, over the wire: every goal of the store beside raw SQLite.

Takes about ten minutes and 3 GB under the temporary folder, nearly all of it to make the frames, so
it runs only when it is named::

    python -m bench search_million

``RECOLLECT_BENCH_FRAMES`` asks for another number, ``RECOLLECT_BENCH_HOME`` keeps the home and uses
it again.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from bench.report import Report, percentile, timed_ms
from bench.synthetic import CHINESE, START_MS, STEP_MS, WORDS, Filled, fill, filled, insert
from store import query
from store.database import Database, open_database, scalar
from store.frames import ID_STEP, id_range
from store.paths import DataDir
from store.settings import Settings, WebSettings
from webapp import create_app
from webapp.address import listen
from webapp.assistant.models import ChatModels
from webapp.server import Server

ON_REQUEST = True
"""Left out when all measurements run."""

FRAMES = int(os.environ.get("RECOLLECT_BENCH_FRAMES", "1000000"))
_MONTH_MS = 30 * 86_400_000
_END_S = (START_MS + 10 * FRAMES * STEP_MS) / 1000
_QUERIES = 100
_RAW = 10

Ask = Callable[..., dict[str, object]]


def main(report: Report) -> None:
    """Print p50 and p95 of each kind of search."""
    kept = os.environ.get("RECOLLECT_BENCH_HOME")
    home = Path(kept or tempfile.mkdtemp()) / "home"
    try:
        database = open_database(DataDir(home))
        made = _made(report, database)
        with _served(database) as ask:
            _words(report, database, made, ask)
            _browsing(report, database, made, ask)
            _while_inserting(report, database, made, ask)
        database.close_thread()
    finally:
        if not kept:
            shutil.rmtree(home.parent)


def _made(report: Report, database: Database) -> Filled:
    found = filled(database)
    if found.frames >= FRAMES:
        return found
    made = fill(database, FRAMES)
    with database.read() as connection:
        index_bytes = scalar(connection, "select sum(length(block)) from frames_fts_data")
    report.row("index, build rate", f"{FRAMES / made.index_s:,.0f} frames/s")
    report.row(
        "index, size",
        f"{index_bytes / FRAMES:,.0f} B/frame",
        limit=f"{index_bytes / FRAMES / WORDS:.1f} B/word",
    )
    return made


# -- what is asked --------------------------------------------------------------------------


def _words(report: Report, database: Database, made: Filled, ask: Ask) -> None:
    rng = random.Random(11)
    common = made.vocabulary
    cases: list[tuple[str, str, Callable[[], dict[str, object]]]] = [
        ("keyword, any frequency", "p95 50 ms", lambda: {"q": _asked(rng, common, rng.randint(1, 3))}),
        ("keyword, the commonest word", "p95 50 ms", lambda: {"q": common[0]}),
        ("keyword, two common words", "p95 50 ms", lambda: {"q": " ".join(rng.sample(common[:10], 2))}),
        ("keyword, a phrase", "p95 50 ms", lambda: {"q": f'"{" ".join(rng.sample(common[:9], 2))}"'}),
        ("keyword, Chinese", "p95 50 ms", lambda: {"q": CHINESE[(at := rng.randrange(40)) : at + 2]}),
        ("keyword, a prefix of three", "", lambda: {"q": rng.choice(common[:200])[:3] + "*"}),
        ("two words, a month, an app", "p95 30 ms", lambda: {**_month(rng), "q": _asked(rng, common, 2)}),
        ("a word, a window", "p95 50 ms", lambda: {"q": common[0], "window_name": f"{common[1]} - code"}),
    ]
    for name, goal, make in cases:
        asked = [make() for _ in range(_QUERIES if not name.endswith("three") else 20)]
        raw = [lambda each=each: _raw_words(database, each) for each in asked]
        _row(report, name, [lambda each=each: ask(**each) for each in asked], raw, goal)


def _browsing(report: Report, database: Database, made: Filled, ask: Ask) -> None:
    word = made.vocabulary[3]
    cases: list[tuple[str, dict[str, object]]] = [
        ("browse", {}),
        ("browse, an app", {"app_name": "wechat"}),
        ("browse, several apps", {"app_name": "e"}),
        ("browse, a window", {"window_name": f"{word} - code"}),
        ("browse, a window that never was", {"window_name": "no such window"}),
        ("browse, an address", {"browser_url": f"/{word}"}),
        ("browse, without focus", {"focused": "false"}),
    ]
    for name, asked in cases:
        raw = [lambda: _raw_browse(database)] * _QUERIES if name == "browse" else []
        _row(report, name, [lambda asked=asked: ask(**asked)] * _QUERIES, raw, "p95 15 ms")
    for name, asked in (("browse", {}), ("keyword", {"q": made.vocabulary[0]})):
        cursor = _deep(ask, asked)
        if cursor is None:  # too few frames were asked for
            continue
        _row(
            report,
            f"{name}, page 500 by cursor",
            [lambda a=asked, c=cursor: ask(**a, cursor=c)] * 50,
            [],
            "as page 1",
        )


def _deep(ask: Ask, asked: dict[str, object]) -> object:
    page = ask(**asked, offset=10_000)
    return page["pagination"]["next_cursor"]  # type: ignore[index]  # the API's shape


def _while_inserting(report: Report, database: Database, made: Filled, ask: Ask) -> None:
    """Both sides alone, then at once: neither may take more than 1.5 times as long."""
    rng = random.Random(12)
    asked = [{"q": _asked(rng, made.vocabulary, 2)} for _ in range(_QUERIES)]
    inserts = _Inserts(database, made)
    alone = _taken([lambda each=each: ask(**each) for each in asked])
    inserted_alone = inserts.run(_QUERIES // 4)
    thread = threading.Thread(target=inserts.run_until_told)
    thread.start()
    together = _taken([lambda each=each: ask(**each) for each in asked])
    inserted_together = inserts.stop()
    thread.join()
    for name, before, after in (
        ("search while frames come in", alone, together),
        ("insert while somebody searches", inserted_alone, inserted_together),
    ):
        ratio = percentile(after, 0.5) / percentile(before, 0.5)
        report.row(
            f"{name}, p50", f"{ratio:.2f} x alone", goal="1.5 x", limit=f"{percentile(before, 0.5):.1f} ms"
        )


class _Inserts:
    """Frames with their index rows, one in each transaction, about eight a second as capture may make."""

    def __init__(self, database: Database, made: Filled) -> None:
        self._database, self._made = database, made
        self._rng = random.Random(13)
        self._next_ms = START_MS + made.frames * STEP_MS + STEP_MS
        self._is_over = threading.Event()
        self._taken: list[float] = []

    def run(self, times: int) -> list[float]:
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            self._insert()
            taken.append((time.perf_counter() - started) * 1000)
            time.sleep(0.12)
        return taken

    def run_until_told(self) -> None:
        while not self._is_over.is_set():
            self._taken += self.run(1)
        self._database.close_thread()

    def stop(self) -> list[float]:
        self._is_over.set()
        return self._taken

    def _insert(self) -> None:
        self._next_ms += 1_000
        with self._database.write() as connection:
            insert(connection, self._rng, self._made.vocabulary, self._next_ms)


def _asked(rng: random.Random, vocabulary: list[str], words: int) -> str:
    """Words of which each decade of the vocabulary's ranks is as likely as another."""
    return " ".join(vocabulary[int(len(vocabulary) ** rng.random()) - 1] for _ in range(words))


def _month(rng: random.Random) -> dict[str, object]:
    start_ms = START_MS + rng.randrange(max(1, FRAMES * STEP_MS - _MONTH_MS))
    return {"start_time": start_ms / 1000, "end_time": (start_ms + _MONTH_MS) / 1000, "app_name": "wechat"}


# -- how it is measured -----------------------------------------------------------------------


@contextmanager
def _served(database: Database) -> Iterator[Ask]:
    """A question to the real server on one kept connection; the answer as the API gives it."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        settings = Settings(web=replace(WebSettings(), port=port))
        app = create_app(settings, database, chat_models=ChatModels(settings.chat, {}))
        server = Server(app, listener, thread_done=database.close_thread)
        thread = threading.Thread(target=server.run)
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Authorization": f"Bearer {app.extensions['recollect'].token}"}

        def ask(**values: object) -> dict[str, object]:
            asked = {"start_time": 0, "end_time": _END_S, "mode": "fts", **values}
            address = f"/api/v1/search?{urlencode(asked)}"
            connection.request("GET", address, headers=headers)
            try:
                answer = connection.getresponse()
            except http.client.RemoteDisconnected:  # closed as silent while raw queries ran
                connection.close()
                connection.request("GET", address, headers=headers)
                answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {body[:300]!r}")
            found: dict[str, object] = json.loads(body)
            return found

        try:
            yield ask
        finally:
            connection.close()
            server.stop()
            thread.join()


def _row(
    report: Report, name: str, calls: list[Callable[[], object]], raw: list[Callable[[], object]], goal: str
) -> None:
    taken, least = _taken(calls), _taken(raw[:_RAW])
    ratio = percentile(taken, 0.5) / percentile(least, 0.5) if least else 0.0
    limit = (
        f"{percentile(least, 0.5):.2f} / {percentile(least, 0.95):.2f} ms (raw SQL), ratio {ratio:.1f}"
        if least
        else ""
    )
    report.row(
        f"{name}, p50 / p95",
        f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms",
        goal=goal,
        limit=limit,
    )


def _taken(calls: list[Callable[[], object]]) -> list[float]:
    return [ms for call in calls for ms in timed_ms(call, 1, warmup=0)]


def _raw_words(database: Database, asked: dict[str, object]) -> None:
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
