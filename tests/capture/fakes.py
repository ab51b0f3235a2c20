"""Stand-ins for clock, screen, windows, person and disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from capture.core.geometry import Rect
from capture.daemon import Daemon, Parts, Sources
from capture.privacy import Rules
from capture.screens.protocol import Monitor, Pixels, Screenshot
from capture.status import DiskFloor
from capture.windows.idle import Activity
from capture.windows.protocol import WindowInfo
from store.core.paths import DataDir
from store.core.settings import CaptureSettings, PrivacySettings
from store.spool.queue import Capture, DecisionRun, LookReport, Spool
from tests.factories import NOON_MS

SIZE = (320, 192)  # 10 x 6 tiles
WHITE = 0xFFFFFF


def screen(width: int = SIZE[0], height: int = SIZE[1], seed: int = 0) -> Pixels:
    """A picture with something in every tile, different for every seed."""
    pixels = np.zeros((height, width, 4), dtype=np.uint8)
    pixels[..., :3] = np.random.default_rng(seed).integers(0, 200, (height, width, 3), dtype=np.uint8)
    return pixels


def draw(pixels: Pixels, x: int, y: int, width: int = 6, height: int = 10, colour: int = WHITE) -> Pixels:
    """A copy with a solid block, about as large as a character."""
    copy = pixels.copy()
    copy[y : y + height, x : x + width, :3] = [colour & 255, colour >> 8 & 255, colour >> 16 & 255]
    return copy


@dataclass
class FakeClock:
    """Time goes on only by waiting, or when a test turns it."""

    wall_ms: int = NOON_MS
    running_s: float = 100.0
    slept_s: float = 0.0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_s(self) -> float:
        return self.running_s

    def elapsed_s(self) -> float:
        return self.running_s + self.slept_s

    def wait(self, stop: threading.Event, timeout_s: float) -> None:
        self.go(timeout_s)

    def go(self, seconds: float) -> None:
        if seconds > 0:
            self.wall_ms += round(seconds * 1000)
            self.running_s += seconds


MONITOR = Monitor("DP-1", Rect(0, 0, *SIZE))
SECOND = Monitor("HDMI-1", Rect(SIZE[0], 0, *SIZE))


@dataclass
class FakeScreens:
    """Shows `pictures[monitor name]`, or what it returns when called."""

    clock: FakeClock
    pictures: dict[str, Pixels | Callable[[], Pixels]]
    shown: list[Monitor] = field(default_factory=lambda: [MONITOR])
    name: str = "fake"
    grabbed: list[str] = field(default_factory=list)
    failure: Exception | None = None

    def monitors(self) -> list[Monitor]:
        if self.failure:
            raise self.failure
        return list(self.shown)

    def grab(self, monitor: Monitor) -> Screenshot:
        self.grabbed.append(monitor.name)
        picture = self.pictures[monitor.name]
        pixels = picture() if callable(picture) else picture
        return Screenshot(pixels.copy(), monitor, self.clock.now_ms())

    def close(self) -> None:
        return


@dataclass
class FakeWindows:
    listed: Sequence[WindowInfo] | Exception | Callable[[], Sequence[WindowInfo]] = ()
    name: str = "fake"

    def windows(self) -> list[WindowInfo]:
        if isinstance(self.listed, Exception):
            raise self.listed
        return list(self.listed() if callable(self.listed) else self.listed)

    def wait(self, timeout_s: float) -> bool:
        return False

    def close(self) -> None:
        return


@dataclass
class FakePerson:
    activity: Activity = field(default_factory=lambda: Activity(idle_s=1.0))

    def read(self) -> Activity:
        return self.activity

    def close(self) -> None:
        return


def window(app_name: str | None = "XTerm", window_name: str | None = "shell", **changes: Any) -> WindowInfo:
    """An opaque, focused window that fills the first monitor."""
    values: dict[str, Any] = {"rect": MONITOR.area, "focused": True, "opaque": True, "pid": 1, **changes}
    return WindowInfo(app_name, window_name, **values)


class Bench:
    """A daemon with everything around it faked but the spool, and the time it has lived."""

    def __init__(
        self,
        data_dir: DataDir,
        picture: Pixels | Callable[[], Pixels] | None = None,
        privacy: PrivacySettings | None = None,
        max_bytes: int = 10**9,
        page_text: Any = None,
        **settings: Any,
    ) -> None:
        self.data_dir = data_dir
        self.clock = FakeClock()
        shown = screen() if picture is None else picture
        self.screens = FakeScreens(self.clock, {MONITOR.name: shown, SECOND.name: screen(seed=99)})
        self.windows = FakeWindows([window()])
        self.note_activity = FakePerson()
        self.spool = Spool(data_dir.spool, max_bytes=max_bytes)
        self.free_bytes = 10**12
        self.opened = 0
        self.has_changed = True  # as the display tells, where it does
        self.settings = replace(CaptureSettings(), **settings)
        parts = Parts(
            open_sources=self._open,
            spool=self.spool,
            rules=Rules(data_dir, privacy or PrivacySettings()),
            settings=self.settings,
            clock=self.clock,
            disk=DiskFloor(data_dir.spool, self.settings.min_free_gb, lambda _: self.free_bytes),
            page_text=page_text,
        )
        self.daemon = Daemon(parts)

    def _open(self) -> Sources:
        self.opened += 1
        return Sources(self.screens, self.windows, self.note_activity, has_changed=lambda: self.has_changed)

    def show(self, pixels: Pixels, monitor: Monitor = MONITOR) -> None:
        self.screens.pictures[monitor.name] = pixels

    def look(self, times: int = 1, each: Callable[[int], object] = lambda _: None) -> None:
        """So many looks, half an interval apart; `each` is called before every one."""
        for index in range(times):
            each(index)
            self.daemon.tick(self.clock.monotonic_s())
            self.daemon.recorder.collect(wait=True)  # a frame is written long before the next look
            self.clock.go(self.settings.interval_s / 2)

    def finish(self) -> Spooled:
        self.daemon.close()
        return spooled(self.spool)


@dataclass
class Spooled:
    """Everything a daemon left in the spool, taken out of it."""

    frames: list[Capture]
    reports: list[LookReport]
    images: dict[str, bytes]

    @property
    def runs(self) -> list[DecisionRun]:
        return [run for report in self.reports for run in report.runs]

    def total(self, decision: str, reason: str | None = None) -> int:
        return sum(r.looks for r in self.runs if r.decision == decision and reason in (None, r.reason))

    @property
    def is_balanced(self) -> bool:
        """The equation of the ledger, batch by batch."""
        return all(
            report.looks
            == sum(run.looks for run in report.runs)
            + sum(frame.batch_id == report.batch_id for frame in self.frames)
            for report in self.reports
        )


def spooled(spool: Spool) -> Spooled:
    found = Spooled([], [], {})
    for name in spool.waiting():
        entry = spool.take(name)
        assert entry is not None
        if isinstance(entry.record, Capture):
            assert entry.image is not None
            found.frames.append(entry.record)
            found.images[entry.record.capture_id] = entry.image.read_bytes()
        else:
            found.reports.append(entry.record)
    return found


def all_text(folder: Path) -> str:
    """Every byte of every file below a folder, as far as it is text."""
    return "\n".join(p.read_bytes().decode("utf-8", "replace") for p in folder.rglob("*") if p.is_file())
