"""What was read lately: rows and their pieces by their pixels, wherever they stand now, and how bands of ink
were cut.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b

from engines.ocr.ink import Grey
from engines.ocr.pieces import Row
from engines.ocr.protocol import Box, OcrWord
from engines.ocr.rows import has_strokes
from engines.ocr.scripts import in_order

UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_REMEMBERED = 45_000  # words: some 16 MB
_BANDS = 4_000  # some 50 screens

Read = Callable[[Sequence[Grey]], Iterable[list[OcrWord]]]
"""Words of each row's ink, as in one at 0, 0."""


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(part)
    return digest.digest()


class Remembered:
    """The rows and pieces seen lately. Words stand as in one at 0, 0."""

    def __init__(self) -> None:
        self._rows: OrderedDict[bytes, list[OcrWord]] = OrderedDict()  # the most recent last
        self.bands: dict[bytes, list[Box]] = {}  # what of a picture they were cut into, by their ink

    def read(self, rows: Sequence[Row], read: Read) -> list[list[OcrWord]]:
        """Words of each row. The pieces of them that are not known `read` reads, in one go."""
        keys = [row.key for row in rows]
        unknown = {key: row for key, row in zip(keys, rows, strict=True) if key not in self._rows}
        pieces = {
            key: [(piece.key, piece) for piece in row.without_lines().pieces()]
            for key, row in unknown.items()
        }
        new = {key: piece for of_row in pieces.values() for key, piece in of_row if key not in self._rows}
        self._rows |= {key: [] for key, piece in new.items() if not has_strokes(piece.grey, piece.shown)}
        new = {key: piece for key, piece in new.items() if key not in self._rows}
        self._rows |= zip(new, read([piece.ink() for piece in new.values()]), strict=True)
        for key, row in unknown.items():
            self._rows[key] = self._joined(row, pieces[key])
        for key in keys:
            self._rows.move_to_end(key)
        result = [self._rows[key] for key in keys]
        held = sum(map(len, self._rows.values())) + len(self._rows)
        while held > _REMEMBERED:
            held -= len(self._rows.popitem(last=False)[1]) + 1
        while len(self.bands) > _BANDS:
            del self.bands[next(iter(self.bands))]
        return result

    def _joined(self, row: Row, pieces: Iterable[tuple[bytes, Row]]) -> list[OcrWord]:
        parts = []
        for key, piece in pieces:
            self._rows.move_to_end(key)
            dx, dy = piece.box.x - row.box.x, piece.box.y - row.box.y
            parts.append([word.moved(dx, dy) for word in self._rows[key]])
        return in_order(parts)

    def once(self, inks: Sequence[Grey], language: str, read: Read) -> list[list[OcrWord]]:
        """Words of each ink in one language, read where the same was not read lately."""
        keys = [_digest(repr((language, ink.shape)).encode(), ink.tobytes()) for ink in inks]
        new = {key: ink for key, ink in zip(keys, inks, strict=True) if key not in self._rows}
        self._rows |= zip(new, read(list(new.values())), strict=True)
        return [self._rows[key] for key in keys]
