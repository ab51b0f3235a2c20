"""Check boxes, which no model of letters knows: it takes them for ©, @, O or 口, or for nothing.

An empty one is told by its pixels: a closed frame, as wide as high, nothing inside, and apart from the text
behind it. Whether another mark is a ticked one only its column tells: it has the place and the size of an
empty one there, and something else inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engines.ocr.protocol import Box, OcrLine, OcrWord, line_of

EMPTY, TICKED = "☐", "☑"
_UNKNOWN = "▣"
"""Stands for a mark that no word was read of until its column is known."""
MARKS = EMPTY, TICKED, _UNKNOWN

_SMALLEST, _LARGEST = 9, 40  # pixels
_APART = 0.4, 0.5  # of its height, behind a square and a circle: a space is narrower, behind an O, too
_FRAME = 0.22  # of its height: the frame is no thicker
_BEFORE = 2  # pixels in front of the text that its strokes may reach into
_SIDE = 0.7  # of a square's width is ink in its first rows; of a circle's or a letter's less

Ink = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a row begins with, as wide as high and apart from the rest. From `rest_at` on it is read."""

    box: Box
    is_empty: bool
    rest_at: int

    def before(self, words: Sequence[OcrWord]) -> list[OcrWord]:
        """The words of the row, which were read from `rest_at` on, behind it; none where none are."""
        if self.is_empty and self.rest_at < self.box.right:
            return []
        moved = [word.moved(self.rest_at, 0) for word in words]
        if words and (self.is_empty or moved[0].box.x >= self.box.right - 1):
            return [OcrWord(EMPTY if self.is_empty else _UNKNOWN, self.box, 1.0), *moved]
        return moved


def leading(ink: Ink) -> Mark | None:
    """The mark that a row begins with. What is alone in its row is none but an empty square: a button."""
    columns = np.flatnonzero(ink.any(0))
    if not len(columns):
        return None
    left, gaps = int(columns[0]), np.flatnonzero(np.diff(columns) > 1)
    right, text_at = (
        (int(columns[gaps[0]]) + 1, int(columns[gaps[0] + 1])) if len(gaps) else (int(columns[-1]) + 1, 0)
    )
    rows = np.flatnonzero(ink[:, left:right].any(1))
    box = Box(left, int(rows[0]), right - left, int(rows[-1] - rows[0]) + 1)
    if not _SMALLEST <= box.h <= _LARGEST or abs(box.w - box.h) > 1:
        return None
    part = ink[box.y : box.bottom, left:right]
    is_square = max(part[0].mean(), part[1].mean()) >= _SIDE
    is_empty = _is_hollow(part)
    if not text_at:
        return Mark(box, is_empty, right - 1) if is_square and is_empty else None
    is_apart = text_at - right >= _APART[not is_square] * box.h
    return Mark(box, is_empty, text_at - _BEFORE if is_empty else 0) if is_apart else None


def _is_hollow(part: Ink) -> bool:
    """Whether a frame is closed at every side, with nothing inside."""
    edge = max(2, round(_FRAME * len(part)))
    inner = slice(edge, -edge)
    across = part[:edge, inner].any(0) & part[-edge:, inner].any(0)
    down = part[inner, :edge].any(1) & part[inner, -edge:].any(1)
    return not part[inner, inner].any() and bool(across.all() and down.all())


def with_ticks(lines: Iterable[OcrLine]) -> list[OcrLine]:
    """The lines of a page with `TICKED` for the marks that stand where others are empty."""
    lines = list(lines)
    empty = [line.words[0].box for line in lines if line.words[0].text == EMPTY]
    return [_with_tick(line, empty) for line in lines]


def _with_tick(line: OcrLine, empty: Iterable[Box]) -> OcrLine:
    first, *rest = line.words
    if not rest or first.text == EMPTY:
        return line
    box = first.box
    if any(max(abs(box.x - e.x), abs(box.w - e.w), abs(box.h - e.h)) <= 1 for e in empty):
        return line_of([replace(first, text=TICKED), *rest])
    return line_of(rest) if first.text == _UNKNOWN else line
