"""What was read lately: rows by their pixels, wherever they stand now, and how bands of ink were cut.

A row of which a part was read before is read whole all the same. What was put together of two readings had
to be sure of every word to be stored, else it was read whole as well: that cost as much as it saved.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from engines.ocr.ink import Grey, ink_of
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.rows import PICTURE, has_strokes, upright

INK = 96
UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURROUNDINGS = 8  # pixels of a row's own edges that tell what is background there
_STROKE = 1.5  # heights of a row: strokes across are shorter, also of 一
_RULE = 60  # pixels of a line across; strokes of letters are shorter
_REMEMBERED = 45_000  # words: some 16 MB
_BANDS = 4_000  # some 50 screens

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
        longest = round(_STROKE * len(self.grey))
        ink = ink_of(np.pad(self.grey, n, "edge"), longest)[n:-n, n:-n].copy()
        ink[upright((ink > INK).T, _RULE).T] = 0
        if self.shown is not None:
            ink[~self.shown] = 0
        return ink


class Remembered:
    """The rows seen lately. Words stand as in a row at 0, 0."""

    def __init__(self) -> None:
        self._rows: OrderedDict[bytes, list[OcrWord]] = OrderedDict()  # the most recent last
        self.bands: dict[bytes, list[Box]] = {}  # what of a picture they were cut into, by their ink

    def read(self, rows: Sequence[Row], read: Read) -> list[list[OcrWord]]:
        """Words of each row. What is not known of them, `read` reads."""
        keys = [row.key for row in rows]
        new = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._rows}
        self._rows |= {key: [] for key, row in new.items() if not has_strokes(row.grey, row.shown)}
        new = {key: row for key, row in new.items() if key not in self._rows}
        self._rows |= zip(new, read([row.ink() for row in new.values()]), strict=True)
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
        keys = [_digest(repr((language, ink.shape)).encode(), ink.tobytes()) for ink in inks]
        new = {key: ink for key, ink in zip(keys, inks, strict=True) if key not in self._rows}
        self._rows |= zip(new, read(list(new.values())), strict=True)
        return [self._rows[key] for key in keys]
