"""What was read lately: rows by their pixels, and stretches of rows by theirs.

Somebody types into a row, or its paragraph is wrapped anew: most of its columns of pixels stood side by side
in a row that was read before, at other places. Of such a row only what lies between those stretches is read
again, with a word or so of each: they are put together where both readings have the same word.

Only words that are sure and come from a row that was read whole are taken over, and what is read between them
must be sure, too. So a word that is misread once is not carried on into all rows that share it. Where a word
was not sure before, the row is read whole from the start.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from engines.ocr.ink import Grey, ink_of
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.rows import PICTURE, has_strokes, upright

INK = 96
UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURE = 0.9  # of a word that another reading of its row may take over: most misread ones are below
_SURROUNDINGS = 8  # pixels of a row's own edges that tell what is background there
_RULE = 60  # pixels of a line across; strokes of letters are shorter
_NEAR, _FAR = 3, 6  # heights of a row that are read again beside what is new, to a blank
_LEAST = 8  # heights of a stretch
_MOSTLY = 0.7  # of a row's width: more is sooner read at once
_REMEMBERED = 45_000  # words: some 16 MB
_BANDS = 4_000  # some 50 screens
_PLACES = 16_000  # in rows: some 200 of them

Numbers = npt.NDArray[np.uint64]
Read = Callable[[Sequence[Grey]], Iterable[list[OcrWord]]]
"""Words of each row's ink, as in one at 0, 0."""


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(part)
    return digest.digest()


@dataclass(frozen=True, slots=True)
class Row:
    """A row's own pixels, and which of them are shown if not all are."""

    box: Box
    grey: Grey
    shown: npt.NDArray[np.bool_] | None

    @property
    def key(self) -> bytes:
        shown = b"" if self.shown is None else np.packbits(self.shown).tobytes()
        return _digest(repr(self.grey.shape).encode(), self.grey.tobytes(), shown)

    @property
    def is_picture(self) -> bool:
        return self.box.h > PICTURE

    def ink(self) -> Grey:
        """Without what is not shown, and without lines across: they are no strokes."""
        n = _SURROUNDINGS
        ink = ink_of(np.pad(self.grey, n, "edge"))[n:-n, n:-n].copy()
        ink[upright((ink > INK).T, _RULE).T] = 0
        if self.shown is not None:
            ink[~self.shown] = 0
        return ink


class _Columns:
    """The columns of a row's pixels as numbers, and what was read in them."""

    def __init__(self, row: Row, weights: Numbers) -> None:
        grey = row.grey if row.shown is None else np.where(row.shown, row.grey, 0)
        self.height = row.box.h
        self.numbers: Numbers = (grey * weights[: len(grey), None]).sum(0)
        same = np.pad(self.numbers[1:] == self.numbers[:-1], 1).astype(np.int8)
        self._blanks = np.flatnonzero(np.diff(same)).reshape(-1, 2)  # first and last of equal columns
        self.words: Sequence[OcrWord] = ()
        self.doubts: Sequence[int] = ()  # ends of the row and of words that are not sure, from the left

    def places(self, weights: Numbers) -> Iterator[tuple[int, int]]:
        """For each column after a blank a number that tells it and those behind it, and where it is."""
        starts, width = self._blanks[:, 1], self.height
        starts = starts[starts + width <= len(self.numbers)]
        if len(starts):
            windows = np.lib.stride_tricks.sliding_window_view(self.numbers, width)[starts]
            yield from zip((windows * weights[:width]).sum(1).tolist(), starts.tolist(), strict=True)

    def cut(self, left: int, right: int) -> int:
        """The middle of the widest blank between two columns."""
        middles = self._blanks.sum(1) // 2
        near = self._blanks[(left <= middles) & (middles <= right)]
        return int(near[np.diff(near)[:, 0].argmax()].sum()) // 2 if len(near) else left

    def stretch(self, at: int, other: _Columns, there: int, least: int) -> tuple[int, int]:
        """The columns around `at`, but none before `least`, that stand so around `there` in the `other`.

        They end where a word of the other begins or ends that is not sure.
        """
        number = bisect_right(other.doubts, there)
        before = min(at - least, there - other.doubts[number - 1])
        after = min(len(self.numbers) - at, other.doubts[number] - there)
        left = at - _alike(self.numbers[at - before : at][::-1], other.numbers[there - before : there][::-1])
        return left, at + _alike(self.numbers[at : at + after], other.numbers[there : there + after])

    def doubts_behind(self, right: int, other: _Columns, shift: int) -> bool:
        """Whether the unsure word of the `other` at which a stretch ends stands here, too."""
        number = bisect_left(other.doubts, right - shift)
        if other.doubts[number] != right - shift or number + 1 == len(other.doubts):
            return False
        end = other.doubts[number + 1]
        return np.array_equal(self.numbers[right : end + shift], other.numbers[right - shift : end])


def _alike(one: Numbers, other: Numbers) -> int:
    """How many are the same from the first on."""
    differing = np.flatnonzero(one != other)
    return int(differing[0]) if len(differing) else len(one)


def _joined(left: Sequence[OcrWord], right: Sequence[OcrWord], reach: int) -> list[OcrWord] | None:
    """Two readings that overlap, put together at the first word that both have at one place."""
    lefts = [word.box.x for word in left]
    for number, word in enumerate(right):
        for same in range(bisect_left(lefts, word.box.x - reach), bisect_right(lefts, word.box.x + reach)):
            if left[same].text == word.text:
                return [*left[:same], *right[number:]]
    return None


