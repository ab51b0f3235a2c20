"""What a person calls a time, as a range: "today 14:00-17:00", "上周五下午", "last 2 hours".

In a field every word must be understood: a parser that skips what it does not know turns "next friday"
into today. In a message the longest phrase inside the sentence counts; one with an @mention goes first.

::

    phrase  = rolling | since | date "-" date | day [times] | times [day] | week | month
    rolling = ("last" | "past" | 最近 …) [number] unit | "@last-hour"
    since   = ("since" | "from" | "after" | 从) [day] clock | "since" day
    times   = [part] clock ["-" [part] clock] | part
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from assistant.language.time_words import (
    EVENING,
    Clock,
    Kind,
    Part,
    Problem,
    Refused,
    Times,
    Token,
    clock_range,
    lex,
    minute_of,
)
from store.core import times as days

MOMENT_MARGIN_MS = 300_000
"""A single moment, where a range is wanted, is widened by this much on each side."""


@dataclass(frozen=True, slots=True)
class Found:
    """A range, or a moment where `at_ms` is set; `phrase` is the part of the text that said so.

    `is_clamped` when a later end was cut to now, `is_open` when now was meant as the end: "so far".
    `also` holds other readings, nearest first; `further` holds ranges that are meant together with
    this one ("Monday and Wednesday"), earliest first. What names no beginning starts at 0.
    `adjusted` says which end fell into a gap or an overlap of the zone's clock:
    ``(("end", "overlap"),)``.
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

    @property
    def is_so_far(self) -> bool:
        """Whether more of it may still come."""
        return self.is_clamped or self.is_open


@dataclass(frozen=True, slots=True)
class Refusal:
    """No range. `phrase` is the part that was not understood, or that cannot be.

    `also` holds the readings to choose from where there are two ("ambiguous"), and what stands without the
    words that were not read ("unread").
    """

    phrase: str
    problem: Problem
    also: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class Calendar:
    """Whose "today", and when it is: the reader's clock, zone and habits."""

    now_ms: int
    zone: ZoneInfo
    day_start_min: int = 0
    week_start: int = 0  # 0 = Monday

    @property
    def today(self) -> date:
        """The logical day that holds now: before the day start it is still yesterday's date."""
        return days.day_of(self.now_ms, self.zone, self.day_start_min).date


def in_field(text: str, calendar: Calendar) -> Found | Refusal:
    """The range a whole text means; every word of it must be understood, fill words aside."""
    tokens = lex(text)
    reader = Reader(tokens, 0, calendar.today, calendar.week_start)
    try:
        phrase = reader.phrase()
    except Refused as refused:
        return Refusal(text.strip(), refused.problem)
    if phrase is None or not reader.is_at_end():
        return Refusal(_left_over(text, tokens, reader.reached if phrase else 0), "unrecognised")
    return _resolved(phrase, text.strip(), calendar)


def in_message(text: str, calendar: Calendar) -> Found | Refusal | None:
    """The range that a sentence names: its longest phrase that has one, widened if it is a moment.

    A phrase that cannot be (tomorrow, 30 February) is a refusal when there is no other. None when
    the sentence names no time.
    """
    outcomes = _inside(text, calendar)
    for size_first in (Found, Refusal):
        for outcome in outcomes:
            if isinstance(outcome, size_first):
                return widened(outcome, calendar) if isinstance(outcome, Found) else outcome
    return None


# -- in a sentence ------------------------------------------------------------------------

_SHORT_WEEKDAYS = {"mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun"}


def _inside(text: str, calendar: Calendar) -> list[Found | Refusal]:
    """What each phrase of a sentence means, the longest first, before them those with an @mention."""
    tokens = lex(text)
    found: list[tuple[bool, int, Found | Refusal]] = []
    for at in range(len(tokens)):
        if not _may_begin(tokens, at):
            continue
        reader = Reader(tokens, at, calendar.today, calendar.week_start)
        problem: Problem | None = None
        phrase = None
        try:
            phrase = reader.phrase()
        except Refused as refused:
            problem = refused.problem
        used = tokens[at : reader.reached]
        if not used:
            continue
        words = text[used[0].start : used[-1].end]
        is_mention = any(token.text.startswith("@") for token in used)
        size = sum(token.size for token in used)
        if problem:
            found.append((is_mention, size, Refusal(words, problem)))
        elif phrase:
            found.append((is_mention, size, _resolved(phrase, words, calendar)))
    return [outcome for *_, outcome in sorted(found, key=lambda each: (not each[0], -each[1]))]


