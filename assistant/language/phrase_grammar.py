"""From the words of a time phrase to what they mean on a calendar, before any zone (ux.md 6.4).

The grammar is drawn in `phrases`. Dates are settled here, since "last Friday" needs to know today;
milliseconds are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from assistant.language.phrase_clock import Refused, Times, clock_range, minute_of
from assistant.language.time_words import EVENING, Clock, Kind, Part, Token

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


@dataclass(frozen=True, slots=True)
class Phrase:
    """What was understood. `days` holds the readings, the likeliest first; none means today.

    `elapsed_ms` counts back from now instead; `is_open` runs up to now.
    """

    days: tuple[Days, ...] = ()
    times: Times | None = None
    elapsed_ms: int | None = None
    is_open: bool = False


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
        following = date((months + 1) // 12, (months + 1) % 12 + 1, 1)
        return Days(first, following - timedelta(days=1))

    def _dated(self, token: Token) -> date:
        """The date named; without a year the most recent one that exists."""
        year, month, day = token.value
        years = [year] if year else range(self.today.year, self.today.year - _LEAP_CYCLE_YEARS - 1, -1)
        for each in years:
            if (
                _FIRST_YEAR <= each <= _LAST_YEAR
                and 1 <= month <= 12
                and 1 <= day <= _month_length(each, month)
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


def _month_length(year: int, month: int) -> int:
    return (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
