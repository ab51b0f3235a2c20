"""Private windows that no extension tells of: by command line, title and toolbar."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from capture.windows import processes
from capture.windows.private_windows import PrivateWindowDetector, ToolbarsRead
from capture.windows.protocol import WindowInfo
from store.spool import window_hints
from store.spool.window_hints import ToolbarHints
from tests.capture.fakes import FakeWindows, window

ORDINARY = ("chromium", "https://example.org")
PRIVATE = ("chromium", "--incognito")


class Desk:
    """Windows that are listed, processes they belong to, and what is told of the windows."""

    def __init__(self) -> None:
        self.source = FakeWindows([])
        self.lines: dict[int, tuple[str, ...]] = {1: ORDINARY}
        self.words = ToolbarHints()
        self.asked = 0
        self._marked = PrivateWindowDetector(
            self.source, lambda: self.words, self._command_line, lambda pid: "9"
        )

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
    desk.words = ToolbarHints(private=("1.9.10",))
    assert desk.are_private(chromium(incognito=False), chromium(incognito=True)) == [False, True]


def test_a_title_that_said_private_once_holds_for_the_window_s_life() -> None:
    desk = Desk()
    assert desk.are_private(chromium("New Incognito tab - Chromium"), chromium(number=17)) == [True, None]
    assert desk.are_private(chromium("News - Chromium")) == [True]
    assert desk.are_private() == []  # minimised
    assert desk.are_private(chromium("News - Chromium")) == [True]
    desk.lines[2] = ORDINARY
    assert desk.are_private(chromium(pid=2)) == [None]  # another browser's window of that number


def test_what_a_private_window_opens_is_private() -> None:
    """A login in a window of its own has no toolbar that could say so."""
    desk = Desk()
    desk.words = ToolbarHints(private=("1.9.10",))
    early, opener = chromium("Chat - Chromium", number=17, role="pop-up"), chromium(role="browser")
    login = chromium("Log in - Chromium", number=18, role="pop-up")
    main = chromium("Mail - Chromium", number=19, role="browser")
    other = chromium("Log in - Chromium", number=20, role="pop-up", pid=2)
    desk.told(early)
    assert desk.are_private(early, opener, login, main, other) == [None, True, True, None, None]
    assert desk.are_private(login, main) == [True, None]


def test_what_toolbars_said_is_known_by_the_window_s_key() -> None:
    desk = Desk()
    desk.words = ToolbarHints(private=("1.9.10",), seen=("1.9.11",))
    private, seen, new = desk.told(chromium(), chromium(number=17), chromium(number=18))
    assert (private.incognito, seen.incognito, new.incognito) == (True, None, None)
    assert (seen.toolbar_seen, new.toolbar_seen) == (True, False)


def test_the_file_is_read_when_it_changed(tmp_path: Path) -> None:
    words = ToolbarsRead(tmp_path)
    assert words() == ToolbarHints()
    window_hints.record_toolbar(tmp_path, "a", is_private=True)
    assert words().private == ("a",)
    window_hints.toolbars_path(tmp_path).write_text("nonsense")
    assert words() == ToolbarHints()  # every toolbar is read again


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
