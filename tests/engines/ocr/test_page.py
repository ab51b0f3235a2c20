"""What counts as text of what a model says."""

from __future__ import annotations

import numpy as np
from PIL import Image

from engines.ocr.page import read_page
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import Remembered
from tests.tables import for_each


@for_each(
    ("width", "word", "confidence", "is_text"),
    [
        (9, "U", 0.5, False),  # a cursor
        (9, "U", 0.9, True),
        (18, "41", 0.5, True),
        (90, "Uncle", 0.5, True),
    ],
)
def test_a_letter_or_two_that_stand_alone_count_where_the_model_is_sure(
    width: int, word: str, confidence: float, is_text: bool
) -> None:
    grey = np.full((100, 200), 255, np.uint8)
    for x in range(40, 40 + width, 8):
        grey[40:56, x : x + 2] = 0
    read = [OcrWord(word, Box(8, 8, 10, 30), confidence)]
    lines = read_page(
        Image.fromarray(grey), None, ["eng"], lambda pages, *_: [read for _ in pages], Remembered()
    )
    assert bool(lines) is is_text
