"""A row that was read is known by its pixels, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engines.ocr import remembered
from engines.ocr.ink import Grey
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import Remembered, Row


class Reader:
    """Counts what it was shown, and tells how wide it is."""

    def __init__(self) -> None:
        self.shown = 0

    def __call__(self, inks: Sequence[Grey]) -> list[list[OcrWord]]:
        self.shown += len(inks)
        return [[OcrWord(str(ink.shape[1]), Box(0, 0, *ink.shape[::-1]), 0.9)] for ink in inks]


def row(width: int, x: int = 0, *, hidden: int = 0, strokes: bool = True) -> Row:
    grey = np.full((20, width), 255, np.uint8)
    grey[4:16, 4 : -4 if strokes else None : 6 if strokes else 1] = 0
    shown = np.ones(grey.shape, np.bool_)
    shown[:, :hidden] = False
    return Row(Box(x, 0, width, 20), grey, shown if hidden else None)


def test_a_row_is_read_once_wherever_it_stands_and_anew_where_other_pixels_of_it_show() -> None:
    known, read = Remembered(), Reader()
    first = known.read([row(60), row(90)], read)
    assert known.read([row(90, 300), row(60, 200)], read) == first[::-1]
    assert read.shown == 2
    known.read([row(60, hidden=12)], read)
    assert read.shown == 3


def test_rows_alike_have_their_words_in_the_same_place() -> None:
    """Also where both are new at once."""
    known, read = Remembered(), Reader()
    first, other = known.read([row(60), row(60, 300)], read)
    assert first == other == read([row(60).grey])[0]


def test_what_shows_no_strokes_is_not_read() -> None:
    known, read = Remembered(), Reader()
    for _ in range(2):
        assert known.read([row(60, strokes=False), row(70)], read)[0] == []
    assert read.shown == 1


def test_a_part_is_read_once_in_each_language() -> None:
    known, read = Remembered(), Reader()
    part = row(60).grey
    for language in ("eng", "chi_sim", "eng"):
        assert known.once([part], language, read)[0][0].text == "60"
    assert read.shown == 2


def test_what_was_seen_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_REMEMBERED", 4)  # each row counts, and each word
    known, read = Remembered(), Reader()
    for width in (60, 70, 60, 80):
        known.read([row(width)], read)
    assert read.shown == 3
    known.read([row(60)], read)
    assert read.shown == 3
    known.read([row(70)], read)
    assert read.shown == 4
