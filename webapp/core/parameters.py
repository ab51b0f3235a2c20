"""What addresses and forms carry: ids, numbers, days, moments and ranges of time.

A moment is epoch milliseconds, RFC 3339 or a wall-clock time. Milliseconds are what a browser works
out, and always win; a preset and wall-clock fields, for browsers without scripts, are read on the
viewer's clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from flask import request
from werkzeug.routing import BaseConverter, ValidationError

from assistant.language.time_phrases import Refusal, in_field, widened
from store.core import times
from store.core.translation import N_
from store.core.translation import gettext as _
from webapp.core import formatting
from webapp.core.errors import unreadable_address
from webapp.core.services import Viewer


class IdConverter(BaseConverter):
    """A whole number in its one canonical spelling: ``+7``, ``007``, ``7.0`` and ``..`` are no ids."""

    regex = r"(?:0|[1-9][0-9]{0,17})"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(int(value))


class DayConverter(BaseConverter):
    """A date, ``2026-11-20``; one that no calendar has leads nowhere."""

    regex = r"(?:19[7-9][0-9]|[2-8][0-9]{3})-[0-9]{2}-[0-9]{2}"

    def to_python(self, value: str) -> date:
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ValidationError from error

    def to_url(self, value: date | str) -> str:
        return str(value)


class ModelConverter(BaseConverter):
    """The name of a model: one line of at most 200 characters, slashes and colons among them."""

    part_isolating = False
    regex = r"[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,199}"


def number(values: Mapping[str, str], name: str, digits: int = 18) -> int | None:
    """The whole number in a field, None for anything else; 18 digits fit an integer of SQLite."""
    text = values.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def moment(text: str | None, viewer: Viewer, *, is_end: bool = False) -> int | None:
    """Epoch milliseconds of ``1795156328000``, RFC 3339 or ``2026-11-20T14:32``; None when neither.

    Of a wall time that comes twice the first, or the later for the end of a range.
    """
    text = (text or "").strip()
    # Digits alone are milliseconds, though ``1795030800000`` could be the year 1795 in ISO 8601's short form.
    try:
        at = None if re.fullmatch(r"\d{1,15}", text) else datetime.fromisoformat(text)
    except ValueError:
        return None
    if at is None:
        ms = int(text)
    else:
        ms = round(at.timestamp() * 1000) if at.tzinfo else times.wall_to_ms(at, viewer.zone, later=is_end)
    return ms if ms <= times.MAX_MS else None


def day_named(text: str | None, viewer: Viewer) -> times.Day | None:
    """The local day of ``2026-11-20``, None of nothing. Refuses an address with a day that is none."""
    if not text:
        return None
    try:
        on = date.fromisoformat(text)
    except ValueError:
        on = date.min
    if not 1971 <= on.year <= 9000:
        raise unreadable_address("day", _("must be a date such as 2026-11-20"))
    return times.day(on, viewer.zone, viewer.day_start_min)


def clock_on(day: times.Day, text: str, viewer: Viewer) -> int | None:
    """A typed clock time (``14:32``, ``14:32:08``) within a logical day."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3] or 0) > 59:
        return None
    at = time(int(match[1]), int(match[2]), int(match[3] or 0))
    ms = times.wall_to_ms(datetime.combine(day.date, at), viewer.zone)
    if ms < day.start_ms:  # the small hours of a day that starts later belong to its end
        ms = times.wall_to_ms(datetime.combine(date.fromordinal(day.date.toordinal() + 1), at), viewer.zone)
    return ms


def presets() -> dict[str, str]:
    """Ranges to choose from, by key, in words."""
    return {
        "30m": _("Last 30 min"),
        "2h": _("Last 2 h"),
        "today": _("Today"),
        "yesterday": _("Yesterday"),
        "week": _("This week"),
        "7d": _("Last 7 days"),
        "all": _("Everything"),
    }


_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Range:
    """What was chosen. Both ends are None for "no range"; `problem` says what is wrong with it."""

    when: str  # a preset, "custom", or "" for none
    start_ms: int | None = None
    end_ms: int | None = None
    label: str = ""
    problem: str = ""
    phrase: str = ""  # what was typed

    @property
    def is_given(self) -> bool:
        return self.start_ms is not None

    @property
    def status(self) -> int:
        """A range that is none is refused with 400, as by the API."""
        return 400 if self.problem else 200

    @property
    def bounds(self) -> tuple[int, int]:
        """Both ends of a range that is given."""
        assert self.start_ms is not None and self.end_ms is not None
        return self.start_ms, self.end_ms


