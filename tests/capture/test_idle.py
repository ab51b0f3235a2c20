"""Whether the person is there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from jeepney import HeaderFields, MessageType

from capture.windows.idle import Activity, LinuxActivity, Logind, Present
from capture.windows.protocol import is_locker_shown
from tests.capture.fakes import window
from tests.tables import for_each


class FakeBus:
    """A system bus that answers property calls from a table of names."""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self.asked: list[tuple[str, str]] = []
        self.failure: Exception | None = None

    def send_and_get_reply(self, message: Any, timeout: float) -> Any:
        if self.failure:
            raise self.failure
        name = message.body[1]
        self.asked.append((message.header.fields[HeaderFields.path], name))
        known = name in self.values
        kind = MessageType.method_return if known else MessageType.error
        body = (("b", self.values[name]),) if known else ("no such session",)
        return type("Reply", (), {"header": type("Header", (), {"message_type": kind}), "body": body})

    def close(self) -> None:
        return


@for_each(
    ("values", "expected"),
    [
        ({"PreparingForSleep": False, "LockedHint": False, "Active": True}, ""),
        ({"PreparingForSleep": False, "LockedHint": True, "Active": True}, "locked"),
        ({"PreparingForSleep": True, "LockedHint": False, "Active": True}, "asleep"),
        ({"PreparingForSleep": False, "LockedHint": False, "Active": False}, "switched_user"),
        ({"PreparingForSleep": False}, ""),  # no session of ours: nobody says otherwise
        ({}, ""),
    ],
)
def test_logind_s_word_by_its_properties(values: dict[str, bool], expected: str) -> None:
    assert Logind(lambda: FakeBus(**values)).away() == expected


def test_the_session_s_id_is_escaped_as_d_bus_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_SESSION_ID", "2")
    bus = FakeBus(LockedHint=True)
    assert Logind(lambda: bus).away() == "locked"
    assert ("/org/freedesktop/login1/session/_32", "LockedHint") in bus.asked


def test_a_machine_without_logind_is_asked_once_a_minute() -> None:
    now_s, tries = [0.0], []

    def refuse() -> None:
        tries.append(now_s[0])
        raise FileNotFoundError("no system bus")

    logind = Logind(refuse, lambda: now_s[0])
    for _ in range(240):
        assert logind.away() == ""
        now_s[0] += 0.5
    assert tries == [0.0, 60.0]


def test_a_bus_that_breaks_is_opened_again() -> None:
    now_s = [0.0]
    broken, healthy = FakeBus(LockedHint=True), FakeBus(LockedHint=True)
    buses = iter([broken, healthy])
    logind = Logind(lambda: next(buses), lambda: now_s[0])
    broken.failure = TimeoutError()
    assert logind.away() == ""
    now_s[0] = 61.0
    assert logind.away() == "locked"


@for_each(
    ("activity", "active"),
    [
        (Activity(idle_s=0), True),
        (Activity(idle_s=59), True),
        (Activity(idle_s=61), False),
        (Activity(idle_s=None), True),
        (Activity(idle_s=0, away="locked"), False),
    ],
)
def test_a_person_is_there_for_a_minute_after_the_last_input(activity: Activity, active: bool) -> None:
    assert activity.is_active is active


def test_idle_and_away_are_put_together() -> None:
    class Saver:
        def read(self) -> Activity:
            return Activity(12.0, "screensaver")

        def close(self) -> None:
            return

    both = LinuxActivity(Saver(), Logind(lambda: FakeBus(LockedHint=True)))
    assert both.read() == Activity(12.0, "locked")
    assert LinuxActivity(Saver(), Logind(FakeBus)).read() == Activity(12.0, "screensaver")
    assert LinuxActivity(Present(), Logind(FakeBus)).read() == Activity(None, "")


@for_each(
    ("name", "is_locker"), [("i3lock", True), ("LockApp.exe", True), ("XScreenSaver", True), ("Slack", False)]
)
def test_lockers_are_known_by_name(name: str, is_locker: bool) -> None:
    assert is_locker_shown([window(), window(name)]) is is_locker


def test_capture_loads_no_keyboard_clipboard_sound_or_model_library() -> None:
    """In a fresh process, with everything X11 needs imported."""
    code = (
        "import sys, capture.__main__, capture.screens.x11, capture.windows.x11;"
        "bad = {'pynput', 'keyboard', 'pyperclip', 'sounddevice', 'pyaudio', 'apsw', 'peewee', 'flask',"
        " 'tesserocr', 'httpx2', 'av'} & set(sys.modules); print(sorted(bad))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
