"""Whatever the theme, text becomes dark on white and panels become paper."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.ink import ink_of
from tests.tables import for_each

Colour = tuple[int, int, int]


def drawn(background: Colour, ink: Colour, size: tuple[int, int] = (400, 120)) -> Image.Image:
    image = Image.new("RGB", size, background)
    ImageDraw.Draw(image).text((60, 40), "tide tables", fill=ink, font=ImageFont.load_default(24))
    return image


def ink(image: Image.Image) -> np.ndarray:
    return ink_of(np.asarray(image.convert("L"))) > 127


@for_each(
    ("background", "text"),
    [
        ((255, 255, 255), (0, 0, 0)),
        ((30, 31, 34), (212, 215, 221)),
        ((0, 0, 0), (255, 255, 255)),
        ((253, 246, 227), (133, 153, 0)),
        ((11, 87, 208), (255, 255, 255)),
        ((30, 31, 34), (119, 124, 133)),  # grey hints on dark
        ((255, 255, 255), (163, 168, 175)),
    ],
)
def test_every_theme_gives_the_same_ink(background: Colour, text: Colour) -> None:
    paper = ink(drawn((255, 255, 255), (0, 0, 0)))
    here = ink(drawn(background, text))
    assert paper.sum() > 300
    assert (paper & here).sum() > 0.9 * paper.sum()
    assert here.sum() < 1.3 * paper.sum()


def test_a_button_is_paper_for_its_own_text() -> None:
    image = drawn((255, 255, 255), (0, 0, 0), (600, 200))
    draw = ImageDraw.Draw(image)
    draw.rectangle((300, 120, 460, 160), fill=(11, 87, 208))
    draw.text((330, 130), "Save changes", fill=(255, 255, 255), font=ImageFont.load_default(16))
    inside = ink(image)[126:154, 308:452]
    assert 0.02 < inside.mean() < 0.3


@for_each(("page", "label", "text"), [(255, 70, 255), (28, 232, 20), (255, 235, 60)])
def test_a_label_hardly_higher_than_its_text_is_paper_for_it(page: int, label: int, text: int) -> None:
    paper, image = Image.new("L", (120, 40), label), Image.new("L", (120, 40), page)
    ImageDraw.Draw(image).rounded_rectangle((20, 11, 88, 28), 8, fill=label)
    for each in (paper, image):
        ImageDraw.Draw(each).text((30, 19), "Overdue", text, ImageFont.load_default(12), anchor="lm")
    # As a row is cut: the ink of the text and a few pixels around.
    expected, found = (
        ink_of(np.asarray(each)[9:31, 18:91], 33)[4:-4, 10:-10] > 96 for each in (paper, image)
    )
    assert expected.sum() > 100
    assert (expected != found).sum() < 0.15 * expected.sum()


def test_stripes_of_a_table_leave_no_ink() -> None:
    pixels = np.full((320, 900, 3), 255, np.uint8)
    for top in range(0, 320, 32):
        pixels[top : top + 16] = (238, 238, 238)
    assert not ink(Image.fromarray(pixels)).any()


def test_bars_and_rules_leave_no_ink() -> None:
    image = Image.new("RGB", (900, 300), (42, 44, 49))
    draw = ImageDraw.Draw(image)
    draw.rectangle((100, 100, 700, 112), fill=(59, 111, 212))
    draw.line((50, 200, 850, 200), fill=(200, 200, 200))
    middle = ink(image)[:, 180:620]
    assert not middle.any()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 130), st.integers(1, 130), st.integers(0, 2**32 - 1))
def test_any_picture_keeps_its_size(width: int, height: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    assert ink(Image.fromarray(pixels)).shape == (height, width)


@given(st.integers(0, 255), st.integers(1, 300), st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_a_plain_screen_is_white(level: int, width: int, height: int) -> None:
    assert not ink_of(np.full((height, width), level, np.uint8)).any()
