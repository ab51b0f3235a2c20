"""What counts as text of what a model says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from engines.ocr.page import read_page
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import Remembered
from tests.engines.ocr.test_han import row
from tests.tables import for_each


@for_each(
    ("width", "word", "confidence", "is_text"),
    [
        (9, "U", 0.5, False),  # a cursor
        (9, "U", 0.9, True),
        (18, "41", 0.5, True),
        (18, "5€", 0.5, True),
        (18, "删除", 0.5, True),
        (18, "확인", 0.5, True),
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


@for_each(
    ("at", "size", "is_bullet"),
    [
        ((30, 47), 6, True),
        ((30, 55), 4, False),  # a full stop, lower
        ((26, 40), 14, False),  # as large as a letter
        ((40, 47), 6, False),  # not apart from the word
    ],
)
def test_a_disc_before_a_line_is_a_bullet(at: tuple[int, int], size: int, is_bullet: bool) -> None:
    image = Image.new("L", (200, 100), 255)
    draw = ImageDraw.Draw(image)
    draw.ellipse((*at, at[0] + size - 1, at[1] + size - 1), 0)
    for x in range(48, 150, 8):
        draw.rectangle((x, 40, x + 2, 58), 0)

    def recognise(pages: Sequence[Image.Image], *_: object) -> list[list[OcrWord]]:
        scale = 2

        def x(place: int) -> int:  # a row has three pixels around it, and a border of four
            return (place - at[0] + 3 + 4) * scale

        return [
            [
                OcrWord("«", Box(x(at[0]), 8, size * scale, page.height - 16), 0.9),
                OcrWord("beans", Box(x(48), 8, 200, page.height - 16), 0.9),
            ]
            for page in pages
        ]

    [line] = read_page(image, None, ["eng"], recognise, Remembered())
    assert line.text == ("• beans" if is_bullet else "« beans")


@for_each(("bottom", "text"), [(58, "I take"), (62, "| take")])
def test_a_bar_that_ends_on_the_line_is_a_letter(bottom: int, text: str) -> None:
    grey = np.full((100, 200), 255, np.uint8)
    grey[44:bottom, 40:42] = 0
    for x in range(50, 100, 6):
        grey[44:58, x : x + 2] = 0

    def recognise(pages: Sequence[Image.Image], *_: object) -> list[list[OcrWord]]:
        words = (("|", 8, 16), ("take", 26, 110))
        return [
            [OcrWord(text, Box(x, 8, w, page.height - 16), 0.9) for text, x, w in words] for page in pages
        ]

    [line] = read_page(Image.fromarray(grey), None, ["eng"], recognise, Remembered())
    assert line.text == text


@for_each(
    ("text", "confidence", "by"),
    [
        ("三个样品是温的，一个已经裂开", 0.95, {"chi_sim"}),
        ("三个样品是温的，一个已经裂开", 0.6, {"chi_sim", "eng"}),
        ("Three of the eggs are green", 0.95, {"eng"}),
    ],
)
def test_a_row_of_han_is_known_by_its_strokes(text: str, confidence: float, by: set[str]) -> None:
    asked = set()

    def recognise(pages: Sequence[Image.Image], language: str, _: int) -> list[list[OcrWord]]:
        asked.update([language] if pages else [])
        return [[OcrWord(text, Box(0, 0, *page.size), confidence)] for page in pages]

    [line] = read_page(row(text, size=16), None, ["eng", "chi_sim"], recognise, Remembered())
    assert (line.text, asked) == (text, by)
