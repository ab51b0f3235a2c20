"""What a person calls a time, as a range: "today 14:00-17:00", "上周五下午", "last 2 hours".

The browser knows the same rules; the shared vectors bind both (ux.md, chapter 6, CHAT-4). In a field
every word must be understood: a parser that skips what it does not know turns "next friday" into
today. In a message the longest phrase inside the sentence counts; one with an @mention goes first.
The mirror for browsers is ``static/js/time``.

::

    phrase  = rolling | since | date "-" date | day [times] | times [day] | week | month
    rolling = ("last" | "past" | 最近 …) [number] unit | "@last-hour"
    since   = ("since" | "from" | "after" | 从) [day] clock | "since" day
    times   = [part] clock ["-" [part] clock] | part
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from assistant.language.phrase_clock import Problem, Refused, Times
from assistant.language.phrase_grammar import Days, Phrase, Reader, is_clock_range
from assistant.language.time_words import Kind, Token, lex
from store.core import times as days

MOMENT_MARGIN_MS = 300_000
"""A single moment, where a range is wanted, is widened by this much on each side (ux.md 6.2)."""


@dataclass(frozen=True, slots=True)
class Found:
    """A range, or a moment where `at_ms` is set; `phrase` is the part of the text that said so.

    `is_clamped` when a later end was cut to now, `is_open` when now was meant as the end: "so far".
    `also` holds other readings, nearest first. `adjusted` says which end fell into a gap or an
    overlap of the zone's clock: ``(("end", "overlap"),)``.
    """

    phrase: str
    start_ms: int
    end_ms: int
    at_ms: int | None = None
    is_clamped: bool = False
    also: tuple[Found, ...] = ()
    adjusted: tuple[tuple[str, str], ...] = ()
    is_open: bool = False

    @property
    def is_so_far(self) -> bool:
        """Whether more of it may still come."""
        return self.is_clamped or self.is_open


@dataclass(frozen=True, slots=True)
class Refusal:
    """No range. `phrase` is the part that was not understood, or that cannot be."""

    phrase: str
    problem: Problem


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
