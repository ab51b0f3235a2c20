"""The installed programs, held by a test: start them, ask them, kill them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import psutil

T = TypeVar("T")
PATIENCE_S = 90
"""How long anything may take before it counts as not happening: a busy machine is slow, not wrong."""

_LINK = re.compile(r"http://\S+/launch\?\S+")


def chromium_path() -> str:
    """The system's Chromium; the tests bring no browser of their own."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError("no Chromium on this machine; `make test` installs it")


def headless_path() -> str:
    """Chromium without windows and profiles, where it is installed: a new visitor costs it a third."""
    return shutil.which("chromium-headless-shell") or chromium_path()


@contextmanager
def x_display(screen: str) -> Iterator[str]:
    """An X display of its own, such as ``1920x1080x24``; gives its name, such as ``:7``."""
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", screen, "-nolisten", "tcp"],
        pass_fds=(write_end,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        name = f":{pipe.readline().strip()}"
    try:
        yield name
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def eventually(ask: Callable[[], T], *, what: str, within_s: float = PATIENCE_S) -> T:
    """The first truthy answer; fails with `what` when there is none in time.

    While it waits nothing that a page says is heard, unless `ask` asks the page.
    """
    deadline = time.monotonic() + within_s
    pause_s = 0.01
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {what}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.2)


class Recollect:
    """`recollect` on one home folder, run as a person runs it."""

    def __init__(self, home: Path, python: str) -> None:
        self.home = home
        self.python = python
        self.link = ""
        self.output: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    # -- running --------------------------------------------------------------------------

    def run(
        self, *arguments: str, check: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """One command to its end."""
        return subprocess.run(
            [self.python, "-m", "webapp", *arguments, "--home", str(self.home)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=check,
        )

    def up(self, *arguments: str, **environment: str) -> str:
        """Start everything; returns the launch link once it is printed."""
        self._process = subprocess.Popen(
            [self.python, "-m", "webapp", "up", "--port", "0", "--home", str(self.home), *arguments],
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        eventually(lambda: self.link, what=f"a launch link in {self.output}")
        return self.link

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.output.append(line)
                found = _LINK.search(line)
                if found:
                    self.link = found.group()

    def stop(self, within_s: float = PATIENCE_S) -> int | None:
        """Ctrl-C; returns the exit code, None when it was not running."""
        if self._process is None or self._process.poll() is not None:
            return None
        self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            raise

    @property
    def processes(self) -> list[psutil.Process]:
        """`up` and the parts that it runs."""
        assert self._process is not None
        up = psutil.Process(self._process.pid)
        return [up, *up.children()]

    # -- asking ---------------------------------------------------------------------------

    @property
    def base(self) -> str:
        return self.link.split("/launch")[0]

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    def get(self, path: str) -> Any:
        """GET below /api/v1 with the token, as JSON; raises on an error status."""
        return json.loads(self.get_bytes(path))

    def get_bytes(self, path: str) -> bytes:
        request = urllib.request.Request(
            f"{self.base}/api/v1{path}", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            content: bytes = response.read()
        return content

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            f"{self.base}/api/v1{path}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return json.loads(response.read())

    def found(self, words: str) -> list[dict[str, Any]]:
        """Search hits of the last day."""
        hits: list[dict[str, Any]] = self.get(
            f"/search?start_time={time.time() - 86400:.3f}&q={quote(words)}"
        )["data"]
        return hits