def _may_begin(tokens: Sequence[Token], at: int) -> bool:
    """Whether a sentence can mean a time here: not "the sun", not "these 3 may", not 一点."""
    token = tokens[at]
    before = tokens[at - 1] if at else None
    word = token.text.casefold()
    if token.kind is Kind.FILL:
        return False
    if before and before.kind in (Kind.AFTER, Kind.BEFORE, Kind.SINCE, Kind.NEXT):
        return False  # "after lunch" is not lunch; "since monday" was read as a whole
    if token.kind is Kind.WEEKDAY and word in _SHORT_WEEKDAYS:
        return before is not None and before.text.casefold() in ("on", "last", "this")
    if token.kind is Kind.DATE and "may" in word:
        return "May" in token.text
    if token.kind is Kind.PART and token.text.isascii():
        return before is not None and before.kind is Kind.FILL
    if token.kind is Kind.CLOCK and token.value.is_han:
        return token.text[0].isdecimal()
    return token.kind is not Kind.NUMBER or is_clock_range(tokens, at)


def widened(found: Found, calendar: Calendar) -> Found:
    """A moment as the range around it; anything else as it is."""
    if found.at_ms is None:
        return found
    start_ms, end_ms = found.at_ms - MOMENT_MARGIN_MS, found.at_ms + MOMENT_MARGIN_MS
    also = tuple(widened(each, calendar) for each in found.also)
    return replace(found, start_ms=start_ms, end_ms=min(end_ms, calendar.now_ms), at_ms=None, also=also)


def _left_over(text: str, tokens: Sequence[Token], at: int) -> str:
    """The words that were not understood, to be named."""
    left = [token for token in tokens[at:] if token.kind is not Kind.FILL]
    if not at:
        left = [token for token in left if token.kind is Kind.UNKNOWN] or left
    return text[left[0].start : left[-1].end] if left else text.strip()


@dataclass(frozen=True, slots=True)
class Phrase:
    """What was understood. `days` holds the readings, the likeliest first; none means today.

    `elapsed_ms` counts back from now instead; `is_open` runs up to now.
    """

    days: tuple[Days, ...] = ()
    times: Times | None = None
    elapsed_ms: int | None = None
    is_open: bool = False


# -- from words to milliseconds -----------------------------------------------------------


def _resolved(phrase: Phrase, text: str, calendar: Calendar) -> Found | Refusal:
    if phrase.elapsed_ms is not None:
        return Found(text, calendar.now_ms - phrase.elapsed_ms, calendar.now_ms)
    implied = Days(calendar.today, calendar.today, is_today=True)
    first, *others = (_reading(each, phrase, text, calendar) for each in phrase.days or (implied,))
    if isinstance(first, Refusal):
        return first
    return replace(first, also=(*first.also, *(each for each in others if isinstance(each, Found))))


def _reading(which: Days, phrase: Phrase, text: str, calendar: Calendar) -> Found | Refusal:
    if which.first == which.last and not days.day(which.first, calendar.zone).exists:
        return Refusal(text, "no_such_date")
    if phrase.times is None:
        found: Found | Refusal = _whole_days(which, text, calendar)
    else:
        found = _on_the_clock(which, phrase.times, text, calendar)
    if isinstance(found, Refusal):
        return found
    if found.start_ms >= calendar.now_ms:
        return Refusal(text, "future")
    if phrase.is_open:
        return replace(found, end_ms=calendar.now_ms, at_ms=None, also=(), is_open=True)
    if found.end_ms > calendar.now_ms:
        return replace(found, end_ms=calendar.now_ms, is_clamped=True)
    return found


