"""Reasons not to look at all: a pause, an absent person, a full disk.

The floor of free disk space has slack above it, so that capture does not flap (lesson STO-5).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from capture.windows.idle import Activity
from store.spool.process_state import FOREVER_MS, read_pause

_SLACK = 1.1
_DISK_CHECK_S = 5.0


@dataclass(frozen=True, slots=True)
class PauseReason:
    """Nothing is looked at. `decision` and `reason` go to the ledger, `state` and `detail` to the status."""

    state: str
    decision: str
    reason: str
    detail: str


def pause_hold(spool_folder: Path, now_ms: int) -> PauseReason | None:
    """The pause a person ordered, if one is in force. Costs one failed open while there is none."""
    pause = read_pause(spool_folder, now_ms)
    if pause is None:
        return None
    if pause.until_ms >= FOREVER_MS:
        detail = "Paused until you resume."
    else:
        until = time.strftime("%H:%M:%S", time.localtime(pause.until_ms / 1000))
        detail = f"Paused until {until}; resume at any time."
    return PauseReason("paused", "paused", "paused", detail)


_AWAY = {
    "locked": "The session is locked; capture goes on when it is unlocked.",
    "screensaver": "A screen saver is shown; capture goes on after it.",
    "asleep": "The machine is going to sleep; capture goes on when it wakes.",
    "switched_user": "Another user's session is in front; capture goes on when this one is back.",
}


def away_hold(activity: Activity, locker_shown: bool) -> PauseReason | None:
    """Locked, asleep, screen saver or another user's session."""
    away = activity.away or ("locked" if locker_shown else "")
    return PauseReason("locked", "paused", away, _AWAY[away]) if away else None


class DiskFloor:
    """Whether too little disk is free. Looks at the disk every few seconds only."""

    def __init__(
        self, folder: Path, min_free_gb: float, free_bytes: Callable[[Path], int] | None = None
    ) -> None:
        self._folder = folder
        self._floor = min_free_gb * 1e9
        self._free_bytes = free_bytes or _free_bytes
        self._checked_s = float("-inf")
        self._hold: PauseReason | None = None

    def hold(self, monotonic_s: float) -> PauseReason | None:
        if self._floor and monotonic_s - self._checked_s >= _DISK_CHECK_S:
            self._checked_s = monotonic_s
            free = self._free_bytes(self._folder)
            needed = self._floor * (_SLACK if self._hold else 1.0)
            self._hold = self._full(free) if free < needed else None
        return self._hold

    def _full(self, free: int) -> PauseReason:
        detail = (
            f"Only {free / 1e9:.1f} GB of disk are free and capture stops below {self._floor / 1e9:.1f} GB. "
            f"It goes on by itself above {self._floor * _SLACK / 1e9:.1f} GB: free some space, or change "
            "capture.min_free_gb."
        )
        return PauseReason("failing", "failed", "disk_full", detail)


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free
