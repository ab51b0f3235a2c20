"""A range of time from a form or an address, and the presets that name the usual ones.

What a browser worked out (epoch milliseconds) wins; a preset is read on the viewer's clock; wall
times are for browsers without scripts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from assistant.language.time_phrases import Calendar, Refusal, in_field, widened
from store.core import times
from webapp.core import formatting
from webapp.core.moments import end_moment, moment
from webapp.core.viewer import Viewer

PRESETS = {
    "30m": "Last 30 min",
    "2h": "Last 2 h",
    "today": "Today",
    "yesterday": "Yesterday",
    "week": "This week",
    "7d": "Last 7 days",
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


NO_RANGE = Range("")


def read(values: Mapping[str, str], viewer: Viewer, start: str = "from", end: str = "to") -> Range:
    """The range in a query or form whose fields are called `start`, `end`, `when` and ``*_local``."""
    when = values.get("when", "")
    if when in PRESETS and not (values.get(start) and values.get(end)):
        return _of_preset(when, viewer)
    phrase = values.get("phrase", "").strip()
    if when == "custom" and phrase and not (values.get(start) and values.get(end)):
        return _of_phrase(phrase, viewer)
    start_ms = moment(values.get(start) or values.get("from_local"), viewer)
    end_ms = end_moment(values.get(end) or values.get("to_local"), viewer)
    if start_ms is None and end_ms is None:
        return NO_RANGE
    if start_ms is None:
        start_ms = 0
    if end_ms is None:
        end_ms = viewer.now_ms
    label = formatting.span(start_ms, end_ms, viewer.zone, viewer.now_ms) if start_ms < end_ms else ""
    problem = "" if start_ms < end_ms else "The range ends before it starts."
    return Range(when if when in PRESETS else "custom", start_ms, end_ms, label, problem, phrase)


_PROBLEMS = {
    "future": "has not come yet",
    "no_such_date": "is no date here",
    "no_such_time": "is no time of day",
}


def _of_phrase(phrase: str, viewer: Viewer) -> Range:
    """What was typed in words, as `phrases` reads it; a moment is widened."""
    calendar = Calendar(viewer.now_ms, viewer.zone, viewer.day_start_min)
    found = in_field(phrase, calendar)
    if isinstance(found, Refusal):
        why = _PROBLEMS.get(found.problem, "is not a time I know")
        return Range("custom", problem=f"“{found.phrase}” {why}.", phrase=phrase)
    found = widened(found, calendar)
    label = formatting.span(found.start_ms, found.end_ms, viewer.zone, viewer.now_ms)
    return Range("custom", found.start_ms, found.end_ms, label, phrase=phrase)


def _of_preset(when: str, viewer: Viewer) -> Range:
    start_ms, end_ms = bounds(when, viewer)
    return Range(when, start_ms, end_ms, PRESETS[when])


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
            return start_of(today.date.weekday()), now_ms
        case "7d":
            return start_of(6), now_ms
    raise ValueError(f"no preset {when!r}; known: {', '.join(PRESETS)}")
