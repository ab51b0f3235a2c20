"""The clocks capture lives by, handed in so that tests can turn them."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Literal, Protocol

from store.core.times import now_ms


class Clock(Protocol):
    def now_ms(self) -> int:
        """The clock on the wall: what frames are stamped with. May jump."""

    def monotonic_s(self) -> float:
        """A clock that never jumps: what intervals are measured with. Stands still in sleep."""

    def elapsed_s(self) -> float:
        """A clock that never jumps and goes on in sleep."""

    def wait(self, stop: threading.Event, timeout_s: float) -> None:
        """Sleep, at most until `stop` is set."""


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return now_ms()

    def monotonic_s(self) -> float:
        return time.monotonic() if sys.platform != "win32" else _unbiased_s()

    def elapsed_s(self) -> float:
        # macOS' CLOCK_MONOTONIC and Windows' ticks go on in sleep, Linux' do not.
        number = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
        return time.monotonic() if number is None else time.clock_gettime(number)

    def wait(self, stop: threading.Event, timeout_s: float) -> None:
        stop.wait(max(0.0, timeout_s))


def _unbiased_s() -> float:
    """Windows' `time.monotonic` goes on in sleep; this clock does not.

    https://learn.microsoft.com/windows/win32/api/realtimeapiset/nf-realtimeapiset-queryunbiasedinterrupttime
    """
    import ctypes

    ticks = ctypes.c_ulonglong()
    ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(ticks))  # type: ignore[attr-defined]
    return ticks.value / 1e7


Lapse = Literal["", "asleep", "stalled", "clock_set", "set_back"]
"""Why nobody looked since the last time: the machine slept, this program was stopped or starved, or the clock
was set, forward over a stretch that never was, or back.
"""


class LapseWatch:
    """Tells by three clocks what happened since the last time they were read.

    A clock on the wall alone cannot tell sleep from being set, nor either from a program that was stopped.
    """

    _SLEPT_S = _SET_FORWARD_S = 5.0
    _SET_BACK_S = 1.0

    def __init__(self, clock: Clock, stalled_s: float) -> None:
        """More than `stalled_s` between two readings while the machine was awake is a lapse."""
        self._clock = clock
        self._stalled_s = stalled_s
        self._last = self._read()

    def read(self) -> tuple[Lapse, int]:
        """(why, since when by the wall's clock)"""
        last, self._last = self._last, self._read()
        wall_s, awake_s, elapsed_s = (now - before for now, before in zip(self._last, last, strict=True))
        since_ms = round(last[0] * 1000)
        if wall_s - elapsed_s < -self._SET_BACK_S:
            return "set_back", since_ms
        if elapsed_s - awake_s > self._SLEPT_S:
            return "asleep", since_ms
        if awake_s > self._stalled_s:
            return "stalled", since_ms
        return ("clock_set" if wall_s - elapsed_s > self._SET_FORWARD_S else ""), since_ms

    def _read(self) -> tuple[float, float, float]:
        clock = self._clock
        return clock.now_ms() / 1000, clock.monotonic_s(), clock.elapsed_s()


def file_stamp(path: Path) -> object:
    """Differs when the file was replaced, changed or removed, or may not be looked at any more."""
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_size, status.st_ino
