"""The pieces of a screen's text that get a vector each: its lines, neither too short nor too long.

Around the one line that answers a question a screen is full of others, so a screen counts with its
best line (measured recall 0.58 for whole texts, 0.89 for lines). Lines of a word
or two, labels mostly, go together; with a sentence they would blur it (cosine 0.37 to 0.25). One
word alone is for the search by words, unless the screen has nothing else. A long line is cut. Of
more than `MAX_CHUNKS` those that say most are kept.
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
# What a long line may be cut between: each Chinese or Japanese sign, and what stands between spaces.
_UNCUT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")


class Chunk(NamedTuple):
    """``text[start:end]`` of what was cut."""

    start: int
    end: int
    text: str


def cut(text: str, reads: Callable[[str], bool] = lambda _: True) -> list[Chunk]:
    """The chunks of a text that are worth a vector, in its order, at most `MAX_CHUNKS`.

    `reads` tells which writing the model knows; the rest is left to the search by words.
    """
    readable = [chunk for chunk in _pieces(text) if words(chunk.text) and reads(chunk.text)]
    chunks = [chunk for chunk in readable if words(chunk.text) > 1] or readable
    if len(chunks) > MAX_CHUNKS:
        telling = sorted(chunks, key=lambda chunk: (-min(words(chunk.text), MAX_WORDS), chunk.start))
        chunks = sorted(telling[:MAX_CHUNKS])
    return chunks


def words(text: str) -> int:
    """How many words of letters; each Chinese character is one."""
    return len(_WORD.findall(text))


def _pieces(text: str) -> list[Chunk]:
    """Lines, neighbouring short ones together, long ones cut between words."""
    pieces: list[Chunk] = []
    labels: list[re.Match[str]] = []

    def close_labels() -> None:
        if labels:
            pieces.append(_stripped(text, labels[0].start(), labels[-1].end()))
            labels.clear()

    for line in _LINE.finditer(text):
        if words(line[0]) >= MIN_WORDS:
            close_labels()
            pieces += _short_enough(text, line.start(), line.end())
        elif words(line[0]):
            labels.append(line)
            if words(text[labels[0].start() : line.end()]) >= MIN_WORDS:
                close_labels()
    close_labels()
    return pieces


def _short_enough(text: str, start: int, end: int) -> list[Chunk]:
    uncut = list(_UNCUT.finditer(text, start, end))
    return [
        _stripped(text, uncut[at].start(), uncut[min(at + MAX_WORDS, len(uncut)) - 1].end())
        for at in range(0, len(uncut), MAX_WORDS)
    ]


def _stripped(text: str, start: int, end: int) -> Chunk:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Chunk(start, start + len(piece), piece)
