"""Which clause of a screen a figure stands in, and which a sentence tells of.

A clause is what stands between commas and ends of lines, or a row of a table. A sentence names those of which
it has something that stands in no other. A figure of a clause that it does not name, beside one of the same
kind in one that it does, is of something else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from assistant.language.values import Value
from store.ocr.layout import CELL

MIN_CELLS = 3
"""Of a row of a table; a form has a label and what it is."""

_CLAUSE, _WHOLE = re.compile(r"(?:[^,;，；、。]|[,;](?! ))+"), re.compile(".+")
_PIECE = re.compile(r"\w+")


@lru_cache(maxsize=512)
def pieces_of(text: str) -> frozenset[str]:
    """What two texts are compared by: words, figures and pairs of signs."""
    words = {word.casefold() for word in _PIECE.findall(text)}
    return frozenset(
        word[at : at + size]
        for word in words
        for size in (2 if word > "\u2e80" else 4,)
        for at in range(max(1, len(word) - size + 1))
    )


class _Clause(NamedTuple):
    """`line` is the number of its line, `start` its place in the text, `cells` how many it has."""

    line: int
    start: int
    text: str
    cells: int


class _Place(NamedTuple):
    """A value, the clause that it stands in, and its column there."""

    clause: int
    column: int
    value: Value


class Clauses:
    """The clauses of a text that has its rows in lines, and what values were `found` in it."""

    def __init__(self, text: str, found: Iterable[Value]) -> None:
        self._clauses: list[_Clause] = []
        at = 0
        for number, line in enumerate(text.split("\n")):
            for part in (_WHOLE if CELL in line else _CLAUSE).finditer(line):
                self._clauses.append(_Clause(number, at + part.start(), part[0], part[0].count(CELL) + 1))
            at += len(line) + 1
        starts = [clause.start for clause in self._clauses]
        self._places: list[_Place] = []
        for value in found:
            clause = bisect_right(starts, value.start) - 1
            self._places.append(_Place(clause, text.count(CELL, starts[clause], value.start), value))

    def is_of_other(self, value: Value, sentence: str) -> bool:
        """Whether a value may be of something else than a sentence: a clause that this names, or one of the
        same line, has another of its kind.
        """
        named, (holding, same) = self._named(sentence), self._with_kind(value)
        here = {each.clause for each in holding}
        lines = {self._clauses[at].line for at in here}
        others = {each.clause for each in same} - here
        is_beside = any(at in named or self._clauses[at].line in lines for at in others)
        return bool(here) and not named & here and is_beside

    def is_of_other_row(self, value: Value, sentence: str) -> bool:
        """Whether a value stands in rows of tables alone that a sentence does not name, and one that it names
        has another of its kind in that column.
        """
        named, (holding, same) = self._named(sentence), self._with_kind(value)
        columns = {(self._clauses[each.clause].cells, each.column) for each in same if each.clause in named}
        return bool(holding) and all(
            each.clause not in named
            and (cells := self._clauses[each.clause].cells) >= MIN_CELLS
            and (cells, each.column) in columns
            for each in holding
        )

    def is_in_row(self, value: Value | None, form: str, sentence: str) -> bool:
        """Whether a value, or else a word of this `form`, stands outside of tables, or in the one row that a
        sentence names.
        """
        rows = {at for at, clause in enumerate(self._clauses) if clause.cells > 1}
        with_form = (at for at, clause in enumerate(self._clauses) if form in clause.text.casefold())
        here = {each.clause for each in self._with_kind(value)[0]} if value else set(with_form)
        named = self._named(sentence) & rows
        return not here & rows or not here <= rows or (len(named) == 1 and named <= here)

    @cached_property
    def sums(self) -> set[Decimal]:
        """Those of each column or line, and of two neighbours in it."""
        columns: dict[tuple[int, int], list[Value]] = {}
        for at, column, value in self._places:
            clause = self._clauses[at]
            place = (clause.cells, column) if clause.cells > 1 else (0, clause.line)
            if value.kind == "number":
                columns.setdefault(place, []).append(value)
        read = [[choose(v.readings) for v in each] for each in columns.values() for choose in (max, min)]
        added = (each for column in read for each in (column, *pairwise(column)) if len(each) > 1)
        return {sum(each, Decimal()) for each in added}

    def _with_kind(self, value: Value) -> tuple[Sequence[_Place], Sequence[_Place]]:
        """Where a value stands, and where any of its kind does."""
        same = [each for each in self._places if each.value.kind == value.kind]
        return [each for each in same if not each.value.readings.isdisjoint(value.readings)], same

    def _named(self, sentence: str) -> set[int]:
        return {self._naming[piece] for piece in pieces_of(sentence) & self._naming.keys()}

    @cached_property
    def _naming(self) -> dict[str, int]:
        """Clauses by what stands in one alone."""
        found: dict[str, set[int]] = {}
        for at, clause in enumerate(self._clauses):
            for piece in pieces_of(clause.text):
                found.setdefault(piece, set()).add(at)
        return {piece: min(places) for piece, places in found.items() if len(places) == 1 and piece.isalpha()}
