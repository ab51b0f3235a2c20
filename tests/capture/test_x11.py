"""A real X display: Xvfb, xterm, openbox. Everything the fakes promise, on pixels."""

from __future__ import annotations

import io
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageGrab
from Xlib import X
from Xlib import display as xdisplay

from capture.core.clock import SystemClock
from capture.core.geometry import Rect
from capture.daemon import Daemon, Parts
from capture.platforms import open_sources
from capture.privacy import Rules
from capture.screens.protocol import bgrx
from capture.screens.x11 import Grab, X11Screens
from capture.status import DiskFloor
from capture.windows.protocol import WindowInfo
from capture.windows.x11 import X11Idle, X11Windows, compound_text
from store.core.paths import DataDir
from store.core.settings import CaptureSettings, PrivacySettings
from store.privacy.rules import Rule
from store.spool.queue import Spool
from tests.capture.fakes import Spooled, spooled
from tests.factories import save_rules
from tests.tables import for_each

pytestmark = pytest.mark.skipif(
    sys.platform != "linux"
    or any(shutil.which(tool) is None for tool in ("Xvfb", "xterm", "openbox", "xdotool")),
    reason="needs Xvfb, xterm, openbox and xdotool",
)


class Display:
    """An X server of our own, with what runs on it."""

    def __init__(self, number: int | None = None) -> None:
        self._stack = ExitStack()
        chosen = [f":{number}"] if number is not None else []
        reading, writing = os.pipe()
        self.server = self.run(
            "Xvfb", *chosen, "-displayfd", str(writing), "-screen", "0", "1280x720x24", "-noreset",
            "-nolisten", "tcp", pass_fds=(writing,),
        )  # fmt: skip
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert select.select([pipe], [], [], 60)[0], "Xvfb did not start"
            self.number = int(pipe.readline())
        self.name = f":{self.number}"

    def run(self, *command: str, **options: object) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "DISPLAY": getattr(self, "name", ""), "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(
            command,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,  # type: ignore[call-overload]
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def call(self, *command: str) -> str:
        environ = {**os.environ, "DISPLAY": self.name}
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout

    def xterm(self, title: str, place: str, shell: str = "cat", *more: str) -> subprocess.Popen[bytes]:
        return self.run("xterm", "-T", title, "-geometry", place, *more, "-e", "sh", "-c", shell)

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def display() -> Iterator[Display]:
    display = Display()
    yield display
    display.close()


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something another program does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def titles(source: X11Windows) -> list[str | None]:
    return [window.window_name for window in source.windows()]


@pytest.fixture
def windows(display: Display) -> Iterator[X11Windows]:
    source = X11Windows(display.name)
    yield source
    source.close()


class Running:
    """A daemon on the real display, ticked by hand."""

    def __init__(self, display: Display, data_dir: DataDir, idle_after_s: float = 180.0) -> None:
        self.spool = Spool(data_dir.spool)
        self.clock = SystemClock()
        settings = CaptureSettings(interval_s=0.2, min_free_gb=0.0, idle_after_s=idle_after_s)
        parts = Parts(
            open_sources=lambda: open_sources(
                settings, self.clock, {"DISPLAY": display.name, "XDG_SESSION_ID": "none"}
            ),
            spool=self.spool,
            rules=Rules(data_dir, PrivacySettings()),
            settings=settings,
            clock=self.clock,
            disk=DiskFloor(data_dir.spool, 0.0),
        )
        self.daemon = Daemon(parts)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.daemon.tick(self.clock.monotonic_s())
            time.sleep(0.1)

    def kept(self) -> int:
        self.look()
        self.daemon.recorder.collect(wait=True)
        return self.daemon.recorder.kept

    def is_still(self) -> bool:
        """Whether nothing new is kept for ten looks."""
        before = self.kept()
        self.look(10)
        return self.kept() == before

    def settle(self) -> None:
        """Look until nothing new is kept."""
        until(self.is_still)

    def finish(self) -> Spooled:
        self.daemon.close()
        return spooled(self.spool)


@pytest.fixture
def running(display: Display, data_dir: DataDir) -> Iterator[Running]:
    running = Running(display, data_dir)
    yield running
    running.daemon.close()


def two_monitors(display: Display) -> None:
    display.call("xrandr", "--setmonitor", "LEFT", "640/160x720/180+0+0", "screen")
    display.call("xrandr", "--setmonitor", "RIGHT", "640/160x720/180+640+0", "none")


