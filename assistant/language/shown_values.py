"""The values that a screen shows, for comparison with those of a sentence.

What is shown may be read in several ways, and told otherwise than it stands: a weekday follows from a date, a
day from "tomorrow" and the moment at which it was on the screen, which people round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from assistant.language.cldr import integer
from assistant.language.small_words import language_of
from assistant.language.values import (
    COUNTED_IN_SIGNS,
    SPACE,
    Day,
    Value,
    composed_clocks,
    flattened,
    is_day,
    mended,
    spelled,
    values,
)

LONG_NUMBER = 7
"""Digits of a number that nobody counts by, and that is written in parts."""
HUNDREDTHS = (100, Decimal("0.01"))
"""What a fraction may count in another place: cents and percent."""
THOUSANDTHS = 3
"""Digits behind a point that may part thousands: "20,000" is no part of "20 April"."""
_POINTED_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d")
_DAY_BEHIND = re.compile(r"[.,]?\s{1,2}(\d{1,2})(?![\d:/]|[.,]\d)")
_DAY_BEFORE = re.compile(r"(?<![\d:/.,-])(\d{1,2})日?[\s(（]{0,2}\Z")
_PARTED = re.compile(r"\d(?:[ ()./-]{0,2}\d){6,19}(?!\d)")
_PAIR = re.compile(r"(?<![\d.,:/-])(\d{1,2}|\d{4})(?:\s?[-–]\s?|\.)(\d{1,2})(?![\d:/-]|[.,]\d)")
"""Two figures that may be a day or a year with a month, or the hours from one to the other."""
_DIGITS = re.compile(r"(?<!\d)\d{1,20}(?!\d)")  # longer ones are no figures


class Shown:
    """The values that a screen shows, for comparison: those of its texts and its moment.

    `moment` is local, RFC 3339; '' for a text that is of no moment.
    """

    def __init__(self, texts: Iterable[str], moment: str = "") -> None:
        self.numbers: set[Decimal | int] = set()
        self._parts: set[Decimal | int] = set()  # of dates and clock times
        self.days: set[Day] = set()
        self.clocks: set[int] = set()
        self.weekdays: set[int] = set()
        self._texts = tuple(texts)
        self.found: list[Value] = []
        """Those of the first text."""
        self.written: set[Decimal] = set()
        self._moment = datetime.fromisoformat(moment[:16]) if moment else None
        for text in self._texts:
            flat = flattened(text)
            misread = set(mended(flat).split("\n")) - set(flat.split("\n"))
            forms = "\n".join((flat, *sorted(misread)))
            found = values(forms, is_read=True)
            self._add(forms, found)
            self.found = self.found or [value for value in found if value.end <= len(flat)]
        # A day without a year is mostly of the year in which it was on the screen.
        for year, month, of_month in self.days:
            year = year or (self._moment.year if self._moment else None)
            if year and month and of_month and is_day((year, month, of_month)):
                self.weekdays.add(date(year, month, of_month).weekday())

    def holds(self, value: Value) -> bool:
        """Whether one reading of a value is shown, or is of the moment."""
        return self._is_of_moment(value) or self.reads(value)

    def writes(self, value: Value) -> bool:
        """Whether a value stands here as itself: a number not as a part of a date or of a clock time."""
        is_number = value.kind == "number"
        return not value.readings.isdisjoint(self.written) if is_number else self.reads(value)

    def _is_of_moment(self, value: Value) -> bool:
        if (now := self._moment) is None:
            return False
        day = now.year, now.month, now.day
        if value.kind == "date":
            return any(_same_day(said, day) for said in value.readings)
        told = {"clock": (now.hour * 60 + now.minute,), "weekday": (now.weekday(),)}
        return not value.readings.isdisjoint(told.get(value.kind, (now.year, now.day)))

    def reads(self, value: Value) -> bool:
        if value.kind == "date":
            days = (shown for days in self._all_days for shown in days)
            return any(_same_day(said, shown) for shown in days for said in value.readings)
        if value.kind == "clock":
            clocks = any(not value.readings.isdisjoint(each) for each in (self.clocks, self._paired_hours))
            return clocks or not value.readings.isdisjoint(self._spoken_clocks)
        if value.kind == "weekday":
            return bool(value.readings & self.weekdays)
        if any(len(str(number)) >= LONG_NUMBER and str(number) in self._runs for number in value.readings):
            return True
        shown: list[Set[Any]] = [self.numbers]
        if all(reading.as_tuple().exponent > -THOUSANDTHS for reading in value.readings):
            shown += [self._parts, self._hours_of_half, self._counted]
        if value.kind == "spelled":
            shown.append(self._whole_and_rest)
        said = {
            reading * size
            for reading in value.readings
            for size in (1, *HUNDREDTHS)
            if size == 1 or reading % 1
        }
        return any(not said.isdisjoint(numbers) for numbers in shown) or bool(said & self._spelled_numbers)

    @cached_property
    def _runs(self) -> frozenset[str]:
        """Long numbers without what parts their digits: of telephones and accounts."""
        parted = (found[0] for text in self._texts for found in _PARTED.finditer(flattened(text)))
        return frozenset(re.sub(r"\D", "", digits).lstrip("0") for digits in parted)

    @cached_property
    def _counted(self) -> frozenset[int]:
        """Numbers in signs before what they count."""
        found = (each for text in self._texts for each in COUNTED_IN_SIGNS.finditer(flattened(text)))
        return frozenset(integer(each["number"]) for each in found)

    @cached_property
    def _whole_and_rest(self) -> frozenset[int]:
        """Both sides of the point of figures: in words they are two numbers."""
        numbers = self.numbers | self._parts
        whole = {int(number) for number in numbers}
        return frozenset(whole | {int(number * 100 % 100) for number in numbers if number % 1})

    @cached_property
    def _spelled_numbers(self) -> frozenset[Any]:
        """Numbers in words of the language that it is in, likewise rare."""
        found = (spelled(text, language_of(text)) for text in self._texts)
        return frozenset(reading for numbers in found for value in numbers for reading in value.readings)

    @cached_property
    def _spoken_clocks(self) -> frozenset[Any]:
        """Clock times in words. They are rare on screens, so none is looked for before one is missed."""
        lines = (_DIGITS.sub("\u0001", line) for text in self._texts for line in flattened(text).splitlines())
        clocks = (value.readings for line in lines for value in composed_clocks(line))
        return frozenset().union(*clocks)

    @property
    def _all_days(self) -> Iterator[Set[Day]]:
        yield self.days
        yield self._paired_days

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        return [(int(a), int(b)) for text in self._texts for a, b in _PAIR.findall(flattened(text))]

    @cached_property
    def _paired_days(self) -> Set[Day]:
        days = (day for a, b in self._pairs for day in ((None, a, b), (None, b, a), (a, b, None)))
        return {day for day in days if is_day(day) and day[0] != day[1]}

    @cached_property
    def _paired_hours(self) -> Set[int]:
        """The hours from one to the other: "16-17"."""
        return {60 * hour for pair in self._pairs if max(pair) <= 24 for hour in pair}

    @property
    def _hours_of_half(self) -> Set[int]:
        """Those hours as numbers, for "from 4 to 5 pm"."""
        return {minutes // 60 % 12 for minutes in self._paired_hours}

    def rounds_to(self, value: Value) -> bool:
        """Whether a clock time tells the moment as people round it: to five minutes, or half an hour."""
        return value.kind == "clock" and any(map(self._is_about, value.readings))

    def _is_about(self, said: int) -> bool:
        if self._moment is None or said % 5:
            return False
        off = abs(said - self._moment.hour * 60 - self._moment.minute)
        return min(off, 1440 - off) <= (15 if said % 30 == 0 else 5)

    def _add(self, text: str, found: Sequence[Value]) -> None:
        orders = _orders(text, found)
        is_24 = any(_is_late(value, text) for value in found)
        for value in found:
            written = text[value.start : value.end]
            runs = [int(run) for run in _DIGITS.findall(written)]
            if value.kind == "number":
                self.numbers |= value.readings
                self.written |= value.readings
                if re.search(SPACE, written):  # it may be two columns
                    self.numbers |= set(runs)
                if _POINTED_CLOCK.fullmatch(written):
                    self.clocks.add(runs[0] * 60 + runs[1])
            elif value.kind == "date":
                self._add_days(value.readings, runs, orders)
            elif value.kind == "clock":
                if len(runs) > 2:  # or so long: "2 h 37 min 18 s"
                    self._parts |= set(runs)
                as_written = {clock for clock in value.readings if clock // 60 in runs[:2]}
                is_bare = is_24 and as_written and not any(map(str.isalpha, written))
                self._add_clocks(as_written if is_bare else value.readings)
            else:
                self.weekdays |= value.readings
                before = _DAY_BEFORE.search(text, max(0, value.start - 6), value.start)
                for of_month in filter(None, (before, _DAY_BEHIND.match(text, value.end))):
                    if self._moment:
                        self.days |= set(_in_calendar(self._moment, value.readings, int(of_month[1])))

    def _add_days(self, days: Set[Day], runs: Sequence[int], orders: Set[str]) -> None:
        """Days, with their parts; one that may be two is read in the order of the others."""
        self.days |= {day for day in days if len(days) == 1 or not orders or _order(runs, day) in orders}
        self._parts |= {*runs, *(part for year, _, of_month in days for part in (year, of_month) if part)}

    def _add_clocks(self, clocks: Set[int]) -> None:
        """Clock times, with their hours as numbers, and as they are written with a point."""
        self.clocks |= clocks
        for hour, past in (divmod(clock, 60) for clock in clocks):
            self._parts |= {hour, hour % 12 or 12, hour + Decimal(past) / 100}


def _in_calendar(near: date, weekdays: Set[int], of_month: int) -> Iterator[Day]:
    """The days of a calendar's column or line, ``Mon 19``, ``19(月)``: of a day's month or one beside."""
    for month in range(near.month - 2, near.month + 1):
        day = near.year + month // 12, month % 12 + 1, of_month
        if is_day(day) and date(*day).weekday() in weekdays:
            yield day


def _is_late(value: Value, text: str) -> bool:
    """Whether a clock time can only be of a clock with 24 hours."""
    written = text[value.start : value.end]
    return value.kind == "clock" and min(value.readings) >= 13 * 60 and not any(map(str.isalpha, written))


def _orders(text: str, found: Sequence[Value]) -> set[str]:
    """In which orders a text surely writes day and month: told by days beyond 12."""
    orders = set()
    for value in found:
        if value.kind == "date":
            runs = [int(run) for run in _DIGITS.findall(text[value.start : value.end])]
            if len(value.readings) == 1:
                orders |= {_order(runs, day) for day in value.readings if day[1] != day[2]}
    return orders - {""}


def _order(runs: Sequence[int], day: Day) -> str:
    return "day" if runs[:2] == [day[2], day[1]] else "month" if runs[:2] == [day[1], day[2]] else ""


def _same_day(said: Day, shown: Day) -> bool:
    return all(
        a == b or a is None or (b is None and part == 0)
        for part, (a, b) in enumerate(zip(said, shown, strict=True))
    )
