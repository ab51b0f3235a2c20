"""A reader's calendar, and the days on it that words mean: "last Friday" needs to know today."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.language.time_said import Date, Refused
from store.core import times

MAX_DAYS = 3_660
_THIRDS = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}
"""Days of a month's parts, as 上旬, 中旬 and 下旬 have them."""
_FIRST_YEAR, _LAST_YEAR = 1971, 9_000
_LEAP_CYCLE_YEARS = 8  # 29 February comes at least this often


@dataclass(frozen=True, slots=True)
class Calendar:
    """Whose "today", and when it is: the reader's clock, zone and habits. What was recorded is past; with
    `is_to_come` a time may be to come as well, as that of an appointment.
    """

    now_ms: int
    zone: ZoneInfo
    day_start_min: int = 0
    week_start: int = 0  # 0 = Monday
    is_to_come: bool = False

    @property
    def today(self) -> date:
        """The logical day that holds now: before the day start it is still yesterday's date."""
        return times.day_of(self.now_ms, self.zone, self.day_start_min).date

    @property
    def ends_ms(self) -> int:
        """When the last time ends that can be meant."""
        return times.MAX_MS if self.is_to_come else self.now_ms

    def day(self, on: date) -> times.Day:
        """The logical day of a date."""
        return times.day(on, self.zone, self.day_start_min)

    def week_of(self, on: date) -> date:
        """The first day of the week that holds a date."""
        return on - timedelta(days=(on.weekday() - self.week_start) % 7)


class Days(NamedTuple):
    """The dates from `first` to `last`, and other days that may be meant."""

    first: date
    last: date
    also: tuple[tuple[date, date], ...] = ()


def days_of(said: Date, calendar: Calendar, latest: date | None = None) -> Days:
    """The days that are meant; what leaves its week, month or year open is the last up to `latest`.

    Raises `Refused` for what no calendar has, and where the words contradict each other.
    """
    days = _days_of(said, calendar, latest or _latest(said, calendar))
    on = days.first
    contradicts = any(
        getattr(said, name) not in (None, getattr(on, name)) for name in ("year", "month", "day")
    ) or (said.nth is None and said.weekday not in (None, on.weekday()))
    if contradicts or (on == days.last and not times.day(on, calendar.zone).exists):
        raise Refused("no_such_date")
    if said.size == "week" and said.weeks is None:
        return _days_from(calendar.week_of(on), 7)
    return days


def _latest(said: Date, calendar: Calendar) -> date:
    """Up to when a day may lie that leaves open which it is: to come the next weekday, the next with its
    number, or the nearer year.
    """
    if not calendar.is_to_come:
        return calendar.today
    if said.day is not None and said.month is None:
        return months_back(calendar.today, -1) - timedelta(days=1)
    return calendar.today + timedelta(days=6 if said.weekday is not None and said.month is None else 182)


def _days_of(said: Date, calendar: Calendar, latest: date) -> Days:
    today = calendar.today
    if said.size == "weekend":  # without a word for which, the last that has begun
        saturday = back(today, today.weekday() - 5)
        first = back(saturday, 7 * (int(saturday > today) if said.weeks is None else said.weeks))
        return _days_from(first, 2) if said.weekday is None else _days_from(back(first, 5 - said.weekday))
    if said.size == "week" and said.nth is not None:
        return _days_from(_of_week(said.nth, said.year, latest))
    if said.days is not None:
        months = (said.months or 0) + 12 * (said.years or 0)
        return _days_from(back(months_back(today, months), said.days + 7 * (said.weeks or 0)))
    if said.weeks is not None:
        on = back(today, 7 * said.weeks)
        first = calendar.week_of(on)
        if said.weekday is not None:
            return _days_from(back(first, -((said.weekday - calendar.week_start) % 7)))
        # Of a week that is only counted back the one day may be meant.
        return Days(first, back(first, -6), ((on, on),) if said.size == "ago" else ())
    if said.weekday is None or said.nth is not None or said.day is not None or said.month is not None:
        return _dated(said, today, latest)
    if not said.is_last:
        return _days_from(back(latest, (latest.weekday() - said.weekday) % 7))
    on = back(today, (today.weekday() - said.weekday - 1) % 7 + 1)
    earlier = back(on, 7)
    return Days(on, on, ((earlier, earlier),) if on >= calendar.week_of(today) else ())


def _of_week(number: int, year: int | None, latest: date) -> date:
    """The Thursday of a week of the year (ISO 8601), which is of that year in any case."""
    years = (year,) if year else (latest.year, latest.year - 1)
    with suppress(ValueError):
        weeks = (date.fromisocalendar(each, number, 4) for each in years)
        return next(week for week in weeks if year or week - timedelta(days=3) <= latest)
    raise Refused("no_such_date")


def _days_from(first: date, count: int = 1) -> Days:
    return Days(first, back(first, 1 - count))


def back(on: date, days: int) -> date:
    try:
        return on - timedelta(days=max(-MAX_DAYS, min(days, 10 * MAX_DAYS)))
    except OverflowError as error:
        raise Refused("no_such_date") from error


def months_back(on: date, months: int) -> date:
    """The same date so many months before, or the last of its month."""
    month = on.year * 12 + on.month - 1 - months
    if not _FIRST_YEAR <= month // 12 <= _LAST_YEAR:
        raise Refused("no_such_date")
    last = monthrange(month // 12, month % 12 + 1)[1]
    return date(month // 12, month % 12 + 1, min(on.day, last))


def _dated(said: Date, today: date, latest: date) -> Days:
    """A day, month, quarter or year; the last that exists and has begun, where its year is left open."""
    year = today.year - said.years if said.years is not None else said.year
    if said.months is not None:
        tried: Iterable[int] = [today.year * 12 + today.month - 1 - said.months]
    elif year is None:
        last = latest.year * 12 + latest.month - 1
        tried = range(last, last - 12 * _LEAP_CYCLE_YEARS - 12, -1)
    elif said.month is not None:
        tried = [year * 12 + said.month - 1] if 1 <= said.month <= 12 else ()
    elif said.day is None and said.nth is None and _FIRST_YEAR <= year <= _LAST_YEAR:
        return Days(date(year, 1, 1), date(year, 12, 31))
    else:
        tried = ()
    is_open = year is None and said.months is None
    for month in tried:
        days = _of_month(said, month // 12, month % 12 + 1)
        if days and (not is_open or days.first <= latest):
            return days
    raise Refused("no_such_date")


def _of_month(said: Date, year: int, month: int) -> Days | None:
    if not _FIRST_YEAR <= year <= _LAST_YEAR or said.month not in (None, month):
        return None
    length = monthrange(year, month)[1]
    first = date(year, month, 1)
    if said.nth is not None and said.weekday is not None:
        days = range(1 + (said.weekday - first.weekday()) % 7, length + 1, 7)
        day = next(iter(days[said.nth - (said.nth > 0) :]), 0)
    elif said.day is None:
        if said.size in _THIRDS:
            opens, closes = _THIRDS[said.size]
            return Days(date(year, month, opens), date(year, month, min(closes, length)))
        if said.size == "quarter":
            first = date(year, month - (month - 1) % 3, 1)
            month = first.month + 2
        return Days(first, date(year, month, monthrange(year, month)[1]))
    else:
        day = said.day
    return _days_from(date(year, month, day)) if 1 <= day <= length else None