# -- screens --------------------------------------------------------------------------------------


def test_monitors_have_their_randr_names(display: Display) -> None:
    screens = X11Screens(display.name)
    assert [(m.name, m.area) for m in screens.monitors()] == [("screen", Rect(0, 0, 1280, 720))]
    two_monitors(display)
    assert [(m.name, m.area) for m in screens.monitors()] == [
        ("LEFT", Rect(0, 0, 640, 720)),
        ("RIGHT", Rect(640, 0, 640, 720)),
    ]
    screens.close()


def test_a_grab_is_what_another_library_sees(display: Display) -> None:
    display.xterm("words", "40x10+20+20", "printf 'some words'; exec sleep 1000")
    source = X11Windows(display.name)
    until(lambda: "words" in titles(source))
    source.close()
    area = Rect(10, 10, 300, 200)
    box = (area.x, area.y, area.right, area.bottom)
    with closing(Grab(display.name)) as grab:
        until(
            lambda: np.array_equal(
                grab(area)[..., :3], bgrx(ImageGrab.grab(box, xdisplay=display.name))[..., :3]
            )
        )
        assert len(np.unique(grab(area))) > 1


# -- windows --------------------------------------------------------------------------------------


def test_the_display_tells_when_something_is_painted(display: Display) -> None:
    with closing(X11Screens(display.name)) as screens:
        until(lambda: not screens.has_changed())
        [monitor] = screens.monitors()
        before = screens.grab(monitor).pixels
        display.xterm("new", "40x10+10+10")
        until(screens.has_changed)
        until(lambda: (screens.grab(monitor).pixels != before).any())


def test_windows_are_read_without_a_window_manager(display: Display, windows: X11Windows) -> None:
    assert windows.windows() == []
    display.xterm("first 世界", "40x10+10+10")
    until(lambda: titles(windows) == ["first 世界"])
    display.call("xdotool", "mousemove", "60", "60")
    until(lambda: windows.windows()[0].opaque)  # once it has settled
    [window] = windows.windows()
    assert (window.app_name, window.kind, window.focused) == ("XTerm", "window", True)
    assert (window.rect.x, window.rect.y) == (10, 10)
    assert window.pid is not None
    assert Path(f"/proc/{window.pid}/comm").read_text().strip() == "xterm"
    display.call("xdotool", "mousemove", "1000", "600")
    assert not windows.windows()[0].focused


def test_windows_are_read_through_a_window_manager_s_frames(display: Display, windows: X11Windows) -> None:
    display.xterm("below", "40x10+10+10")
    until(lambda: "below" in titles(windows))
    display.run("openbox", "--sm-disable")  # takes over the window that is there
    until(lambda: any(window.app_name == "openbox" for window in windows.windows()))
    until(lambda: "below" in titles(windows))
    display.xterm("above", "40x10+300+300")

    def ordinary() -> list[WindowInfo]:
        return [window for window in windows.windows() if window.app_name == "XTerm"]

    until(lambda: [w.window_name for w in ordinary()] == ["above", "below"])
    until(lambda: [w.focused for w in ordinary()] == [True, False])
    display.call("xdotool", "search", "--name", "^below$", "windowactivate")
    until(lambda: [w.window_name for w in ordinary()] == ["below", "above"])
    until(lambda: ordinary()[0].focused)
    display.call("xdotool", "search", "--name", "^above$", "windowminimize")
    until(lambda: [w.window_name for w in ordinary()] == ["below"])
    # Whatever the window manager shows of its own is known by its program.
    assert {w.app_name for w in windows.windows()} <= {"XTerm", "openbox"}


def test_a_window_without_a_class_is_known_by_its_process(display: Display, windows: X11Windows) -> None:
    display.xterm("plain", "40x10+10+10")
    until(lambda: "plain" in titles(windows))
    display.call("xdotool", "search", "--name", "^plain$", "set_window", "--class", "", "--classname", "")
    until(lambda: [w.app_name for w in windows.windows()] == ["xterm"])


