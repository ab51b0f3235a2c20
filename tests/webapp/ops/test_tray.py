"""The light in the tray, over a real session bus: as a desktop asks for it and as a person uses it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jeepney import DBusAddress, HeaderFields, Properties, message_bus, new_method_call, new_method_return
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from store.core.paths import DataDir
from store.spool.process_state import CaptureState, read_pause
from tests.end_to_end.programs import PATIENCE_S, Recollect, eventually, x_display

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("Xvfb", "dbus-daemon"))), reason="needs Xvfb and dbus-daemon"
)
WATCHER = "org.kde.StatusNotifierWatcher"


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session's bus of its own."""
    command = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as daemon:
        assert daemon.stdout
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", daemon.stdout.readline().strip())
        yield
        daemon.terminate()


class Desktop:
    """The watcher of a desktop, and what its panel asks of the item that came."""

    def __init__(self, connection: DBusConnection) -> None:
        self.connection = connection
        connection.send_and_get_reply(message_bus.RequestName(WATCHER))
        while True:
            call = connection.receive(timeout=PATIENCE_S)
            if call.header.fields.get(HeaderFields.member) == "RegisterStatusNotifierItem":
                connection.send(new_method_return(call))
                break
        self.item = DBusAddress("/StatusNotifierItem", call.body[0], "org.kde.StatusNotifierItem")
        self.menu = DBusAddress(self.get("Menu"), call.body[0], "com.canonical.dbusmenu")

    def ask(self, address: DBusAddress, member: str, signature: str = "", body: tuple[Any, ...] = ()) -> Any:
        call = new_method_call(address, member, signature, body)
        return self.connection.send_and_get_reply(call, timeout=PATIENCE_S).body

    def get(self, name: str) -> Any:
        call = Properties(self.item).get(name)
        return self.connection.send_and_get_reply(call, timeout=PATIENCE_S).body[0][1]

    def shows(self, words: str) -> None:
        eventually(lambda: words in self.get("ToolTip")[2], what=words)

    def entries(self) -> dict[str, int]:
        _revision, (_, _, entries) = self.ask(self.menu, "GetLayout", "iias", (0, -1, []))
        return {properties["label"][1]: entry for _, (entry, properties, _) in entries}

    def press(self, label: str) -> None:
        self.ask(self.menu, "Event", "isvu", self._click(label))

    def press_in_a_group(self, label: str) -> None:
        """As XFCE's panel does."""
        assert self.ask(self.menu, "AboutToShowGroup", "ai", ([0],)) == ([], [])
        assert self.ask(self.menu, "EventGroup", "a(isvu)", ([self._click(label)],)) == ([],)

    def _click(self, label: str) -> tuple[Any, ...]:
        return self.entries()[label], "clicked", ("i", 0), 0


def test_a_desktop_shows_whether_it_records_and_pauses(bus: None, tmp_path: Path) -> None:
    home, opened = DataDir(tmp_path / "home"), tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    program = Recollect(home.home, sys.executable)
    with x_display("640x480x24") as display, open_dbus_connection() as connection:
        program.up(DISPLAY=display, BROWSER=str(browser), LC_ALL="C.UTF-8")
        try:
            time.sleep(0.5)  # the panel of a desktop comes after the programs that start with it
            desktop = Desktop(connection)
            desktop.shows("Recording")
            recording = desktop.get("IconPixmap")
            desktop.press("Pause until I resume")
            assert read_pause(home.spool, 0)
            desktop.shows("Paused")
            assert desktop.get("IconPixmap") != recording
            desktop.press_in_a_group("Resume recording")
            assert read_pause(home.spool, 0) is None
            desktop.shows("Recording")
            desktop.ask(desktop.item, "Activate", "ii", (0, 0))
            eventually(lambda: opened.exists() and "/launch?" in opened.read_text(), what="the pages")
            state = CaptureState.read(home.spool)
            assert state
            (capture,) = (each for each in program.processes if each.pid == state.pid)
            capture.suspend()  # its last sign of life grows old
            desktop.shows("Not recording")
        finally:
            program.stop()
    assert "tray" not in "".join(program.output)


def test_without_a_desktop_nothing_is_said(bus: None, tmp_path: Path) -> None:
    program = Recollect(tmp_path / "home", sys.executable)
    with x_display("640x480x24") as display:
        program.up(DISPLAY=display)
        time.sleep(3)
        program.stop()
    assert len(program.output) == 3, program.output  # the link and what to do with it