def _is_sure(word: OcrWord) -> bool:
    return word.confidence >= _SURE


def _runs_right(words: Sequence[OcrWord]) -> bool:
    return all(one.box.x <= other.box.x for one, other in pairwise(words))


class Remembered:
    """The rows seen lately, and places in them. Words stand as in a row at 0, 0."""

    def __init__(self) -> None:
        self._rows: OrderedDict[bytes, list[OcrWord]] = OrderedDict()  # the most recent last
        self._places: dict[int, tuple[_Columns, int]] = {}
        self._older_places = self._places
        self._patched: set[bytes] = set()
        self.bands: dict[bytes, list[Box]] = {}  # what of a picture they were cut into, by their ink
        # By chance, so that nobody can draw columns that are taken for others.
        self._weights = np.random.default_rng().integers(1, 2**64, PICTURE + 1, np.uint64)

    def read(self, rows: Sequence[Row], read: Read) -> list[list[OcrWord]]:
        """Words of each row. What is not known of them, `read` reads."""
        keys = [row.key for row in rows]
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._rows}
        self._rows |= {key: [] for key, row in new.items() if not has_strokes(row.grey, row.shown)}
        new = {key: row for key, row in new.items() if key not in self._rows}
        inks = {key: row.ink() for key, row in new.items()}
        columns = {key: _Columns(row, self._weights) for key, row in new.items() if not row.is_picture}
        found = self._patches(columns, inks, read)
        self._patched |= found.keys()
        whole = [key for key in new if key not in found]
        found |= zip(whole, read([inks[key] for key in whole]), strict=True)
        self._rows |= found
        for key in whole:
            if key in columns and _runs_right(self._rows[key]):
                self._note(columns[key], self._rows[key])
        for key in keys:
            self._rows.move_to_end(key)
        result = [self._rows[key] for key in keys]
        held = sum(map(len, self._rows.values())) + len(self._rows)
        while held > _REMEMBERED:
            held -= len(self._rows.popitem(last=False)[1]) + 1
        while len(self.bands) > _BANDS:
            del self.bands[next(iter(self.bands))]
        return result

    def once(self, inks: Sequence[Grey], language: str, read: Read) -> list[list[OcrWord]]:
        """Words of each ink in one language, read where the same was not read lately."""
        keys = [_digest(ink.tobytes(), repr((ink.shape, language)).encode()) for ink in inks]
        new = {key: ink for key, ink in zip(keys, inks, strict=True) if key not in self._rows}
        self._rows |= zip(new, read(list(new.values())), strict=True)
        return [self._rows[key] for key in keys]

    def _patches(
        self, rows: dict[bytes, _Columns], inks: dict[bytes, Grey], read: Read
    ) -> dict[bytes, list[OcrWord]]:
        """The words of rows of which only a part is new, where both fit together."""
        planned = {key: plan for key, columns in rows.items() if (plan := self._plan(columns))}
        parts = [(key, part) for key, plan in planned.items() for part in plan if isinstance(part, slice)]
        texts = iter(list(read([inks[key][:, part] for key, part in parts])))
        found = {}
        for key, plan in planned.items():
            readings = [
                [word.moved(part.start, 0) for word in next(texts)] if isinstance(part, slice) else part
                for part in plan
            ]
            if not all(map(_is_sure, chain(*readings))):
                continue  # with more around it, it may be read otherwise
            words: list[OcrWord] | None = readings[0]
            for reading in readings[1:]:
                words = words and _joined(words, reading, rows[key].height)
            if words and _runs_right(words):
                found[key] = words
        return found

    def _plan(self, columns: _Columns) -> list[slice | list[OcrWord]] | None:
        """From the left: words of a row that are known, and columns to be read, with some of what is known.

        None where it is sooner read at once.
        """
        size = len(columns.numbers)
        near, far, least = (heights * columns.height for heights in (_NEAR, _FAR, _LEAST))
        plan: list[slice | list[OcrWord]] = []
        done = unread = 0
        for key, at in columns.places(self._weights):
            place = self._places.get(key) or self._older_places.get(key)
            if place is None or at < done:
                continue
            other, there = place
            left, right = columns.stretch(at, other, there, done)
            if columns.doubts_behind(right, other, at - there):
                return None  # it would be read anew, and not surely: then the row is read whole after all
            if right - left < least:
                continue
            if left or at != there:  # else both rows begin with it
                plan.append(slice(unread, columns.cut(left + near, left + far)))
            moved = (word.moved(at - there, 0) for word in other.words)
            plan.append([word for word in moved if left <= word.box.x and word.box.right <= right])
            done, unread = right, columns.cut(right - far, right - near)
            if right == size == len(other.numbers) + at - there:
                unread = size
        if unread < size:
            plan.append(slice(unread, size))
        width = sum(part.stop - part.start for part in plan if isinstance(part, slice))
        return plan if width <= _MOSTLY * size else None

    def _note(self, columns: _Columns, words: Sequence[OcrWord]) -> None:
        columns.words = words
        unsure = [end for word in words if not _is_sure(word) for end in (word.box.x, word.box.right)]
        columns.doubts = [0, *sorted(unsure), len(columns.numbers)]
        self._places |= {key: (columns, at) for key, at in columns.places(self._weights)}
        if len(self._places) > _PLACES:
            self._places, self._older_places = {}, self._places

    def forget_patched(self) -> None:
        """Rows that were not read at once, and what they could be patched with."""
        for key in self._patched:
            self._rows.pop(key, None)
        self._patched.clear()
        self._places, self._older_places = {}, {}
