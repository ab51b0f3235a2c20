"""A reading with the lines of one row joined: what a reader tore apart stands together again.

A wide gap in a row makes two lines of it, in whatever order the columns were read. A quote that is
not in the text as it was read may stand in a row from left to right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from store.ocr.readings import Box, Line, Reading, Word

SAME_ROW = 0.5
"""The part of the smaller line's height that two lines share when they stand in one row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """`text` of all rows, one a line; `words` stand in it by its own characters."""

    text: str
    words: tuple[Word, ...]


def rows(reading: Reading) -> Rows:
    """The lines of a reading from top to bottom, those of a row joined from left to right."""
    parts: list[str] = []
    words: list[Word] = []
    at = 0
    for row in _grouped(reading.lines):
        for word in sorted((word for line in row for word in line.words), key=lambda word: word.box.x):
            words.append(Word(at, at + len(word.text), word.text, word.box, word.confidence))
            parts += [word.text, " "]
            at += len(word.text) + 1
        if parts:
            parts[-1] = "\n"
    return Rows("".join(parts), tuple(words))


def _grouped(lines: Sequence[Line]) -> Iterator[list[Line]]:
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box.y + line.box.h / 2):
        if row and not _shares_row(row[-1].box, line.box):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _shares_row(a: Box, b: Box) -> bool:
    shared = min(a.y + a.h, b.y + b.h) - max(a.y, b.y)
    return shared >= SAME_ROW * min(a.h, b.h)
