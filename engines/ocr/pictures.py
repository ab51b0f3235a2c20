"""Pictures beside rows of text, told by their outlines: of who writes in a chat, and icons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from engines.ocr.protocol import Box

Ink = npt.NDArray[np.bool_]

LEAST_PADDING, PADDING = 4, 0.2  # pixels and heights of blank between a button's side and its text
OVER = 2  # pixels by which it is higher, above and below
LOWEST = 5  # pixels; letters are higher
ALIKE = 1.6  # heights of one row
_SMALLEST, _LARGEST = 14, 64  # pixels: an icon beside two rows of the smallest text; a face
_SMALLEST_ALONE = 22  # pixels: check boxes are lower
_SIDES = 0.9  # of its width, where it is widest: both its sides, and no letter beside it
_ACROSS = 0.5  # of its width: strokes that touch the row below are narrower


def pictures(solid: Ink) -> Iterator[tuple[Box, bool]]:
    """What stands beside rows of text, about as wide as high: the picture of who writes, or an icon. What
    goes on where two rows leave a blank would hold them together, or lend each a piece of itself, and says
    nothing but initials: it is no text (True). What is higher than the one row beside it is read by itself.
    """
    if len(solid) < _SMALLEST:
        return
    whole = Box(0, 0, solid.shape[1], len(solid))
    columns = np.flatnonzero(solid.any(0))
    blanks = np.flatnonzero(np.diff(columns) > LEAST_PADDING)
    lefts = [int(at) for at in (*columns[:1], *columns[blanks + 1])]
    rights = [int(at) + 1 for at in (*columns[blanks], *columns[-1:])]
    first, widest = 0, ALIKE * min(len(solid), _LARGEST)
    while first < len(lefts):
        # Its outline has a blank inside, so it may be several stretches of columns: the widest counts.
        ends = (n for n in range(first, len(rights)) if rights[n] - lefts[first] <= widest)
        found = ((inked(solid, whole, lefts[first], rights[n]), n) for n in reversed(list(ends)))
        for box, last in found:
            beside = list(_beside(solid, box))
            is_icon = any(_goes_on(solid[:, box.x : box.right], box, side) for side in beside)
            is_whole = solid[box.y : box.bottom, box.x : box.right].any(1).all()
            if is_icon or (is_whole and any(_towers_over(box, side) for side in beside)):
                yield box, is_icon
                first = last
                break
        first += 1


def _beside(solid: Ink, box: Box) -> Iterator[Ink]:
    """What stands to the right and to the left of a picture, from its side on; nothing where it is none."""
    if _SMALLEST <= box.h <= _LARGEST and max(box.w, box.h) <= ALIKE * min(box.w, box.h):
        yield solid[:, box.right : box.right + 2 * box.h]
        yield solid[:, max(0, box.x - 2 * box.h) : box.x][:, ::-1]


def _towers_over(box: Box, beside: Ink) -> bool:
    """Whether a box is higher than the row of text beside it, above and below, and apart from it."""
    rows, columns = np.flatnonzero(beside.any(1)), np.flatnonzero(beside.any(0))
    if box.h < _SMALLEST_ALONE or not len(rows):
        return False
    height = int(rows[-1]) + 1 - int(rows[0])
    is_higher = min(rows[0] - box.y, box.bottom - 1 - rows[-1]) >= OVER and box.h >= ALIKE * height
    return bool(is_higher and height >= LOWEST and columns[0] >= PADDING * box.h)


def _goes_on(columns: Ink, box: Box, beside: Ink) -> bool:
    """Whether ink goes on where two rows of text beside it leave a blank, as wide there as no stroke is."""
    inked = np.diff(np.pad(beside.any(1), 1).astype(np.int8))
    tops, bottoms = np.flatnonzero(inked > 0).tolist(), np.flatnonzero(inked < 0).tolist()
    heights = [bottom - top for top, bottom in zip(tops, bottoms, strict=True)]
    for n, (blank, below) in enumerate(zip(bottoms, tops[1:], strict=False), 1):
        across = columns[blank:below]
        # More than a dot or a stroke stands above and below.
        if max(heights[:n]) >= LOWEST <= max(heights[n:]) and box.y < blank and below < box.bottom:
            widths = np.where(across.any(1), box.w - across.argmax(1) - across[:, ::-1].argmax(1), 0)
            if widths.min() >= _ACROSS * box.w and widths.max() >= _SIDES * box.w:
                return True
    return False


def inked(ink: Ink, part: Box, left: int, right: int) -> Box:
    """The columns from `left` to `right` of a part, as high as their ink."""
    rows = np.flatnonzero(ink[part.y : part.bottom, left:right].any(1)).tolist()
    return Box(left, part.y + rows[0], right - left, rows[-1] + 1 - rows[0])