def _whole_days(which: Days, text: str, calendar: Calendar) -> Found:
    first, last = (
        days.day(each, calendar.zone, calendar.day_start_min) for each in (which.first, which.last)
    )
    return Found(text, first.start_ms, last.end_ms)


def _on_the_clock(which: Days, times: Times, text: str, calendar: Calendar) -> Found | Refusal:
    """Clock times on the calendar date that the label names."""
    on = which.first
    if which.is_today and times.start_min < calendar.day_start_min:
        # "Today" in the small hours, before the day start: the hours just passed.
        on = days.to_local(calendar.now_ms, calendar.zone).date()
    start_ms, start_kind = _wall(on, times.start_min, calendar.zone)
    if times.end_min is None:
        again_ms, _ = _wall(on, times.start_min, calendar.zone, later=True)
        also = (Found(text, again_ms, again_ms, again_ms),) if again_ms != start_ms else ()
        return Found(text, start_ms, start_ms, start_ms, False, also, _named(at=start_kind))
    end_ms, end_kind = _wall(on, times.end_min, calendar.zone, later=True)
    if end_ms <= start_ms:
        return Refusal(text, "no_such_time")
    return Found(text, start_ms, end_ms, adjusted=_named(start=start_kind, end=end_kind))


def _wall(on: date, minute: int, zone: ZoneInfo, *, later: bool = False) -> tuple[int, str]:
    """(epoch milliseconds, gap or overlap or nothing) of minutes after a date's midnight."""
    wall = datetime.combine(on, time()) + timedelta(minutes=minute)
    first, second = days.wall_to_ms(wall, zone), days.wall_to_ms(wall, zone, later=True)
    if first != second:
        return (second if later else first), "overlap"
    return first, "" if days.to_local(first, zone).replace(tzinfo=None) == wall else "gap"


def _named(**kinds: str) -> tuple[tuple[str, str], ...]:
    return tuple((end, kind) for end, kind in kinds.items() if kind)


# ---- phrase grammar
# From the words of a time phrase to what they mean on a calendar, before any zone.
#
# Dates are settled here, since "last Friday" needs to know today;
# milliseconds are not.

_UNIT_MS = {"minute": 60_000, "hour": 3_600_000}
_UNIT_DAYS = {"day": 1, "week": 7}
_MAX_ELAPSED_MS = 3_660 * 86_400_000
_MAX_DAYS = 3_660
_FIRST_YEAR, _LAST_YEAR = 1971, 9_000
_LEAP_CYCLE_YEARS = 8  # 29 February comes at least this often


@dataclass(frozen=True, slots=True)
class Days:
    """The dates from `first` to `last`; `is_today` when the words said, or left out, "today"."""

    first: date
    last: date
    is_today: bool = False


