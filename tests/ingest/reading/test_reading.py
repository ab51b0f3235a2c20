"""Reading only what was not seen lately gives what reading everything would give, at a fraction of the work.

The engine here reads pictures of coloured blocks exactly: a block's colour is its word. So whatever
differs from a full reading is the reader's doing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from engines.ocr.protocol import Box, OcrError, OcrLine, OcrWord, lines_of
from engines.ocr.rows import strokes
from ingest.reading import incremental
from ingest.reading.incremental import IncrementalReader

SIZE = (640, 480)
ROW, COLUMN, HEIGHT = 32, 128, 10
Blocks = dict[tuple[int, int], int]  # (row, column) to the block's colour


class BlockEngine:
    """Reads every colour of a picture as one word around its pixels, and counts what it looked at."""

    name = "blocks"
    version = "1"
    languages = ("eng",)

    def __init__(self) -> None:
        self.looked_at: list[int] = []
        self.fails = False
        self.is_blind_to: int | None = None

    def models(self) -> str:
        return ""

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        if self.fails:
            raise OcrError("broken")
        seen = mask or Image.new("1", image.size, 1)
        self.looked_at.append(int(np.asarray(seen).sum()))
        shown = Image.composite(image.convert("RGB"), Image.new("RGB", image.size, "white"), seen)
        pixels = np.asarray(shown).astype(np.uint32)
        colours = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
        words = []
        for colour in np.unique(colours):
            if colour not in (0xFFFFFF, self.is_blind_to):
                ys, xs = np.nonzero(colours == colour)
                box = Box(int(xs[0]), int(ys[0]), int(np.ptp(xs)) + 1, int(np.ptp(ys)) + 1)
                words.append(OcrWord(f"{colour:06x}", box, 0.9))
        return lines_of(words)

    def close(self) -> None:
        pass


def screen(blocks: Blocks, size: tuple[int, int] = SIZE) -> Image.Image:
    pixels = np.full((size[1], size[0], 3), 255, np.uint8)
    for (row, column), colour in blocks.items():
        width = 20 + colour % 50
        rgb = (colour >> 16 & 255, colour >> 8 & 255, colour & 255)
        top, left = row * ROW + 3, column * COLUMN + 4
        for line in range(HEIGHT):  # every row differs, as in letters
            for stroke in range(0, width - line, 6):
                pixels[top + line, left + stroke : left + stroke + 3] = rgb
    return Image.fromarray(pixels)


def full(image: Image.Image) -> list[OcrLine]:
    return BlockEngine().read(image)


def words_of(lines: list[OcrLine]) -> list[tuple[str, Box]]:
    """As a page has them, in no order: two cut words may stand so close that lines are formed otherwise."""
    return sorted(
        ((word.text, word.box) for line in lines for word in line.words),
        key=lambda word: (word[0], word[1].y, word[1].x),
    )


@pytest.fixture
def engine() -> BlockEngine:
    return BlockEngine()


@pytest.fixture
def reader(engine: BlockEngine) -> IncrementalReader:
    return IncrementalReader(engine)


def page(rows: int = 14, first: int = 0) -> Blocks:
    return {
        (row, column): (row + first) * 1000 + column * 7 + 1 for row in range(rows) for column in range(4)
    }


cells = st.tuples(st.integers(0, 14), st.integers(0, 4))
screens = st.dictionaries(cells, st.integers(0, 0xA0FFFF), max_size=40).map(
    lambda blocks: {cell: colour for colour, cell in {c: k for k, c in blocks.items()}.items()}
)


@settings(max_examples=60, deadline=None)
@given(st.lists(screens, min_size=1, max_size=5), st.sampled_from([SIZE, (653, 485)]))
def test_any_sequence_of_screens_reads_as_if_each_were_read_whole(
    history: list[Blocks], size: tuple[int, int]
) -> None:
    reader = IncrementalReader(BlockEngine())
    for blocks in history:
        image = screen(blocks, size)
        assert reader.read("DP-1", image) == full(image)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=2, max_size=5), st.integers(0, 80))
def test_a_list_that_scrolls_between_things_that_stay_is_read_whole(tops: list[int], header: int) -> None:
    """By any distance, also back, with words cut by the edges of the list."""
    still = screen({(row, column): 0x600000 + row * 9 + column for row in range(15) for column in (0, 4)})
    tall = screen({(row, column): row * 1000 + column * 7 + 1 for row in range(24) for column in (1, 2, 3)},
                  (SIZE[0], 800))  # fmt: skip
    reader = IncrementalReader(BlockEngine())
    for top in tops:
        image = still.copy()
        image.paste(tall.crop((COLUMN, top, 4 * COLUMN - 20, top + 400 - header)), (COLUMN, header))
        assert words_of(reader.read("DP-1", image)) == words_of(full(image))


def test_a_reader_without_history_reads_whole(reader: IncrementalReader, engine: BlockEngine) -> None:
    image = screen(page())
    assert reader.read("DP-1", image) == full(image)
    assert len(engine.looked_at) == 1


def test_the_same_picture_again_is_not_read(reader: IncrementalReader, engine: BlockEngine) -> None:
    first = reader.read("DP-1", screen(page()))
    assert reader.read("DP-1", screen(page())) == first
    assert len(engine.looked_at) == 1


def test_one_new_word_costs_one_small_region(reader: IncrementalReader, engine: BlockEngine) -> None:
    reader.read("DP-1", screen(page()))
    typed = screen(page() | {(10, 4): 0x2BCDEF})
    assert reader.read("DP-1", typed) == full(typed)
    assert sum(engine.looked_at[1:]) < 0.1 * SIZE[0] * SIZE[1]


def test_a_word_that_vanishes_is_forgotten(reader: IncrementalReader) -> None:
    reader.read("DP-1", screen({(1, 1): 0x102030, (9, 3): 0x405060}))
    left = reader.read("DP-1", screen({(9, 3): 0x405060}))
    assert [line.text for line in left] == ["405060"]


def test_scrolled_words_move_and_only_the_new_strip_is_read(
    reader: IncrementalReader, engine: BlockEngine
) -> None:
    reader.read("DP-1", screen(page()))
    scrolled = screen(page(first=2))
    assert reader.read("DP-1", scrolled) == full(scrolled)
    assert sum(engine.looked_at[1:]) < 0.25 * SIZE[0] * SIZE[1]


def test_switching_back_to_a_window_reads_nothing_again(
    reader: IncrementalReader, engine: BlockEngine
) -> None:
    editor, browser = screen(page()), screen(page(first=500))
    for image in (editor, browser, editor, browser):
        assert reader.read("DP-1", image) == full(image)
    assert len(engine.looked_at) == 2


def test_switching_back_with_a_new_clock_reads_the_clock(
    reader: IncrementalReader, engine: BlockEngine
) -> None:
    reader.read("DP-1", screen(page() | {(0, 4): 0x111111}))
    reader.read("DP-1", screen(page(first=500)))
    later = screen(page() | {(0, 4): 0x222222})
    assert reader.read("DP-1", later) == full(later)
    assert engine.looked_at[2] < 0.1 * SIZE[0] * SIZE[1]


def test_monitors_share_what_was_read(reader: IncrementalReader, engine: BlockEngine) -> None:
    reader.read("DP-1", screen(page()))
    reader.read("DP-2", screen(page()))
    small = screen(page(rows=5), (560, 240))
    assert reader.read("DP-1", small) == full(small)
    assert len(engine.looked_at) == 1


def test_a_failing_engine_leaves_no_false_memory(reader: IncrementalReader, engine: BlockEngine) -> None:
    reader.read("DP-1", screen(page()))
    changed = screen(page() | {(3, 4): 0x123456})
    engine.fails = True
    with pytest.raises(OcrError):
        reader.read("DP-1", changed)
    engine.fails = False
    assert reader.read("DP-1", changed) == full(changed)


def test_what_is_remembered_stays_within_its_budget(
    engine: BlockEngine, reader: IncrementalReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = len(page())
    monkeypatch.setattr(incremental, "_MEMORY_WORDS", 3 * 2 * words)  # each block counts, and each word
    images = [screen(page(first=100 * number)) for number in range(5)]
    for image in [*images, images[4], images[3], images[2]]:
        reader.read("DP-1", image)
    assert len(engine.looked_at) == 5
    reader.read("DP-1", images[0])
    assert len(engine.looked_at) == 6


def test_a_change_beside_a_word_is_read_with_it(reader: IncrementalReader, engine: BlockEngine) -> None:
    reader.read("DP-1", screen(page()))
    image = screen(page())
    image.paste((9, 9, 9), (4 + 82, 3 * ROW + 5, 4 + 84, 3 * ROW + 9))
    assert reader.read("DP-1", image) == full(image)


def test_a_whole_reading_now_and_then_heals_what_was_kept(
    engine: BlockEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incremental, "AUDIT_EVERY", 3)
    told: list[tuple[int, int]] = []
    reader = IncrementalReader(engine, lambda words, differing: told.append((words, differing)))
    image = screen({(1, 1): 0x102030, (9, 3): 0x405060})
    engine.is_blind_to = 0x405060
    assert len(reader.read("DP-1", image)) == 1
    engine.is_blind_to = None
    assert [len(reader.read("DP-1", image)) for _ in range(4)] == [1, 2, 2, 2]
    assert told == [(2, 1)]
    monkeypatch.setattr(incremental, "AUDIT_AT_REST", 1)
    reader.read("DP-1", image, at_rest=True)
    assert told == [(2, 1), (2, 0)]


def test_what_plays_is_left_unread_until_it_rests(reader: IncrementalReader, engine: BlockEngine) -> None:
    """And nothing that stood there before is told of it; beside it everything is read at once."""
    image, engine.is_blind_to = screen(page()), 0
    for number in range(8):
        noise = np.random.default_rng(number).integers(0, 2, (160, 160), dtype=np.uint8)
        image.paste(Image.fromarray(noise * 255), (320, 40))
        image.paste((90, 90, number + 1), (4 + 62, 3 * ROW + 4, 4 + 100, 3 * ROW + 20))
        lines = reader.read("DP-1", image)
        assert reader.left_unread is (number > 2)
        assert words_of(lines) == words_of(engine.read(image))
    image.paste((10, 20, 30), (390, 100, 420, 110))  # words come into it, and it stands still
    assert words_of(reader.read("DP-1", image)) == words_of(engine.read(image))
    assert not reader.left_unread


class CharacterEngine(BlockEngine):
    """Each word is one character, as of Chinese."""

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        words = (word for line in super().read(image, mask) for word in line.words)
        return lines_of([OcrWord(chr(0x4E00 + int(word.text, 16)), word.box, 0.9) for word in words])


def test_text_whose_words_are_single_characters_is_no_film() -> None:
    reader = IncrementalReader(CharacterEngine())
    for first in range(5):
        pixels = np.full((SIZE[1], SIZE[0], 3), 255, np.uint8)
        for row, column in np.ndindex(12, 14):
            colour = (row + first) * 300 + column + 1
            pixels[40 + row * 16 : 52 + row * 16, 40 + column * 16 : 54 + column * 16 : 2] = (
                0, colour >> 8, colour & 255,
            )  # fmt: skip
        image = Image.fromarray(pixels)
        assert words_of(reader.read("DP-1", image)) == words_of(CharacterEngine().read(image))
        assert not reader.left_unread


def test_pictures_that_were_captured_minutes_apart_are_no_film(
    reader: IncrementalReader, engine: BlockEngine
) -> None:
    """As imported ones are, and a screen that changes now and then: all of each is read."""
    for number in range(6):
        noise = np.random.default_rng(number).integers(0, 2, (320, 320), dtype=np.uint8)
        image = screen(page())
        image.paste(Image.fromarray(noise * 255), (160, 40))
        reader.read("DP-1", image, captured_ms=number * 60_000)
        assert not reader.left_unread


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from([(900, 700), (653, 485)]))
def test_strokes_near_what_changed_are_those_of_the_whole_picture(
    data: st.DataObject, size: tuple[int, int]
) -> None:
    """Upright edges of any length: a wall, a border or a stem is told by its ends, which may be far away."""
    reader, image = IncrementalReader(BlockEngine()), screen(page(), size)
    for _ in range(4):
        reader.read("DP-1", image)
        x, y = (data.draw(st.integers(0, side - 1)) for side in size)
        w, h = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 200))
        image.paste((data.draw(st.integers(0, 255)),) * 3, (x, y, min(size[0], x + w), min(size[1], y + h)))
        reader.read("DP-1", image)
        now = reader._screens["DP-1"]
        for mine, whole in zip((now.ink, now.walls), strokes(np.asarray(image.convert("L"))), strict=True):
            assert np.array_equal(mine, whole)
