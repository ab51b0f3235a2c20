"""The values that a screen shows, for comparison with those of a sentence.

What is shown may be read in several ways, and told otherwise than it stands: a weekday follows from a date, a
day from a weekday with a figure beside it, a time from the moment at which it was on the screen, which people
round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any

from assistant.language.figures import COUNTED, Day, Value, is_day
from assistant.language.figures_of_time import composed_clocks
from assistant.language.values import flattened, mended, values

LONG_NUMBER = 6
"""Digits of a number that nobody counts by, and that is written in parts: of telephones and accounts."""
ROUNDED_DIGITS, ROUNDED_ZEROS = 2, 2
"""So many digits has a rounded figure before its zeros, or so many zeros: "sixty" is said of much."""
MOST_ROUNDED_OFF = Decimal("0.05")  # of what is rounded: as much as two digits take at most, 10 for 10.5
MOST_RECKONED = 12  # figures of some quotes that are reckoned with
_HUNDREDTHS = Decimal(100), Decimal("0.01")
_POINTED_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d")
_DAY_BEHIND = re.compile(r"[.,]?\s{1,2}(\d{1,2})(?![\d:/]|[.,]\d)")
_DAY_BEFORE = re.compile(r"(?<![\d:/.,-])(\d{1,2})日?[\s(（]{0,2}\Z")
_PARTED = re.compile(r"\d(?:[ ()./-]{0,3}\d){6,19}(?!\d)")
_DIGITS = re.compile(r"(?<!\d)\d{1,20}(?!\d)")  # longer ones are no figures


class Shown:
    """The values that a screen shows, for comparison: those of its texts and its moment.

    `moment` is local, RFC 3339; '' for a text that is of no moment.
    """

    def __init__(self, texts: Iterable[str], moment: str = "") -> None:
        self._numbers: dict[Decimal | int, list[Value]] = {}
        self._pointed: set[Value] = set()  # of the numbers, what may be a clock time
        self._quantities: set[tuple[str, Decimal]] = set()
        self._parts: set[Decimal | int] = set()  # of dates and clock times
        self._days: set[Day] = set()
        self._sure_days: set[Day] = set()
        self._clocks: set[int] = set()
        self._weekdays: set[int] = set()
        self._texts = tuple(map(flattened, texts))
        self._moment = datetime.fromisoformat(moment[:16]) if moment else None
        for text in self._texts:
            misread = set(mended(text).split("\n")) - set(text.split("\n"))
            forms = "\n".join((text, *sorted(misread)))
            for value in _ordered(forms, values(forms, is_read=True)):
                self._add(forms, value)
        # A day without a year is mostly of the year in which it was on the screen.
        for year, month, of_month in self._days:
            year = year or (self._moment.year if self._moment else None)
            if year and month and of_month and is_day((year, month, of_month)):
                self._weekdays.add(date(year, month, of_month).weekday())

    def holds(self, value: Value) -> bool:
        """Whether one reading of a value is shown, or is of the moment, as people round it."""
        return self._is_of_moment(value) or self._reads(value, self._days)

    def gives(self, value: Value) -> bool:
        """Whether a figure follows from those shown: two of them added, taken from each other or multiplied,
        the sum of all, or one in hundredths, as percent and cents are. Small whole ones would follow from too
        much.
        """
        shown = [number for number in self._numbers if number][:MOST_RECKONED]
        readings = value.readings if value.kind == "number" else ()
        said = {number for number in readings if number > COUNTED or number % 1}
        pairs = combinations(shown, 2)
        results = {result for a, b in pairs for result in (a + b, abs(a - b), a * b)} | {sum(shown)}
        results |= {each * of for each in shown for of in _HUNDREDTHS}
        return not said.isdisjoint(results)

    def rounds_to(self, value: Value) -> bool:
        """Whether a figure is the rounding of one that is shown, to fewer digits: "1,200" for 1,187."""
        return value.kind in ("number", "spelled") and any(
            _is_rounded(said, number) and not (value.units and shown.units and value.units != shown.units)
            for said in value.readings
            for number, of_number in self._numbers.items()
            for shown in of_number
            if shown not in self._pointed  # "21.30", which is no 21
        )

    def writes(self, value: Value) -> bool:
        """Whether a value surely stands here as itself: no number in words or of a date or clock time, which
        may count something else, none without its unit, and no day that may be another.
        """
        if value.units and value.kind != "clock":
            return not value.quantities.isdisjoint(self._quantities)
        if value.kind in ("number", "spelled"):
            return value.kind == "number" and self._has_number(value)
        return self._reads(value, self._sure_days)

    def _is_of_moment(self, value: Value) -> bool:
        """Whether a value is of the moment; people round a clock time to five minutes, or half an hour."""
        if (now := self._moment) is None:
            return False
        if value.kind == "date":
            return any(_same_day(said, (now.year, now.month, now.day)) for said in value.readings)
        if value.kind != "clock":
            told = (now.weekday(),) if value.kind == "weekday" else (now.year, now.day)
            return not value.readings.isdisjoint(told)
        for said in value.readings:
            off = abs(said - now.hour * 60 - now.minute)
            if min(off, 1440 - off) <= (15 if said % 30 == 0 else 5 if said % 5 == 0 else 0):
                return True
        return False

    def _reads(self, value: Value, days: Set[Day]) -> bool:
        if value.kind == "date":
            return any(_same_day(said, shown) for shown in days for said in value.readings)
        if value.kind == "clock":
            shown = value.readings & self._clocks or value.quantities & self._quantities
            return bool(shown) or not value.readings.isdisjoint(self._spoken_clocks)
        if value.kind == "weekday":
            return bool(value.readings & self._weekdays)
        digits = [str(number) for number in value.readings]
        if any(len(each) >= LONG_NUMBER and each in self._runs for each in digits):
            return True
        rest = self._whole_and_rest if value.kind == "spelled" else frozenset()
        is_measured = any(unit.dimension != "duration" for unit in value.units)
        return self._has_number(value) or (
            not is_measured and not value.readings.isdisjoint(self._parts | rest)
        )

    def _has_number(self, said: Value) -> bool:
        """Whether a number is here, in another unit of its kind only as what it is in that."""
        if not said.quantities.isdisjoint(self._quantities):
            return True
        same = (shown for reading in said.readings for shown in self._numbers.get(reading, ()))
        kinds = {unit.dimension for unit in said.units}
        return any(kinds.isdisjoint(unit.dimension for unit in shown.units) for shown in same)

    @cached_property
    def _runs(self) -> str:
        """Long numbers, a line each, without what parts their digits."""
        parted = (found[0] for text in self._texts for found in _PARTED.finditer(text))
        return "\n".join(re.sub(r"\D", "", digits) for digits in parted)

    @cached_property
    def _whole_and_rest(self) -> frozenset[int]:
        """Both sides of the point of figures: in words they are two numbers."""
        numbers = self._numbers.keys() | self._parts
        whole = {int(number) for number in numbers}
        return frozenset(whole | {int(number * 100 % 100) for number in numbers if number % 1})

    @cached_property
    def _spoken_clocks(self) -> frozenset[int]:
        """Clock times in words. They are rare on screens, so none is looked for before one is missed."""
        lines = (_DIGITS.sub("\u0001", line) for text in self._texts for line in text.splitlines())
        return frozenset().union(*(value.readings for line in lines for value in composed_clocks(line)))

    def _add(self, text: str, value: Value) -> None:
        written = text[value.start : value.end]
        runs = [int(run) for run in _DIGITS.findall(written)]
        if value.kind == "number":
            self._quantities |= value.quantities
            for reading in value.readings:
                self._numbers.setdefault(reading, []).append(value)
            if _POINTED_CLOCK.fullmatch(written):
                self._clocks.add(runs[0] * 60 + runs[1])
                self._pointed.add(value)
        elif value.kind == "date":
            self._days |= value.readings
            self._sure_days |= value.readings if len(value.readings) == 1 else set()
            self._parts |= {*runs, *(part for year, _, day in value.readings for part in (year, day) if part)}
        elif value.kind == "clock":
            self._clocks |= value.readings
            self._quantities |= value.quantities
            if len(runs) > 2 or value.units:  # or so long: "2 h 37 min 18 s"
                self._parts |= set(runs)
            for hour, past in (divmod(clock, 60) for clock in value.readings):
                self._parts |= {hour, hour % 12 or 12, hour + Decimal(past) / 100}
        else:
            self._add_weekday(text, value)

    def _add_weekday(self, text: str, value: Value) -> None:
        """A weekday, and the day of a figure beside it."""
        self._weekdays |= value.readings
        before = _DAY_BEFORE.search(text, max(0, value.start - 6), value.start)
        for of_month in filter(None, (before, _DAY_BEHIND.match(text, value.end))):
            if self._moment:
                days = set(_in_calendar(self._moment, value.readings, int(of_month[1])))
                self._days |= days
                self._sure_days |= days


def _is_rounded(said: Decimal, shown: Decimal | int) -> bool:
    """Whether a figure is the nearest to another one with its digits, which are fewer, and near enough."""
    _, digits, exponent = said.normalize().as_tuple()
    unit = Decimal(1).scaleb(int(exponent))
    is_round = len(digits) >= ROUNDED_DIGITS or int(exponent) >= ROUNDED_ZEROS
    return is_round and shown % unit != 0 and abs(said - shown) <= min(unit / 2, MOST_ROUNDED_OFF * shown)


def _ordered(text: str, found: Iterable[Value]) -> Iterator[Value]:
    """The values; a day that may be two is read as the others are: ``3/4`` beside ``15/3``."""
    ways = {_way(text, value, each) for value in found if len(value.readings) == 1 for each in value.readings}
    for value in found:
        fit = frozenset(each for each in value.readings if _way(text, value, each) in ways - {""})
        yield replace(value, readings=fit) if fit else value


def _way(text: str, value: Value, reading: Any) -> str:
    """Which comes first in a day without words."""
    runs = [int(run) for run in _DIGITS.findall(text[value.start : value.end])[:2]]
    if value.kind != "date" or runs not in ([reading[2], reading[1]], [reading[1], reading[2]]):
        return ""
    return "day" if runs[0] == reading[2] else "month"


def _in_calendar(near: date, weekdays: Set[int], of_month: int) -> Iterator[Day]:
    """The days of a calendar's column or line, ``Mon 19``, ``19(月)``: of a day's month or one beside."""
    for month in range(near.month - 2, near.month + 1):
        day = near.year + month // 12, month % 12 + 1, of_month
        if is_day(day) and date(*day).weekday() in weekdays:
            yield day


def _same_day(said: Day, shown: Day) -> bool:
    return all(
        a == b or a is None or (b is None and part == 0)
        for part, (a, b) in enumerate(zip(said, shown, strict=True))
    )
