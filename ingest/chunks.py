"""The pieces of a screen's text that get a vector each: its lines, neither too short nor too long.

Around the one line that answers a question a screen is full of others, so a screen counts with its
best line (technology.md, "Meaning": recall 0.58 for whole texts, 0.89 for lines). Lines of a word
or two, labels mostly, go together with the next; a long one is cut. Of a screen with more than
`MAX_CHUNKS` those that say most are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

MIN_WORDS = 3
MAX_WORDS = 40
MAX_CHUNKS = 16

# Two letters in a row: numbers and the crumbs of misread pictures mean nothing by themselves.
_WORD = re.compile(r"[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])[^\W\d_]){2,}")
_LINE = re.compile(r"[^\n]+")
_SPACED = re.compile(r"\S+")


class Chunk(NamedTuple):
    """``text[start:end]`` of what was cut."""

    start: int
    end: int
    text: str


def cut(text: str, reads: Callable[[str], bool] = lambda _: True) -> list[Chunk]:
    """The chunks of a text that are worth a vector, in its order, at most `MAX_CHUNKS`.

    `reads` tells which writing the model knows; the rest is left to the search by words.
    """
    found = [chunk for chunk in _pieces(text) if words(chunk.text) and reads(chunk.text)]
    if len(found) > MAX_CHUNKS:
        telling = sorted(found, key=lambda chunk: (-min(words(chunk.text), MAX_WORDS), chunk.start))
        found = sorted(telling[:MAX_CHUNKS])
    return found


def words(text: str) -> int:
    """How many words of letters; each Chinese character is one."""
    return len(_WORD.findall(text))


def _pieces(text: str) -> list[Chunk]:
    """Lines, short ones joined to what follows, long ones cut between words."""
    pieces: list[Chunk] = []
    open_from: int | None = None
    for line in _LINE.finditer(text):
        start = line.start() if open_from is None else open_from
        if words(text[start : line.end()]) < MIN_WORDS:
            open_from = start
            continue
        open_from = None
        pieces += _short_enough(text, start, line.end())
    if open_from is not None:
        pieces.append(_stripped(text, open_from, len(text)))
    return pieces


def _short_enough(text: str, start: int, end: int) -> list[Chunk]:
    spaced = list(_SPACED.finditer(text, start, end))
    return [
        _stripped(text, spaced[at].start(), spaced[min(at + MAX_WORDS, len(spaced)) - 1].end())
        for at in range(0, len(spaced), MAX_WORDS)
    ]


def _stripped(text: str, start: int, end: int) -> Chunk:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Chunk(start, start + len(piece), piece)
