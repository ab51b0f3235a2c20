"""What can be compared of a text, and the numbers among it: in digits, in Han signs and in words.

``18,430`` is ``18.430,00`` and ``18 430``. Units are compared where CLDR knows them: 845 g is 0.845 kg, and
3 cm are not 3 mm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import text_to_num

from assistant.language import cldr
from assistant.language.cldr import Unit, integer

Kind = Literal["number", "spelled", "date", "clock", "weekday"]
Day = tuple[int | None, int | None, int | None]
"""Year, month and day of the month, each None when it is not said."""
_LEAP_DAY = (2024, 1, 1)
SMALL = 2  # numbers in Han signs up to here mostly count, and are compared only beside a unit of time
COUNTED = 12
"""Numbers in words up to here count what a writer counts himself ("on all three days"): never warned of."""
PERCENT = 100  # alone this number in words is mostly a part of another word: ``pour cent``
SPELLED_IN = ("en", "de", "fr", "es", "pt", "it", "nl", "da")  # languages whose numbers in words are known
HAN = "〇零一二三四五六七八九十百千万亿億两兩壹贰叁肆伍陆柒捌玖拾廿卅"
MAX_UNIT = 4  # signs of a unit in Han or kana
SPACE = "[ \u00a0\u202f\u2009]"
_NUMBER = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:{SPACE}\d{{3}})+(?:[.,]\d+)?(?![\d])|(?<!\d)\d{{1,20}}(?!\d)(?:[.,'’]\d{{1,20}}(?!\d)){{0,8}}"
)
_SPELLED_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HAN_NUMBER = re.compile(f"(?<![{HAN}])(?:[{HAN}]{{2,12}}|(?<=分之)[{HAN}])(?![{HAN}])")
_HAN_TAIL = re.compile(r" ?(?:[百千万萬亿億](?:\d,\d{3}(?!\d)|\d{1,4}(?!\d))?)+")
_POWER = re.compile(r"\s?([^\W\d_]+)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")  # "the 23rd" is no 23 rods


@dataclass(frozen=True, slots=True)
class Value:
    """``text[start:end]`` and its readings: of a number `Decimal`, of a date `Day`, of a clock time
    the minutes after midnight, of a weekday its number (Monday is 0).
    """

    start: int
    end: int
    kind: Kind
    readings: frozenset[Any]
    units: frozenset[Unit] = frozenset()
    """Of a number, and of a length in hours and minutes; none where nothing behind it is surely one."""

    @property
    def quantities(self) -> frozenset[tuple[str, Decimal]]:
        """The readings of a number in the bases of its units."""
        return frozenset((unit.base, unit.size * each) for unit in self.units for each in self.readings)


def is_day(day: Day) -> bool:
    with suppress(ValueError):
        return bool(
            date(*(given if part is None else part for part, given in zip(day, _LEAP_DAY, strict=True)))
        )
    return False


def numbers(text: str, is_read: bool, language: str) -> Iterator[Value]:
    for found in _NUMBER.finditer(text):
        yield _counted(text, found, language)
    for found in _HAN_NUMBER.finditer(text):
        number = integer(found[0])
        if number > SMALL:
            yield Value(found.start(), found.end(), "number", frozenset([Decimal(number)]))


def _counted(text: str, found: re.Match[str], language: str) -> Value:
    """A figure with its power of ten: ``1.2万``, ``3万8千``, ``2.4M``. A frame may have the power in a
    heading ("in 万円"), so that the figure alone is a reading, too.
    """
    readings, end = set(_decimals(found[0])), found.end()
    if tail := _HAN_TAIL.match(text, end):
        signs = tail[0].strip()  # "7.8 万", as some write it
        counted = {cldr.amount(f"{value}{signs}".replace(",", "")) for value in readings}
        readings, end = readings | counted if len(signs) == 1 else counted, tail.end()
    units = units_behind(text, end, language)
    if (word := _POWER.match(text, end)) and (powers := cldr.powers(language).get(cldr.key(word[1]), ())):
        readings |= {value * power for value in readings for power in powers}
        end = end if units else word.end()
    return Value(found.start(), end, "number", frozenset(readings), units)


def units_behind(text: str, end: int, language: str) -> frozenset[Unit]:
    """The units that the word behind a figure may be; one in Han or kana is what these begin with."""
    word = None if _ORDINAL.match(text, end) else _POWER.match(text, end)
    signs = cldr.key(word[1]) if word else ""
    lengths = range(min(len(signs), MAX_UNIT), 0, -1) if signs > "\u2e80" else (len(signs),)
    return next((of for n in lengths if (of := cldr.units(language).get(signs[:n]))), frozenset())


class _SpelledWord(NamedTuple):
    """A word as `text_to_num` asks for it: what stands between two may part their numbers."""

    found: re.Match[str]

    def text(self) -> str:
        return self.found[0].lower()

    def nt_separated(self, previous: _SpelledWord) -> bool:
        return not self.found.string[previous.found.end() : self.found.start()].isspace()

    def not_a_number_part(self) -> bool:
        return False


def spelled(text: str, is_read: bool, language: str) -> Iterator[Value]:
    """``seventeen``, ``fünfzehntausend``, ``mil doscientos cincuenta``."""
    if language not in SPELLED_IN or text_to_num.alpha2digit(text, language, SMALL + 1) == text:
        return
    words = [_SpelledWord(found) for found in _SPELLED_WORD.finditer(text)]
    for number in text_to_num.find_numbers(words, language, 0):
        if number.value > SMALL and number.value != PERCENT:
            start, end = words[number.start].found.start(), words[number.end - 1].found.end()
            yield Value(start, end, "spelled", frozenset([Decimal(str(number.value))]))


def _decimals(figure: str) -> Iterator[Decimal]:
    """``1.250`` is 1250 and 1.25; ``1.250,00`` and ``1 250`` are 1250 only."""
    if figure.isdecimal():
        yield Decimal(figure)
        return
    plain = re.sub(rf"{SPACE}|['’]", "", figure)
    signs = [sign for sign in plain if sign in ".,"]
    parts = re.split("[.,]", plain)
    if len(set(signs)) == 2:
        yield Decimal("".join(parts[:-1]) + "." + parts[-1])
        return
    is_grouped = bool(signs) and len(parts[-1]) == 3 and len(parts[0]) <= 3 and parts[0].strip("0") != ""
    if len(signs) != 1 or is_grouped:
        yield Decimal("".join(parts))
    if len(signs) == 1 and parts[-1] != "000":
        yield Decimal(".".join(parts))
