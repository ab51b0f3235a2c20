"""What was read lately: rows by their pixels, and the words of rows by theirs.

Of a row that was not seen before most words often were: somebody types into it, or its paragraph is wrapped
anew. A word of which the model was sure is known by its own pixels, from blank to blank, wherever it stands.
Only the others are read again, with a word on each side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from engines.ocr.ink import Grey, ink_of
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.rows import PICTURE, edges, upright

INK = 96
_SURE = 0.5  # of a word: as good as what another reading says
UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURROUNDINGS = 8  # pixels of a row's own edges that tell what is background there
_RULE = 60  # pixels of a line across; strokes of letters are shorter
_LEAST_BLANK, _BLANK = 2, 0.15  # pixels and heights of a row between two words
_SPACE = 0.5  # of the row's wider blanks: letters of cells stand apart, too
_AROUND = (1, 2)  # pixels beside, above and below a word that belong to its strokes
_LOW = 0.3  # of its row's height: a comma or a dash is told by what stands beside it
_MOSTLY = 0.7  # of a row's width: more is sooner read at once
_REMEMBERED = 45_000  # words: some 16 MB


@dataclass(frozen=True, slots=True)
class Row:
    """A row's own pixels, and which of them are shown if not all are."""

    box: Box
    grey: Grey
    shown: npt.NDArray[np.bool_] | None

    @property
    def key(self) -> bytes:
        digest = blake2b(repr(self.grey.shape).encode(), digest_size=20)
        digest.update(self.grey.tobytes())
        if self.shown is not None:
            digest.update(np.packbits(self.shown).tobytes())
        return digest.digest()

    @property
    def is_picture(self) -> bool:
        return self.box.h > PICTURE

    def part(self, left: int, right: int, top: int = 0, bottom: int | None = None) -> Row:
        """Of the row's own columns and rows of pixels."""
        cut = slice(top, bottom), slice(left, right)
        grey, shown = self.grey[cut], None if self.shown is None else self.shown[cut]
        box = Box(self.box.x + left, self.box.y + top, grey.shape[1], grey.shape[0])
        return Row(box, grey, None if shown is None or shown.all() else shown)

    def ink(self) -> Grey:
        """Without what is not shown, and without lines across: they are no strokes."""
        n = _SURROUNDINGS
        ink = ink_of(np.pad(self.grey, n, "edge"))[n:-n, n:-n].copy()
        ink[upright((ink > INK).T, _RULE).T] = 0
        if self.shown is not None:
            ink[~self.shown] = 0
        return ink


@dataclass(frozen=True, slots=True)
class _Piece:
    """Ink between two wide blanks: mostly a word."""

    start: int  # column of the row, in the middle of the blank before
    end: int
    left: int  # its ink
    right: int
    top: int
    key: bytes
    is_low: bool


