"""Rows of text are cut by their own pixels, whatever stands beside them."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.protocol import Box
from engines.ocr.rows import blocks_of, has_strokes, rows_of, strokes
from tests.tables import for_each


def picture(*boxes: tuple[int, int, int, int]) -> np.ndarray:
    image = Image.new("L", (400, 300), 255)
    for x, y, w, h in boxes:
        ImageDraw.Draw(image).rectangle((x, y, x + w - 1, y + h - 1), fill=0)
    return np.asarray(image)


def letters(x: int, y: int, h: int = 16, count: int = 8) -> list[tuple[int, int, int, int]]:
    """Two strokes each."""
    return [(x + 18 * n + stroke, y, 4, h) for n in range(count) for stroke in (0, 8)]


def bowled(x: int, y: int) -> list[tuple[int, int, int, int]]:
    """A stem of 40 pixels, and a bowl that hides a part of its side."""
    return [(x, y, 5, 40), (x, y + 10, 25, 6), (x, y + 34, 25, 6), (x + 20, y + 10, 5, 30)]


LINE = letters(20, 40)
ROW = (20, 40, 139, 16)


@for_each(
    ("boxes", "rows"),
    [
        ([], []),
        (LINE, [ROW]),
        ([*LINE, *letters(20, 59)], [ROW, (20, 59, 139, 16)]),
        ([*LINE, *letters(200, 40, count=4)], [ROW, (200, 40, 67, 16)]),  # another column
        ([*LINE, *letters(182, 40, count=4)], [(20, 40, 229, 16)]),  # another word
        # The three strokes of one character, beside nothing but other rows.
        ([*LINE, (20, 62, 14, 2), (21, 68, 12, 2), (20, 75, 14, 2)], [ROW, (20, 62, 15, 15)]),
        ([(50, 50, 30, 2)], []),  # too low for letters
        ([*LINE, (164, 10, 1, 200), *letters(170, 40, count=4)], [ROW, (170, 40, 67, 16)]),  # a wall
        ([*LINE, (10, 30, 1, 36), (8, 30, 300, 1), (8, 66, 300, 1)], [ROW]),  # a field
        ([*LINE, (10, 33, 1, 30), (166, 33, 1, 30)], [ROW]),  # a button's sides
        ([*LINE, (166, 34, 3, 26), (166, 36, 12, 3)], [(166, 34, 13, 26), ROW]),  # an icon
        # Two cells of a table, each with its own border.
        (
            [*letters(20, 46, 12, 4), *letters(100, 46, 12, 4), *((x, 40, 1, 24) for x in (14, 93, 96, 173))],
            [(20, 46, 67, 12), (100, 46, 67, 12)],
        ),
        ([(20, 40, 3, 16), (30, 47, 9, 2), (46, 40, 3, 16)], [(20, 40, 30, 16)]),  # "I-I"
        (letters(20, 40, h=40), [(20, 40, 139, 40)]),  # a heading
        ([box for x in (20, 60, 100) for box in bowled(x, 40)], [(20, 40, 106, 40)]),  # "b" is no wall
    ],
)  # fmt: skip
def test_rows_are_told_by_their_strokes(
    boxes: list[tuple[int, int, int, int]], rows: list[tuple[int, ...]]
) -> None:
    for grey in (picture(*boxes), 255 - picture(*boxes)):
        ink, walls = strokes(grey)
        found = [row for block in blocks_of(ink) for row in rows_of(block, walls, {})]
        assert found == [Box(*row) for row in rows]


def test_blocks_hold_all_ink_and_are_cut_apart_by_blanks() -> None:
    ink, _ = strokes(picture(*LINE, *letters(20, 140), *letters(260, 40, count=4)))
    blocks = list(blocks_of(ink))
    assert len(blocks) == 3
    together = np.zeros_like(ink)
    for block in blocks:
        box = block.box
        together[box.y : box.bottom, box.x : box.right] |= block.ink
        assert not (block.ink & ~block.shown).any()
    assert (together == ink).all()


def test_strokes_have_two_sides_and_the_corner_of_a_button_one() -> None:
    corner = picture((50, 50, 200, 100))[40:80, 40:80]
    assert not has_strokes(corner, None)
    assert has_strokes(picture(*LINE)[30:70, 10:170], None)
    faint = np.full((20, 20), 245, np.uint8)
    faint[5:15, 9:12] = 215, 215, 230  # a pale stroke between two pixels
    assert has_strokes(faint, None)
    beside = np.ones(corner.shape, np.bool_)
    beside[:, :20] = False
    assert has_strokes(corner, beside)  # nothing is shown of its side


def rows_in(image: Image.Image) -> list[Box]:
    ink, walls = strokes(np.asarray(image.convert("L")))
    return [row for block in blocks_of(ink) for row in rows_of(block, walls, {})]


def written(size: int = 15, at: int = 100) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """A name above what is said."""
    image = Image.new("RGB", (500, 200), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for line, text in enumerate(("Mirela Osei", "The kiln is hot")):
        draw.text((at, 80 + line * 1.45 * size), text, "black", font)
    return image, draw


@for_each("shape", ["disc", "square", "rounded", "photo"])
@for_each("left", [True, False])
def test_the_picture_of_who_writes_takes_no_part_in_the_rows_beside_it(shape: str, left: bool) -> None:
    alone, _ = written()
    expected = rows_in(alone)
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
    rows = rows_in(image)
    assert [row for row in rows if row in expected] == expected
    assert all(row.right <= x + 44 and row.x >= x - 4 for row in rows if row not in expected)


@for_each("left", [True, False])
def test_a_picture_higher_than_the_row_beside_it_is_a_row_by_itself(left: bool) -> None:
    image = Image.new("RGB", (500, 200), "white")
    draw = ImageDraw.Draw(image)
    draw.text((150, 80), "Mirela Osei", "black", ImageFont.load_default(15))
    [expected] = rows_in(image)
    x = expected.x - 28 - 9 if left else expected.right + 9
    middle = expected.y + expected.h // 2
    draw.ellipse((x, middle - 14, x + 28, middle + 14), "purple")
    assert expected in rows_in(image)


@for_each("gap, count", [(0, 1), (7, 2)])
def test_a_line_parts_cells_and_no_word_that_it_goes_through(gap: int, count: int) -> None:
    image = Image.new("RGB", (500, 200), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", 14)
    draw.text((100, 80), "on the bench sin", "black", font)
    margin = 100 + round(font.getlength("on the bench sin"))
    draw.text((margin + gap, 80), "ce Monday", "black", font)
    draw.line((margin, 0, margin, 200), (210, 235, 210))
    assert len(rows_in(image)) == count


def test_rows_end_at_a_window_over_them_whose_border_is_softer_than_its_ground() -> None:
    image = Image.new("RGB", (900, 400), "#fbf6ea")
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 15)
    for y in range(20, 380, 24):
        draw.text((40, y), "Most of the work happens before anybody arrives, and nobody", "black", font)
    for left in range(300, 330, 3):
        shown = image.copy()
        over = ImageDraw.Draw(shown)
        over.rectangle((left, 0, 900, 400), "#16181d", "#5a5a5a")
        for y in range(6, 390, 17):
            over.text((left + 3, y), "08:12:17 INFO Platform 18 is closed until noon", "#d5d8de", font)
        rows = rows_in(shown)
        assert all(row.right <= left + 1 or row.x > left for row in rows)
        assert all(row.h <= 20 for row in rows)


def test_the_round_ends_of_a_bubble_are_no_part_of_its_row() -> None:
    image = Image.new("RGB", (500, 200), "white")
    draw = ImageDraw.Draw(image)
    for bubble in (False, True):
        if bubble:
            draw.rounded_rectangle((86, 70, 250, 108), 16, "lightblue")
        draw.text((99, 81), "The kiln is hot today", "black", ImageFont.load_default(15))
        rows = rows_in(image)
        if not bubble:
            expected = rows
            image.paste("white", (0, 0, 500, 200))
    assert rows == expected
