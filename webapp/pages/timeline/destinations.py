"""Where a typed time leads: a moment or a stretch of the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from assistant.language.time_phrases import Found, Refusal, in_field
from store.core import times
from store.core.translation import gettext as _
from webapp.core import formatting
from webapp.core.parameters import clock_on, time_problem
from webapp.core.services import Viewer
from webapp.pages.timeline.band import ZOOMS


@dataclass(frozen=True, slots=True)
class Destination:
    """An address, what it is called, and the moment it is where it is one."""

    address: str
    words: str
    at_ms: int | None = None


def resolve_destination(typed: str, shown: times.Day, viewer: Viewer) -> Destination | str:
    """The place that was typed, or a sentence saying what was not understood.

    A clock time alone belongs to the day that is shown; everything else is a phrase.
    """
    at_ms = clock_on(shown, typed, viewer)
    if at_ms is not None:
        return _moment(at_ms, viewer)
    match in_field(typed, viewer.calendar):
        case Refusal() as refusal:
            return _("%(problem)s. Try 14:32, yesterday 9:00 or 2026-11-18.", problem=time_problem(refusal))
        case Found(at_ms=int(moment_ms)):
            return _moment(moment_ms, viewer)
        case stretch:
            return _stretch(stretch, viewer)


def _moment(at_ms: int, viewer: Viewer) -> Destination:
    on, clock = formatting.date_short(viewer.day_of(at_ms).date), formatting.clock_short(at_ms, viewer.zone)
    return Destination(f"/timeline?at={at_ms}", _("%(day)s at %(time)s", day=on, time=clock), at_ms)


def _stretch(stretch: Found, viewer: Viewer) -> Destination:
    """A range opens at its start, or at the moment that it lies around, at the closest zoom that holds it."""
    start_ms, end_ms = stretch.start_ms, stretch.end_ms
    words = formatting.span(start_ms, end_ms, viewer.zone, viewer.now_ms)
    day = viewer.day_of(start_ms)
    if day.start_ms == start_ms and (end_ms >= day.end_ms or end_ms == viewer.now_ms):
        return Destination(f"/timeline?day={day.date.isoformat()}", words)
    holds = [zoom for zoom, minutes in ZOOMS.items() if minutes and end_ms - start_ms <= minutes * 60_000]
    query = {"at": stretch.opens_ms} | ({"z": holds[-1]} if holds else {})
    return Destination(f"/timeline?{urlencode(query)}", words)
