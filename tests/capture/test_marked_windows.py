"""Private windows that no extension tells of: by command line and title."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from capture.windows import processes
from capture.windows.private_windows import PrivateWindowDetector
from capture.windows.protocol import WindowInfo
from tests.capture.fakes import FakeWindows, window

ORDINARY = ("chromium", "https://example.org")
PRIVATE = ("chromium", "--incognito")


class Desk:
    """Windows that are listed, processes they belong to, and what is told of the windows."""

    def __init__(self) -> None:
        self.source = FakeWindows([])
        self.lines: dict[int, tuple[str, ...]] = {1: ORDINARY}
        self.asked = 0
        self._marked = PrivateWindowDetector(self.source, self._command_line, lambda pid: "9")

    def _command_line(self, pid: int) -> tuple[str, ...]:
        self.asked += 1
        return self.lines.get(pid, ())

    def told(self, *windows: WindowInfo) -> list[WindowInfo]:
        self.source.listed = list(windows)
        return self._marked.windows()

    def are_private(self, *windows: WindowInfo) -> list[bool | None]:
        return [told.incognito for told in self.told(*windows)]


def chromium(title: str | None = "News - Chromium", number: int = 16, **changes: object) -> WindowInfo:
    return window("Chromium", title, **{"pid": 1, "window_id": number, **changes})


def test_a_browser_started_for_private_windows_has_no_others() -> None:
    desk = Desk()
    desk.lines[2] = PRIVATE
    assert desk.are_private(chromium(), chromium(pid=2), window("Code", pid=2)) == [None, True, None]
    assert desk.are_private(chromium(pid=2, window_id=None)) == [True]


def test_a_process_is_asked_once_a_window() -> None:
    desk = Desk()
    for _ in range(3):
        desk.told(chromium(), chromium(number=17))
    assert desk.asked == 2


def test_the_extension_s_word_counts_first() -> None:
    desk = Desk()
    desk.lines[1] = PRIVATE
    assert desk.are_private(chromium(incognito=False), chromium(incognito=True)) == [False, True]


def test_a_title_that_said_private_once_holds_for_the_window_s_life() -> None:
    desk = Desk()
    assert desk.are_private(chromium("New Incognito tab - Chromium"), chromium(number=17)) == [True, None]
    assert desk.are_private(chromium("News - Chromium")) == [True]
    assert desk.are_private() == []  # minimised
    assert desk.are_private(chromium("News - Chromium")) == [True]
    desk.lines[2] = ORDINARY
    assert desk.are_private(chromium(pid=2)) == [None]  # another browser's window of that number


def test_a_process_tells_how_it_was_started() -> None:
    program = [sys.executable, "-c", "print(flush=True), input()", "--incognito", "a b"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        assert processes.command_line(process.pid) == tuple(program)
        assert processes.program(process.pid) == str(Path(sys.executable).resolve())
        assert processes.started(process.pid).isdigit()
        assert int(processes.started(process.pid)) >= int(processes.started(os.getpid()))
        process.kill()
    assert processes.command_line(process.pid) == ()
    assert processes.started(process.pid) == ""
    assert processes.program(process.pid) == ""
