"""What is said of a time, before any calendar: days, clock times, parts of the day and spans of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

Problem = Literal["unrecognised", "unread", "ambiguous", "future", "no_such_date", "no_such_time"]
Mode = Literal[
    "point", "range", "since", "until", "before", "after", "from", "around", "rolling", "ago", "ahead"
]


class Refused(Exception):
    """Understood, and not possible."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem: Problem = problem


class Part(NamedTuple):
    """A part of the day in minutes after midnight; beyond 1440 is the next day.

    Its clock times lie in the twelve hours from `clock_min` on; `opens` and `closes` are where it
    begins and ends when it is one end of a range.
    """

    start_min: int
    end_min: int
    clock_min: int
    opens: int
    closes: int


PARTS = {
    "dawn": Part(0, 360, 0, 0, 360),
    "morning": Part(360, 720, 0, 360, 720),
    "noon": Part(660, 780, 360, 720, 720),
    "lunch": Part(660, 780, 360, 720, 780),
    "afternoon": Part(720, 1080, 720, 720, 1080),
    "dusk": Part(1020, 1140, 720, 1020, 1140),
    "evening": Part(1080, 1440, 1020, 1080, 1440),
    "night": Part(1200, 1680, 1020, 1200, 1680),
}


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock time as said; `half` is am, pm or nothing, `is_bare` leaves the half of the day open.

    Of "quarter to five" the hour is five and the minute -15: the hour that is named decides.
    """

    hour: int
    minute: int = 0
    half: str = ""
    is_bare: bool = False
    is_midnight: bool = False  # the one before as a start, the one behind as an end

    @property
    def at(self) -> int:
        """In minutes after midnight, as it is written."""
        return self.hour * 60 + self.minute


@dataclass(frozen=True, slots=True)
class Date:
    """What is said of a day, week, month or year; None where nothing is said.

    `days`, `weeks`, `months` and `years` count back from today. `nth` is the number of a weekday in its
    month; `size` makes of the day the week, weekend or quarter that holds it, and of a month its early, mid
    or late part.
    """

    days: int | None = None
    weeks: int | None = None
    months: int | None = None
    years: int | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    nth: int | None = None
    size: str | None = None
    is_last: bool | None = None
    is_slash: bool | None = None

    def merged(self, other: Date) -> Date | None:
        """Both together; None where they contradict or do not belong together."""
        said: dict[str, object] = {}
        for name in _DATE_FIELDS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None and theirs is not None and (mine != theirs or name == "days"):
                return None
            said[name] = theirs if mine is None else mine
        both = Date(**said)  # type: ignore[arg-type]
        is_in_month = both.month is not None or both.months is not None
        is_week = both.weeks is not None or both.size == "weekend"
        if is_week and (is_in_month or both.day is not None):
            return None
        if both.weekday is not None and is_in_month and both.day is None and both.nth is None:
            return replace(both, nth=-1, is_last=None) if both.is_last else None
        return None if both.month is not None and both.months is not None else both

    def completed(self, other: Date) -> Date:
        """With what the other end of a range says of month and year, or of the week."""
        if self.month is not None and self.year is None and self.years is None:
            return replace(self, year=other.year, years=other.years)
        if self.is_relative or self.year is not None or self.month is not None or self.is_last or self.size:
            return self
        if self.day is not None:
            return replace(self, month=other.month, months=other.months, year=other.year, years=other.years)
        is_weekday = self.weekday is not None and self.nth is None and other.size is None
        return replace(self, weeks=other.weeks) if is_weekday else self

    @property
    def is_relative(self) -> bool:
        """Whether it counts from today."""
        return any(count is not None for count in (self.days, self.weeks, self.months, self.years))


_DATE_FIELDS = tuple(field.name for field in fields(Date))


@dataclass(frozen=True, slots=True)
class Point:
    """A day, a time of day or both; `half` is the early or the late half of its part of the day."""

    date: Date | None = None
    clock: Clock | None = None
    part: Part | None = None
    half: str = ""
    is_now: bool = False

    def merged(self, other: Point) -> Point | None:
        """Both together, None where they contradict."""
        if (self.clock and other.clock) or (self.part and other.part) or self.is_now or other.is_now:
            return None
        day = self.date or other.date
        if self.date and other.date:
            day = self.date.merged(other.date)
            if day is None:
                return None
        return Point(day, self.clock or other.clock, self.part or other.part, self.half or other.half)

    def placed(self, place: Point) -> Point | None:
        """On a day and in a part of it, where its own words leave the part open."""
        is_told = bool(self.part or (self.clock and self.clock.half))
        return self.merged(Point(place.date) if is_told else place)

    @property
    def has_time(self) -> bool:
        return bool(self.clock or self.part)

    @property
    def is_day(self) -> bool:
        """Whether it is one day, without a time of day."""
        said = self.date
        is_one = said and said.size is None and not (said.days is said.day is said.weekday is None)
        return bool(is_one) and not self.has_time


@dataclass(frozen=True, slots=True)
class Span:
    """A point, what lies between, before or after points, or an amount of a unit back from now."""

    mode: Mode
    start: Point | None = None
    end: Point | None = None
    amount: float = 0
    unit: str = ""

    @property
    def has_time(self) -> bool:
        return any(point.has_time for point in self.points)

    def placed(self, place: Point, *, is_before: bool) -> Span | None:
        """The same times on a day and in a part of it, which stand before them or behind; None where they
        contradict. What stands beside one end tells the part of the day of that end.
        """
        if self.mode in ("rolling", "ago", "ahead") or any(point.is_now for point in self.points):
            return None
        start, end = self.start, self.end
        if not start or (not place.date and end and start.date != end.date):
            return None  # the mornings from Monday to Wednesday
        day = Point(place.date)
        if end:
            start, end = start.placed(place if is_before else day), end.placed(day if is_before else place)
        else:
            start = start.placed(place)
        return replace(self, start=start, end=end) if start and (end or not self.end) else None

    def on(self, day: Date | None) -> Span:
        """The same times on another day."""
        start, end = (point and replace(point, date=day) for point in (self.start, self.end))
        return replace(self, start=start, end=end)

    @property
    def points(self) -> list[Point]:
        return [point for point in (self.start, self.end) if point]
