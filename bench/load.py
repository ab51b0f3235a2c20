"""Eight programs that hand in pictures and twenty browsers, for some time: loss, answers, memory each minute.

Runs only when it is named. ``RECOLLECT_BENCH_MINUTES`` says for how long, three where it does not. Each
program hands in a picture of its own a second, by ``POST /ingest``; each browser is signed in by a launch
link and opens a page, or what a page asks for, about once a second. Web process and worker are the real ones,
and all text is read: the worker reads slower than pictures come, and what waits for it is told.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import random
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from PIL import Image, ImageDraw, ImageFont
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from bench.ingest import worker
from bench.report import Report, percentile, rss_mb
from bench.wire import Wire, served
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.ocr import readings
from store.spool.queue import Spool
from webapp.ops.control import web_address
from webapp.security.access import launch_link

ON_REQUEST = True
PROGRAMS, BROWSERS = 8, 20
MINUTES = float(os.environ.get("RECOLLECT_BENCH_MINUTES", "3"))
_EACH_S = 1.0
_STORED_S = 120.0
_WORDS = (
    "harbour",
    "ledger",
    "quartz",
    "meadow",
    "signal",
    "copper",
    "lantern",
    "orchard",
    "tariff",
    "anchor",
)
_SIZE_PX = 960, 540
_PAGES = "/timeline", "/status", "/search?q={word}", "/days", "/settings/storage", "/chats"


class Load:
    """What was asked and what came of it, by all threads."""

    def __init__(self, home: DataDir) -> None:
        self.home, self.is_over = home, threading.Event()
        self.taken_ms: list[float] = []
        self.failures: Counter[str] = Counter()
        self.handed_in: list[str] = []
        self._lock = threading.Lock()
        address = web_address(home)
        assert address is not None
        self.url = address.url
        self._token = home.token.read_text().strip()

    def hand_in(self, seed: int) -> None:
        """One program: a picture each second."""
        chance, connection = random.Random(seed), self._connection()
        while not self.is_over.wait(_EACH_S):
            capture_id = str(uuid.uuid4())
            about = {"capture_id": capture_id, "captured_at": time.time(), "app_name": f"program {seed}"}
            picture = FileStorage(_picture(chance), "picture.png", content_type="image/png")
            boundary, body = encode_multipart({"metadata": json.dumps(about), "image": picture})
            kind = f"multipart/form-data; boundary={boundary}"
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
            if self._ask(connection, "POST", "/api/v1/ingest", headers, body) is not None:
                with self._lock:
                    self.handed_in.append(capture_id)

    def browse(self, seed: int) -> None:
        """One browser: a page, or a search and a picture that it found."""
        chance, connection = random.Random(seed), self._connection()
        link = urlsplit(launch_link(self.home, self.url))
        connection.request("GET", f"{link.path}?{link.query}")
        answer = connection.getresponse()
        answer.read()
        cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        while not self.is_over.wait(_EACH_S * chance.uniform(0.5, 1.5)):
            word = chance.choice(_WORDS)
            if chance.random() < 0.6:
                self._ask(connection, "GET", chance.choice(_PAGES).format(word=word), headers)
                continue
            asked = urlencode({"start_time": 0, "q": word, "limit": 5})
            found = self._ask(connection, "GET", f"/api/v1/search?{asked}", headers)
            for hit in json.loads(found or b'{"data": []}')["data"]:
                self._ask(connection, "GET", f"/api/v1/frames/{hit['frame_id']}?width=320", headers)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str],
        body: bytes | None = None,
    ) -> bytes | None:  # fmt: skip
        """The body of a good answer, None after a failure, which is counted."""
        began = time.perf_counter()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            status, content = type(error).__name__, b""
        else:
            status = "" if answer.status < 400 else str(answer.status)
        with self._lock:
            self.taken_ms.append((time.perf_counter() - began) * 1000)
            if status:
                self.failures[f"{status} {path.partition('?')[0]}"] += 1
        return None if status else content


def main(report: Report) -> None:
    with _home() as (home, database), served(home) as wire, worker(home) as worker_pid:
        load = Load(home)
        threads = [_thread(load.hand_in, seed) for seed in range(PROGRAMS)]
        threads += [_thread(load.browse, seed) for seed in range(PROGRAMS, PROGRAMS + BROWSERS)]
        try:
            for minute in range(1, round(MINUTES) + 1):
                time.sleep(60)
                _minute(report, minute, load, wire, worker_pid, database)
        finally:
            load.is_over.set()
            for thread in threads:
                thread.join()
        for what, times in load.failures.most_common(10):
            report.row(f"failed: {what}", str(times), goal="0")
        _stored(report, load, database)


def _thread(work: Callable[[int], None], seed: int) -> threading.Thread:
    thread = threading.Thread(target=work, args=(seed,))
    thread.start()
    return thread


def _minute(report: Report, minute: int, load: Load, wire: Wire, worker_pid: int, database: Database) -> None:
    taken, load.taken_ms = load.taken_ms, []
    report.line(
        f"  minute {minute}: {len(taken)} answers, p50 / p95 {percentile(taken, 0.5):.0f} / "
        f"{percentile(taken, 0.95):.0f} ms; web {wire.rss_mb():.0f} MB, worker {rss_mb(worker_pid):.0f} MB; "
        f"{Spool(load.home.spool).usage()[0]} to store, {readings.count_pending(database)} to read"
    )


def _stored(report: Report, load: Load, database: Database) -> None:
    """Whether all that was taken in is there, once each."""
    deadline, asked = time.monotonic() + _STORED_S, (json.dumps(load.handed_in),)
    sql = "select count(*) from {} where capture_id in (select value from json_each(?))"
    while time.monotonic() < deadline:
        if database.scalar(sql.format("ingest_records"), asked) == len(load.handed_in):
            break
        time.sleep(0.5)
    report.row("pictures taken in", str(len(load.handed_in)))
    # An id is one frame's at most.
    stored, waiting = database.scalar(sql.format("frames"), asked), Spool(load.home.spool).usage()[0]
    report.row("stored, and still in the spool", f"{stored}, {waiting}", goal=f"{len(load.handed_in)}, 0")


def _picture(chance: random.Random) -> io.BytesIO:
    image = Image.new("RGB", _SIZE_PX, "white")
    lines = "\n".join(" ".join(chance.choices(_WORDS, k=8)) for _ in range(6))
    ImageDraw.Draw(image).multiline_text((40, 40), lines, "black", ImageFont.load_default(24))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    buffer.seek(0)
    return buffer


@contextmanager
def _home() -> Iterator[tuple[DataDir, Database]]:
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home").create()
        database = open_database(home)
        yield home, database
        database.close_thread()
