"""Where two screens differ, as few rectangles that are worth reading again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from engines.ocr.protocol import Box, around

TILE_H, TILE_W = 8, 32  # pixels; flat tiles, because text runs along rows
_JOIN_WASTE = 1.3  # how much larger than both together a joined rectangle may be
Pixels = npt.NDArray[np.uint32]  # one screen, a pixel per number


def changed_tiles(before: Pixels, after: Pixels) -> npt.NDArray[np.bool_]:
    """Tiles with any different pixel, bool[ceil(h / 8), ceil(w / 32)]; both of one size."""
    height, width = after.shape
    rows, columns = -(-height // TILE_H), -(-width // TILE_W)
    padded = np.zeros((rows * TILE_H, columns * TILE_W), np.bool_)
    np.not_equal(before, after, out=padded[:height, :width])
    return np.asarray(padded.reshape(rows, TILE_H, columns, TILE_W).any((1, 3)))


def has_changed(box: Box, tiles: npt.NDArray[np.bool_]) -> bool:
    """Whether a word changed, or something so near that it may belong to the word now."""
    near = box.h // 2
    left, right = max(0, box.x - near) // TILE_W, (box.right - 1 + near) // TILE_W
    return bool(tiles[box.y // TILE_H : (box.bottom - 1) // TILE_H + 1, left : right + 1].any())


def changed_regions(
    tiles: npt.NDArray[np.bool_], changed_words: Sequence[Box], size: tuple[int, int]
) -> list[Box]:
    """Rectangles that hold every changed tile and, whole, every word that changed.

    They may overlap: a tall scroll bar and a wide new line stay two rectangles. `size` is width and
    height of the screen.
    """
    regions = _joined([_clipped(box, size) for box in _components(tiles)])
    return _joined([around([r, *(word for word in changed_words if touches(r, word))]) for r in regions])


def area(regions: Iterable[Box]) -> int:
    return sum(region.w * region.h for region in regions)


def touches(a: Box, b: Box) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def same_place(a: Box, b: Box) -> bool:
    """Whether two words stand where only one can."""
    return a.holds_centre_of(b) or b.holds_centre_of(a)


def _components(tiles: npt.NDArray[np.bool_]) -> list[Box]:
    """Bounding boxes of changed tiles that touch, also over a corner."""
    waiting = set(zip(*(axis.tolist() for axis in tiles.nonzero()), strict=True))
    boxes = []
    while waiting:
        edge = [waiting.pop()]
        top, left = bottom, right = edge[0]
        while edge:
            row, column = edge.pop()
            top, bottom = min(top, row), max(bottom, row)
            left, right = min(left, column), max(right, column)
            for near in [(row + dy, column + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]:
                if near in waiting:
                    waiting.remove(near)
                    edge.append(near)
        wide, high = right - left + 1, bottom - top + 1
        boxes.append(Box(left * TILE_W, top * TILE_H, wide * TILE_W, high * TILE_H))
    return boxes


def _clipped(box: Box, size: tuple[int, int]) -> Box:
    return Box(box.x, box.y, min(box.right, size[0]) - box.x, min(box.bottom, size[1]) - box.y)


def _joined(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that touch become one where that adds little area, until none do."""
    result: list[Box] = []
    for box in boxes:
        while (other := next((other for other in result if _belong_together(box, other)), None)) is not None:
            result.remove(other)
            box = around([box, other])
        result.append(box)
    return result


def _belong_together(a: Box, b: Box) -> bool:
    return touches(a, b) and area([around([a, b])]) <= _JOIN_WASTE * area([a, b])


# Whether a part of the screen moved up or down, told from its rows of pixels.
#
# Every row that occurs once before and once now votes for the distance it moved. Strips vote
# separately, so a scroll bar or a picture beside the text does not silence it.

_STRIPS = 8
_SMALLEST_STRIP = 64  # pixels
_SMALLEST_SHARE = 0.4  # of the rows that could vote


def vertical_shift(before: Pixels, after: Pixels, box: Box) -> int:
    """By how many pixels what was in `box` moved down (negative: up); 0 when nothing tells."""
    width = max(_SMALLEST_STRIP, box.w // _STRIPS)
    votes: Counter[int] = Counter()
    voters = 0
    for left in range(box.x, box.right, width):
        right = min(left + width, box.right)
        earlier = _unique_rows(before[box.y : box.bottom, left:right])
        later = _unique_rows(after[box.y : box.bottom, left:right])
        votes.update(later[row] - earlier[row] for row in later.keys() & earlier.keys())
        voters += min(len(earlier), len(later))
    if not votes:
        return 0
    shift, count = votes.most_common(1)[0]
    # Rows that left the box could not vote for the shift that took them out.
    visible = voters * (1 - min(1.0, abs(shift) / box.h))
    return shift if count >= _SMALLEST_SHARE * visible and count >= 8 else 0


def shift_lines(before: Pixels, box: Box, shift: int) -> Pixels:
    """`before` with the content of `box` moved down by `shift`; the strip it leaves is unchanged."""
    result = before.copy()
    top, bottom = box.y + max(0, shift), box.bottom + min(0, shift)
    result[top:bottom, box.x : box.right] = before[top - shift : bottom - shift, box.x : box.right]
    return result


def _unique_rows(part: Pixels) -> dict[int, int]:
    """Hash of a row to its number, for rows that occur once: blank ones occur often."""
    hashes = [hash(row.tobytes()) for row in np.ascontiguousarray(part)]
    counts = Counter(hashes)
    return {value: number for number, value in enumerate(hashes) if counts[value] == 1}
