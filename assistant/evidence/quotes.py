"""Does this quote stand in that text? Deterministic, in one pass, and says where.

Both are compared by their skeletons: what is left when everything is taken out that a reader of pictures
may misread. Those are accents, case, spaces, full-width forms, marks that are no part of a figure, and
letters and digits of one shape (``O`` and ``0``, ``l``, ``I`` and ``1``, ``rn`` and ``m``, ``cl`` and ``d``).
No two figures share a skeleton, and nothing else is tolerated.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from assistant.core.texts import CJK
from assistant.language.values import mended
from store.ocr.readings import Box, Line, Reading, Word

MAX_QUOTE_CHARS = 400

NEAR_LINES = 2
"""So many lines further down the next part of a quote with an ellipsis may stand."""

Span = tuple[int, int]

_WIDE = re.compile(f"[{CJK}]")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3})\s*")
_QUOTE_MARKS = "\"'`“”‘’„«»‹›「」『』《》 \t\r\n"
_KEPT = frozenset("%‰<>=+±≤≥≠€$£¥")
_FIGURE_MARK = re.compile(r"(?:(?<=\d)[.,:/．，：／]|(?:(?<=\d)|(?<![^\W_]))[-−–—－])(?=\d)")
"""A mark inside a figure, or a sign before one."""
_SHAPES = str.maketrans(
    {"0": "o", "1": "l", "ı": "i", "|": "l", "−": "-", "–": "-", "—": "-"}
    | dict(zip("ヘリニロカタエトハー末己巳曰士", "へり二口力夕工卜八一未已已日土", strict=True))
)
_CAPITAL_I = ("i", "l")
_SHAPE_OF_TWO = {"rn": "m", "vv": "w", "cl": "d"}
_TWO = re.compile("|".join(_SHAPE_OF_TWO))


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """``origin[i]`` is where character i begins in the original, ``ends[i]`` where it ends."""

    text: str
    origin: tuple[int, ...]
    ends: tuple[int, ...]


def find(text: str, quote: str) -> tuple[Span, ...]:
    """Where `quote` stands in `text`, in characters of `text`; empty when it does not.

    A quote with an ellipsis has a span for each part; they must be found in order, within `NEAR_LINES`.
    """
    whole = _find_one(text, quote, 0)
    if whole:
        return (whole,)
    parts = [part for part in _ELLIPSIS.split(quote.strip(_QUOTE_MARKS)) if part.strip(_QUOTE_MARKS)]
    if len(parts) < 2:
        return ()
    spans: list[Span] = []
    for part in parts:
        span = _find_one(text, part, spans[-1][1] if spans else 0)
        if span is None or (spans and text.count("\n", spans[-1][1], span[0]) > NEAR_LINES):
            return ()
        spans.append(span)
    return tuple(spans)


def says_enough(quote: str) -> bool:
    """Three letters or digits, or two CJK characters: less would be found anywhere."""
    return len(_WIDE.findall(quote)) >= 2 or sum(map(str.isalnum, quote)) >= 3


def _find_one(text: str, quote: str, start: int) -> Span | None:
    return next((span for span in places(text, quote) if span[0] >= start), None)


def places(text: str, quote: str) -> Iterator[Span]:
    """Everywhere that `quote`, without an ellipsis, stands in `text`; a place may come twice."""
    quoted = quote.strip(_QUOTE_MARKS)
    if not says_enough(quoted) or len(quoted) > MAX_QUOTE_CHARS:
        return
    needles = dict.fromkeys(_skeleton(quoted, letter).text for letter in _CAPITAL_I)
    for skeleton in dict.fromkeys(_skeleton(text, letter) for letter in _CAPITAL_I):
        for needle in needles:
            at = skeleton.text.find(needle)
            while at >= 0:
                first, last = skeleton.origin[at], skeleton.ends[at + len(needle) - 1]
                if not _is_inside(text, last) and not _is_inside(text, first):
                    yield first, last
                at = skeleton.text.find(needle, at + 1)


def _is_inside(text: str, at: int) -> bool:
    """Whether a place is inside a word or a figure: "14" is not in "2014" nor in "14.5"."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return not (_WIDE.match(before) or _WIDE.match(after))
    if before in ".,:" and after.isdigit():
        return text[max(0, at - 2)].isdigit()
    return before.isdigit() and after in ".,:" and text[at + 1 : at + 2].isdigit()


