"""The web process of a home, and one kept connection to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.report import rss_mb
from store.core.paths import DataDir


class Wire:
    """Asks the process that serves a home, as any program does."""

    def __init__(self, home: DataDir, pid: int) -> None:
        self.pid = pid
        self._connection = http.client.HTTPConnection("127.0.0.1", _port(home), timeout=30)
        self._headers = {"Authorization": f"Bearer {home.token.read_text().strip()}"}
        self.get("/api/v1/health")

    def get(self, path: str) -> bytes:
        """The body of an answer. Raises `RuntimeError` for any status but 200."""
        try:
            response = self._asked(path)
        except http.client.RemoteDisconnected:  # closed as silent while something else was measured
            self._connection.close()
            response = self._asked(path)
        content = response.read()
        # Health answers 503 while a part of the program, which is not run here, is missing.
        if response.status != 200 and not path.endswith("/health"):
            raise RuntimeError(f"{path}: {response.status}: {content[:300]!r}")
        return content

    def cpu_s(self) -> float:
        """Seconds of processor time its living threads have used, to the microsecond (Linux)."""
        threads = Path(f"/proc/{self.pid}/task").iterdir()
        # https://docs.kernel.org/scheduler/sched-stats.html#proc-pid-schedstat
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def rss_mb(self) -> float:
        return rss_mb(self.pid)

    def _asked(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        return self._connection.getresponse()


def environment() -> dict[str, str]:
    """For programs of ours, which take the variables of the benches for settings they do not know."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_BENCH_")}


@contextmanager
def served(home: DataDir) -> Iterator[Wire]:
    """The web process of `home` as long as the block lasts."""
    announced = home.home / "web.json"
    announced.unlink(missing_ok=True)  # of a process that was killed
    process = subprocess.Popen(
        [sys.executable, "-m", "webapp", "web", "--home", str(home.home), "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    try:
        yield Wire(home, process.pid)
    finally:
        process.terminate()
        process.wait(10)


def _port(home: DataDir) -> int:
    announced = home.home / "web.json"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if announced.exists():
            return int(json.loads(announced.read_text())["port"])
        time.sleep(0.01)
    raise TimeoutError("the web process does not come up")