def test_an_untitled_menu_goes_by_the_window_it_belongs_to(display: Display, windows: X11Windows) -> None:
    """Else a private window's menu would be anybody's."""
    client = xdisplay.Display(display.name)
    root = client.screen().root
    owner = root.create_window(10, 10, 200, 100, 0, X.CopyFromParent)
    menu = root.create_window(30, 30, 50, 50, 0, X.CopyFromParent, override_redirect=True)
    for window in (owner, menu):
        window.set_wm_class("browser", "Firefox")
    owner.set_wm_name("News — Mozilla Firefox Private Browsing".encode())
    menu.set_wm_transient_for(owner)
    owner.map()
    menu.map()
    client.sync()
    shown = windows.windows()
    assert [(w.kind, w.app_name) for w in shown] == [("popup", "Firefox"), ("window", "Firefox")]
    assert shown[0].window_name == shown[1].window_name
    assert "Private Browsing" in (shown[0].window_name or "")
    client.close()


def test_a_change_of_windows_wakes_the_waiting(display: Display, windows: X11Windows) -> None:
    windows.windows()
    assert windows.wait(0.05) is False
    display.xterm("new", "40x10+10+10")
    assert windows.wait(60) is True
    until(lambda: titles(windows) == ["new"])
    while windows.wait(0.5):
        windows.windows()
    display.call("xdotool", "search", "--name", "^new$", "set_window", "--name", "renamed")
    assert windows.wait(60) is True
    until(lambda: titles(windows) == ["renamed"])


@for_each(
    ("value", "expected"),
    [
        (b"plain caf\xe9", "plain café"),
        ("世界".encode("iso2022_jp").replace(b"\x1b$B", b"\x1b$(B"), "世界"),
        (b"a \x1b%G\xe4\xb8\x96\xe7\x95\x8c\x1b%@ b", "a 世界 b"),
        (b"hi \x1b$(AJ@=g\x1b(B", "hi 世界"),
        (b"", ""),
    ],
)
def test_titles_of_programs_without_utf8_are_decoded(value: bytes, expected: str) -> None:
    assert compound_text(value) == expected


# -- the daemon -----------------------------------------------------------------------------------


def test_a_typed_word_is_kept_and_stillness_is_not(display: Display, running: Running) -> None:
    display.xterm("editor", "60x20+20+20")
    source = X11Windows(display.name)
    until(lambda: "editor" in titles(source))
    source.close()
    display.call("xdotool", "mousemove", "100", "100")
    until(lambda: running.kept() and running.daemon.state.state == "recording")
    until(running.is_still)  # once it has drawn all that it draws by itself
    before = running.kept()
    display.call("xdotool", "type", "word")
    until(lambda: running.kept() > before)
    running.settle()
    done = running.finish()
    last = done.frames[-1]
    assert (last.app_name, last.window_name, last.focused, last.monitor) == (
        "XTerm",
        "editor",
        True,
        "screen",
    )
    assert done.is_balanced
    assert done.total("deduped") > 10


def test_each_monitor_s_frame_has_its_own_truth(display: Display, running: Running) -> None:
    """On real pixels."""
    two_monitors(display)
    display.xterm("left window", "40x10+20+20", "printf left; exec sleep 1000", "-bg", "#102030")
    source = X11Windows(display.name)
    until(lambda: "left window" in titles(source))
    display.run("openbox", "--sm-disable")
    until(lambda: any(window.app_name == "openbox" for window in source.windows()))
    display.xterm("right window", "40x10+700+20", "printf right; exec sleep 1000", "-bg", "#302010")
    until(lambda: any(w.window_name == "right window" and w.focused for w in source.windows()))
    source.close()
    running.settle()
    done = running.finish()
    last = {frame.monitor: frame for frame in done.frames}
    assert (last["LEFT"].window_name, last["LEFT"].focused) == ("left window", False)
    assert (last["RIGHT"].window_name, last["RIGHT"].focused) == ("right window", True)
    colours = {
        name: set(np.unique(picture_of(done, frame.capture_id).reshape(-1, 3), axis=0)[:, 0])
        for name, frame in last.items()
    }
    assert 0x10 in colours["LEFT"]
    assert 0x10 not in colours["RIGHT"]
    assert 0x30 in colours["RIGHT"]
    assert picture_of(done, last["LEFT"].capture_id).shape == (720, 640, 3)


def picture_of(done: Spooled, capture_id: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(done.images[capture_id])).convert("RGB"))


