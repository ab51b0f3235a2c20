"""Rows of text are cut by their ink, whatever stands beside them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from engines.ocr.protocol import Box
from engines.ocr.rows import rows_of, rules
from tests.tables import for_each


def ink(*boxes: tuple[int, int, int, int]) -> np.ndarray:
    image = Image.new("1", (400, 300))
    for x, y, w, h in boxes:
        ImageDraw.Draw(image).rectangle((x, y, x + w - 1, y + h - 1), fill=1)
    return np.asarray(image)


LINE = [(20 + 18 * n, 40, 14, 16) for n in range(8)]
PICTURE = (20, 100, 60, 120)


@for_each(
    ("boxes", "rows"),
    [
        ([], []),
        (LINE, [(20, 40, 140, 16)]),
        ([*LINE, *((x, y + 19, w, h) for x, y, w, h in LINE)], [(20, 40, 140, 16), (20, 59, 140, 16)]),
        ([*LINE, (200, 40, 100, 16)], [(20, 40, 140, 16), (200, 40, 100, 16)]),  # another column
        # The three strokes of one character, beside nothing but other rows.
        ([*LINE, (20, 80, 14, 2), (21, 86, 12, 2), (20, 93, 14, 2)], [(20, 40, 140, 16), (20, 80, 14, 15)]),
        # A picture close above a row does not swallow it.
        ([PICTURE, *((x, y + 184, w, h) for x, y, w, h in LINE)], [PICTURE, (20, 224, 140, 16)]),
        ([(50, 50, 30, 2)], []),  # too low for letters
    ],
)  # fmt: skip
def test_rows_are_told_by_their_ink(
    boxes: list[tuple[int, int, int, int]], rows: list[tuple[int, ...]]
) -> None:
    assert rows_of(ink(*boxes)) == [Box(*row) for row in rows]


def test_straight_lines_are_rules_and_letters_are_not() -> None:
    found = rules(ink((10, 10, 300, 2), (10, 10, 1, 200), (100, 100, 40, 12)))
    assert found[10, 200]
    assert found[150, 10]
    assert not found[100:112, 100:140].any()
