"""What runs on a home folder, told by the operating system and never by a leftover file."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.core.settings import Settings, WebSettings
from tests.tables import for_each
from webapp.ops.control import Address, advertise_address, only_one, web_address
from webapp.serving.app import serve


def test_the_address_is_there_while_the_pages_are_served(data_dir: DataDir) -> None:
    assert web_address(data_dir) is None
    with advertise_address(data_dir, "127.0.0.1", 9000) as address:
        assert web_address(data_dir) == address == Address(os.getpid(), "127.0.0.1", 9000)
    assert web_address(data_dir) is None


def test_the_address_of_a_dead_process_is_none(data_dir: DataDir) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    document = {"pid": ended.pid, "host": "127.0.0.1", "port": 9000}
    (data_dir.home / "web.json").write_text(json.dumps(document))
    assert web_address(data_dir) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', "\x00"])
def test_a_file_that_cannot_be_read_is_no_address(data_dir: DataDir, content: str) -> None:
    (data_dir.home / "web.json").write_text(content)
    assert web_address(data_dir) is None


def test_an_older_web_process_does_not_take_the_newer_ones_address_away(data_dir: DataDir) -> None:
    with advertise_address(data_dir, "127.0.0.1", 9000), advertise_address(data_dir, "127.0.0.1", 9001):
        pass
    with advertise_address(data_dir, "127.0.0.1", 9000):
        newer = json.dumps({"pid": os.getppid(), "host": "127.0.0.1", "port": 9001})
        (data_dir.home / "web.json").write_text(newer)
    found = web_address(data_dir)
    assert found is not None and found.port == 9001


@for_each(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:9000"),
        ("0.0.0.0", "http://127.0.0.1:9000"),
        ("", "http://127.0.0.1:9000"),
        ("::1", "http://[::1]:9000"),
        ("::", "http://[::1]:9000"),
        ("localhost", "http://localhost:9000"),
    ],
)
def test_a_link_leads_to_this_machine(host: str, url: str) -> None:
    assert Address(1, host, 9000).url == url


def test_the_lock_goes_with_its_process(data_dir: DataDir) -> None:
    """A crash leaves the file and not the lock."""
    code = (
        "import os, sys; from pathlib import Path; from store.core.paths import DataDir; "
        "from webapp.ops.control import only_one; "
        f"lock = only_one(DataDir(Path({str(data_dir.home)!r})), 'up'); lock.__enter__(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert (data_dir.home / "up.lock").exists()
    with only_one(data_dir, "up"), pytest.raises(StoreBusy), only_one(data_dir, "up"):
        pass
    with only_one(data_dir, "up"):
        pass


def test_the_pages_end_without_taking_their_interpreter_apart(data_dir: DataDir) -> None:
    """Beside its threads that takes longer on a busy machine than `recollect up` waits for."""
    code = (
        "import atexit; from webapp.cli import main; atexit.register(print, 'taken apart'); "
        f"main(['web', '--port', '0', '--home', {str(data_dir.home)!r}])"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as web:
        assert web.stdout is not None
        assert "Open this link" in web.stdout.readline()
        web.terminate()
        said, logged = web.communicate()
    assert (web.returncode, "taken apart" in said, "the pages have ended" in logged) == (0, False, True)


def test_a_second_web_process_is_refused_before_it_touches_a_turn(data_dir: DataDir) -> None:
    with only_one(data_dir, "web"), pytest.raises(StoreBusy, match="recollect open"):
        serve(data_dir, Settings(web=WebSettings(port=0)), None)
    assert not data_dir.database.exists()
