"""The web process: from start to serving, memory, and searches over the wire at 20,000 frames."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from bench.report import Report, percentile, rss_mb, timed_ms
from bench.synthetic import fill
from store.database import open_database
from store.paths import DataDir

FRAMES = 20_000
ASKED = 40


def main(report: Report) -> None:
    """Print the time to the first answer, resident memory after use, and wire times."""
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home").create()
        database = open_database(home)
        filled = fill(database, FRAMES)
        database.close_thread()
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "webapp.cli", "web", "--home", str(home.home), "--port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            client = _Client(home)
            report.row("start to first answer", f"{time.perf_counter() - began:.2f} s", goal="5 s")
            start_s = filled.everything.start_ms / 1000
            searches = {
                "browse, a page": {"start_time": start_s},
                "a common word": {"start_time": start_s, "q": filled.vocabulary[3], "mode": "fts"},
            }
            for name, asked in searches.items():
                path = f"/api/v1/search?{urlencode(asked)}"
                taken = timed_ms(lambda path=path: client.get(path), ASKED)
                shown = f"{percentile(taken, 0.5):.1f} / {percentile(taken, 0.95):.1f} ms"
                report.row(f"{name}, over the wire, p50 / p95", shown)
            report.row("resident memory, words only", f"{rss_mb(process.pid):.0f} MB", goal="150 MB")
            client.get(f"/api/v1/search?{urlencode({'start_time': start_s, 'q': 'a question by meaning'})}")
            report.row("resident memory, with meaning", f"{rss_mb(process.pid):.0f} MB", goal="150 MB")
        finally:
            process.terminate()
            process.wait(10)


class _Client:
    """One kept connection to the process that serves a home."""

    def __init__(self, home: DataDir) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", _port(home), timeout=30)
        self._headers = {"Authorization": f"Bearer {home.token.read_text().strip()}"}
        self.get("/api/v1/health")

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 500 and not path.endswith("/health"):
            raise RuntimeError(f"{path}: {response.status}")
        return content


def _port(home: DataDir) -> int:
    announced = home.home / "web.json"
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if announced.exists():
            return int(json.loads(announced.read_text())["port"])
        time.sleep(0.01)
    raise TimeoutError("the web process does not come up")
