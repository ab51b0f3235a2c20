"""The daemon's account of itself: ``capture.json``, written at every change and every two seconds."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from capture.holds import PauseReason
from capture.trouble import Backoff
from store.spool.process_state import CaptureState, write_capture_state

log = logging.getLogger(__name__)

WRITE_EVERY_S = 2.0


class Status:
    """Facts with times, kept apart (lesson HEA-3)."""

    def __init__(self, spool_folder: Path, now_ms: int) -> None:
        self._folder = spool_folder
        self._state = CaptureState(pid=os.getpid(), started_ms=now_ms, written_ms=now_ms)
        self._written_s = float("-inf")

    @property
    def state(self) -> CaptureState:
        return self._state

    def note(self, **facts: Any) -> None:
        """Remember facts; they are written with the next `publish`."""
        self._state = replace(self._state, **facts)

    def publish(self, now_ms: int, monotonic_s: float, **change: Any) -> bool:
        """Write the account when `change` (state, reason, detail, next_try_ms) differs or time is up.

        Returns whether the state or its reason changed.
        """
        before = self._state
        self._state = replace(before, written_ms=now_ms, **change)
        turned = (before.state, before.reason) != (self._state.state, self._state.reason)
        if turned:
            log.info("capture is %s %s", self._state.state, self._state.reason)
        is_due = monotonic_s - self._written_s >= WRITE_EVERY_S
        if turned or is_due or before.detail != self._state.detail:
            self._written_s = monotonic_s
            try:
                write_capture_state(self._folder, self._state)
            except OSError as error:  # a full disk: the looks themselves must go on and say so
                log.warning("capture.json cannot be written: %s", error)
        return turned


_WHY_EXCLUDED = {
    "private_window": "A private browser window is in view; nothing is kept while it is.",
    "may_be_private": "A browser window that may be private is in view and its toolbar is not; nothing is "
    "kept until it was seen.",
    "unknown_window": "It is not known whose windows are in view; while a rule exists (the built-in ones "
    "count) nothing is kept.",
    "rules_unreadable": "The privacy rules cannot be read; nothing is kept until they are mended.",
}
_EXCLUDED = "A window that a privacy rule leaves out is in view; nothing is kept while it is."


def account(
    hold: PauseReason | None, trouble: Backoff, blank: str, excluded: str, unknown: str = ""
) -> dict[str, str]:
    """State, reason and detail: what holds capture first, then trouble, then what privacy leaves out.

    `unknown` says why windows are not known, when that is the reason.
    """
    if hold:
        return {"state": hold.state, "reason": hold.reason, "detail": hold.detail}
    if trouble.reason:
        return {"state": "failing", "reason": trouble.reason, "detail": trouble.detail}
    if blank:
        return {"state": "failing", "reason": "blank_frames", "detail": blank}
    if excluded:
        detail = _WHY_EXCLUDED.get(excluded, _EXCLUDED)
        if unknown and excluded == "unknown_window":
            detail = f"{detail} {unknown.rstrip('.')}."
        return {"state": "excluded", "reason": excluded, "detail": detail}
    return {"state": "recording"}
