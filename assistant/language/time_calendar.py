"""What the words of a time mean on a calendar: from days, clocks and spans as said to milliseconds.

Days are settled first, since "last Friday" needs to know today; then clock times, which borrow from
each other what they leave open ("2-5pm", "9 to 5"); the zone of the reader comes last.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.language.time_said import Clock, Date, Mode, Part, Point, Refused, Span
from store.core import times

AROUND_MIN = 30
_UNIT_MS = {"second": 1_000, "minute": 60_000, "quarter_hour": 900_000, "hour": 3_600_000}
_THIRDS = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}
"""Days of a month's parts, as 上旬, 中旬 and 下旬 have them."""
_UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MAX_ELAPSED_MS = 3_660 * 86_400_000
_MAX_DAYS = 3_660
_FIRST_YEAR, _LAST_YEAR = 1971, 9_000
_TODAY = Date(days=0)
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


@dataclass(frozen=True, slots=True)
class Found:
    """A range, or a moment where `at_ms` is set; `phrase` is the part of the text that said so.

    `is_clamped` when a later end was cut to now, `is_open` when now was meant as the end: "so far".
    `also` holds other readings, nearest first; `further` holds ranges that are meant together with
    this one ("Monday and Wednesday"), earliest first. What names no beginning starts at 0.
    `adjusted` says which end fell into a gap or an overlap of the zone's clock:
    ``(("end", "overlap"),)``. `around_ms` is the moment that a range lies around: of noon 12:00.
    """

    phrase: str
    start_ms: int
    end_ms: int
    at_ms: int | None = None
    is_clamped: bool = False
    also: tuple[Found, ...] = ()
    adjusted: tuple[tuple[str, str], ...] = ()
    is_open: bool = False
    further: tuple[Found, ...] = ()
    around_ms: int | None = None

    @property
    def opens_ms(self) -> int:
        """Where it is best looked at first: the moment that it lies around, once that has come."""
        at_ms = self.around_ms
        return at_ms if at_ms is not None and at_ms < self.end_ms else self.start_ms

    @property
    def is_so_far(self) -> bool:
        """Whether more of it may still come."""
        return self.is_clamped or self.is_open


class Days(NamedTuple):
    """The dates from `first` to `last`, and other days that may be meant."""

    first: date
    last: date
    also: tuple[tuple[date, date], ...] = ()


def found_of(span: Span, phrase: str, calendar: Calendar) -> Found:
    """The range that a span means, up to now. Raises `Refused`."""
    readings = [each for said in (span, _in_the_morning(span)) if said for each in _readings(said, calendar)]
    if readings[0].start_ms >= calendar.ends_ms:
        raise Refused("future")
    begun = [replace(each, phrase=phrase) for each in readings if each.start_ms < calendar.ends_ms]
    for at, each in enumerate(begun):
        if each.end_ms > calendar.ends_ms:
            begun[at] = replace(each, end_ms=calendar.now_ms, is_clamped=not each.is_open)
    return replace(begun[0], also=tuple(begun[1:]))


def _in_the_morning(span: Span) -> Span | None:
    """Seven is said of the evening and of the morning alike."""
    clock = span.start.clock if span.start else None
    if not span.start or not clock or any(map(_is_fixed, span.points)) or clock.hour != 7 or clock.minute < 0:
        return None
    return replace(span, start=replace(span.start, clock=replace(clock, half="am")))


def _readings(span: Span, calendar: Calendar) -> Iterator[Found]:
    """The likeliest first."""
    now_ms = calendar.now_ms
    match span.mode:
        case "ahead":
            raise Refused("future")
        case "ago":
            at_ms = now_ms - _elapsed_ms(span)
            yield _found(at_ms, at_ms, is_moment=True)
        case "rolling" if span.unit in _UNIT_MS:
            yield _found(now_ms - _elapsed_ms(span), now_ms)
        case "rolling":
            first = calendar.day(_rolled_back(span, calendar.today))
            yield _found(first.start_ms, now_ms, is_open=True)
        case "range":
            assert span.start and span.end
            yield from _of_range(span.start, span.end, calendar)
        case "before" | "until" | "after" | "since" | "from":
            assert span.start
            yield from _of_open(span.mode, span.start, calendar)
        case _:
            assert span.start
            yield from _of_point(span.start, calendar, AROUND_MIN if span.mode == "around" else 0)


