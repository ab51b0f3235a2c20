"""Rows of text by their own pixels, and the pieces that they are read in.

A long row is cut at the widest blanks between its words: one that is wider than all within four heights to
both sides, of equally wide ones that behind the word with most ink. So where it is cut depends on what stands
near alone, as in content-defined chunking (Muthitacharoen, Chen and Mazières 2001), and what is typed into
it, lies over its end or pushes words on changes a piece or two. The others are known by their pixels,
wherever they stand now. The figures are in ``docs/architecture.md``.
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
_THIN = 3  # pixels of a line's width
_APART = 0.25  # heights of a row: a blank between words
_LOWER = 0.1  # heights of a row, by which letters as high as others are lower
_REACH, _STEP = 4, 16  # heights of a row, which counts as full steps of pixels: few letters make it higher


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

    def without_lines(self) -> Row:
        """Without thin upright lines through all of it, margins included: a caret, the side of a window. What
        the row itself has for ink ends before its margins.
        """
        sides = (np.abs(np.diff(self.grey.astype(np.int16), axis=1)) >= _BLANK).all(0)
        if self.shown is not None:
            sides &= (self.shown[:, 1:] & self.shown[:, :-1]).all(0)
        at = np.flatnonzero(sides)
        lines = [line for line in np.split(at, np.flatnonzero(np.diff(at) > _THIN) + 1) if len(line) > 1]
        if not lines or self.is_picture:
            return self
        grey = self.grey.copy()
        for line in lines:
            left, right = int(line[0]), int(line[-1]) + 1
            grey[:, left + 1 : right] = min(grey[:, left], grey[:, right], key=np.ptp)[:, None]
        return Row(self.box, grey, self.shown)

    @property
    def _reach(self) -> int:
        return _REACH * -(-self.box.h // _STEP) * _STEP

    def pieces(self) -> list[Row]:
        """From the left, each as high as its own ink; a short row and a picture are one."""
        if self.is_picture or self.box.w < 2 * self._reach:
            return [self]
        cuts = list(self._cuts())
        begins, pieces = [0], []
        for left, right in [*cuts, (self.box.w, self.box.w)] if cuts else ():
            piece = self._piece(begins[-1], left)
            if self._is_high(piece):
                pieces.append(piece)
                begins.append(right)
        if pieces and begins[-1] < self.box.w:  # the last one is not high: it belongs to the one before
            pieces[-1] = self._piece(begins[-2], self.box.w)
        return pieces if len(pieces) > 1 else [self]

    def _is_high(self, piece: Row) -> bool:
        """Whether it has a letter as high as those of the row: small ones alone are taken for capitals."""
        return piece.box.y - self.box.y <= _LOWER * self.box.h

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """From where to where the blanks are that part two pieces."""
        edges = np.flatnonzero(np.diff(np.pad(self._has_ink(0), 1).astype(np.int8)))
        lefts, rights = edges[1:-1:2], edges[2::2]
        wide = rights - lefts >= _APART * self.box.h
        lefts, rights = lefts[wide], rights[wide]
        changes = np.abs(np.diff(self.grey.astype(np.int16), axis=1)).sum(0).cumsum()
        amounts = np.diff(changes[lefts - 1], prepend=0)
        reach = self._reach
        inner = (lefts >= reach // 2) & (rights <= self.box.w - reach // 2)
        blanks = list(
            zip(
                (rights - lefts)[inner].tolist(), amounts[inner].tolist(), rights[inner].tolist(), strict=True
            )
        )
        for blank in blanks:
            if all(blank >= other for other in blanks if abs(other[2] - blank[2]) <= reach):
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
        rows = np.flatnonzero(inside._has_ink(1)).tolist() or [0, self.box.h - 1]  # on shades there are none
        top, bottom = max(0, rows[0] - AROUND[1]), min(self.box.h, rows[-1] + 1 + AROUND[1])
        return self._part(top, bottom, left, right)

    def _part(self, top: int, bottom: int, left: int, right: int) -> Row:
        part = slice(top, bottom), slice(left, right)
        shown = None if self.shown is None or self.shown[part].all() else self.shown[part]
        return Row(
            Box(self.box.x + left, self.box.y + top, right - left, bottom - top), self.grey[part], shown
        )
