"""Where a typed time leads: a moment or a stretch of the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from assistant.language.time_phrases import Calendar, Found, Refusal, in_field
from store.chats import conversations
from store.core import times
from store.frames import apps
from webapp.core import formatting
from webapp.core.parameters import clock_on
from webapp.core.services import Viewer, services, viewer
from webapp.views.activity_band import ZOOMS

_PROBLEMS = {
    "future": "has not come yet",
    "no_such_date": "is no date",
    "no_such_time": "is no time of day",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """An address, and what it is called."""

    address: str
    words: str


def resolve_destination(typed: str, shown: times.Day, viewer: Viewer) -> Goal | str:
    """The place that was typed, or a sentence saying what was not understood.

    A clock time alone belongs to the day that is shown; everything else is a phrase.
    """
    at_ms = clock_on(shown, typed, viewer)
    if at_ms is not None:
        return _moment(at_ms, viewer)
    calendar = Calendar(viewer.now_ms, viewer.zone, viewer.day_start_min)
    match in_field(typed, calendar):
        case Refusal(phrase, problem):
            why = _PROBLEMS.get(problem, "is not a time I know")
            return f"“{phrase}” {why}. Try 14:32, yesterday 9:00 or 2026-11-18."
        case Found(at_ms=int(moment_ms)):
            return _moment(moment_ms, viewer)
        case found:
            return _stretch(found.start_ms, found.end_ms, viewer)


def _moment(at_ms: int, viewer: Viewer) -> Goal:
    on = formatting.date_short(viewer.day_of(at_ms).date)
    return Goal(f"/timeline?at={at_ms}", f"{on} at {formatting.clock_short(at_ms, viewer.zone)}")


def _stretch(start_ms: int, end_ms: int, viewer: Viewer) -> Goal:
    """A range opens at its start, at the closest zoom that holds it."""
    words = formatting.span(start_ms, end_ms, viewer.zone, viewer.now_ms)
    day = viewer.day_of(start_ms)
    if day.start_ms == start_ms and (end_ms >= day.end_ms or end_ms == viewer.now_ms):
        return Goal(f"/timeline?day={day.date.isoformat()}", words)
    holds = [zoom for zoom, minutes in ZOOMS.items() if minutes and end_ms - start_ms <= minutes * 60_000]
    query = {"at": start_ms} | ({"z": holds[-1]} if holds else {})
    return Goal(f"/timeline?{urlencode(query)}", words)


# ---- webapp palette
# The palette: a list of places to go to, made by the server for what was typed.

blueprint = Blueprint("palette", __name__)

_PAGES = (
    ("Timeline", "/timeline", "timeline", "T"),
    ("Search", "/search", "search", "/"),
    ("Chat", "/chat", "chat", ""),
    ("Memory", "/memory", "memory", ""),
    ("Days", "/days", "calendar", ""),
    ("People and things", "/memory/entities", "persona", ""),
    ("Facts", "/memory/facts", "memory", ""),
    ("Insights", "/insights", "memory", ""),
    ("Personas", "/personas", "persona", ""),
    ("Privacy", "/privacy", "shield", ""),
    ("Display settings", "/settings/display", "sliders", ""),
    ("Status", "/status", "status", ""),
    ("Setup check", "/welcome", "check", ""),
)
_MOST = 12


@dataclass(frozen=True, slots=True)
class Place:
    """One row: where it leads, and the key that leads there too."""

    name: str
    address: str
    icon: str
    hint: str = ""


@blueprint.get("/palette")
def show() -> Response | str:
    """Rows for ``?q=``: times and days first, then pages, apps and chats, then the search itself."""
    typed = request.args.get("q", "").strip()[:200]
    return render_template("shell/_palette.html", places=places(typed, viewer())[:_MOST])


def places(typed: str, who: Viewer) -> list[Place]:
    """Where what was typed may lead."""
    wanted = typed.casefold()
    database = services().database
    found = _times(typed, who) if typed else []
    found += [Place(*page) for page in _PAGES if wanted in page[0].casefold()]
    if typed:
        names = [name for name in apps.colour_slots(database) if wanted in name.casefold()]
        found += [
            Place(f"Search in {name}", f"/search?{urlencode({'app': name})}", "app") for name in names[:4]
        ]
    chats = conversations.list_chats(database, 30)
    found += [Place(c.title, f"/chat/{c.id}", "chat") for c in chats if wanted in c.title.casefold()][:5]
    if typed:
        found.append(Place(f"Search for “{typed}”", f"/search?{urlencode({'q': typed})}", "search", "Enter"))
    return found


def _times(typed: str, who: Viewer) -> list[Place]:
    led = resolve_destination(typed, who.today, who)
    return [Place(led.words, led.address, "clock")] if isinstance(led, Goal) else []
