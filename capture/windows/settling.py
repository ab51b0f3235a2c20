"""Windows that changed a moment ago: what they showed may still be on the screen.

A window that goes, moves or is covered leaves its pixels where it was until somebody paints over them: the
program below, or a compositor. And one that has just come or moved may not have painted yet, so that what
was there shows in its place. For `SETTLED_S` after a change, then, the old places count as well, and the
window hides nothing. One that came and went before anybody could ask whose it was is nobody's, which privacy
leaves out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from capture.core.geometry import Rect
from capture.windows.protocol import WindowInfo

SETTLED_S = 2.0
"""Programs paint within a tenth of it; where the machine is busy, some took over a second."""


@dataclass(slots=True)
class _Change:
    """`area` encloses every place of the window since it began to change."""

    until_s: float = 0.0
    area: Rect | None = None
    window: WindowInfo | None = None
    was_shown: bool = False
    is_moving: bool = False


class Settling:
    """The changes of the last moment, by the system's number of a window."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changes: dict[int, _Change] = {}

    def note(
        self, number: int, place: Rect | None, known: WindowInfo | None, *, is_shown: bool, is_moving: bool
    ) -> None:
        """A window changed that was `known` in view, or is in view now. `place` is where it is, if told.

        `is_moving`: place, shape or order changed, or how much shines through.
        """
        change = self._changes.setdefault(number, _Change())
        change.until_s = self._monotonic() + SETTLED_S
        change.window = known or change.window
        change.is_moving |= is_moving
        if not change.was_shown:  # nothing of the places before is on the screen
            change.area = known.rect if known else place or change.area
        change.was_shown |= is_shown or known is not None
        if change.area and place:
            change.area = change.area.enclosing(place)

    def is_settled(self, number: int) -> bool:
        self._forget()
        return number not in self._changes or not self._changes[number].is_moving

    def passed(self, now: Callable[[int], WindowInfo | None]) -> list[WindowInfo]:
        """Where windows were that are elsewhere or gone. `now` tells of those that are still in view."""
        self._forget()
        passed = []
        for number, change in self._changes.items():
            current = now(number)
            if change.area and change.was_shown and (current is None or current.rect != change.area):
                window = current or change.window or WindowInfo(None, None, change.area)
                passed.append(replace(window, rect=change.area, opaque=False, focused=False, passed=True))
        return passed

    def _forget(self) -> None:
        now_s = self._monotonic()
        for number in [number for number, change in self._changes.items() if change.until_s < now_s]:
            del self._changes[number]