def test_a_half_covered_masked_window_is_solid_and_its_name_is_nowhere(
    display: Display, running: Running, data_dir: DataDir
) -> None:
    """On real pixels."""
    save_rules(data_dir, [Rule(title="diary", action="mask")])
    display.xterm("my diary", "60x20+20+20", "yes secret words", "-bg", "#203010")
    source = X11Windows(display.name)
    until(lambda: "my diary" in titles(source))
    [secret] = source.windows()
    display.xterm("editor", "40x10+200+100", "exec sleep 1000", "-bg", "#102030")
    until(lambda: len(source.windows()) == 2)
    [cover] = [w for w in source.windows() if w.window_name == "editor"]
    source.close()
    running.settle()
    done = running.finish()
    pixels = picture_of(done, done.frames[-1].capture_id).copy()
    assert (pixels[cover.rect.y + 2, cover.rect.right - 3] != 64).any()
    pixels[cover.rect.y : cover.rect.bottom, cover.rect.x : cover.rect.right] = 64
    part = pixels[secret.rect.y : secret.rect.bottom, secret.rect.x : secret.rect.right]
    assert (part == 64).all()
    assert {frame.window_name for frame in done.frames} <= {"editor", None}
    assert len(done.frames) <= 4  # what goes on below the mask is no change


def test_a_frame_says_which_windows_it_shows_beside_the_one_in_front(
    display: Display, running: Running, data_dir: DataDir
) -> None:
    """A later rule takes the picture by any of them; what is covered or masked is not on it."""
    save_rules(data_dir, [Rule(title="diary", action="mask")])
    for title, place in (
        ("covered", "40x10+30+30"),
        ("calculator", "40x10+700+20"),
        ("diary", "30x8+700+400"),
    ):
        display.xterm(title, place)
    source = X11Windows(display.name)
    until(lambda: len(source.windows()) == 3)
    display.xterm("editor", "60x20+20+20")
    until(lambda: len(source.windows()) == 4)
    source.close()
    running.settle()
    last = running.finish().frames[-1]
    assert (last.window_name, last.visible) == ("editor", (("XTerm", "calculator", None),))


def test_a_password_manager_in_view_keeps_the_whole_monitor_out(display: Display, running: Running) -> None:
    display.xterm("vault", "40x10+20+20", "cat", "-class", "KeePassXC")
    display.xterm("editor", "40x10+700+20")
    source = X11Windows(display.name)
    until(lambda: len(source.windows()) == 2)
    source.close()
    running.look(5)
    state = running.daemon.state
    assert (state.state, state.reason) == ("excluded", "rule:app")
    assert state.cause == "KeePassXC is left out from the start"
    assert state.since_ms is not None and state.started_ms <= state.since_ms < state.written_ms
    done = running.finish()
    assert (running.daemon.state.cause, done.frames) == ("", [])
    assert done.total("excluded", "rule:app") == 5


def test_time_without_input_is_idle_until_the_next_input(display: Display, data_dir: DataDir) -> None:
    """By the idle time of the real X server."""
    running = Running(display, data_dir, idle_after_s=2.0)
    source = X11Idle(display.name)
    display.call("xdotool", "mousemove", "100", "100")
    began_ms = running.clock.now_ms()

    def idle_s() -> float:
        """As it was before a look, so that the look saw at least as much."""
        found = source.read().idle_s or 0.0
        running.look()
        return found

    until(lambda: idle_s() > 4.0)
    display.call("xdotool", "mousemove", "200", "200")
    ended_ms = running.clock.now_ms()
    until(lambda: idle_s() < 2.0)
    running.look(3)
    source.close()
    done = running.finish()
    [run] = [run for run in done.runs if run.reason == "idle"]
    assert (run.monitor, run.decision, run.looks, run.capture_id) == ("", "deduped", 0, None)
    assert began_ms - 1000 <= run.start_ms <= run.end_ms - 4000
    assert run.end_ms <= ended_ms + 100
    assert done.is_balanced


def test_a_lost_display_is_said_and_found_again(data_dir: DataDir) -> None:
    # Of a number that no other process takes meanwhile: they begin with the lowest that is free.
    first = Display(1_000 + os.getpid() % 50_000)
    running = Running(first, data_dir)
    assert running.kept() == 1
    first.close()
    running.look()
    state = running.daemon.state
    assert state.state == "failing"
    assert state.reason in ("display_lost", "no_display")
    assert first.name in state.detail
    again = Display(first.number)
    until(lambda: running.kept() == 2)
    assert running.daemon.state.state == "recording"
    done = running.finish()
    assert done.is_balanced
    again.close()
