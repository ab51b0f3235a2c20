"""The daemon's account of itself: ``capture.json``, written at every change and every two seconds."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capture.core.errors import SourceFailed
from capture.privacy import Verdict
from capture.windows.idle import Activity
from store.core.errors import SpoolFull
from store.core.translation import N_
from store.spool.process_state import CaptureState, ServerPause, read_pause

log = logging.getLogger(__name__)

WRITE_EVERY_S = 2.0


class Status:
    """Facts with times, kept apart."""

    def __init__(self, spool_folder: Path, now_ms: int) -> None:
        self._folder = spool_folder
        self.state = CaptureState(pid=os.getpid(), started_ms=now_ms, written_ms=now_ms)
        self._written_s = float("-inf")

    def note(self, **facts: Any) -> None:
        """Remember facts; they are written with the next `publish`."""
        self.state = replace(self.state, **facts)

    def publish(self, now_ms: int, monotonic_s: float, **change: Any) -> bool:
        """Write the account when `change` (state, reason, detail, cause) differs or time is up.

        Returns whether the state or its reason changed.
        """
        before = self.state
        self.state = replace(before, written_ms=now_ms, **change)
        has_changed = (before.state, before.reason) != (self.state.state, self.state.reason)
        has_other_cause = has_changed or before.cause != self.state.cause
        if has_other_cause:
            self.state = replace(self.state, since_ms=now_ms)
        if has_changed:
            log.info("capture is %s %s", self.state.state, self.state.reason)
        is_due = monotonic_s - self._written_s >= WRITE_EVERY_S
        if has_other_cause or is_due or before.detail != self.state.detail:
            self._written_s = monotonic_s
            try:
                self.state.write(self._folder)
            except OSError as error:  # a full disk: the looks themselves must go on and say so
                log.warning("capture.json cannot be written: %s", error)
        return has_changed


_WHY_EXCLUDED = {
    "private_window": N_("A private browser window is in view; nothing is kept while it is."),
    "may_be_private": N_("Only a browser window that may be private is in view; nothing of it is kept."),
    "unknown_window": N_(
        "Recollect cannot tell which windows are in view. Nothing is kept while a privacy rule is on, "
        "built-in ones included."
    ),
    "unknown_address": N_(
        "A rule names a site, and the address of a browser window in view is not known; nothing is kept "
        "while it is in view."
    ),
    "rules_unreadable": N_("The privacy rules cannot be read; nothing is kept until they are mended."),
}
_EXCLUDED = N_("A window that a privacy rule leaves out is in view; nothing is kept while it is.")


def state_of(
    pause: PauseReason | None, backoff: Backoff, blank: str, excluded: Verdict, unknown: str = ""
) -> dict[str, str]:
    """State, reason, detail and cause: what holds capture first, then trouble, then what privacy leaves out.

    `unknown` says why windows are not known, when that is the reason.
    """
    if pause:
        return {"state": pause.state, "reason": pause.reason, "detail": pause.detail}
    if backoff.reason:
        return {"state": "failing", "reason": backoff.reason, "detail": backoff.detail}
    if blank:
        return {"state": "failing", "reason": "blank_frames", "detail": blank}
    if reason := excluded.reason:
        detail = _WHY_EXCLUDED.get(reason, _EXCLUDED)
        if unknown and reason == "unknown_window":
            detail = f"{detail} {unknown.rstrip('.')}."
        return {"state": "excluded", "reason": reason, "detail": detail, "cause": excluded.cause}
    return {"state": "recording"}


# Reasons not to look at all: a pause, an absent person, a full disk.
#
# The floor of free disk space has slack above it, so that capture does not flap.

_SLACK = 1.1
_DISK_CHECK_S = 5.0


@dataclass(frozen=True, slots=True)
class PauseReason:
    """Nothing is looked at. `decision` and `reason` go to the ledger, `state` and `detail` to the status."""

    state: str
    decision: str
    reason: str
    detail: str


def ordered_pause(spool_folder: Path, now_ms: int) -> PauseReason | None:
    """The pause a person ordered, if one is in force. Costs two failed opens while there is none."""
    pause = read_pause(spool_folder, now_ms)
    if pause is None:
        return None
    if isinstance(pause, ServerPause):
        detail = N_("Paused by the server that this machine captures for; resume there.")
    elif pause.ends_ms is None:
        detail = N_("Paused until you resume.")
    else:
        until = time.strftime("%H:%M:%S", time.localtime(pause.ends_ms / 1000))
        detail = N_(f"Paused until {until}; resume at any time.")
    return PauseReason("paused", "paused", "paused", detail)


_AWAY = {
    "locked": N_("The session is locked; capture goes on when it is unlocked."),
    "screensaver": N_("A screen saver is shown; capture goes on after it."),
    "asleep": N_("The machine is going to sleep; capture goes on when it wakes."),
    "switched_user": N_("Another user's session is in front; capture goes on when this one is back."),
}


def away_pause(activity: Activity, locker_shown: bool) -> PauseReason | None:
    """Locked, asleep, screen saver or another user's session."""
    away = activity.away or ("locked" if locker_shown else "")
    return PauseReason("locked", "paused", away, _AWAY[away]) if away else None