def _pieces(row: Row) -> Iterator[_Piece]:
    ink = edges(row.grey, row.shown)
    columns = np.flatnonzero(ink.any(0))
    if not len(columns):
        return
    wide = np.flatnonzero(_are_spaces(np.diff(columns), row.box.h))
    lefts, rights = columns[np.r_[0, wide + 1]].tolist(), columns[np.r_[wide, -1]].tolist()
    middles = [(right + left + 1) // 2 for right, left in zip(rights, lefts[1:], strict=False)]
    beside, above = _AROUND
    for left, right, (start, end) in zip(lefts, rights, pairwise([0, *middles, row.box.w]), strict=True):
        inked = np.flatnonzero(ink[:, left : right + 1].any(1)).tolist()
        top, bottom = inked[0], inked[-1] + 1
        own = row.part(max(0, left - beside), right + beside, max(0, top - above), bottom + above)
        yield _Piece(start, end, left, right, top, own.key, bottom - top < _LOW * row.box.h)


def _are_spaces(blanks: npt.NDArray[np.int_], height: int) -> npt.NDArray[np.bool_]:
    wide = blanks > max(_LEAST_BLANK, _BLANK * height)
    return wide & (blanks > _SPACE * np.percentile(blanks[wide], 80)) if wide.any() else wide


class _Gaps:
    """A row that was not seen before: what of it has to be read."""

    def __init__(self, row: Row, words: dict[bytes, list[OcrWord]]) -> None:
        self.row = row
        self._pieces = [] if row.is_picture else list(_pieces(row))
        self._known = [words.get(piece.key) for piece in self._pieces]
        self._spans = self._unread()
        self.parts = [row.part(self._pieces[s[0]].start, self._pieces[s[-1]].end) for s in self._spans or ()]

    def _unread(self) -> list[range] | None:
        """Runs of pieces, with a known one on each side that shows how they are read; None for all."""
        spans: list[range] = []
        for number in (n for n, words in enumerate(self._known) if words is None):
            first = max(0, number - 1)
            if spans and first < spans[-1].stop:
                first = spans.pop().start
            spans.append(range(first, min(len(self._pieces), number + 2)))
        width = sum(self._pieces[span[-1]].end - self._pieces[span[0]].start for span in spans)
        return spans if self._pieces and width <= _MOSTLY * self.row.box.w else None

    @property
    def is_whole(self) -> bool:
        return self._spans is None

    def filled(self, found: Sequence[list[OcrWord]]) -> list[OcrWord] | None:
        """Words of the row with those of its parts; None where one goes beyond its own or is not sure."""
        row = [
            None if known is None else [word.moved(piece.left, piece.top) for word in known]
            for piece, known in zip(self._pieces, self._known, strict=True)
        ]
        for span, words in zip(self._spans or (), found, strict=True):
            pieces = [self._pieces[number] for number in span]
            here = _in_pieces(pieces, [word.moved(pieces[0].start, 0) for word in words])
            for number, own in zip(span, here, strict=True):
                is_new = row[number] is None
                if own is None or (is_new and any(word.confidence < UNSURE for word in own)):
                    return None
                row[number] = row[number] or own
        return [word for words in row for word in words or ()]

    def sure(self, words: Sequence[OcrWord]) -> Iterator[tuple[bytes, list[OcrWord]]]:
        """What stands in each piece, as in one at 0, 0, of `words` of the row."""
        read = _in_pieces(self._pieces, words)
        for n, (piece, own) in enumerate(zip(self._pieces, read, strict=True)):
            # What is not read beside it may have been taken for a part of it.
            is_clear = own and all(read[max(0, n - 1) : n + 2]) and not piece.is_low
            if own and is_clear and all(_is_sure(word) for word in own):
                yield piece.key, [word.moved(-piece.left, -piece.top) for word in own]


def _in_pieces(pieces: Sequence[_Piece], words: Iterable[OcrWord]) -> list[list[OcrWord] | None]:
    """Words of each piece; None where that is not clear, and for all if they do not run from the left."""
    starts = [piece.start for piece in pieces]
    held: list[list[OcrWord]] = [[] for _ in pieces]
    unclear: set[int] = set()
    before = 0
    for word in words if pieces else ():
        box = word.box
        own = max(0, bisect_right(starts, box.x + box.w // 2) - 1)
        if own < before:
            return [None] * len(pieces)
        before = own
        held[own].append(word)
        touched = range(max(0, bisect_right(starts, box.x) - 1), bisect_left(starts, box.right))
        beyond = {n for n in touched if n != own and _is_covered(pieces[n], box)}
        unclear |= {own, *beyond} if beyond else beyond
    return [None if n in unclear else own for n, own in enumerate(held)]


def _is_sure(word: OcrWord) -> bool:
    """Whether it is read so beside other words, too: 0 or O, l or I are told by what stands around them."""
    letters = sum(map(str.isalpha, word.text))
    is_mixed = letters and any(map(str.isdecimal, word.text))
    return word.confidence >= _SURE and not is_mixed and not letters == len(word.text) == 1


def _is_covered(piece: _Piece, box: Box) -> bool:
    return 2 * (min(piece.right, box.right) - max(piece.left, box.x)) >= piece.right - piece.left


class Remembered:
    """The rows seen lately, and the words of them. Words stand as in a row at 0, 0."""

    def __init__(self) -> None:
        self._rows: OrderedDict[bytes, list[OcrWord]] = OrderedDict()  # the most recent last
        self._words: OrderedDict[bytes, list[OcrWord]] = OrderedDict()
        self._patched: set[bytes] = set()

    def read(
        self, rows: Sequence[Row], read: Callable[[Sequence[Row]], Iterable[list[OcrWord]]]
    ) -> list[list[OcrWord]]:
        """Words of each row. What is not known of them, `read` reads."""
        keys = [row.key for row in rows]
        gaps = {
            key: _Gaps(row, self._words) for key, row in zip(keys, rows, strict=True) if key not in self._rows
        }
        found = iter(list(read([part for gap in gaps.values() for part in gap.parts])))
        filled = {
            key: gap.filled([next(found) for _ in gap.parts]) for key, gap in gaps.items() if not gap.is_whole
        }
        whole = {key: gap.row for key, gap in gaps.items() if filled.get(key) is None}
        self._patched |= gaps.keys() - whole.keys()
        filled |= zip(whole, read(list(whole.values())), strict=True)
        for key, words in filled.items():
            assert words is not None
            self._rows[key] = words
            self._words |= gaps[key].sure(words)
        for key in keys:
            self._rows.move_to_end(key)
        result = [self._rows[key] for key in keys]
        for known in (self._rows, self._words):
            _forget(known)
        return result

    def forget_patched(self) -> None:
        """Rows that were not read at once, and what they could be patched with."""
        for key in self._patched:
            self._rows.pop(key, None)
        self._patched.clear()
        self._words.clear()


def _forget(known: OrderedDict[bytes, list[OcrWord]]) -> None:
    held = sum(map(len, known.values())) + len(known)
    while held > _REMEMBERED:
        held -= len(known.popitem(last=False)[1]) + 1
