"""What the words of a time mean on a calendar: from days, clocks and spans as said to milliseconds.

Days are settled first (`time_calendar`); then clock times, which borrow from each other what they leave
open ("2-5pm", "9 to 5"); the zone of the reader comes last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from assistant.language.time_calendar import MAX_DAYS, Calendar, back, days_of, months_back
from assistant.language.time_of_day import bounds_of, edge_of, ends_of, is_fixed, minute_of
from assistant.language.time_said import Date, Mode, Point, Refused, Span
from store.core import times

AROUND_MIN = 30
_UNIT_MS = {"second": 1_000, "minute": 60_000, "quarter_hour": 900_000, "hour": 3_600_000}
_UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MAX_ELAPSED_MS = 3_660 * 86_400_000
_TODAY = Date(days=0)


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
    if not span.start or not clock or any(map(is_fixed, span.points)) or clock.hour != 7 or clock.minute < 0:
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
    if not span.amount.is_integer() or not 0 < span.amount <= MAX_DAYS:
        raise Refused("unrecognised")
    if span.unit in _UNIT_DAYS:
        return today - timedelta(days=min(int(span.amount) * _UNIT_DAYS[span.unit], MAX_DAYS) - 1)
    months = min(int(span.amount) * _UNIT_MONTHS.get(span.unit, 1), MAX_DAYS // 30)
    return months_back(today, months) + timedelta(days=1)


def _of_point(point: Point, calendar: Calendar, around_min: int = 0) -> Iterator[Found]:
    """Days, a part of a day, a moment, or what lies around it."""
    if not point.has_time:
        days = days_of(point.date or _TODAY, calendar)
        for first, last in (days[:2], *days.also):
            yield _found(calendar.day(first).start_ms, calendar.day(last).end_ms)
        return
    start, end = (minute_of(point.clock, point.part),) * 2 if point.clock else bounds_of(point)
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
    begun = back(today, 1) if is_ahead else today
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
        first, last = ends_of(start, end)
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
        return _wall(on, edge_of(point, is_end=is_end), calendar, later=is_end)
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
    edge = edge_of(point, is_end=is_back if point.clock else mode in ("until", "after"))
    for on in _dates(point, edge, calendar):
        day, (at_ms, kind) = calendar.day(on), _wall(on, edge, calendar)
        if is_back:
            yield _found(min(day.start_ms, at_ms), at_ms, end=kind)
        elif mode == "since" or (mode == "from" and not point.date):
            yield _up_to_now(at_ms, kind, calendar)
        else:
            end_ms = day.end_ms if day.end_ms > at_ms else calendar.day(back(on, -1)).end_ms
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
