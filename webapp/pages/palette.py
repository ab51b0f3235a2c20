"""The palette: a list of places to go to, made by the server for what was typed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import render_template, request

from store.chats import conversations
from store.frames import apps
from webapp.core import templating
from webapp.core.services import Viewer, services, viewer
from webapp.pages.timeline.destinations import Destination, resolve_destination

_PAGES = (
    ("Timeline", "/timeline", "timeline", "T"),
    ("Search", "/search", "search", "/"),
    ("Ask", "/chat", "chat", ""),
    ("Days", "/days", "calendar", ""),
    ("People and things", "/memory/entities", "persona", ""),
    ("Facts", "/memory/facts", "memory", ""),
    ("Insights", "/insights", "memory", ""),
    ("Storage", "/settings/storage", "disk", ""),
    ("Privacy", "/privacy", "shield", ""),
    ("Models", "/settings/models", "sliders", ""),
    ("Voices", "/personas", "persona", ""),
    ("Memory", "/settings/memory", "memory", ""),
    ("Imports", "/sources", "plus", ""),
    ("Display", "/settings/display", "sliders", ""),
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


@templating.get("/palette")
def show() -> str:
    """Rows for ``?q=``: times and days first, then pages, apps and chats, then the search itself."""
    typed = request.args.get("q", "").strip()[:200]
    return render_template("shell/_palette.html", places=places(typed, viewer())[:_MOST])


def places(typed: str, who: Viewer) -> list[Place]:
    """Where what was typed may lead; without a word, pages and the latest chats."""
    database, word = services().database, typed.casefold()
    pages = [Place(*page) for page in _PAGES if word in page[0].casefold()]
    chats = conversations.list_chats(database, 30)
    chat_places = [Place(c.title, f"/chat/{c.id}", "chat") for c in chats if word in c.title.casefold()][:5]
    if not typed:
        return pages + chat_places
    time = resolve_destination(typed, who.today, who)
    times = [Place(time.words, time.address, "clock")] if isinstance(time, Destination) else []
    names = [name for name in apps.colour_slots(database) if word in name.casefold()][:4]
    in_apps = [Place(f"Search in {name}", f"/search?{urlencode({'app': name})}", "app") for name in names]
    search = Place(f"Search for “{typed}”", f"/search?{urlencode({'q': typed})}", "search", "Enter")
    return [*times, *pages, *in_apps, *chat_places, search]