class Reader:
    """Recursive descent over tokens from one place on; `reached` is behind the last word used."""

    def __init__(self, tokens: Sequence[Token], at: int, today: date, week_start: int) -> None:
        self.tokens = tokens
        self.at = self.reached = at
        self.today = today
        self.week_start = week_start

    def phrase(self) -> Phrase | None:
        """The longest phrase from here on, or None. Raises `Refused`."""
        mark = self._mark()
        for rule in (self._rolling, self._open_end, self._date_range, self._plain):
            found = rule()
            if found:
                return found
            self._back(mark)
        return None

    def is_at_end(self) -> bool:
        """Whether nothing but fill words is left."""
        return self._peek() is None

    # -- tokens --

    def _peek(self) -> Kind | None:
        while self.at < len(self.tokens) and self.tokens[self.at].kind is Kind.FILL:
            self.at += 1
        return self.tokens[self.at].kind if self.at < len(self.tokens) else None

    def _take(self, *kinds: Kind) -> Token | None:
        """The next token, if it is one of these."""
        if self._peek() not in kinds:
            return None
        self.at += 1
        self.reached = self.at
        return self.tokens[self.at - 1]

    def _mark(self) -> tuple[int, int]:
        return self.at, self.reached

    def _back(self, mark: tuple[int, int]) -> None:
        self.at, self.reached = mark

    # -- phrases --

    def _rolling(self) -> Phrase | None:
        """ "last 2 hours", 过去一周, "@last-hour", and what lies ahead: "next week"."""
        mention = self._take(Kind.ELAPSED)
        if mention:
            return Phrase(elapsed_ms=mention.value)
        lead = self._take(Kind.LAST, Kind.PAST, Kind.NEXT)
        number = self._take(Kind.NUMBER) if lead else None
        unit = self._take(Kind.UNIT) if lead else None
        if lead and lead.kind is Kind.NEXT and (unit or self._take(Kind.WEEKDAY)):
            self._times()
            raise Refused("future")
        if not lead or not unit:
            return None
        if lead.kind is Kind.LAST and not number and unit.value in ("week", "month"):
            return Phrase((self._week(1) if unit.value == "week" else self._month(1),))
        return self._counted_back(number.value if number else 1.0, unit.value)

    def _counted_back(self, count: float, unit: str) -> Phrase | None:
        if unit in _UNIT_MS:
            # Bounded before it is rounded: a number of 400 digits is infinite.
            elapsed_ms = round(min(count * _UNIT_MS[unit], _MAX_ELAPSED_MS + 1))
            return Phrase(elapsed_ms=elapsed_ms) if 0 < elapsed_ms <= _MAX_ELAPSED_MS else None
        length = count * _UNIT_DAYS.get(unit, 0)
        if not length.is_integer() or not 0 < length <= _MAX_DAYS:
            return None
        return Phrase((Days(self._ago(int(length) - 1), self.today),), is_open=True)

    def _open_end(self) -> Phrase | None:
        """ "since 3pm", "since Monday"; "from 2pm to 5pm" is a range like any other."""
        lead = self._take(Kind.SINCE, Kind.FROM, Kind.AFTER)
        inner = self._plain() if lead else None
        if not lead or not inner:
            return None
        is_moment = inner.times is not None and inner.times.end_min is None
        is_clock_range = inner.times is not None and not is_moment and not inner.times.is_part_of_day
        if lead.kind is Kind.FROM and is_clock_range:
            return inner
        if is_moment or (lead.kind is Kind.SINCE and not is_clock_range):
            return Phrase(inner.days[:1], inner.times, is_open=True)
        return None

    def _date_range(self) -> Phrase | None:
        first = self._take(Kind.DATE)
        dash = self._take(Kind.DASH) if first else None
        last = self._take(Kind.DATE) if dash else None
        if not first or not last:
            return None
        days = Days(self._dated(first), self._dated(last))
        if days.last < days.first:
            raise Refused("no_such_date")
        return Phrase((days,))

    def _plain(self) -> Phrase | None:
        """A day with or without times, in either order; times alone are today's."""
        days, evening = self._days()
        if days and days[0].first != days[0].last:
            return Phrase(days)
        times = self._times(evening)
        if times and not days:
            days, later_evening = self._days()
            times = times if not later_evening else None
        return Phrase(days, times) if days or times else None

    # -- days --

    def _days(self) -> tuple[tuple[Days, ...], Part | None]:
        """(readings of a day, week or month; the part of day its word brings along)."""
        token = self._take(
            Kind.DAY,
            Kind.EVENING,
            Kind.FUTURE,
            Kind.WEEKDAY,
            Kind.WEEK_WEEKDAY,
            Kind.WEEK,
            Kind.MONTH,
            Kind.DATE,
        )
        if token is None:
            return self._pointed(), None
        if token.kind is Kind.FUTURE:
            self._times()
            raise Refused("future")
        if token.kind in (Kind.DAY, Kind.EVENING):
            on = self._ago(token.value)
            part = EVENING if token.kind is Kind.EVENING else None
            return (Days(on, on, is_today=token.value == 0),), part
        if token.kind is Kind.WEEK:
            return (self._week(token.value),), None
        if token.kind is Kind.MONTH:
            return (self._month(token.value),), None
        on = self._one_day(token)
        return (Days(on, on),), None

    def _one_day(self, token: Token) -> date:
        if token.kind is Kind.DATE:
            return self._dated(token)
        if token.kind is Kind.WEEKDAY:
            return self._ago((self.today.weekday() - token.value) % 7)
        back, weekday = token.value
        return self._in_week(back, weekday)

    def _pointed(self) -> tuple[Days, ...]:
        """ "this morning", "this week", "this Friday", "last Friday"."""
        mark = self._mark()
        lead = self._take(Kind.THIS, Kind.LAST)
        if lead and lead.kind is Kind.THIS and self._peek() is Kind.PART:
            return (Days(self.today, self.today, is_today=True),)
        unit = self._take(Kind.UNIT) if lead and lead.kind is Kind.THIS else None
        if unit and unit.value in ("week", "month"):
            return (self._week(0) if unit.value == "week" else self._month(0),)
        weekday = self._take(Kind.WEEKDAY) if lead and not unit else None
        if not lead or not weekday:
            self._back(mark)
            return ()
        if lead.kind is Kind.THIS:
            on = self._in_week(0, weekday.value)
            return (Days(on, on),)
        return self._last_weekday(weekday.value)

    def _last_weekday(self, weekday: int) -> tuple[Days, ...]:
        """The most recent one before today; one of this week may also mean the week before."""
        on = self._ago((self.today.weekday() - weekday - 1) % 7 + 1)
        earlier = on - timedelta(days=7)
        readings = [on, earlier] if on >= self._week(0).first else [on]
        return tuple(Days(each, each) for each in readings)

    def _ago(self, count: int) -> date:
        return self.today - timedelta(days=count)

    def _week(self, back: int) -> Days:
        first = self._ago((self.today.weekday() - self.week_start) % 7 + 7 * back)
        return Days(first, first + timedelta(days=6))

    def _in_week(self, back: int, weekday: int) -> date:
        return self._week(back).first + timedelta(days=(weekday - self.week_start) % 7)

    def _month(self, back: int) -> Days:
        months = self.today.year * 12 + self.today.month - 1 - back
        first = date(months // 12, months % 12 + 1, 1)
        return Days(first, first.replace(day=monthrange(first.year, first.month)[1]))

    def _dated(self, token: Token) -> date:
        """The date named; without a year the most recent one that exists."""
        year, month, day = token.value
        years = [year] if year else range(self.today.year, self.today.year - _LEAP_CYCLE_YEARS - 1, -1)
        for each in years:
            if (
                _FIRST_YEAR <= each <= _LAST_YEAR
                and 1 <= month <= 12
                and 1 <= day <= monthrange(each, month)[1]
            ):
                found = date(each, month, day)
                if year or found <= self.today:
                    return found
        raise Refused("no_such_date")

    # -- times --

    def _times(self, part: Part | None = None) -> Times | None:
        """[part] clock ["-" [part] clock], or a part of the day alone."""
        named = self._take(Kind.PART)
        part = named.value if named else part
        first = self._clock()
        if first is None:
            return Times(part.start_min, part.end_min, is_part_of_day=True) if part else None
        mark = self._mark()
        dash = self._take(Kind.DASH)
        other = self._take(Kind.PART) if dash else None
        last = self._take(Kind.CLOCK) if dash else None
        if last is None:
            self._back(mark)
            return Times(minute_of(first, part), None)
        return clock_range(first, part, last.value, other.value if other else part, bool(other))

    def _clock(self) -> Clock | None:
        token = self._take(Kind.CLOCK)
        if token is None and is_clock_range(self.tokens, self.at):
            token = self._take(Kind.NUMBER)
            return Clock(int(token.value), 0) if token else None
        return token.value if token else None


def is_clock_range(tokens: Sequence[Token], at: int) -> bool:
    """ "9-11am": a whole number is a clock time when a dash and a clock time follow."""
    kinds = [token.kind for token in tokens[at : at + 3]]
    return kinds == [Kind.NUMBER, Kind.DASH, Kind.CLOCK] and float(tokens[at].value).is_integer()
