"""The palette: a list of places to go to and things to do, made by the server for what was typed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import render_template, request

from store.chats import conversations
from store.chats.records import Chat
from store.core import times
from store.core.translation import gettext as _
from store.frames import apps, frames
from store.memory import episodes, observations
from store.sources import entities
from store.spool import process_state
from webapp.core import formatting, templating
from webapp.core.parameters import day_named
from webapp.core.services import Viewer, services, viewer
from webapp.core.templating import SETTINGS
from webapp.pages.timeline.destinations import Destination, resolve_destination


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `address` is where it leads; with a `field` (name, value), where a form with it is sent."""

    name: str
    address: str
    icon: str
    hint: str = ""
    key: str = ""
    field: tuple[str, str] = ("", "")


_OFFERED = {"/timeline", "/search#q", "/chat", "/days", "/privacy"}
_MOST = 10
_MOMENTS = 3
_NEAR_MS = 60_000


def _places() -> tuple[Row, ...]:
    return (
        Row(_("Timeline, today"), "/timeline", "timeline", key="T"),
        Row(_("Search"), "/search#q", "search", key="/"),
        Row(_("Ask"), "/chat", "chat"),
        Row(_("Days"), "/days", "calendar"),
        Row(_("People and things"), "/memory/entities", "persona"),
        Row(_("Remembered facts"), "/memory/facts", "memory"),
        Row(_("Insights"), "/insights", "memory"),
        Row(_("Time spent"), "/activity", "clock"),
        *(Row(_(tab.name), tab.addresses[0], tab.icon or "sliders", _("Settings")) for tab in SETTINGS),
        Row(_("Voices"), "/personas", "persona", _("Settings")),
        Row(_("Status"), "/status", "status"),
        Row(_("Receipts"), "/privacy#receipts", "check", _("Privacy")),
    )


def _commands() -> tuple[Row, ...]:
    return (
        Row(_("Delete a time range…"), "/privacy#erase", "trash"),
        Row(_("Exclude an app…"), "/privacy", "lock"),
        Row(_("Check the setup"), "/welcome", "check"),
        Row(_("Light theme"), "/settings/theme", "sliders", field=("theme", "light")),
        Row(_("Dark theme"), "/settings/theme", "sliders", field=("theme", "dark")),
        Row(_("Theme of the system"), "/settings/theme", "sliders", field=("theme", "")),
    )


@templating.get("/palette")
def show() -> str:
    """Rows for ``?q=``, of the viewed ``day``: Enter takes the first one."""
    typed, who = request.args.get("q", "").strip()[:200], viewer()
    day = day_named(request.args.get("day"), who) or who.today
    groups = [("", _found(typed, day, who))] if typed else _unasked(day, who)
    return render_template("shell/_palette.html", groups=[group for group in groups if group[1]])


def _unasked(day: times.Day, who: Viewer) -> list[tuple[str, list[Row]]]:
    """What is offered before a word: moments of the viewed day, places, commands, the latest chats."""
    chats = [_chat(chat, who) for chat in conversations.list_chats(services().database, 3)]
    return [
        (_("On %(day)s", day=formatting.date_long(day.date)), _moments(day, who)),
        (_("Go to"), [row for row in _places() if row.address in _OFFERED]),
        (_("Do"), [_pausing(who)[0], *_commands()[:2]]),
        (_("Recent chats"), chats),
    ]


def _found(typed: str, day: times.Day, who: Viewer) -> list[Row]:
    """What fits the words best, a time before all; last the searches for them."""
    database = services().database
    known: list[Row] = [*_places(), *_pausing(who), *_commands()]
    for entity in entities.find_entities(database, typed, limit=_MOST):
        known.append(Row(entity.name, f"/memory/entities/{entity.id}", "persona", entity.kind))
    for chat in conversations.list_chats(database, _MOST, text=typed):
        known.append(_chat(chat, who))
    for name in apps.colour_slots(database):
        known.append(Row(name, f"/search?{urlencode({'app': name})}", "app", _("its frames")))
    words = {"q": typed}
    return [
        *_time(typed, day, who),
        *_fitting(known, typed)[:_MOST],
        Row(_("Search frames for “%(words)s”", words=typed), f"/search?{urlencode(words)}", "search"),
        Row(_("Ask “%(question)s”", question=typed), f"/chat?{urlencode(words)}", "chat"),
    ]


def _fitting(rows: Iterable[Row], typed: str) -> list[Row]:
    """Those whose name has all the words, first those that begin with them, then where words begin so."""
    whole, words = typed.casefold(), typed.casefold().split()

    def misfit(row: Row) -> int | None:
        name = row.name.casefold()
        if name.startswith(whole):
            return 0
        if all(any(part.startswith(word) for part in name.split()) for word in words):
            return 1
        return 2 if all(word in name for word in words) else None

    ranked = [(rank, row) for row in rows if (rank := misfit(row)) is not None]
    return [row for _, row in sorted(ranked, key=lambda each: each[0])]


def _time(typed: str, day: times.Day, who: Viewer) -> Iterator[Row]:
    """The time that was typed. Where no frame is there, it says the nearest one before one goes."""
    time = resolve_destination(typed, day, who)
    if not isinstance(time, Destination):
        return
    near = None if time.at_ms is None else frames.nearest(services().database, time.at_ms)
    hint = ""
    if time.at_ms is not None and near is not None:
        captured_ms, shown_until_ms = near.captured_ms, max(near.ended_ms, near.captured_ms)
        if not captured_ms - _NEAR_MS <= time.at_ms <= shown_until_ms + _NEAR_MS:
            same_day = who.day_of(captured_ms) == who.day_of(time.at_ms)
            clock = formatting.clock_short if same_day else formatting.moment
            hint = _("nearest frame %(time)s", time=clock(captured_ms, who.zone))
    yield Row(time.words, time.address, "clock", hint)


def _moments(day: times.Day, who: Viewer) -> list[Row]:
    """When the longest episodes of a day began."""
    done = episodes.episodes(observations.between(services().database, day.start_ms, day.end_ms, limit=-1))
    longest = sorted(done, key=lambda each: each.active_ms, reverse=True)[:_MOMENTS]
    begun = [(each.start_ms, each.lead.title) for each in sorted(longest, key=lambda each: each.start_ms)]
    return [
        Row(f"{formatting.clock_short(at, who.zone)}  {title}", f"/timeline?at={at}", "clock")
        for at, title in begun
    ]


def _pausing(who: Viewer) -> tuple[Row, ...]:
    if process_state.read_pause(services().data_dir.spool, who.now_ms):
        return (Row(_("Resume recording"), "/status/resume", "play", field=("resume", "1")),)
    return (
        Row(_("Pause for 15 minutes"), "/status/pause", "pause", field=("minutes", "15")),
        Row(_("Pause for an hour"), "/status/pause", "pause", field=("minutes", "60")),
        Row(_("Pause until I resume"), "/status/pause", "pause", field=("minutes", "")),
    )


def _chat(chat: Chat, who: Viewer) -> Row:
    on = formatting.date_short(who.day_of(chat.updated_ms).date)
    return Row(chat.title, f"/chat/{chat.id}", "chat", on)
