"""Summaries of days by rules: the points of an hour from its observations, a day's text from its hours.

Pure functions. A point says what an observation says, a person's own words included, and names the
frames that show it: the lines that were quoted on them, else a frame of its time. The text of a day
begins with how long which app was used and goes on with the points by the clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from ingest.observations.rules import duration_text
from store.core import times
from store.core.times import Day
from store.memory.daily_hours import Hour, Point, Quote
from store.memory.observations import Observation
from store.timeline.totals import Totals

MAX_POINTS = 8
"""Points of an hour: the observations with the most time."""
MAX_QUOTES = 3
_MAX_POINT_CHARS = 300
_TOP_APPS = 5


def points_of(observations: Sequence[Observation]) -> tuple[Point, ...]:
    """What an hour was about, in the order of time."""
    told = [one for one in observations if one.title or one.narrative]
    longest = sorted(told, key=lambda one: -one.active_ms)[:MAX_POINTS]
    return tuple(_point(one) for one in sorted(longest, key=lambda one: (one.start_ms, one.id)))


def fingerprint_of(observations: Sequence[Observation]) -> str:
    """Equal for observations that say the same; "" for none."""
    if not observations:
        return ""
    said = [
        (one.start_ms, one.end_ms, one.active_ms, one.title, one.narrative, one.facts, one.frame_ids)
        for one in observations
    ]
    return hashlib.sha256(repr((_RULES, said)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def day_text(day: Day, zone: ZoneInfo, hours: Sequence[Hour], totals: Totals) -> str:
    """The summary of a day; "" for one without points."""
    points = [point for hour in hours for point in hour.points]
    if not points:
        return ""
    apps = ", ".join(
        f"{app.name or 'unknown app'} {duration_text(app.duration_ms)}" for app in totals.by_app[:_TOP_APPS]
    )
    spent = f"{duration_text(totals.covered_ms)} at the screen" + (f": {apps}." if apps else ".")
    named = f"{day.date.strftime('%A')}, {day.date.day} {day.date.strftime('%B %Y')}"
    return "\n".join([f"{named}. {spent}", *(_line(point, zone) for point in points)])


def _point(one: Observation) -> Point:
    quotes = [Quote(fact.frame_id, fact.text) for fact in one.facts if fact.frame_id is not None]
    if not quotes:
        quotes = [Quote(frame_id, "") for frame_id in one.frame_ids[:1]]
    return Point(one.start_ms, _said(one), tuple(quotes[:MAX_QUOTES]))


def _said(one: Observation) -> str:
    """A sentence of a person or a model as it is; of the rules, what was open and for how long."""
    is_by_rule = one.source == "rule" or (one.source == "user" and "narrative" not in one.edited)
    said = (
        f"{one.title}, {duration_text(one.active_ms)}." if is_by_rule or not one.narrative else one.narrative
    )
    return " ".join(said.split())[:_MAX_POINT_CHARS]


def _line(point: Point, zone: ZoneInfo) -> str:
    at = times.to_local(point.at_ms, zone)
    quotes = " ".join(f"“{quote.text}”" for quote in point.quotes if quote.text)
    return f"{at:%H:%M} {point.text} {quotes}".rstrip()


_RULES = 1
"""Counted up when the rules change, so that hours are told again."""
