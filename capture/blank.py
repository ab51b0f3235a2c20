"""One colour all over while somebody is typing: a broken grab, not an unchanged screen (CAP-7)."""

from __future__ import annotations

from capture.difference import is_uniform
from capture.privacy import Windows
from capture.screens.protocol import Monitor, Pixels
from capture.windows.idle import Activity

FAULT_AFTER_S = 20.0
FAULT_AFTER_UNKNOWN_S = 50.0
"""How long it may last: with input seen meanwhile, and where nobody can tell."""

DETAIL = (
    "The screen comes out in one colour although somebody is using it: this way of looking does not "
    "work here. Run `recollect doctor` for another one."
)


class BlankWatch:
    """Watches every monitor. `reason` is ``blank_frames`` while one of them is at fault."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self._at_fault: set[str] = set()

    @property
    def reason(self) -> str:
        return "blank_frames" if self._at_fault else ""

    @property
    def detail(self) -> str:
        return DETAIL if self._at_fault else ""

    def is_fault(
        self, monitor: Monitor, pixels: Pixels, activity: Activity, windows: Windows, now_s: float
    ) -> bool:
        """Whether this picture is a fault. A bare desktop, with no window in view, may be uniform."""
        shows_window = windows is None or any(w.rect.common(monitor.area).area for w in windows)
        if not shows_window or not is_uniform(pixels):
            self._since_s.pop(monitor.name, None)
            self._at_fault.discard(monitor.name)
            return False
        since_s = self._since_s.setdefault(monitor.name, now_s)
        if activity.idle_s is None:
            is_fault = now_s - since_s >= FAULT_AFTER_UNKNOWN_S
        else:
            is_fault = now_s - since_s >= FAULT_AFTER_S and activity.idle_s < FAULT_AFTER_S
        if is_fault:
            self._at_fault.add(monitor.name)
        return monitor.name in self._at_fault
