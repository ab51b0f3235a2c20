"""Check boxes and struck rows, read with Tesseract."""

from __future__ import annotations

from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont

from engines.ocr.check_boxes import with_ticks
from engines.ocr.protocol import open_ocr
from tests.tables import for_each

Draw = Callable[[ImageDraw.ImageDraw, int], None]


def square(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.rectangle((40, y, 55, y + 15), outline="black", width=2)


def circle(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.ellipse((40, y, 55, y + 15), outline="black", width=2)


def filled(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.rectangle((40, y, 55, y + 15), fill="blue")
    draw.line((43, y + 8, 46, y + 11, 52, y + 4), fill="white", width=2)


def crossed(draw: ImageDraw.ImageDraw, y: int) -> None:
    square(draw, y)
    draw.line((43, y + 3, 52, y + 12), fill="black", width=2)
    draw.line((43, y + 12, 52, y + 3), fill="black", width=2)


def letter(draw: ImageDraw.ImageDraw, y: int) -> None:
    draw.text((41, y + 8), "O", "black", ImageFont.load_default(18), anchor="lm")


@for_each(
    ("marks", "expected"),
    [
        ((square, filled, square), "☐☑☐"),
        ((square, crossed, crossed), "☐☑☑"),
        ((circle, circle, crossed), "☐☐☑"),
        ((filled, filled, letter), ""),  # icons, for all the picture tells
        ((square, letter), "☐"),
    ],
)
def test_a_check_box_is_told_by_its_frame_and_a_tick_by_its_column(
    marks: tuple[Draw, ...], expected: str
) -> None:
    image = Image.new("RGB", (480, 260), "white")
    draw = ImageDraw.Draw(image)
    for number, mark in enumerate(marks):
        y = 30 + 60 * number
        mark(draw, y)
        left = 58 if mark is letter else 68
        draw.text((left, y + 8), "Polish the copper kettle", "black", ImageFont.load_default(18), anchor="lm")
    engine = open_ocr("auto", ["eng"])
    lines = with_ticks(engine.read(image))
    engine.close()
    texts = [line.text for line in lines]
    assert "".join(text[0] for text in texts if text[0] in "☐☑▣") == expected
    assert [text.endswith("Polish the copper kettle") for text in texts] == [True] * len(marks)


def test_a_row_that_is_struck_through_is_one_row() -> None:
    image = Image.new("RGB", (480, 80), "white")
    draw, text = ImageDraw.Draw(image), "Return the extractor to the shop"
    font = ImageFont.load_default(18)
    draw.text((40, 40), text, "black", font, anchor="lm")
    draw.line((40, 41, 40 + draw.textlength(text, font), 41), fill="black", width=1)
    engine = open_ocr("auto", ["eng"])
    assert [line.text for line in engine.read(image)] == [text]
    engine.close()
