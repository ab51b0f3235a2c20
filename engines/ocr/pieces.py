"""Rows of text by their own pixels, and the pieces that they are read in.

A long row is cut at the widest blanks between its words: one that is wider than all within `_REACH` to both
sides, of equally wide ones that behind the word with most ink. So where it is cut depends on what stands near
alone, as in content-defined chunking (Muthitacharoen, Chen and Mazières 2001), and what is typed into it,
lies over its end or pushes words on changes a piece or two. The others are known by their pixels, wherever
they stand now. A piece is read as well as its row: of 5,171 words of foreign pages .9615 are read right
in pieces and .9602 in rows, in as much time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from engines.ocr.ink import Grey, ink_of
from engines.ocr.protocol import Box
from engines.ocr.rows import PICTURE, upright

INK = 96
AROUND = (3, 2)  # pixels beside, above and below a row that belong to its strokes
_SURROUNDINGS = 8  # pixels of a row's own edges that tell what is background there
_STROKE = 1.5  # heights of a row: strokes across are shorter, also of 一
_RULE = 60  # pixels of a line across; strokes of letters are shorter
_BLANK = 20  # of 255, between the lightest and the darkest pixel of a column or a row without ink
_APART = 0.25  # heights of a row: a blank between words
_REACH = 96  # pixels


@dataclass(frozen=True, slots=True)
class Row:
    """A row's own pixels, and which of them are shown if not all are."""

    box: Box
    grey: Grey
    shown: npt.NDArray[np.bool_] | None

    @property
    def key(self) -> bytes:
        shown = b"" if self.shown is None else np.packbits(self.shown).tobytes()
        digest = blake2b(repr(self.grey.shape).encode(), digest_size=20)
        digest.update(self.grey.tobytes())
        digest.update(shown)
        return digest.digest()

    @property
    def is_picture(self) -> bool:
        return self.box.h > PICTURE

    def ink(self) -> Grey:
        """Without what is not shown, and without lines across: they are no strokes."""
        n = _SURROUNDINGS
        longest = round(_STROKE * len(self.grey))
        ink = ink_of(np.pad(self.grey, n, "edge"), longest)[n:-n, n:-n].copy()
        ink[upright((ink > INK).T, _RULE).T] = 0
        if self.shown is not None:
            ink[~self.shown] = 0
        return ink

    def pieces(self) -> list[Row]:
        """From the left, each as high as its own ink; a short row and a picture are one."""
        if self.is_picture or self.box.w < 2 * _REACH:
            return [self]
        cuts = list(self._cuts())
        begins, ends = [0, *(right for _, right in cuts)], [*(left for left, _ in cuts), self.box.w]
        return (
            [self._piece(left, right) for left, right in zip(begins, ends, strict=True)] if cuts else [self]
        )

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """From where to where the blanks are that part two pieces."""
        edges = np.flatnonzero(np.diff(np.pad(self._has_ink(0), 1).astype(np.int8)))
        lefts, rights = edges[1:-1:2], edges[2::2]
        wide = rights - lefts >= _APART * self.box.h
        lefts, rights = lefts[wide], rights[wide]
        changes = np.abs(np.diff(self.grey.astype(np.int16), axis=1)).sum(0).cumsum()
        amounts = np.diff(changes[lefts - 1], prepend=0)
        inner = (lefts >= _REACH // 2) & (rights <= self.box.w - _REACH // 2)
        blanks = list(
            zip(
                (rights - lefts)[inner].tolist(), amounts[inner].tolist(), rights[inner].tolist(), strict=True
            )
        )
        for blank in blanks:
            if all(blank >= other for other in blanks if abs(other[2] - blank[2]) <= _REACH):
                yield blank[2] - blank[0], blank[2]

    def _has_ink(self, axis: int) -> npt.NDArray[np.bool_]:
        """Of each column (0) or row of pixels (1)."""
        if self.shown is None:
            return np.asarray(self.grey.max(axis) - self.grey.min(axis) >= _BLANK)
        lightest = np.where(self.shown, self.grey, 0).max(axis)
        return np.asarray(
            lightest >= np.where(self.shown, self.grey, 255).min(axis).astype(np.int16) + _BLANK
        )

    def _piece(self, left: int, right: int) -> Row:
        """Between two blanks, with what belongs to its strokes."""
        left, right = max(0, left - AROUND[0]), min(self.box.w, right + AROUND[0])
        inside = self._part(0, self.box.h, left, right)
        rows = np.flatnonzero(inside._has_ink(1))
        top, bottom = max(0, int(rows[0]) - AROUND[1]), min(self.box.h, int(rows[-1]) + 1 + AROUND[1])
        return self._part(top, bottom, left, right)

    def _part(self, top: int, bottom: int, left: int, right: int) -> Row:
        part = slice(top, bottom), slice(left, right)
        shown = None if self.shown is None or self.shown[part].all() else self.shown[part]
        return Row(
            Box(self.box.x + left, self.box.y + top, right - left, bottom - top), self.grey[part], shown
        )
