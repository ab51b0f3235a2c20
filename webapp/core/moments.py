"""Moments and ranges in addresses and forms: epoch milliseconds, RFC 3339, or a wall-clock time.

Milliseconds are what a browser sends and always win; wall-clock fields are for browsers without
scripts and are read in the viewer's zone.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time

from store.core import times
from webapp.core.viewer import Viewer

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def moment(text: str | None, viewer: Viewer) -> int | None:
    """Epoch milliseconds of ``1795156328000``, RFC 3339 or ``2026-11-20T14:32``; None when neither."""
    if not text:
        return None
    text = text.strip()
    if re.fullmatch(r"\d{1,15}", text):
        ms = int(text)
        return ms if ms <= times.MAX_MS else None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        return times.wall_to_ms(at, viewer.zone)
    return round(at.timestamp() * 1000)


def end_moment(text: str | None, viewer: Viewer) -> int | None:
    """Like `moment`, for the end of a range: of a wall time that comes twice, the later."""
    # Digits alone are milliseconds, though ``1795030800000`` could be the year 1795 in ISO 8601's short form.
    if not text or text.strip().isdecimal():
        return moment(text, viewer)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return moment(text, viewer)
    return times.wall_to_ms(at, viewer.zone, later=True) if at.tzinfo is None else moment(text, viewer)


def day_named(text: str | None, viewer: Viewer) -> times.Day | None:
    """The local day of ``2026-11-20``, or None."""
    try:
        on = date.fromisoformat(text or "")
    except ValueError:
        return None
    if not 1971 <= on.year <= 9000:
        return None
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