def _elapsed_ms(span: Span) -> int:
    # Bounded before it is rounded: a number of 400 digits is infinite.
    elapsed_ms = round(min(span.amount * _UNIT_MS.get(span.unit, 86_400_000), _MAX_ELAPSED_MS + 1))
    if not 0 < elapsed_ms <= _MAX_ELAPSED_MS:
        raise Refused("unrecognised")
    return elapsed_ms


def _rolled_back(span: Span, today: date) -> date:
    """The first day of so many days or months up to today."""
    if not span.amount.is_integer() or not 0 < span.amount <= _MAX_DAYS:
        raise Refused("unrecognised")
    if span.unit in _UNIT_DAYS:
        return today - timedelta(days=min(int(span.amount) * _UNIT_DAYS[span.unit], _MAX_DAYS) - 1)
    months = min(int(span.amount) * _UNIT_MONTHS.get(span.unit, 1), _MAX_DAYS // 30)
    return _months_back(today, months) + timedelta(days=1)


def _months_back(on: date, months: int) -> date:
    """The same date so many months before, or the last of its month."""
    month = on.year * 12 + on.month - 1 - months
    if not _FIRST_YEAR <= month // 12 <= _LAST_YEAR:
        raise Refused("no_such_date")
    last = monthrange(month // 12, month % 12 + 1)[1]
    return date(month // 12, month % 12 + 1, min(on.day, last))


# -- days ---------------------------------------------------------------------------------


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
        return _months_back(calendar.today, -1) - timedelta(days=1)
    return calendar.today + timedelta(days=6 if said.weekday is not None and said.month is None else 182)


def _days_of(said: Date, calendar: Calendar, latest: date) -> Days:
    today = calendar.today
    if said.size == "weekend":  # without a word for which, the last that has begun
        saturday = _back(today, today.weekday() - 5)
        first = _back(saturday, 7 * (int(saturday > today) if said.weeks is None else said.weeks))
        return _days_from(first, 2) if said.weekday is None else _days_from(_back(first, 5 - said.weekday))
    if said.size == "week" and said.nth is not None:
        return _days_from(_of_week(said.nth, said.year, latest))
    if said.days is not None:
        months = (said.months or 0) + 12 * (said.years or 0)
        return _days_from(_back(_months_back(today, months), said.days + 7 * (said.weeks or 0)))
    if said.weeks is not None:
        on = _back(today, 7 * said.weeks)
        first = calendar.week_of(on)
        if said.weekday is not None:
            return _days_from(_back(first, -((said.weekday - calendar.week_start) % 7)))
        # Of a week that is only counted back the one day may be meant.
        return Days(first, _back(first, -6), ((on, on),) if said.size == "ago" else ())
    if said.weekday is None or said.nth is not None or said.day is not None or said.month is not None:
        return _dated(said, today, latest)
    if not said.is_last:
        return _days_from(_back(latest, (latest.weekday() - said.weekday) % 7))
    on = _back(today, (today.weekday() - said.weekday - 1) % 7 + 1)
    earlier = _back(on, 7)
    return Days(on, on, ((earlier, earlier),) if on >= calendar.week_of(today) else ())


def _of_week(number: int, year: int | None, latest: date) -> date:
    """The Thursday of a week of the year (ISO 8601), which is of that year in any case."""
    years = (year,) if year else (latest.year, latest.year - 1)
    with suppress(ValueError):
        weeks = (date.fromisocalendar(each, number, 4) for each in years)
        return next(week for week in weeks if year or week - timedelta(days=3) <= latest)
    raise Refused("no_such_date")


def _days_from(first: date, count: int = 1) -> Days:
    return Days(first, _back(first, 1 - count))


def _back(on: date, days: int) -> date:
    try:
        return on - timedelta(days=max(-_MAX_DAYS, min(days, 10 * _MAX_DAYS)))
    except OverflowError as error:
        raise Refused("no_such_date") from error


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


# -- clock times --------------------------------------------------------------------------


def minute_of(clock: Clock, part: Part | None) -> int:
    """Minutes after midnight. Raises `Refused` for what no clock shows."""
    if clock.minute > 59 or clock.at > 1440 or (clock.half and not 1 <= clock.hour <= 12):
        raise Refused("no_such_time")
    if clock.half:
        return clock.at % 720 + (720 if clock.half == "pm" else 0)
    if part and clock.hour <= 12:
        return (clock.at - part.clock_min) % 720 + part.clock_min
    return clock.at + 720 if clock.is_bare and 1 <= clock.hour <= 7 else clock.at


def _is_fixed(point: Point) -> bool:
    """Whether a time of day says in which half of the day it lies."""
    clock = point.clock
    return clock is None or bool(point.part or clock.half or not clock.is_bare or clock.hour > 12)


def _ends_of(start: Point, end: Point) -> tuple[int, int]:
    """Both ends of a range in minutes; what one leaves open follows from the other."""
    first, last = _edge(start, is_end=False), _edge(end, is_end=True)
    if not _is_fixed(end):
        last = first + ((last - first) % 720 or 720)
    elif not _is_fixed(start):
        last += 0 if first % 720 < last else 1440
        first = last - ((last - first) % 720 or 720)
    elif last < first:
        last += 1440
    if last == first:
        raise Refused("no_such_time")
    return first, last


def _edge(point: Point, *, is_end: bool) -> int:
    if point.clock is None:
        assert point.part
        opens_closes = _bounds(point) if point.half else (point.part.opens, point.part.closes)
        return opens_closes[is_end]
    if point.clock.is_midnight and (is_end or point.part):
        return 1440
    return minute_of(point.clock, point.part)


def _bounds(point: Point) -> tuple[int, int]:
    """A part of the day in minutes, or its early or late half."""
    assert point.part
    start, end = point.part.start_min, point.part.end_min
    middle = (start + end) // 2
    return (middle if point.half == "late" else start), (middle if point.half == "early" else end)


# -- points and ranges --------------------------------------------------------------------


def _of_point(point: Point, calendar: Calendar, around_min: int = 0) -> Iterator[Found]:
    """Days, a part of a day, a moment, or what lies around it."""
    if not point.has_time:
        days = days_of(point.date or _TODAY, calendar)
        for first, last in (days[:2], *days.also):
            yield _found(calendar.day(first).start_ms, calendar.day(last).end_ms)
        return
    start, end = (minute_of(point.clock, point.part),) * 2 if point.clock else _bounds(point)
    middle = point.part.closes if point.part and not point.clock else start
    for on in _dates(point, start, calendar):
        if start < end or around_min:
            margin = around_min if point.clock else 0
            found = _between(on, start - margin, end + margin, calendar)
            is_around = start - margin < middle < end + margin
            yield replace(found, around_ms=_wall(on, middle, calendar)[0] if is_around else None)
            continue
        (at_ms, kind), (again_ms, _) = _wall(on, start, calendar), _wall(on, start, calendar, later=True)
        for each_ms in sorted({at_ms, again_ms}):
            yield _found(each_ms, each_ms, at=kind if each_ms == at_ms else "", is_moment=True)


def _dates(point: Point, minute: int, calendar: Calendar) -> list[date]:
    """The dates that a time of day may be on: without a date the last on which it has begun.

    "Today" in the small hours is the night just passed.
    """
    now = times.to_local(calendar.now_ms, calendar.zone)
    today = calendar.today
    is_ahead = today == now.date() and minute > now.hour * 60 + now.minute
    begun = _back(today, 1) if is_ahead else today
    if point.date in (None, _TODAY):
        on = now.date() if minute < calendar.day_start_min else today
        return [begun if point.date is None and on == today else on]
    assert point.date
    is_weekday = point.date == Date(weekday=point.date.weekday)
    days = days_of(point.date, calendar, begun if is_weekday else None)
    if days.first != days.last:
        if point.date.size != "ago":
            raise Refused("unrecognised")
        return [days.also[0][0]]
    return [days.first, *(first for first, _ in days.also)]


def _of_range(start: Point, end: Point, calendar: Calendar) -> Iterator[Found]:
    is_year_shared = start.date is not None and start.date.year is None
    start, end = _shared(start, end)
    if start.has_time and end.has_time and start.date == end.date:
        first, last = _ends_of(start, end)
        for on in _dates(start, first, calendar):
            yield _between(on, first, last, calendar)
        return
    last_days = None if end.is_now else days_of(end.date or _TODAY, calendar)
    until = last_days.last if last_days else calendar.today
    before = last_days.first - timedelta(days=1) if last_days and start.date != end.date else None
    first_day = days_of(start.date or _TODAY, calendar, before).first
    if first_day > until and is_year_shared and start.date and start.date.year:  # "Dec to Feb 2026"
        first_day = days_of(replace(start.date, year=start.date.year - 1), calendar).first
    if first_day > until:
        raise Refused("no_such_date")
    (start_ms, opens), (end_ms, closes) = (
        _at(point, on, calendar, is_end=is_end)
        for point, on, is_end in ((start, first_day, False), (end, until, True))
    )
    yield _found(start_ms, end_ms, is_open=end.is_now, start=opens, end=closes)


def _shared(start: Point, end: Point) -> tuple[Point, Point]:
    """What one end says of the day and leaves out at the other belongs to both."""
    first, last = start.date or end.date, end.date or start.date
    if start.is_now or end.is_now or not first or not last:
        return start, end
    return replace(start, date=first.completed(last)), replace(end, date=last.completed(first))


def _at(point: Point, on: date, calendar: Calendar, *, is_end: bool) -> tuple[int, str]:
    """An end of a range on its day, and what was adjusted."""
    if point.is_now:
        return calendar.now_ms, ""
    if point.has_time:
        return _wall(on, _edge(point, is_end=is_end), calendar, later=is_end)
    day = calendar.day(on)
    return (day.end_ms if is_end else day.start_ms), ""


def _of_open(mode: Mode, point: Point, calendar: Calendar) -> Iterator[Found]:
    """What lies before, after, since or until a point: with a time of day within its day, but since."""
    is_back = mode in ("before", "until")
    if not point.has_time:
        days = days_of(point.date or _TODAY, calendar)
        start_ms, end_ms = calendar.day(days.first).start_ms, calendar.day(days.last).end_ms
        at_ms = end_ms if mode in ("until", "after") else start_ms
        yield _found(times.MIN_MS, at_ms) if is_back else _up_to_now(at_ms, "", calendar)
        return
    edge = _edge(point, is_end=is_back if point.clock else mode in ("until", "after"))
    for on in _dates(point, edge, calendar):
        day, (at_ms, kind) = calendar.day(on), _wall(on, edge, calendar)
        if is_back:
            yield _found(min(day.start_ms, at_ms), at_ms, end=kind)
        elif mode == "since" or (mode == "from" and not point.date):
            yield _up_to_now(at_ms, kind, calendar)
        else:
            end_ms = day.end_ms if day.end_ms > at_ms else calendar.day(_back(on, -1)).end_ms
            yield _found(at_ms, end_ms, start=kind)


def _up_to_now(start_ms: int, kind: str, calendar: Calendar) -> Found:
    return _found(start_ms, max(start_ms, calendar.now_ms), is_open=True, start=kind)


def _between(on: date, first: int, last: int, calendar: Calendar) -> Found:
    """A range between two minutes after a date's midnight."""
    (start_ms, start), (end_ms, end) = _wall(on, first, calendar), _wall(on, last, calendar, later=True)
    return _found(start_ms, end_ms, start=start, end=end)


def _found(
    start_ms: int, end_ms: int, *, is_open: bool = False, is_moment: bool = False, **adjusted: str
) -> Found:
    if end_ms < start_ms or (end_ms == start_ms and not (is_open or is_moment)):
        raise Refused("no_such_time")
    kinds = tuple((end, kind) for end, kind in adjusted.items() if kind)
    return Found("", start_ms, end_ms, start_ms if is_moment else None, adjusted=kinds, is_open=is_open)


def _wall(on: date, minute: int, calendar: Calendar, *, later: bool = False) -> tuple[int, str]:
    """(epoch milliseconds, gap or overlap or nothing) of minutes after a date's midnight."""
    zone, wall = calendar.zone, datetime.combine(on, time()) + timedelta(minutes=minute)
    first, second = times.wall_to_ms(wall, zone), times.wall_to_ms(wall, zone, later=True)
    if first != second:
        return (second if later else first), "overlap"
    return first, "" if times.to_local(first, zone).replace(tzinfo=None) == wall else "gap"
