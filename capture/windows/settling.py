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
from store.privacy.rules import WindowFacts

SETTLED_S = 2.0
"""Programs paint within a tenth of it; where the machine is busy, some took over a second."""


@dataclass(slots=True)
class _Change:
    """`area` encloses every place of the window since it began to change; `has_moved`: there were several."""

    until_s: float = 0.0
    area: Rect | None = None
    was_shown: bool = False
    is_moving: bool = False
    has_moved: bool = False


@dataclass(slots=True)
class _Former:
    """A window as it was, whatever its number stands for now."""

    until_s: float
    window: WindowInfo


class Settling:
    """The changes of the last moment, by the system's number of a window."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changes: dict[int, _Change] = {}
        self._formers: dict[tuple[int, WindowFacts], _Former] = {}

    def note(
        self, number: int, place: Rect | None, known: WindowInfo | None, *, is_shown: bool, is_moving: bool
    ) -> None:
        """A window changed that was `known` in view, or is in view now. `place` is where it is, if told.

        `is_moving`: place, shape or order changed, or how much shines through.
        """
        change = self._changes.setdefault(number, _Change())
        change.until_s = self._monotonic() + SETTLED_S
        change.is_moving |= is_moving
        if not change.was_shown:  # nothing of the places before is on the screen
            change.area = known.rect if known else place or change.area
        change.was_shown |= is_shown or known is not None
        if change.area and place:
            change.has_moved |= change.was_shown and place != change.area
            change.area = change.area.enclosing(place)
        self.note_former(number, known)
        if not known:  # gone, or not read yet: still whose it was
            for (of_number, _), former in self._formers.items():
                former.until_s = change.until_s if of_number == number else former.until_s

    def note_former(self, number: int, known: WindowInfo | None) -> None:
        """A window says another thing of itself: for a moment it may show what it showed as `known`."""
        if known:
            self._formers[number, known.facts] = _Former(self._monotonic() + SETTLED_S, known)

    def is_settled(self, number: int) -> bool:
        self._forget()
        return number not in self._changes or not self._changes[number].is_moving

    def passed(self, now: Callable[[int], WindowInfo | None]) -> list[WindowInfo]:
        """Where windows were that are elsewhere, gone or others now. `now` tells of those in view."""
        self._forget()
        passed: dict[tuple[int, WindowFacts], WindowInfo] = {}
        areas = {n: change.area for n, change in self._changes.items() if change.area and change.was_shown}
        moved = {number for number, change in self._changes.items() if change.has_moved}
        windows = [(number, former.window) for (number, _), former in self._formers.items()]
        known = {number for number, _ in windows}
        windows += [
            (number, now(number) or WindowInfo(None, None, area))
            for number, area in areas.items()
            if now(number) or number not in known
        ]
        for number, window in windows:
            area, current = areas.get(number, window.rect), now(number)
            if number in moved or current is None or (current.rect, current.facts) != (area, window.facts):
                passed[number, window.facts] = replace(
                    window, rect=area, opaque=False, focused=False, passed=True, has_moved=number in moved
                )
        return list(passed.values())

    def _forget(self) -> None:
        now_s = self._monotonic()
        self._changes = {n: change for n, change in self._changes.items() if change.until_s >= now_s}
        self._formers = {key: former for key, former in self._formers.items() if former.until_s >= now_s}
