"""Whether a part of the screen moved up or down, told from its rows of pixels.

Every row that occurs once before and once now votes for the distance it moved. Strips vote
separately, so a scroll bar or a picture beside the text does not silence it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from engines.ocr.protocol import Box
from ingest.reading.changed_regions import Pixels

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
