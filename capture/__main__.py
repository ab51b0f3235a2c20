"""python -m capture [--home DIR]: the capture daemon alone. Needs no database and no other program."""

from __future__ import annotations

import argparse
import logging
import logging.handlers
import os
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from capture.core.clock import SystemClock, file_stamp
from capture.core.errors import ChoicesUnreadable
from capture.daemon import Daemon, Parts, Sources
from capture.page_text import PageTextDoor, Tellers
from capture.platforms import open_accessible_text, open_sources, parse_source
from capture.privacy import Rules
from capture.sender import Sender
from capture.server import NotLetIn, Server
from capture.status import DiskFloor
from capture.windows import processes
from capture.windows.browser_extension import ExtensionHints, ExtensionWindows
from capture.windows.private_windows import PrivateWindowDetector
from store.core import recording
from store.core import settings as settings_module
from store.core.errors import HomeLocked, SettingsError, StoreBusy
from store.core.keys import box_of
from store.core.paths import WORKER_LOCK, DataDir, default_home, only_holder, restrict_files
from store.core.settings import CaptureSettings, Settings
from store.core.signals import stopped_by_signals
from store.spool.process_state import SenderState, ServerPause
from store.spool.queue import Spool

log = logging.getLogger("capture")

_LOG_BYTES = 2_000_000
_NICE = 5
_LAST_ENTRY_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Exit status 2 for settings that cannot be used, for a locked home, and for
    one that another capture, `encrypt` or `decrypt` works on.
    """
    parser = argparse.ArgumentParser(prog="python -m capture", description=__doc__)
    parser.add_argument("--home", type=Path, default=None, help="home folder (default: RECOLLECT_HOME)")
    parser.add_argument("--source", default=None, help="screen, folder:DIR or video:FILE")
    parser.add_argument("--server", default=None, metavar="URL", help="hand in to this Recollect")
    parser.add_argument("--token-file", type=Path, default=None, help="with the server's token for this host")
    parser.add_argument("--token", default=None, help="the token itself; other users can see it")
    parser.add_argument("--allow-http", action="store_true", help="without TLS, on an encrypted network")
    options = parser.parse_args(arguments)
    restrict_files()
    overrides = {"capture.source": options.source} if options.source else {}
    with ExitStack() as held:
        try:
            data_dir = DataDir(options.home or default_home()).create()
            if data_dir.sample_week.exists():
                raise SettingsError(f"{data_dir.home} holds a sample week; nothing is recorded into it")
            settings = settings_module.load(data_dir, arguments=overrides)
            parse_source(settings.capture.source)
            # Whoever must have no writer holds it; so whether the home is locked is asked afterwards.
            problem = f"another program records into {data_dir.home}, encrypts or decrypts it"
            held.enter_context(only_holder(data_dir.spool / "capture.lock", 0.0, problem))
            box_of(data_dir.home)
            server = _server(options)
            if server is not None:  # two that take from one spool would lose entries to each other
                problem = f"another program takes what is captured into {data_dir.home}; end it first"
                held.enter_context(only_holder(data_dir.spool / WORKER_LOCK, 0.0, problem))
        except (SettingsError, HomeLocked, StoreBusy) as error:
            sys.stderr.write(f"capture: {error}\n")
            return 2
        _log_to(data_dir.logs / "capture.log")
        if hasattr(os, "nice"):
            os.nice(_NICE)  # what the person does comes first
        stop = threading.Event()
        with stopped_by_signals(stop.set):
            run(data_dir, settings, stop, server)
    return 0


def _server(options: argparse.Namespace) -> Server | None:
    """The server to hand in to, if any. Raises `SettingsError`."""
    if options.server is None:
        return None
    token, path = options.token or os.environ.get("RECOLLECT_TOKEN", ""), options.token_file
    if options.token:
        sys.stderr.write("capture: other users can see --token; better --token-file or RECOLLECT_TOKEN\n")

    def read() -> str:
        try:
            return str(path.read_text(encoding="ascii").strip() if path else token)
        except (OSError, ValueError) as error:
            raise NotLetIn(f"the token cannot be read: {error}") from error

    if not path and not token:
        raise SettingsError("--server needs --token-file or RECOLLECT_TOKEN (recollect token add, there)")
    return Server(options.server, read, allow_http=options.allow_http)


def run(data_dir: DataDir, settings: Settings, stop: threading.Event, server: Server | None = None) -> None:
    """Capture into the spool of this home folder until `stop` is set, and from there to the server."""
    clock = SystemClock()
    limits = settings.spool
    spool = Spool(data_dir.spool, max_bytes=round(limits.max_gb * 1e9), max_entries=limits.max_entries)
    words = ExtensionHints(data_dir.spool)

    def open_observed(chosen: CaptureSettings) -> Sources:
        sources = open_sources(chosen, clock)
        witnessed = ExtensionWindows(sources.windows, words, clock.now_ms)
        windows = PrivateWindowDetector(witnessed, processes.command_line, processes.started)
        return replace(sources, windows=windows)

    rules = Rules(data_dir, settings.privacy, has_server=server is not None)
    door = PageTextDoor(data_dir.spool, lambda page: rules.current().decide_on_screen(page).action == "keep")
    also = open_accessible_text() if settings.capture.accessible_text else []
    tellers = Tellers(door, *also)

    def parts() -> Parts:
        choice = Choice(data_dir, settings.capture)
        return Parts(
            open_sources=lambda: open_observed(choice.usable()), spool=spool, rules=rules,
            settings=choice.settings, clock=clock, page_text=tellers, is_current=choice.is_current,
            disk=DiskFloor(data_dir.spool, choice.settings.min_free_gb),
        )  # fmt: skip

    sender = server and Sender(data_dir, spool, rules, server, clock, stop)
    if sender:
        sender.start()
    else:
        for state in (SenderState, ServerPause):  # nobody is left who could end its pause
            state.forget(data_dir.spool)
    try:
        while not stop.is_set():
            Daemon(parts()).run(stop)
    finally:
        tellers.close()
        if sender:
            stop.set()
            sender.join(_LAST_ENTRY_S)


class Choice:
    """How the screen is recorded as the person chose it last. Where that cannot be read nothing is recorded:
    it may leave a monitor out.
    """

    def __init__(self, data_dir: DataDir, settings: CaptureSettings) -> None:
        self._path = data_dir.recording
        self._stamp = file_stamp(self._path)  # of before it is read: a change meanwhile is not missed
        self._problem = ""
        self.settings = settings
        try:
            self.settings = recording.chosen(data_dir, settings)
        except SettingsError as error:
            self._problem = str(error)

    def usable(self) -> CaptureSettings:
        """Raises `ChoicesUnreadable`."""
        if self._problem:
            raise ChoicesUnreadable(self._problem, "Choose again under Settings, Recording")
        return self.settings

    def is_current(self) -> bool:
        return file_stamp(self._path) == self._stamp


def _log_to(path: Path) -> None:
    """A log of bounded size in the home folder, and the same on standard error."""
    file = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=2, encoding="utf-8")
    handlers: list[logging.Handler] = [file, logging.StreamHandler()]
    logging.basicConfig(
        level=logging.INFO, handlers=handlers, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


if __name__ == "__main__":
    sys.exit(main())