NO_RANGE = Range("")


def range_of(values: Mapping[str, str], viewer: Viewer, start: str = "from", end: str = "to") -> Range:
    """The range in a query or form whose fields are called `start`, `end`, `when` and ``*_local``."""
    when = values.get("when", "")
    known = presets()
    if when in known and not (values.get(start) and values.get(end)):
        return Range(when, *bounds(when, viewer), known[when])
    phrase = values.get("phrase", "").strip()
    if when == "custom" and phrase and not (values.get(start) and values.get(end)):
        return _of_phrase(phrase, viewer)
    given = values.get(start) or values.get("from_local"), values.get(end) or values.get("to_local")
    since, until = moment(given[0], viewer), moment(given[1], viewer, is_end=True)
    for text, at_ms in zip(given, (since, until), strict=True):
        if text and at_ms is None:
            return Range("custom", problem=_("%(problem)s.", problem=_unknown_time(text[:60])))
    if since is None and until is None:
        return NO_RANGE
    start_ms, end_ms = since or 0, viewer.now_ms if until is None else until
    label = formatting.span(start_ms, end_ms, viewer.zone, viewer.now_ms) if start_ms < end_ms else ""
    problem = "" if start_ms < end_ms else _("The range ends before it starts.")
    return Range(when if when in known else "custom", start_ms, end_ms, label, problem, phrase)


def time_problem(refusal: Refusal) -> str:
    """Why words are no time, for a person."""
    phrase = refusal.phrase
    match refusal.problem:
        case "future":
            return _("“%(phrase)s” has not come yet", phrase=phrase)
        case "no_such_date":
            return _("“%(phrase)s” is no date here", phrase=phrase)
        case "no_such_time":
            return _("“%(phrase)s” is no time of day", phrase=phrase)
    return _unknown_time(phrase)


def _unknown_time(phrase: str) -> str:
    return _("“%(phrase)s” is not a time I know", phrase=phrase)


def _of_phrase(phrase: str, viewer: Viewer) -> Range:
    """What was typed in words; a moment is widened."""
    time = in_field(phrase, viewer.calendar)
    if isinstance(time, Refusal):
        return Range("custom", problem=_("%(problem)s.", problem=time_problem(time)), phrase=phrase)
    if time.further:
        return Range(
            "custom", problem=_("“%(phrase)s” names several times; give one.", phrase=phrase), phrase=phrase
        )
    time = widened(time, viewer.calendar)
    return of_span(time.start_ms, time.end_ms, viewer, phrase)


def of_span(start_ms: int, end_ms: int, viewer: Viewer, phrase: str = "") -> Range:
    """A range that was chosen by its ends."""
    label = formatting.span(start_ms, end_ms, viewer.zone, viewer.now_ms)
    return Range("custom", start_ms, end_ms, label, phrase=phrase)


def bounds(when: str, viewer: Viewer) -> tuple[int, int]:
    """``[start_ms, end_ms)`` of a preset. Hours are elapsed, days are calendar days."""
    now_ms = viewer.now_ms
    today = viewer.today

    def start_of(back: int) -> int:
        return times.day(today.date - timedelta(days=back), viewer.zone, viewer.day_start_min).start_ms

    match when:
        case "30m":
            return now_ms - 30 * _MINUTE_MS, now_ms
        case "2h":
            return now_ms - 120 * _MINUTE_MS, now_ms
        case "today":
            return today.start_ms, max(now_ms, today.start_ms + 1)
        case "yesterday":
            return start_of(1), today.start_ms
        case "week":
            return start_of((today.date.weekday() - viewer.week_start) % 7), now_ms
        case "7d":
            return start_of(6), now_ms
        case "all":
            return times.MIN_MS, now_ms
    raise ValueError(f"no preset {when!r}; known: {', '.join(presets())}")


DELETE = N_("DELETE")
FORGET = N_("FORGET")
"""Words to be typed."""


def is_confirmed(word: str) -> bool:
    """Whether the form came with the word typed, in English or in the language of its page."""
    return request.form.get("confirm", "").strip() in {word, _(word)}