@lru_cache(maxsize=1024)
def _skeleton(text: str, capital_i: str) -> _Skeleton:
    """A capital I has the shape of an l, and is an i in another case: a text is read in either way."""
    if "I" not in text and capital_i != _CAPITAL_I[0]:
        return _skeleton(text, _CAPITAL_I[0])
    kept = [_kept(sign, capital_i) for sign in text]
    for mark in _FIGURE_MARK.finditer(mended(text)):
        kept[mark.start()] = _folded(mark[0])
    signs = list("".join(kept))
    origin = [at for at, part in enumerate(kept) for _ in part]
    ends = [at + 1 for at in origin]
    for two in _TWO.finditer("".join(signs)):
        if ends[two.start()] == origin[two.start() + 1]:
            signs[two.start() : two.end()] = _SHAPE_OF_TWO[two[0]], ""
            ends[two.start()] += 1
    stay = [at for at, sign in enumerate(signs) if sign]
    return _Skeleton("".join(signs), tuple(origin[at] for at in stay), tuple(ends[at] for at in stay))


@lru_cache(maxsize=8192)
def _kept(sign: str, capital_i: str) -> str:
    """What of a sign counts wherever it stands."""
    return "".join(c for c in _folded(sign.replace("I", capital_i)) if c.isalnum() or c in _KEPT)


def _folded(sign: str) -> str:
    return unicodedata.normalize("NFKD", sign.translate(_SHAPES)).casefold().translate(_SHAPES)


# ---- rows
# A reading with the lines of one row joined: what a reader tore apart stands together again.
#
# A wide gap in a row makes two lines of it, in whatever order the columns were read. A quote that is
# not in the text as it was read may stand in a row from left to right.

SAME_ROW = 0.5
"""The part of the smaller line's height that two lines share when they stand in one row."""
MAX_CELL_CHARS = 40
"""Of a cell of a table; a line of prose has 45 to 90 (Bringhurst, The Elements of Typographic Style)."""


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
            words.append(replace(word, start=at, end=at + len(word.text)))
            parts += [word.text, " "]
            at += len(word.text) + 1
        if parts:
            parts[-1] = "\n"
    return Rows("".join(parts), tuple(words))


def table_rows(reading: Reading) -> dict[str, str]:
    """By the text of each cell of a table the words of its row, as they stand in `rows`.

    Cells are no longer than `MAX_CELL_CHARS`: columns of prose stay apart. A text that stands in several
    places tells of no row.
    """
    found: dict[str, str] = {}
    times = Counter(line.text for line in reading.lines)
    for row in _table_rows(reading.lines):
        if all(len(line.text) <= MAX_CELL_CHARS for line in row):
            words = sorted((word for line in row for word in line.words), key=lambda word: word.box.x)
            cells = (line.text for line in row if times[line.text] == 1)
            found |= dict.fromkeys(cells, " ".join(word.text for word in words))
    return found


def _table_rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Rows of several lines that were read one after the other, which lines of two panes are not.

    Panes of as high lines, as of code and a terminal, are told by a line that only the right one has.
    """
    place = {id(line): at for at, line in enumerate(lines)}
    runs: list[list[int]] = []
    for row in _grouped(lines):
        read = enumerate(sorted(place[id(line)] for line in row))
        runs += [[at for _, at in run] for _, run in groupby(read, key=lambda pair: pair[1] - pair[0])]
    tables: list[list[list[Line]]] = []
    for run in sorted(runs):
        row = sorted((lines[at] for at in run), key=lambda line: line.box.x)
        if not tables or row[0].box.y < tables[-1][-1][0].box.y:
            tables.append([])
        tables[-1].append(row)
    for table in tables:
        of_cells = [at for at, row in enumerate(table) if len(row) > 1]
        edge = max((table[at][0].box.x + table[at][0].box.w for at in of_cells), default=0)
        if of_cells and all(row[0].box.x <= edge for row in table[of_cells[0] : of_cells[-1]]):
            yield from (table[at] for at in of_cells)


def _grouped(lines: Sequence[Line]) -> Iterator[list[Line]]:
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box.y + line.box.h / 2):
        if row and not all(_shares_row(other.box, line.box) for other in row):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _shares_row(a: Box, b: Box) -> bool:
    shared = min(a.y + a.h, b.y + b.h) - max(a.y, b.y)
    return shared >= SAME_ROW * min(a.h, b.h)
