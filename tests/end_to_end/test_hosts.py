"""Two machines that capture for a third: real programs over real HTTP, killed and begun again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from PIL import Image

from capture.core.clock import SystemClock
from capture.privacy import Rules
from capture.sender import Sender
from capture.server import Server
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.spool.process_state import IngestState
from store.spool.queue import Spool
from store.timeline import ledger
from tests.capture.fakes import screen
from tests.end_to_end.programs import eventually
from tests.webapp.conftest import make_token
from webapp.ops.control import web_address
from webapp.security.access import listen

pytestmark = pytest.mark.end_to_end


class Programs:
    """Programs by name; whatever runs at the end is killed."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self, name: str, *arguments: str) -> None:
        command = [sys.executable, "-m", *arguments]
        environment = {**os.environ, "RECOLLECT_CAPTURE_INTERVAL_S": "0.2"}
        null = subprocess.DEVNULL
        self._running[name] = subprocess.Popen(command, env=environment, stdout=null, stderr=null)

    def kill(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def end(self, name: str) -> None:
        """As a person ends it: what it did is told."""
        process = self._running.pop(name)
        process.terminate()
        process.wait()

    def kill_all(self) -> None:
        for name in list(self._running):
            self.kill(name)


@pytest.fixture
def programs() -> Iterator[Programs]:
    with ExitStack() as ended:
        running = Programs()
        ended.callback(running.kill_all)
        yield running


def test_killed_in_turns_they_lose_nothing_and_double_nothing(
    database: Database, tmp_path: Path, programs: Programs
) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for seed in range(30):
        Image.fromarray(screen(320, 240, seed)[..., 2::-1]).save(pictures / f"{seed:03}.png")
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    url, home = f"http://127.0.0.1:{port}", str(database.data_dir.home)
    web = ("webapp", "web", "--no-link", "--port", str(port), "--home", home)
    homes = {name: DataDir(tmp_path / name).create() for name in ("laptop", "desk")}
    tokens = {name: make_token(database, "ingest", name) for name in homes}

    def capture(name: str) -> None:
        secret = homes[name].home / "server-token"
        secret.write_text(tokens[name])
        source = ("--source", f"folder:{pictures}", "--server", url, "--token-file", str(secret))
        programs.begin(name, "capture", "--home", str(homes[name].home), *source)

    def stored(name: str) -> int:
        return int(database.scalar("select count(*) from frames where host = ?", (name,)))

    programs.begin("web", *web)
    programs.begin("ingest", "webapp", "ingest", "--home", home)
    eventually(lambda: IngestState.read(database.data_dir.spool), what="a worker")
    eventually(lambda: web_address(database.data_dir), what="pages")
    capture("laptop")
    capture("desk")
    eventually(lambda: stored("laptop") and stored("desk"), what="frames of both")
    programs.kill("web")
    eventually(lambda: Spool(homes["desk"].spool).waiting(), what="a spool that fills while nobody answers")
    programs.kill("laptop")
    programs.begin("web", *web)
    capture("laptop")
    before = stored("laptop"), stored("desk")
    eventually(lambda: stored("laptop") > before[0] and stored("desk") > before[1], what="more of both")
    programs.end("laptop")
    programs.end("desk")
    for name, data_dir in homes.items():
        spool, rules = Spool(data_dir.spool), Rules(data_dir, PrivacySettings())
        server = Server(url, lambda name=name: tokens[name])  # type: ignore[misc]
        sender = Sender(data_dir, spool, rules, server, SystemClock(), threading.Event())
        spool.recover()
        eventually(lambda: sender.step() > 0.0 and not spool.usage()[0], what=f"the rest of {name}")  # noqa: B023
        server.close()
    eventually(lambda: not Spool(database.data_dir.spool).usage()[0], what="the server's spool empty")
    seen = database.rows("select host, monitor, count(*) from frames group by 1, 2 order by 1")
    assert [(host, monitor) for host, monitor, _ in seen] == [
        ("desk", "desk/folder"),
        ("laptop", "laptop/folder"),
    ]
    # What the killed one had not reported is unknown; of what was reported nothing is missing.
    balance = ledger.reconcile(database, 0, 2**42)
    assert balance.kept > 0
    assert balance.difference == 0
