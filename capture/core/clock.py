"""The clocks capture lives by, handed in so that tests can turn them."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from store.core.times import now_ms


class Clock(Protocol):
    def now_ms(self) -> int:
        """The clock on the wall: what frames are stamped with. May jump."""

    def monotonic_s(self) -> float:
        """A clock that never jumps: what intervals are measured with. Stands still in sleep."""

    def wait(self, stop: threading.Event, timeout_s: float) -> None:
        """Sleep, at most until `stop` is set."""


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return now_ms()

    def monotonic_s(self) -> float:
        return time.monotonic() if sys.platform != "win32" else _unbiased_s()

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


@dataclass(frozen=True, slots=True)
class Jump:
    """How the wall clock moved against the monotonic one since `last_ms`."""

    last_ms: int
    slept: bool = False
    set_back: bool = False


class JumpWatch:
    """Tells sleep from the clocks alone: the wall's goes on, the monotonic one stands still."""

    _SLEPT_S = 5.0
    _SET_BACK_S = 1.0

    def __init__(self) -> None:
        self._last: tuple[int, float] | None = None

    def read(self, now_ms: int, monotonic_s: float) -> Jump:
        last, self._last = self._last or (now_ms, monotonic_s), (now_ms, monotonic_s)
        jump_s = (now_ms - last[0]) / 1000 - (monotonic_s - last[1])
        return Jump(last[0], slept=jump_s > self._SLEPT_S, set_back=jump_s < -self._SET_BACK_S)


def file_stamp(path: Path) -> object:
    """Differs when the file was replaced, changed or removed, or may not be looked at any more."""
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_size, status.st_ino
