"""A long row is cut where its own words say, so a change leaves most of its pieces as they were."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np

from engines.ocr.ink import Grey
from engines.ocr.pieces import Row
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.remembered import Remembered
from tests.tables import for_each

Word = Sequence[int]  # how high each of its strokes is


def words(count: int, seed: int = 1) -> list[Word]:
    chance = random.Random(seed)
    return [[chance.randrange(6, 13) for _ in range(chance.randrange(2, 9))] for _ in range(count)]


def row(line: Iterable[Word], *, indent: int = 0, space: int = 6, below: int = 0) -> Row:
    """Strokes of two pixels, `space` pixels between words; the first stroke goes on `below` the line."""
    columns = [np.zeros(3 + indent, int)]
    for word in line:
        columns += [np.repeat([high, 0], 2) for high in word] + [np.zeros(space - 2, int)]
    high = np.concatenate(columns)
    y = np.arange(18 + below)[:, None]
    grey = np.where((y >= 14 - high) & (y < 14), 0, 255).astype(np.uint8)
    grey[14 : 14 + below, 3:5] = 0
    return Row(Box(100, 50, grey.shape[1], len(grey)), grey, None)


def keys(of: Row) -> set[bytes]:
    return {piece.key for piece in of.pieces()}


def test_pieces_hold_all_ink_of_a_row_and_share_none() -> None:
    line = row(words(90))
    pieces = line.pieces()
    assert len(pieces) > 3
    assert sum(int((piece.grey == 0).sum()) for piece in pieces) == int((line.grey == 0).sum())
    assert all((piece.grey[:, [0, -1]] == 255).all() for piece in pieces)
    for piece in pieces:
        x, y = piece.box.x - line.box.x, piece.box.y - line.box.y
        assert (line.grey[y : y + piece.box.h, x : x + piece.box.w] == piece.grey).all()


@for_each(
    ("after", "unlike"),
    [
        (row(words(90)), 0),
        (row(words(90), indent=37), 1),  # pushed on: the first begins where the row does
        (row([*words(90), [9, 9, 7]]), 1),  # typed at its end
        (row([*words(90)[:45], [9, 9, 7], *words(90)[45:]]), 3),  # and in its middle
        (row(words(90)[:70]), 2),  # its end is covered
        (row(words(90), below=4), 1),  # one letter makes all of the row higher
    ],
)
def test_what_changes_in_a_row_changes_the_pieces_near_it(after: Row, unlike: int) -> None:
    before = row(words(90))
    assert len(keys(after) - keys(before)) <= unlike
    assert len(keys(before)) > 2 * unlike


@for_each(
    "whole",
    [
        row(words(3)),  # short
        row(words(90), space=3),  # its blanks are those of letters
        Row(Box(0, 0, 600, 120), np.zeros((120, 600), np.uint8), None),  # a picture
    ],
)  # fmt: skip
def test_what_is_short_or_shows_no_blanks_is_one_piece(whole: Row) -> None:
    assert whole.pieces() == [whole]


@for_each("place", [slice(30, 50), slice(80, 90)])
def test_a_piece_is_as_high_as_its_row(place: slice) -> None:
    """Small letters alone would be taken for capitals."""
    line = words(90)
    line[place] = [[min(high, 7) for high in word] for word in line[place]]
    of = row(line)
    assert len(of.pieces()) > 3
    assert all(piece.box.y - of.box.y <= 2 for piece in of.pieces())
    assert sum(int((piece.grey == 0).sum()) for piece in of.pieces()) == int((of.grey == 0).sum())


def test_a_row_that_shows_shades_alone_is_one_piece() -> None:
    grey = np.tile(np.repeat([255, 200], 4).astype(np.uint8), (20, 60))
    shaded = Row(Box(0, 0, grey.shape[1], 20), grey, None)
    assert shaded.pieces() == [shaded]


def test_what_is_hidden_in_a_row_is_no_ink_of_its_pieces() -> None:
    line = row(words(90))
    shown = np.ones(line.grey.shape, np.bool_)
    shown[:, 300:] = False
    hidden = Row(line.box, np.where(shown, line.grey, 128).astype(np.uint8), shown)
    seen = Row(line.box, np.where(shown, line.grey, 255).astype(np.uint8), None)
    assert [piece.box for piece in hidden.pieces()][:-1] == [piece.box for piece in seen.pieces()][:-1]


@for_each(("letter", "first"), [("a", 0), ("א", -1)])
def test_the_pieces_of_a_row_are_joined_as_their_script_runs(letter: str, first: int) -> None:
    line = row(words(90))
    pieces = line.pieces()
    shown: list[int] = []

    def read(inks: Sequence[Grey]) -> list[list[OcrWord]]:
        shown.extend(ink.shape[1] for ink in inks)
        return [[OcrWord(letter * 3, Box(3, 2, ink.shape[1] - 6, 9), 0.9)] for ink in inks]

    known = Remembered()
    [found] = known.read([line], read)
    assert [word.box.x + line.box.x for word in found][first] == pieces[0].box.x + 3
    assert sorted(shown) == sorted(piece.box.w for piece in pieces)
    longer = row([*words(90), [9, 9, 7]])
    known.read([longer], read)
    assert len(shown) == len(pieces) + 1


def test_a_line_through_a_row_and_its_margins_is_no_letter() -> None:
    line = row(words(20))
    blank = np.flatnonzero((line.grey == 255).all(0))
    inside = [x for x in blank if {x - 1, x + 1} <= set(blank)]
    for x in (inside[3], inside[-1]):
        grey = line.grey.copy()
        grey[:, x] = 0
        assert Row(line.box, grey, None).without_lines().key == line.key
        grey[0, x] = 255  # a sign that ends before the margin
        assert Row(line.box, grey, None).without_lines().key != line.key
