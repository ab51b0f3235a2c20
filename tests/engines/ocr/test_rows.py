"""Rows of text are cut alike whatever stands beside them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.protocol import Box
from engines.ocr.rows import blocks_of, rows_of, strokes
from tests.tables import for_each

NAME, SAID = "Mirela Osei", "The kiln is hot"


def cut(image: Image.Image) -> list[Box]:
    ink, walls = strokes(np.asarray(image.convert("L")))
    return [row for block in blocks_of(ink) for row in rows_of(block, walls, {})]


def written(size: int = 15, at: int = 100) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """A name above what is said."""
    image = Image.new("RGB", (500, 200), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for line, text in enumerate((NAME, SAID)):
        draw.text((at, 80 + line * 1.45 * size), text, "black", font)
    return image, draw


@for_each("shape", ["disc", "square", "rounded", "photo"])
@for_each("left", [True, False])
def test_the_picture_of_who_writes_takes_no_part_in_the_rows_beside_it(shape: str, left: bool) -> None:
    alone, _ = written()
    expected = cut(alone)
    assert len(expected) == 2
    image, draw = written()
    x = 100 - 40 - 10 if left else max(row.right for row in expected) + 10
    area = (x, 78, x + 40, 118)
    if shape == "disc":
        draw.ellipse(area, "purple")
    elif shape == "square":
        draw.rectangle(area, "purple")
    elif shape == "rounded":
        draw.rounded_rectangle(area, 8, "purple")
    else:
        noise = np.random.default_rng(7).integers(0, 255, (6, 6, 3), np.uint8)
        image.paste(Image.fromarray(noise).resize((40, 40), Image.Resampling.BICUBIC), area[:2])
    if shape != "photo":
        draw.text((x + 20, 98), "M", "white", ImageFont.load_default(16), anchor="mm")
    rows = cut(image)
    assert [row for row in rows if row in expected] == expected
    assert all(row.right <= x + 44 and row.x >= x - 4 for row in rows if row not in expected)
