"""The palette: a list of places to go to, made by the server for what was typed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from store.chats import conversations
from store.frames import apps
from webapp.core.services import services
from webapp.core.viewer import Viewer, viewer
from webapp.pages.palette import Goal, resolve_destination

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
