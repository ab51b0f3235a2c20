"""What of a text can be compared with another text: numbers, dates, clock times.

Where a text may be read in two ways it has both readings (``1.250``, ``03/04``): two texts agree when one
reading of the one is a reading of the other. Numbers are found in `figures`, times in `figures_of_time`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from assistant.language.figures import Day, Value, is_day, numbers, spelled
from assistant.language.figures_of_time import clocks, composed_clocks, dates, lengths, named_days

WEEKDAY_ALONE = 0.7  # how much a weekday says of one of its days: there is one each week
_MISREAD = re.compile(r"(?<=[\d.,:/-])[OoQ]|[OoQ](?=[\d:])|(?<=\d[lI|])[OoQ](?![A-Za-z])")
_MISREAD_ONE = re.compile(r"(?<=\d)[lI|](?=[\d\s.,:/-]|\Z)|(?<![^\W\d_])[lI|](?=\d)")


@lru_cache(maxsize=64)
def values(text: str, *, is_read: bool = False, language: str = "") -> tuple[Value, ...]:
    """The values of a text in order, without overlap. `is_read` says that a reader of pictures made the
    text: names of months count there however they are written. Names, units and numbers in words are those of
    `language`, names and units else of any.
    """
    flat = flattened(text)
    taken = bytearray(len(flat))
    found: list[Value] = []
    for finder in (dates, named_days, composed_clocks, lengths, clocks, numbers, spelled):
        is_composed = finder is composed_clocks
        free = without(flat, [(value.start, value.end) for value in found]) if is_composed else flat
        for value in finder(free, is_read, language):
            if not any(taken[value.start : value.end]):
                taken[value.start : value.end] = b"\x01" * (value.end - value.start)
                found.append(value)
    return tuple(sorted(found, key=lambda value: value.start))


@dataclass(frozen=True, slots=True)
class DaysMeant:
    """The days, as stretches from the first to the last, that a `word` of a question means; `weekdays` are
    those of single ones so near that a weekday alone means them.
    """

    word: str = ""
    stretches: tuple[tuple[date, date], ...] = ()
    weekdays: frozenset[int] = frozenset()

    def named_in(self, text: str) -> float:
        """How surely (0..1) a text that was read off a picture names one of them, in whatever way: by its
        date, or where it has none by its weekday.
        """
        found = values(text, is_read=True)
        dates = {day for value in found if value.kind == "date" for day in value.readings if day[2]}
        if dates:
            return float(any(_lies(day, *stretch) for day in dates for stretch in self.stretches))
        said = {number for value in found if value.kind == "weekday" for number in value.readings}
        return WEEKDAY_ALONE if said & self.weekdays else 0.0


NO_DAYS = DaysMeant()


def _lies(day: Day, first: date, last: date) -> bool:
    """Whether a day lies in a stretch, in its year or in any."""
    year, month, of_month = day
    years = range(first.year, last.year + 1) if year is None else (year,)
    real = (each for each in years if is_day((each, month, of_month)))
    return any(first <= date(each, month or 1, of_month or 1) <= last for each in real)


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text, as long as it was, with signs that mean nothing in place of some parts."""
    signs = list(text)
    for start, end in spans:
        signs[start:end] = "\u0001" * (end - start)
    return "".join(signs)


@lru_cache(maxsize=512)
def flattened(text: str) -> str:
    """The text in the forms of NFKC, character by character, as long as it was."""
    return text if text.isascii() else "".join(map(_flat, text))


@lru_cache(maxsize=8192)
def _flat(character: str) -> str:
    flat = unicodedata.normalize("NFKC", character)
    return flat if len(flat) == 1 else character


def mended(text: str) -> str:
    """A text that was read off a picture with its letters inside figures as digits: ``2O27``."""
    return _MISREAD_ONE.sub("1", _MISREAD.sub("0", text))
