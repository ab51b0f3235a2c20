"""The cell of a table that a question names by its row and by the head of its column.

A cell is named by its words, or where it is a day or a time by that. A question that goes on from another
("and on Friday?") names the row or the column anew, and leaves the other as it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from assistant.language.questions import asked_words
from assistant.language.values import Value, values, without
from assistant.retrieval.answer_lines import ENOUGH, Synonyms, named
from assistant.retrieval.retrieval import Entry
from store.ocr.layout import CELL, Table

HEADS = 2
"""So many rows at the top of a table may have the heads of its columns: under a bar the second one has."""
NAMED = 0.7
"""Of a word of the question, in a cell that it names."""
_TIMES = ("date", "clock", "weekday")
_FIGURE = re.compile(r"(?<![A-Za-z\d])\d+(?:[-–—.,:/]\d+)*(?![A-Za-z\d])")

Namer = Callable[[str], frozenset[str]]
"""What of a question a cell names."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A cell with its row and that of the heads, `CELL` between their cells, and all rows of its table.
    `rank` is how much of the question names it, the later frame before the earlier.
    """

    entry: Entry
    cell: str
    row: str
    heads: str
    table: frozenset[str]
    rank: tuple[int, int, int]

    def is_named(self, phrase: str) -> bool:
        """Whether words, as of a time, name one of the heads, or a cell of the row."""
        return any(map(_namer(phrase, {})[0], [*self.heads.split(CELL), *self.row.split(CELL)]))


def crossing(
    questions: Sequence[str],
    synonyms: Synonyms,
    entries: Iterable[Entry],
    tables: Callable[[Entry], Iterable[Table]],
) -> Crossing | None:
    """The cell that the first question names, what it leaves out being of the second; None where none is
    named, or others are as well.
    """
    (of_first, count), (of_second, _) = (_namer(question, synonyms) for question in questions)
    found = [
        one
        for entry in entries
        for table in tables(entry)
        for one in _crossings(of_first, of_second, ENOUGH * count, entry, table)
    ]
    best = max(found, key=lambda one: one.rank, default=None)
    return best if best and all(one.cell == best.cell for one in found if one.rank == best.rank) else None


def _namer(question: str, synonyms: Synonyms) -> tuple[Namer, int]:
    """(tells what of a question a cell names, how much that may be)"""
    times = [value for value in values(question) if value.kind in _TIMES]
    rest = without(question, [(time.start, time.end) for time in times]).replace("\u0001", " ")
    words = tuple(dict.fromkeys([*asked_words(rest), *_FIGURE.findall(rest)]))

    @cache  # one text stands on many frames
    def of_cell(cell: str) -> frozenset[str]:
        said = values(cell, is_read=True) if times else ()
        shares = named(words, cell, synonyms).items()
        same = (str(time.start) for time in times if any(_is_same(time, value) for value in said))
        return frozenset([*(word for word, share in shares if share >= NAMED), *same])

    return of_cell, len(words) + len(times)


def _is_same(time: Value, other: Value) -> bool:
    """Whether two times are one; a date may leave out its year."""
    forms, others = (
        {each[1:] if value.kind == "date" else each for each in value.readings} for value in (time, other)
    )
    return time.kind == other.kind and not forms.isdisjoint(others)


def _crossings(first: Namer, second: Namer, enough: float, entry: Entry, table: Table) -> Iterator[Crossing]:
    """The cells that have a head above and a row beside, one of them in the first question at least."""
    now, before = ([{at: of(c.text) for at, c in row.items()} for row in table] for of in (first, second))
    rows = [CELL.join(cell.text for cell in row.values()) for row in table]
    places = [(top, n, at) for top in range(HEADS) for n in range(top + 1, len(table)) for at in table[n]]
    for top, n, at in places:
        if not (at in table[top] and (now[top][at] or before[top][at])):
            continue
        head, of_row = now[top][at], _others(now[n], at) - now[top][at]
        is_enough = len(head) + len(of_row) > enough
        head, of_row = head or before[top][at], of_row or _others(before[n], at)
        if is_enough and head and of_row:
            beside = len(f"{table[top][at].text} {next(iter(table[n].values())).text}".split())
            rank = len(head) + len(of_row), -beside, entry.frame.captured_ms
            yield Crossing(entry, table[n][at].text, rows[n], rows[top], frozenset(rows), rank)


def _others(row: dict[int, frozenset[str]], at: int) -> frozenset[str]:
    """What the cells of a row name beside one."""
    return frozenset().union(*(named for place, named in row.items() if place != at))
