"""The screenpipe-shaped port beside the pages, in the real process."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from store.core.paths import DataDir
from webapp.ops.control import web_address
from webapp.security.access import load_token

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).resolve().parents[3]


def free_port() -> int:
    for port in random.sample(range(20_000, 32_000), 100):  # the system gives none of these away by itself
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@contextmanager
def pages(data_dir: DataDir, port: int) -> Iterator[str]:
    """`recollect web` with the port set; gives the address of the pages once they answer."""
    process = subprocess.Popen(
        [sys.executable, "-m", "webapp", "web", "--home", str(data_dir.home), "--port", "0", "--no-link"],
        cwd=ROOT,
        env={**os.environ, "RECOLLECT_COMPAT_SCREENPIPE_PORT": str(port)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while (address := web_address(data_dir)) is None or address.pid != process.pid:
            assert process.poll() is None
            time.sleep(0.05)
        yield address.url
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def status_of(url: str, token: str = "") -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_port_answers_beside_the_pages(data_dir: DataDir) -> None:
    token = load_token(data_dir)
    port = free_port()
    with pages(data_dir, port) as url:
        assert status_of(f"http://localhost:{port}/search", token) == 200
        assert status_of(f"http://localhost:{port}/search") == 401
        assert status_of(f"{url}/api/v1/stats", token) == 200


def test_a_taken_port_does_not_keep_the_pages_from_serving(data_dir: DataDir) -> None:
    screenpipe = socket.create_server(("127.0.0.1", 0))
    with screenpipe, pages(data_dir, int(screenpipe.getsockname()[1])) as url:
        assert status_of(f"{url}/api/v1/stats", load_token(data_dir)) == 200
