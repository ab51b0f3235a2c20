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
from functools import reduce

from capture.core.geometry import Rect
from capture.windows.protocol import WindowInfo
from store.privacy.rules import WindowFacts

SETTLED_S = 2.0
"""Programs paint within a tenth of it; where the machine is busy, some took over a second."""
_AT_ONCE_S = 0.7
"""A longer time between two readings counts as this much: who kept us from running kept others, too."""
_MANY_PLACES = 32
"""A window that is pulled has a place for each step; further ones count with what lies between them."""


@dataclass(slots=True)
class _Change:
    """`places` are those of the window since it began to change, several where it moved."""

    until_s: float = 0.0
    places: tuple[Rect, ...] = ()
    was_shown: bool = False
    is_moving: bool = False


@dataclass(slots=True)
class _Former:
    """A window as it was, whatever its number stands for now."""

    until_s: float
    window: WindowInfo


class Settling:
    """The changes of the last moment, by the system's number of a window."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._read_s = monotonic()
        self._counted_s = 0.0
        self._changes: dict[int, _Change] = {}
        self._formers: dict[tuple[int, WindowFacts], _Former] = {}

    def note(
        self, number: int, place: Rect | None, known: WindowInfo | None, *, is_shown: bool, is_moving: bool
    ) -> None:
        """A window changed that was `known` in view, or is in view now. `place` is where it is, if told.

        `is_moving`: place, shape or order changed, or how much shines through.
        """
        change = self._changes.setdefault(number, _Change())
        change.until_s = self._now_s() + SETTLED_S
        change.is_moving |= is_moving
        if not change.was_shown:  # nothing of the places before is on the screen
            change.places = (known.rect,) if known else (place,) if place else change.places
        change.was_shown |= is_shown or known is not None
        if place and place not in change.places:
            *before, last = *change.places, place
            if len(before) == _MANY_PLACES:
                last = last.enclosing(before.pop())
            change.places = (*before, last)
        self.note_former(number, known)
        if not known:  # gone, or not read yet: still whose it was
            for (of_number, _), former in self._formers.items():
                former.until_s = change.until_s if of_number == number else former.until_s

    def note_former(self, number: int, known: WindowInfo | None) -> None:
        """A window says another thing of itself: for a moment it may show what it showed as `known`."""
        if known:
            self._formers[number, known.facts] = _Former(self._now_s() + SETTLED_S, known)

    def is_settled(self, number: int) -> bool:
        self._forget()
        return number not in self._changes or not self._changes[number].is_moving

    def passed(self, now: Callable[[int], WindowInfo | None]) -> list[WindowInfo]:
        """Where windows were that are elsewhere, gone or others now. `now` tells of those in view."""
        self._forget()
        passed: dict[tuple[int, WindowFacts], WindowInfo] = {}
        places = {
            n: change.places for n, change in self._changes.items() if change.was_shown and change.places
        }
        windows = [(number, former.window) for (number, _), former in self._formers.items()]
        known = {number for number, _ in windows}
        windows += [
            (number, now(number) or WindowInfo(None, None, at[0]))
            for number, at in places.items()
            if now(number) or number not in known
        ]
        for number, window in windows:
            at, current = places.get(number, (window.rect,)), now(number)
            if len(at) > 1 or current is None or (current.rect, current.facts) != (at[0], window.facts):
                area = reduce(Rect.enclosing, at)
                told = replace(window, rect=area, places=at, opaque=False, focused=False)
                passed[number, window.facts] = told
        return list(passed.values())

    def _now_s(self) -> float:
        now_s = self._monotonic()
        self._counted_s += min(now_s - self._read_s, _AT_ONCE_S)
        self._read_s = now_s
        return self._counted_s

    def _forget(self) -> None:
        now_s = self._now_s()
        self._changes = {n: change for n, change in self._changes.items() if change.until_s >= now_s}
        self._formers = {key: former for key, former in self._formers.items() if former.until_s >= now_s}
