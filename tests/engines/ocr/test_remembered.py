"""Of a row that stood so in another one, but for a part, only that part is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engines.ocr.ink import Grey
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import INK, Remembered, Row

HEIGHT, BLANK = 20, 6
WIDTHS = tuple(range(21, 63, 2))


def row(*widths: int) -> Row:
    """A word of each width, drawn as strokes of one pixel, of heights of its own."""
    grey = np.full((HEIGHT, 3 + sum(widths) + BLANK * len(widths)), 255, np.uint8)
    x = 3
    for width in widths:
        tops = np.random.default_rng(width).integers(2, 6, width)
        for stroke in range(0, width, 2):
            grey[2 * tops[stroke] : 18, x + stroke] = 0
        x += width + BLANK
    return Row(Box(0, 0, grey.shape[1], HEIGHT), grey, None)


class Reader:
    """Tells how wide each word is, and counts the pixels that it was shown."""

    def __init__(self, *, from_the_right: bool = False, misread: bool = False) -> None:
        self.pixels = 0
        self.unsure: set[int] = set()  # widths of words that are misread, with doubt
        self._from_the_right = from_the_right
        self._misread = misread

    def __call__(self, inks: Sequence[Grey]) -> Iterator[list[OcrWord]]:
        for ink in inks:
            self.pixels += ink.shape[1]
            words = self._words(ink)
            yield words[::-1] if self._from_the_right else words

    def _words(self, ink: Grey) -> list[OcrWord]:
        columns = np.flatnonzero((ink > INK).any(0))
        words: list[OcrWord] = []
        for run in np.split(columns, np.flatnonzero(np.diff(columns) > 2) + 1):
            left, width = int(run[0]), int(run[-1]) + 1 - int(run[0])
            text = "?" if self._misread or width in self.unsure else str(width)
            words.append(OcrWord(text, Box(left, 4, width, 14), 0.8 if width in self.unsure else 0.95))
        return words


def texts(known: Remembered, read: Reader, shown: Row) -> list[str]:
    (words,) = known.read([shown], read)
    found = sorted(word.box.x for word in words)
    assert found == [word.box.x for word in Reader()._words(shown.ink())]  # at their places
    return [word.text for word in words]


def numbers(*widths: int) -> list[str]:
    return list(map(str, widths))


def test_what_is_typed_is_read_with_those_beside_it() -> None:
    known, read = Remembered(), Reader()
    assert texts(known, read, row(*WIDTHS)) == numbers(*WIDTHS)
    whole = read.pixels
    for typed in ((*WIDTHS[:10], 15, *WIDTHS[10:]), (*WIDTHS[:10], *WIDTHS[11:]), (*WIDTHS, 27)):
        read.pixels = 0
        assert texts(known, read, row(*typed)) == numbers(*typed)
        assert 0 < read.pixels < whole / 2


def test_a_line_that_is_wrapped_anew_is_put_together_of_two() -> None:
    known, read = Remembered(), Reader()
    above = tuple(range(63, 19, -2))
    for widths in (WIDTHS, above):
        texts(known, read, row(*widths))
    read.pixels = 0
    wrapped = (*above[9:], *WIDTHS[:10])
    assert texts(known, read, row(*wrapped)) == numbers(*wrapped)
    assert read.pixels < row(*wrapped).box.w


def test_where_both_readings_have_no_word_in_common_the_row_is_read_whole() -> None:
    known, read = Remembered(), Reader(misread=True)
    texts(known, Reader(), row(*WIDTHS))
    typed = row(*WIDTHS[:10], 15, *WIDTHS[10:])
    assert set(texts(known, read, typed)) == {"?"}
    assert read.pixels > typed.box.w


def test_a_row_with_a_word_that_was_not_sure_is_read_whole_and_only_once() -> None:
    known, read = Remembered(), Reader()
    read.unsure = {WIDTHS[15]}
    assert "?" in texts(known, read, row(*WIDTHS))
    read.unsure, read.pixels = set(), 0
    typed = (*WIDTHS[:6], 15, *WIDTHS[6:])
    assert texts(known, read, row(*typed)) == numbers(*typed)
    assert read.pixels == row(*typed).box.w


def test_a_row_is_read_whole_where_its_new_part_is_not_sure() -> None:
    known, read = Remembered(), Reader()
    texts(known, read, row(*WIDTHS))
    read.pixels, read.unsure = 0, {15}
    typed = row(*WIDTHS[:10], 15, *WIDTHS[10:])
    texts(known, read, typed)
    assert read.pixels > typed.box.w


def test_nothing_is_taken_over_from_a_row_put_together() -> None:
    known, read = Remembered(), Reader()
    texts(known, read, row(*WIDTHS))
    typed = (15, 17, 19, 27, 33)
    texts(known, read, row(*WIDTHS, *typed))
    read.pixels = 0
    texts(known, read, row(*WIDTHS, *typed, 23))
    assert read.pixels > row(*typed, 23).box.w


def test_rows_that_were_patched_are_read_whole_after_forgetting() -> None:
    known, read = Remembered(), Reader()
    patched = row(*WIDTHS[:10], 15, *WIDTHS[10:])
    for shown in (row(*WIDTHS), patched):
        texts(known, read, shown)
    known.forget_patched()
    read.pixels = 0
    texts(known, read, row(*WIDTHS))
    assert not read.pixels
    texts(known, read, patched)
    assert read.pixels == patched.box.w


def test_rows_read_from_the_right_are_read_whole() -> None:
    known, read = Remembered(), Reader(from_the_right=True)
    texts(known, read, row(*WIDTHS))
    read.pixels = 0
    typed = (*WIDTHS[:10], 15, *WIDTHS[10:])
    assert texts(known, read, row(*typed)) == numbers(*typed)[::-1]
    assert read.pixels == row(*typed).box.w
