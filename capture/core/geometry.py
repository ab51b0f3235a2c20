"""Rectangles on the desktop, in its own pixels, origin at the top left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rect:
    """Half-open: covers x..x+width-1 and y..y+height-1. No width or no height means nothing."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    @property
    def area(self) -> int:
        return max(0, self.width) * max(0, self.height)

    def common(self, other: Rect) -> Rect:
        """The part both cover, possibly nothing."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Rect(x, y, max(0, right - x), max(0, bottom - y))

    def enclosing(self, other: Rect) -> Rect:
        """The smallest rectangle that holds both."""
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Rect(x, y, max(self.right, other.right) - x, max(self.bottom, other.bottom) - y)

    def without(self, hole: Rect) -> list[Rect]:
        """What is left of this after `hole` is cut out: at most four rectangles, none overlapping."""
        cut = self.common(hole)
        if not cut.area:
            return [self] if self.area else []
        parts = [
            Rect(self.x, self.y, self.width, cut.y - self.y),
            Rect(self.x, cut.bottom, self.width, self.bottom - cut.bottom),
            Rect(self.x, cut.y, cut.x - self.x, cut.height),
            Rect(cut.right, cut.y, self.right - cut.right, cut.height),
        ]
        return [part for part in parts if part.area]


def uncovered(rect: Rect, covers: Iterable[Rect]) -> list[Rect]:
    """The parts of `rect` that none of `covers` hides."""
    parts = [rect] if rect.area else []
    for cover in covers:
        parts = [left for part in parts for left in part.without(cover)]
        if not parts:
            break
    return parts
