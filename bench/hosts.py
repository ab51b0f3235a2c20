"""Eight machines that hand in a frame a second each: lost, doubled, how soon accepted, whatever breaks.

Runs only when it is named; ``RECOLLECT_BENCH_MINUTES`` says for how long, two where it does not. Each machine
is a process with a home, a spool and the sender of the daemon; pages and worker are the real programs, and
all text is read. At a quarter of the time the net is cut for half a minute, before requests or after their
answers; at half the server is killed and begins again, then its worker; at three quarters one machine is
killed in the same way. The cut is made where a connection is: at the socket of each machine.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from bench.load import _picture
from bench.report import Report, cpu_s, percentile
from capture.core.clock import SystemClock
from capture.privacy import Rules
from capture.sender import Sender
from capture.server import Server
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.sources import hosts
from store.spool.queue import Capture, LookReport, Spool, parse_entry_name
from webapp.security.access import listen, load_token
from webapp.security.keys import Keyring

ON_REQUEST = True
HOSTS = 8
MINUTES = float(os.environ.get("RECOLLECT_BENCH_MINUTES", "2"))
_CUT_S = 30.0
_DRAINED_S = 600.0
_STORED_S = 120.0
_BETWEEN_REPORTS = 10


class Line(Server):
    """A server behind a net that can be cut; how long each entry took to be accepted is written down."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        super().__init__(url, lambda: token)
        self._is_cut = folder.parent / "cut"
        self._times = (folder / "accepted").open("a", buffering=1)

    def _exchange(
        self, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._is_cut.exists() and random.random() < 0.5:
            self.close()
            raise ConnectionError("cut before it was sent")
        began = time.perf_counter()
        answer = super()._exchange(path, body, headers)
        if self._is_cut.exists():
            self.close()
            raise ConnectionError("cut before the answer came")
        if path == "/hosts/entries" and answer[0].status == 202:
            self._times.write(f"{(time.perf_counter() - began) * 1000}\n")
        return answer


def machine(folder: Path, url: str, token: str) -> None:
    """One host, until it is told to end and has handed in all; `seen` is what it has put into its spool."""
    data_dir = DataDir(folder).create()
    spool = Spool(data_dir.spool)
    clock, ending = SystemClock(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    rules = Rules(data_dir, PrivacySettings())
    sender = Sender(data_dir, spool, rules, Line(url, token, folder), clock, threading.Event())
    sender.start()
    stills = cycle([_picture(random.Random(f"{folder.name} {n}")).getvalue() for n in range(20)])
    batch, looks, due_s = str(uuid.uuid4()), 0, time.monotonic() + random.random()
    with (folder / "seen").open("a", buffering=1) as seen:
        while not ending.wait(max(0.0, due_s - time.monotonic())):
            due_s += 1.0
            image = next(stills)
            capture_id, at_ms = str(uuid.uuid4()), clock.now_ms()
            sha256 = hashlib.sha256(image).hexdigest()
            record = Capture(
                capture_id, at_ms, "screen", "image/png", "DP-1", folder.name, "a window",
                focused=True, sha256=sha256, batch_id=batch,
            )  # fmt: skip
            spool.put(record, image)
            seen.write(capture_id + "\n")
            looks += 1
            if looks == _BETWEEN_REPORTS:
                spool.put(LookReport(batch, at_ms - 1_000 * looks, at_ms, looks))
                batch, looks = str(uuid.uuid4()), 0
    while spool.usage()[0]:
        time.sleep(0.1)


@dataclass(slots=True)
class _Run:
    """The programs of one run and what was seen of them; `folder` has one for each host, and the server's."""

    folder: Path
    data_dir: DataDir
    hosts: list[str]
    parts: list[_Program]
    machines: list[_Program]
    began_s: float
    loads: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0  # of the web process for each entry since four fifths of the time
    drained_s: float = 0.0

    def until(self, share: float, more_s: float = 0.0) -> None:
        due_s = self.began_s + share * MINUTES * 60 + more_s
        while (left_s := due_s - time.monotonic()) > 0:
            time.sleep(min(5.0, left_s))
            self.loads.append(os.getloadavg()[0])


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        run = _begin(Path(name), running)
        _break_things(run)
        _drain(run)
        waiting = _wait_for_store(run)
        report.row("machines, minutes", f"{HOSTS}, {MINUTES:g}")
        database = open_database(run.data_dir)
        _tell_losses(report, run, database, waiting)
        _tell_speed(report, run)
        report.row("clocks apart, at most", f"{max(abs(h.skew_ms) for h in hosts.listed(database))} ms")
        database.close_thread()


def _begin(folder: Path, running: ExitStack) -> _Run:
    data_dir = DataDir(folder / "server").create()
    tokens = _tokens(data_dir)
    with listen("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    parts = [["web", "--no-link", "--port", port], ["ingest"]]
    commands = [[sys.executable, "-m", "webapp", *part, "--home", str(data_dir.home)] for part in parts]
    commands += [
        [sys.executable, "-m", "bench.hosts", str(folder / host), url, token]
        for host, token in tokens.items()
    ]
    programs = [running.enter_context(_Program(command)) for command in commands]
    while not all((folder / host / "seen").exists() for host in tokens):
        time.sleep(0.1)
    return _Run(folder, data_dir, list(tokens), programs[:2], programs[2:], time.monotonic())


def _break_things(run: _Run) -> None:
    run.until(0.25)
    (run.folder / "cut").touch()
    run.until(0.25, _CUT_S)
    (run.folder / "cut").unlink()
    run.until(0.5)
    for program in run.parts:
        program.kill()
        run.until(0.55)
        program.begin()
    run.until(0.75)
    run.machines[0].kill()
    run.until(0.8)
    run.machines[0].begin()


def _drain(run: _Run) -> None:
    """The last fifth, and what was put off until then."""
    before_s, before = cpu_s(run.parts[0].pid), len(_accepted(run.folder))
    run.until(1.0)
    for each in run.machines:
        each.tell_to_end()
    for each in run.machines:
        each.wait()
    run.drained_s = time.monotonic() - run.began_s - MINUTES * 60
    entries = len(_accepted(run.folder)) - before
    run.cpu_ms = (cpu_s(run.parts[0].pid) - before_s) * 1000 / max(1, entries)


def _tell_losses(report: Report, run: _Run, database: Database, waiting: set[str]) -> None:
    seen = [line for host in run.hosts for line in (run.folder / host / "seen").read_text().split()]
    stored = database.column("select capture_id from frames")
    batches = database.scalar(
        "select count(*) from (select 1 from look_batches group by id having count(*) > 1)"
    )
    rows = database.rows("select host, count(*) from frames group by 1")
    strange = sum(number for host, number in rows if host not in run.hosts)
    counts = f"{len(seen):,}, {len(stored):,}, {len(waiting):,}"
    report.row("frames seen, stored, still in a spool", counts)
    report.row("lost", str(len(set(seen) - set(stored) - waiting)), goal="0")
    report.row("doubled", str(len(stored) - len(set(stored)) + batches), goal="0")
    report.row("under another name than their host's", str(strange), goal="0")


def _tell_speed(report: Report, run: _Run) -> None:
    times = _accepted(run.folder)
    for share in (0.5, 0.95, 0.99):
        goal = "200 ms" if share == 0.95 else ""
        report.row(f"accepted within, {share:.0%}", f"{percentile(times, share):.0f} ms", goal=goal)
    report.row("CPU of the web process for each", f"{run.cpu_ms:.1f} ms")
    report.row("last entry handed in after the end", f"{run.drained_s:.0f} s")
    load = sum(run.loads) / len(run.loads)
    report.row("load of the machine meanwhile, mean", f"{load:.1f}", limit=f"{os.cpu_count()} cores")


def _tokens(data_dir: DataDir) -> dict[str, str]:
    database = open_database(data_dir)
    keyring = Keyring(database, load_token(data_dir), SystemClock().now_ms)
    with database.write() as connection:
        return {name: keyring.make(connection, "ingest", name) for name in (f"host{n}" for n in range(HOSTS))}


_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}


class _Program:
    """A program that can be killed and begun again."""

    def __init__(self, command: list[str]) -> None:
        self._command = command

    def __enter__(self) -> _Program:
        self.begin()
        return self

    def begin(self) -> None:
        null = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, env=_ENVIRONMENT, stdout=null, stderr=null)
        self.pid = self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def tell_to_end(self) -> None:
        self._process.terminate()

    def wait(self) -> None:
        self._process.wait(_DRAINED_S)

    def __exit__(self, *_: object) -> None:
        self.kill()


def _accepted(folder: Path) -> list[float]:
    """How long each entry took to be accepted, in milliseconds."""
    return [float(line) for path in folder.glob("*/accepted") for line in path.read_text().split()]


def _wait_for_store(run: _Run) -> set[str]:
    """Ids of the captures that the worker has not come to in two minutes, counted once nothing moves. A
    machine that was told to end while it began has kept its own.
    """
    spool, deadline_s = Spool(run.data_dir.spool), time.monotonic() + _STORED_S
    while spool.usage()[0] and time.monotonic() < deadline_s:
        time.sleep(0.2)
    for part in run.parts:
        part.kill()
    found = (parse_entry_name(path.name) for path in run.folder.glob("*/spool/*/*"))
    return {told[1] for told in found if told and not told[2]}


if __name__ == "__main__":
    machine(Path(sys.argv[1]), *sys.argv[2:])
