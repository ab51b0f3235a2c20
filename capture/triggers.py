"""When a look becomes a frame: one `Keeper` per monitor, with no clock and no files of its own.

A look ends in one of three ways. *Keep* it: the first look, another app or window (at once), a
change of pixels (at most one per interval), or the idle floor (nothing changed for long while the
person is there). *Extend* the last frame: nothing changed, or only what always flickers. *Wait*:
something changed too soon after the last frame, or that one is still being written.

A change that has to wait is not forgotten. At the next allowed moment the screen of that moment
is kept; and if it went back to how it was, the picture that waited is kept in its place.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from capture.difference import FlickerFilter, changed_tiles, same
from capture.screens.protocol import Pixels, Screenshot
from capture.windows.protocol import Identity
from store.spool.window_hints import Toolbar

SWITCHES_AT_ONCE = 3
"""So many switches are kept at once in `SWITCH_WINDOW_S`; a title that spins faster has to wait."""
SWITCH_WINDOW_S = 5.0

Trigger = Literal["start", "app_switch", "window_change", "visual_change", "idle_floor"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A screenshot with the window in front of it, ready to be judged.

    `due_s` is when the look was due, on a monotonic clock: intervals are counted in due times,
    so that a look that ran late by a few milliseconds does not cost a whole interval. `toolbars` of
    windows that may be private go with the picture.
    """

    shot: Screenshot
    identity: Identity
    due_s: float
    toolbars: tuple[Toolbar, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    look: Candidate
    trigger: Trigger


@dataclass(frozen=True, slots=True)
class Extend:
    capture_id: str
    reason: Literal["unchanged", "restless"]


@dataclass(frozen=True, slots=True)
class Wait:
    pass


@dataclass(slots=True)
class _Kept:
    look: Candidate
    capture_id: str


class FrameTrigger:
    """Decides for one monitor. Call `judge` for every look, `kept` for every frame accepted."""

    def __init__(self, interval_s: float, idle_interval_s: float) -> None:
        self._interval_s = interval_s
        self._idle_interval_s = idle_interval_s
        self._restless = FlickerFilter()
        self._kept: _Kept | None = None
        self._last_due_s: float | None = None  # of the last frame; outlives a reset
        self._previous: Pixels | None = None
        self._changed: npt.NDArray[np.bool_] | None = None
        self._waiting: Keep | None = None
        self._switches: deque[float] = deque(maxlen=SWITCHES_AT_ONCE)

    def judge(self, look: Candidate, *, is_active: bool, is_writing: bool = False) -> Keep | Extend | Wait:
        """What becomes of this look. `is_writing`: the last frame is still on its way to the spool."""
        verdict = self._first_verdict(look, is_active)
        if isinstance(verdict, Extend):
            if self._waiting is None:
                return verdict
            verdict = self._waiting  # the screen went back: what waited is the news
        if is_writing or not self._is_allowed(verdict, look.due_s):
            self._waiting = verdict
            return Wait()
        return verdict

    def kept(self, keep: Keep, capture_id: str, due_s: float) -> None:
        """From now on looks are compared with this frame."""
        if keep.trigger in ("app_switch", "window_change"):
            self._switches.append(due_s)
        self._kept = _Kept(keep.look, capture_id)
        self._last_due_s = due_s
        self._waiting = None
        self._changed = None

    def reset(self) -> None:
        """Forget what was kept: the next look is a new frame, and no interval spans the gap."""
        self._kept = self._waiting = self._previous = self._changed = None

    def _first_verdict(self, look: Candidate, is_active: bool) -> Keep | Extend:
        pixels, kept = look.shot.pixels, self._kept
        if kept is None:
            self._previous = pixels
            return Keep(look, "start")
        switch = _switch(kept.look.identity, look.identity)
        if kept.look.shot.pixels.shape != pixels.shape:
            self._previous = pixels
            return Keep(look, switch or "visual_change")
        verdict = self._compare(kept, look)
        if switch:
            return Keep(look, switch)
        floor = is_active and look.due_s - kept.look.due_s >= self._idle_interval_s
        if floor and isinstance(verdict, Extend):
            return Keep(look, "idle_floor")
        return verdict

    def _compare(self, kept: _Kept, look: Candidate) -> Keep | Extend:
        pixels, before = look.shot.pixels, kept.look.shot.pixels
        is_still = self._previous is not None and same(self._previous, pixels)
        if not is_still:
            if self._previous is not None and self._previous.shape == pixels.shape:
                self._restless.learn(changed_tiles(self._previous, pixels), pixels, look.due_s)
            self._previous = pixels
        if self._changed is None or not is_still:
            self._changed = changed_tiles(before, pixels)
        if not self._changed.any():
            self._previous = before  # equal pictures: one array is enough
            return Extend(kept.capture_id, "unchanged")
        if self._restless.explains(self._changed, before, pixels, look.due_s):
            return Extend(kept.capture_id, "restless")
        return Keep(look, "visual_change")

    def _is_allowed(self, keep: Keep, due_s: float) -> bool:
        if self._last_due_s is None or due_s - self._last_due_s >= self._interval_s - 1e-6:
            return True
        if keep.trigger not in ("app_switch", "window_change"):
            return False
        return len(self._switches) < SWITCHES_AT_ONCE or due_s - self._switches[0] >= SWITCH_WINDOW_S


def _switch(before: Identity, now: Identity) -> Literal["app_switch", "window_change"] | None:
    if (before.app_name, before.focused, before.pid) != (now.app_name, now.focused, now.pid):
        return "app_switch"
    if (before.window_name, before.browser_url) != (now.window_name, now.browser_url):
        return "window_change"
    return None
