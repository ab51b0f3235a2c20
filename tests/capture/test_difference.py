"""Change by tiles, and what flickers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from capture.difference import TILE, FlickerFilter, changed_tiles, is_uniform
from capture.screens.protocol import Pixels, bgrx
from tests.capture.fakes import draw, screen
from tests.tables import for_each


@for_each(
    ("x", "y", "tiles"),
    [
        (0, 0, {(0, 0)}),
        (30, 0, {(0, 0), (0, 1)}),
        (30, 30, {(0, 0), (0, 1), (1, 0), (1, 1)}),
        (314, 182, {(5, 9)}),
    ],
)
def test_a_changed_character_changes_its_tiles(x: int, y: int, tiles: set[tuple[int, int]]) -> None:
    before = screen()
    after = draw(before, x, y)
    assert {(int(r), int(c)) for r, c in np.argwhere(changed_tiles(before, after))} == tiles


@for_each("size", [(320, 192), (321, 193), (1, 1), (33, 31), (1366, 768)])
def test_any_size_of_screen_is_compared_to_its_last_pixel(size: tuple[int, int]) -> None:
    before = screen(*size)
    after = before.copy()
    after[-1, -1, 0] ^= 1
    tiles = changed_tiles(before, after)
    assert tiles.shape == (-(-size[1] // TILE), -(-size[0] // TILE))
    assert tiles[-1, -1]
    assert tiles.sum() == 1
    assert not changed_tiles(before, before.copy()).any()


def test_the_unused_byte_is_no_change() -> None:
    before = screen()
    after = before.copy()
    after[..., 3] = 255
    assert not changed_tiles(before, after).any()


@given(st.integers(0, 319), st.integers(0, 191), st.integers(1, 255), st.integers(0, 2))
def test_any_one_pixel_is_seen(x: int, y: int, flip: int, channel: int) -> None:
    before = screen()
    after = before.copy()
    after[y, x, channel] ^= flip
    assert changed_tiles(before, after)[y // TILE, x // TILE]


def test_a_scrolled_page_with_the_same_histogram_is_a_change() -> None:
    before = screen()
    after = np.ascontiguousarray(np.roll(before, 24, axis=0))
    assert np.array_equal(np.sort(before, axis=None), np.sort(after, axis=None))
    assert changed_tiles(before, after).all()


def test_uniform_pictures_are_told() -> None:
    assert is_uniform(np.zeros((1080, 1920, 4), dtype=np.uint8))
    assert not is_uniform(screen())
    dark = np.zeros((1080, 1920, 4), dtype=np.uint8)
    dark[1079, 1918, 1] = 1
    assert not is_uniform(dark)
    dark[1079, 1918] = (0, 0, 0, 9)  # the unused byte says nothing
    assert is_uniform(dark)


class Watched:
    """A screen that is looked at twice a second; says whether flicker explains the difference."""

    def __init__(self) -> None:
        self.kept = self.previous = screen()
        self.restless = FlickerFilter()
        self.now_s = 0.0

    def show(self, pixels: Pixels) -> bool:
        self.now_s += 0.5
        self.restless.learn(changed_tiles(self.previous, pixels), pixels, self.now_s)
        self.previous = pixels
        changed = changed_tiles(self.kept, pixels)
        return self.restless.explains(changed, self.kept, pixels, self.now_s)


def clock_face(second: int) -> Pixels:
    return draw(screen(), 290, 4, width=20, colour=second * 7919 % 0xFFFFFF)


def ticking(seconds: int) -> Watched:
    watched = Watched()
    for second in range(seconds):
        watched.show(clock_face(second))
        watched.show(clock_face(second))
    return watched


def test_a_ticking_clock_is_flicker_after_some_ticks() -> None:
    assert not Watched().show(clock_face(1))
    watched = ticking(7)
    assert watched.show(clock_face(8))
    assert watched.show(clock_face(9))


def test_a_character_elsewhere_is_seen_while_the_clock_ticks() -> None:
    watched = ticking(10)
    assert not watched.show(draw(clock_face(11), 100, 100))


def test_a_digit_that_changes_once_is_seen_however_small() -> None:
    """Two dense tables that differ in one digit."""
    watched = ticking(10)
    assert not watched.show(draw(clock_face(11), 40, 40, width=5, height=7))
    digit = Watched()
    assert not digit.show(clock_face(3))


def test_a_clock_that_stops_is_seen_with_its_last_time() -> None:
    watched = ticking(10)
    for _ in range(20):
        explained = watched.show(clock_face(11))
    assert not explained


def test_a_blinking_cursor_is_flicker_and_a_character_typed_at_it_is_not() -> None:
    watched = Watched()
    on, off = draw(screen(), 64, 64), screen()
    for _ in range(8):
        watched.show(on)
        explained = watched.show(off)
    assert explained
    assert watched.show(on)
    assert not watched.show(draw(off, 72, 64))


def test_two_clocks_and_a_cursor_are_flicker_together() -> None:
    watched = Watched()
    for second in range(10):
        picture = draw(clock_face(second), 10, 150, width=20, colour=second * 104729 % 0xFFFFFF)
        watched.show(picture)
        explained = watched.show(draw(picture, 128, 96))
    assert explained


def test_typing_that_moves_on_is_never_flicker() -> None:
    watched = Watched()
    picture = screen()
    for index in range(30):
        picture = draw(picture, 4 + 7 * index, 100, width=5)
        assert not watched.show(picture)


def _frames(folder: Path) -> list[Pixels]:
    return [bgrx(Image.open(file)) for file in sorted(folder.glob("*.webp"))]


def test_every_step_of_real_typing_is_seen(cases: Path) -> None:
    """Real screens: perceptual hashes missed 69 to 93 % of these."""
    folder = cases / "screens" / "type"
    pictures = _frames(folder)[:8]
    assert len(pictures) == 8
    words = [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))][:8]
    restless = FlickerFilter()
    for index in range(1, len(pictures)):
        changed = changed_tiles(pictures[index - 1], pictures[index])
        restless.learn(changed, pictures[index], index / 2)
        if words[index] != words[index - 1]:
            assert not restless.explains(changed, pictures[index - 1], pictures[index], index / 2)
