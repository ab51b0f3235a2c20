"""`recollect up`: starts capture, ingest and the web, watches them, ends them together.

A part that ends by itself is started again: at once after a steady run, else after a pause that doubles,
because what made it end (a full disk, a display that is not there yet) may last. It is given up only where
the database cannot be used until a person does something; the pages say what. A
part that something has stopped for half a minute is replaced. What the parts write goes to ``logs/``, in
files that rotate at a fixed size. On Linux the kernel ends the parts when the supervisor is killed, so that
nothing records without anybody in charge.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

import apsw
import click
import psutil

from store.core.database import open_database
from store.core.errors import DatabaseUnusable, StoreError
from store.core.keys import box_of, handing
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.signals import stopped_by_signals
from webapp.ops.control import only_one, web_address
from webapp.ops.notification import notify_soon, trouble
from webapp.security.access import check_address, launch_link, listen

STEADY_S = 60.0
"""A part that ran so long had a good start: its end begins a new count."""
MAX_PAUSE_S = 300.0
LOUD_AFTER = 5
"""Quick ends in a row after which a part counts as down, and is said to be."""
STOPPED_S = 30.0
STOP_S = 4.0
_LOOK_S = 0.1
_LOOK_FOR_STOPPED_S = 5.0
_LOOK_FOR_TROUBLE_S = 2.0
_LASTING_S = 30.0
_LOG_BYTES = 2_000_000
_LOG_FILES = 3
_LOG_LINE_BYTES = 64_000
_LAST_WORDS = 200
_LAST_WORDS_S = 1.0

_ANNOUNCE_S = 30.0
_PR_SET_PDEATHSIG = 1
# Loaded here, not in the forked child, where only async-signal-safe work is safe.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


die_with_parent = partial(_prctl, _PR_SET_PDEATHSIG, signal.SIGTERM) if _prctl else None
"""For `subprocess.Popen(preexec_fn=)`: a signal for the child when the thread that started it ends."""


@dataclass(slots=True)
class Part:
    """One program under supervision; times are seconds of the monotonic clock.

    `quick_ends` counts its ends in a row without a steady run between them. `due_s` is when an ended part
    starts again, `stopped_s` since when a running one is seen stopped.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    key: bytes | None = field(default=None, repr=False)
    """Of an encrypted home: handed over at each start."""
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    quick_ends: int = 0
    due_s: float | None = None
    stopped_s: float | None = None
    last_line: str = ""
    copier: threading.Thread | None = None

    def start(self) -> None:
        self.started_s, self.due_s, self.stopped_s = time.monotonic(), None, None
        environment, key = handing(self.key)
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is the supervisor's to pass on, in its own order.
            start_new_session=os.name != "nt",
            preexec_fn=die_with_parent,
        )
        assert self.process.stdout is not None and self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin as given:  # it may have ended already
            given.write(key)
        self.last_line = ""
        self.copier = threading.Thread(
            target=self._copy, args=(self.process.stdout,), name=f"log {self.name}", daemon=True
        )
        self.copier.start()

    def _copy(self, stream: IO[bytes]) -> None:
        """What the part writes, line by line, into a log that never outgrows its cap."""
        handler = RotatingFileHandler(self.log, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
        with stream:
            for line in iter(lambda: stream.readline(_LOG_LINE_BYTES), b""):
                text = line.decode("utf-8", "replace").rstrip()
                handler.emit(logging.makeLogRecord({"msg": text}))
                self.last_line = text or self.last_line
        handler.close()

    def exit_code(self) -> int | None:
        return None if self.process is None else self.process.poll()

    def terminate(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def wait(self, timeout_s: float) -> bool:
        """Whether the part has ended by then."""
        if self.process is None:
            return True
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def pause_s(self, now_s: float) -> float:
        """Count an end; how long to wait before the next start: none at first, then 1, 2, 4 … seconds."""
        self.quick_ends = self.quick_ends + 1 if now_s - self.started_s < STEADY_S else 1
        return 0.0 if self.quick_ends == 1 else min(2.0 ** (self.quick_ends - 2), MAX_PAUSE_S)

    def how(self, code: int) -> str:
        """How the part ended, with the last that it said."""
        if self.copier:
            self.copier.join(_LAST_WORDS_S)
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}: {self.last_line[:_LAST_WORDS]}" if self.last_line else how

    def is_stuck(self, now_s: float) -> bool:
        """Whether the part has been stopped (SIGSTOP, a debugger) for too long: it would never end."""
        if self.process is None:
            return False
        try:
            is_stopped = psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED
        except psutil.NoSuchProcess:
            is_stopped = False
        self.stopped_s = (self.stopped_s or now_s) if is_stopped else None
        return self.stopped_s is not None and now_s - self.stopped_s >= STOPPED_S


class Supervisor:
    """Runs the parts of one home folder until it is told to stop."""

    def __init__(
        self,
        data_dir: DataDir,
        settings: Settings,
        *,
        with_capture: bool = True,
        open_browser: Callable[[str], object] | None = None,
        tell: Callable[[str], object] = click.echo,
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.is_sample = data_dir.sample_week.exists()
        self.with_capture = with_capture and not self.is_sample
        self.open_browser = open_browser
        self.tell = tell
        self.parts: list[Part] = []
        self._stopping = threading.Event()
        self._look_for_stopped_s = 0.0
        self._look_for_trouble_s = 0.0
        self._trouble, self._trouble_s = "", 0.0
        self._said: set[str] = set()
        self._is_shown = False
        self._advice: str | None = None

    def run(self) -> None:
        """Start the parts and watch them until `stop`.

        Raises `HomeLocked`, `StoreBusy` when another supervisor has this home, `PortInUse` and
        `SettingsError` when the pages cannot be served where the settings say.
        """
        with only_one(self.data_dir, "up"):
            check_address(self.settings.web)
            with listen(self.settings.web.host, self.settings.web.port) as probe:
                port: int = probe.getsockname()[1]
            self.parts = self._make_parts(port)
            with stopped_by_signals(self.stop):
                try:
                    for part in self.parts:
                        part.start()
                    self._announce()
                    self._show_in_tray()
                    while not self._stopping.wait(_LOOK_S):
                        self._look()
                finally:
                    self._end_parts()

    def stop(self) -> None:
        """End everything; a second call does not wait for the parts."""
        if self._stopping.is_set():
            for part in self.parts:
                part.kill()
        self._stopping.set()

    def _make_parts(self, port: int) -> list[Part]:
        """The pages first. A part that is started again finds the same port."""
        home = ("--home", str(self.data_dir.home))
        web = ("--host", self.settings.web.host, "--port", str(port), "--no-link")
        commands = {"web": ("webapp", "web", *home, *web), "ingest": ("ingest", *home)}
        if self.with_capture:
            commands["capture"] = ("capture", *home)
        # Capture keeps capture.log itself; two writers would rotate it under each other.
        logs = {"capture": "capture.out.log"}
        return [
            Part(
                name,
                (sys.executable, "-m", *command),
                self.data_dir.logs / logs.get(name, f"{name}.log"),
                box_of(self.data_dir.home).key,
            )
            for name, command in commands.items()
        ]

    def _announce(self) -> None:
        """Print the launch link as soon as the pages are served."""
        web = self.parts[0]
        deadline = time.monotonic() + _ANNOUNCE_S
        while time.monotonic() < deadline and not self._stopping.wait(_LOOK_S):
            self._look()
            address = web_address(self.data_dir)
            if address and web.process and address.pid == web.process.pid:
                link = launch_link(self.data_dir, address.url)
                self.tell(f"Recollect is running. Open this link once, within five minutes:\n  {link}")
                self.tell("Another link: `recollect open`. Stop with Ctrl-C.")
                if self.is_sample:
                    self.tell("This home folder holds a sample week: nothing is recorded into it.")
                if self.open_browser:
                    self.open_browser(link)
                return

    def _show_in_tray(self) -> None:
        """The recording light in the tray of the desktop, where it has a bus to ask for one; nobody waits."""
        if not self.with_capture or "DBUS_SESSION_BUS_ADDRESS" not in os.environ:
            return
        from webapp.ops.tray import Tray  # jeepney is on Linux alone, and the pages' languages take memory

        tray = Tray(self.data_dir, self._open_pages)
        threading.Thread(target=tray.run, args=(self._stopping,), name="tray", daemon=True).start()

    def _open_pages(self) -> None:
        if address := web_address(self.data_dir):
            webbrowser.open(launch_link(self.data_dir, address.url))

    def _look(self) -> None:
        """Start again what has ended, and end what only seems to run."""
        now_s = time.monotonic()
        for part in self.parts:
            if part.due_s is not None:
                if now_s >= part.due_s:
                    part.start()
            elif (code := part.exit_code()) is not None:
                self._ended(part, code, now_s)
        if now_s >= self._look_for_stopped_s:
            self._look_for_stopped_s = now_s + _LOOK_FOR_STOPPED_S
            for part in self.parts:
                if part.due_s is None and part.is_stuck(now_s):
                    self.tell(f"{part.name} was stopped for {STOPPED_S:.0f} s and is replaced")
                    part.kill()

        if now_s >= self._look_for_trouble_s and self.with_capture:
            self._look_for_trouble_s = now_s + _LOOK_FOR_TROUBLE_S
            self._look_for_trouble(now_s)

    def _look_for_trouble(self, now_s: float) -> None:
        """Say once here why nothing is recorded, and on the desktop what lasts."""
        sentence = trouble(self.data_dir)
        if sentence != self._trouble:
            self._trouble, self._trouble_s, self._is_shown = sentence, now_s, False
            if sentence and sentence not in self._said:
                self._said.add(sentence)
                self.tell(sentence)
        elif sentence and not self._is_shown and now_s - self._trouble_s >= _LASTING_S:
            self._is_shown = True
            notify_soon(sentence)

    def _ended(self, part: Part, code: int, now_s: float) -> None:
        problem = self._unusable()
        if problem:
            part.process = None
            sentence = f"{part.name} ended and is not started again: {problem}"
            self.tell(sentence)
            return notify_soon(sentence)
        how = part.how(code)
        pause_s = part.pause_s(now_s)
        part.due_s = now_s + pause_s
        again = f"in {pause_s:.0f} s" if pause_s else "at once"
        if part.quick_ends < LOUD_AFTER:
            self.tell(f"{part.name} ended ({how}) and is started again {again}; see {part.log}")
        else:
            self.tell(
                f"{part.name.upper()} IS DOWN: it ended {part.quick_ends} times soon after its start "
                f"({how}) and is started again {again}. See {part.log}."
            )
        if part.quick_ends == LOUD_AFTER:
            notify_soon(f"{part.name} does not work; {part.log} says why.")

    def _unusable(self) -> str:
        """Why no part can work with the database until a person does something, "" where it can be used."""
        try:
            open_database(self.data_dir).close_thread()
        except DatabaseUnusable as error:
            if self._advice is None:  # it reads whole backups
                self._advice = _advice(self.data_dir, error)
            return f"{error}. {self._advice}".rstrip()
        except (StoreError, OSError, apsw.Error):
            pass  # busy, full, or a disk that is not there: that may pass
        return ""

    def _end_parts(self) -> None:
        """Ask every part to end, and end what has not within `STOP_S`."""
        for part in reversed(self.parts):
            part.terminate()
        deadline = time.monotonic() + STOP_S
        for part in self.parts:
            if not part.wait(max(0.0, deadline - time.monotonic())):
                self.tell(f"{part.name} did not end in {STOP_S:.0f} s and is killed")
                part.kill()


def _advice(data_dir: DataDir, error: Exception) -> str:
    from store.backup.backup import advice  # with numpy and most of the store: 26 MB, hardly ever needed

    try:
        return advice(data_dir, error)
    except Exception as problem:  # whatever a backup says of itself, the other parts go on
        return f"The backups could not be read: {problem}."