class DiskFloor:
    """Whether too little disk is free. Looks at the disk every few seconds only."""

    def __init__(
        self,
        folder: Path,
        min_free_gb: float,
        free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    ) -> None:
        self._folder = folder
        self._floor = min_free_gb * 1e9
        self._free_bytes = free_bytes
        self._checked_s = float("-inf")
        self._pause: PauseReason | None = None

    def pause(self, monotonic_s: float) -> PauseReason | None:
        if self._floor and monotonic_s - self._checked_s >= _DISK_CHECK_S:
            self._checked_s = monotonic_s
            free = self._free_bytes(self._folder)
            needed = self._floor * (_SLACK if self._pause else 1.0)
            self._pause = self._full(free) if free < needed else None
        return self._pause

    def _full(self, free: int) -> PauseReason:
        least = self._floor / 1e9
        detail = N_(
            f"Only {free / 1e9:.1f} GB of disk are free; recording stops below {least:.1f} GB and goes on "
            f"above {least * _SLACK:.1f} GB. Free some space, or change that under Settings, Recording."
        )
        return PauseReason("failing", "failed", "disk_full", detail)


# What is wrong right now, since when, and when it is tried again: 1, 2, 4 … 30 seconds.

LONGEST_WAIT_S = 30.0


@dataclass(slots=True)
class Backoff:
    """One kind of trouble that may come and go. `reason` is "" while there is none."""

    reason: str = ""
    cause: str = ""
    failures: int = 0
    wait_s: float = 0.0
    next_try_s: float = float("-inf")

    def failed(self, reason: str, cause: str, now_s: float) -> None:
        """Once more: wait twice as long as the last time."""
        self.reason, self.cause = reason, cause
        self.wait_s = min(LONGEST_WAIT_S, 2.0 ** min(self.failures, 10))
        self.next_try_s = now_s + self.wait_s
        self.failures += 1

    def clear(self) -> None:
        self.reason = self.cause = ""
        self.failures = 0
        self.next_try_s = float("-inf")

    def is_waiting(self, now_s: float) -> bool:
        return bool(self.reason) and now_s < self.next_try_s

    @property
    def detail(self) -> str:
        """A sentence with the cause, what can be done, and the retry."""
        return N_(f"{self.cause.rstrip('.')}. Trying again after {self.wait_s:.0f} s.")


def source_cause(error: Exception) -> tuple[str, str]:
    """(reason, cause) of a failed look."""
    if isinstance(error, SourceFailed):
        return error.reason, str(error)
    cause = N_(f"A look at the screen failed ({type(error).__name__}); the log has the details")
    return "look_failed", cause


def spool_cause(error: BaseException) -> tuple[str, str]:
    """(reason, cause) of a frame that could not be written."""
    if isinstance(error, SpoolFull):
        cause = N_(f"The spool is full ({error}): start ingest so that it catches up, or raise spool.max_gb")
        return "spool_full", cause
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk_full", N_("The disk is full: free some space")
    if isinstance(error, OSError):
        return "spool_unwritable", N_(f"The spool cannot be written ({error.strerror or error})")
    return "write_failed", N_(
        f"A frame could not be encoded ({type(error).__name__}); the log has the details"
    )
