"""Of a row most of whose words were seen lately only the others are read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import Remembered, Row

HEIGHT, BLANK = 20, 6


def row(*widths: int) -> Row:
    """A word of each width, drawn as strokes of one pixel."""
    grey = np.full((HEIGHT, 3 + sum(widths) + BLANK * len(widths)), 255, np.uint8)
    x = 3
    for width in widths:
        grey[4:16, x : x + width : 2] = 0
        x += width + BLANK
    return Row(Box(0, 0, grey.shape[1], HEIGHT), grey, None)


class Reader:
    """Tells how wide each word is, and counts the pixels that it was shown."""

    def __init__(
        self, *, from_the_right: bool = False, taken_for_one: int = 0, confidence: float = 0.9
    ) -> None:
        self.pixels = 0
        self._confidence = confidence
        self._from_the_right = from_the_right
        self._taken_for_one = taken_for_one  # a word of this width is read with the one after it

    def __call__(self, rows: Sequence[Row]) -> Iterator[list[OcrWord]]:
        for shown in rows:
            self.pixels += shown.box.w
            words = self._words(shown)
            yield words[::-1] if self._from_the_right else words

    def _words(self, shown: Row) -> list[OcrWord]:
        columns = np.flatnonzero((shown.grey < 255).any(0))
        words: list[OcrWord] = []
        for run in np.split(columns, np.flatnonzero(np.diff(columns) > 2) + 1):
            left, right = int(run[0]), int(run[-1]) + 1
            if words and words[-1].box.w == self._taken_for_one:
                left = words.pop().box.x
            words.append(OcrWord(str(right - left), Box(left, 4, right - left, 12), self._confidence))
        return words


def texts(known: Remembered, read: Reader, shown: Row) -> list[str]:
    (words,) = known.read([shown], read)
    assert [word.box.w for word in words] == [int(word.text) for word in words]  # at their places
    return [word.text for word in words]


def test_a_new_word_is_read_with_those_beside_it() -> None:
    known, read = Remembered(), Reader()
    assert texts(known, read, row(21, 31, 41, 51, 61)) == ["21", "31", "41", "51", "61"]
    whole, read.pixels = read.pixels, 0
    assert texts(known, read, row(21, 25, 31, 41, 51, 61)) == ["21", "25", "31", "41", "51", "61"]
    assert 0 < read.pixels < whole / 2
    read.pixels = 0
    assert texts(known, read, row(61, 21, 51)) == ["61", "21", "51"]
    assert not read.pixels


def test_where_a_new_word_is_taken_for_a_part_of_a_known_one_the_row_is_read_whole() -> None:
    known = Remembered()
    texts(known, Reader(), row(21, 31, 41, 51, 61))
    read = Reader(taken_for_one=25)
    assert texts(known, read, row(21, 25, 31, 41, 51, 61)) == ["21", "62", "41", "51", "61"]
    assert read.pixels > row(21, 25, 31, 41, 51, 61).box.w


def test_where_the_model_is_not_sure_of_a_new_word_the_row_is_read_whole() -> None:
    known, read = Remembered(), Reader(confidence=0.7)
    texts(known, Reader(), row(21, 31, 41, 51, 61))
    texts(known, read, row(21, 25, 31, 41, 51, 61))
    assert read.pixels > row(21, 25, 31, 41, 51, 61).box.w


def test_rows_that_were_patched_are_read_whole_after_forgetting() -> None:
    known, read = Remembered(), Reader()
    patched = row(21, 25, 31, 41, 51, 61)
    for shown in (row(21, 31, 41, 51, 61), patched):
        texts(known, read, shown)
    known.forget_patched()
    read.pixels = 0
    texts(known, read, row(21, 31, 41, 51, 61))
    assert not read.pixels
    texts(known, read, patched)
    assert read.pixels == patched.box.w


def test_rows_read_from_the_right_are_read_whole() -> None:
    known, read = Remembered(), Reader(from_the_right=True)
    texts(known, read, row(21, 31, 41, 51, 61))
    read.pixels = 0
    shown = row(21, 25, 31, 41, 51, 61)
    assert texts(known, read, shown) == ["61", "51", "41", "31", "25", "21"]
    assert read.pixels == shown.box.w
