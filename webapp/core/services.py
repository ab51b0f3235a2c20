"""What every request handler is handed: the services of its app, and the viewer it answers.

The browser decides the viewer's zone (cookie ``tz``, written by ``zone.js`` from `Intl`), a person
may override it for this browser (cookie ``zone``), and a link may carry its own (``?tz=``). Before
the browser has said anything the server's own zone stands in, and the page says so.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal, cast
from zoneinfo import ZoneInfo

from babel import Locale, localedata
from flask import current_app, g
from htmx_flask import request

from assistant.context.session_closing import ContextServices
from assistant.core.errors import UnknownChat
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import TurnResult
from assistant.language.time_phrases import Calendar
from assistant.tools.registry import AgentServices
from assistant.turns.live import LiveTurns
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations
from store.chats.records import Chat, StoredTurn
from store.core import recording, times
from store.core.database import Database
from store.core.errors import NotFound, SettingsError, existing
from store.core.paths import DataDir
from store.core.preferences import day_clock, host_zone, utc_offset_min, zone_named
from store.core.settings import CaptureSettings, Settings
from store.frames import frames
from store.frames.media import Media
from store.spool.queue import Spool


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    data_dir: DataDir
    database: Database
    media: Media
    spool: Spool
    chat_models: ChatModels
    embedder: QueryEmbedder  # what a search means; opened with the first one
    agent: AgentServices  # the chat's tools
    context: ContextServices  # the memory of chats: sessions, summaries, what is told as background
    turns: LiveTurns  # turns of the chat that run by themselves
    clock: Callable[[], int]  # now, in epoch milliseconds
    token: str  # what a bearer must show; every other secret is derived from it

    @property
    def capture(self) -> CaptureSettings:
        """How the screen is recorded, as it was chosen. While that cannot be read nothing is recorded, and
        capture says so.
        """
        try:
            return recording.chosen(self.data_dir, self.settings.capture)
        except SettingsError:
            return self.settings.capture


def services() -> Services:
    """The services of the app that answers the current request."""
    return cast(Services, current_app.extensions["recollect"])


ZONE_COOKIE = "zone"
BROWSER_ZONE_COOKIE = "tz"
THEME_COOKIE = "theme"
DAY_START_COOKIE = "day_start"
KEYS_COOKIE = "single_keys"
_HALF_YEAR_MS = 182 * 86_400_000

Origin = Literal["link", "chosen", "browser", "server"]


@dataclass(frozen=True, slots=True)
class Viewer:
    """The clock and the choices that a page is drawn with."""

    zone: ZoneInfo
    zone_origin: Origin
    now_ms: int
    theme: str  # "light", "dark" or "" for the system's
    day_start_min: int
    week_start: int  # 0 is Monday
    single_keys: bool

    @property
    def zone_name(self) -> str:
        return self.zone.key or "UTC"

    @property
    def zone_is_doubtful(self) -> bool:
        """A browser that reports UTC beside a server elsewhere may be hiding its zone.

        Zones are known by their clocks, in summer and in winter: UTC has many names.
        """
        moments = (self.now_ms, self.now_ms + _HALF_YEAR_MS)
        own, host = (any(utc_offset_min(ms, zone) for ms in moments) for zone in (self.zone, host_zone()))
        return self.zone_origin == "browser" and host and not own

    def zone_goes_without_saying(self, ms: int) -> bool:
        """Whether this machine, the days of the home and the frame nearest to a moment have this clock."""
        database, moments = services().database, (self.now_ms, self.now_ms + _HALF_YEAR_MS)
        zones = (self.zone, host_zone(), day_clock(database).zone)
        lived = frames.nearest(database, ms)
        return len({tuple(utc_offset_min(at, zone) for at in moments) for zone in zones}) == 1 and (
            lived is None or lived.utc_offset_min in (None, utc_offset_min(lived.captured_ms, self.zone))
        )

    @property
    def calendar(self) -> Calendar:
        return Calendar(self.now_ms, self.zone, self.day_start_min, self.week_start)

    def day_of(self, ms: int) -> times.Day:
        return times.day_of(ms, self.zone, self.day_start_min)

    def date_of(self, ms: int | None) -> date | None:
        """The date of the day that holds a moment; None for none."""
        return None if ms is None else self.day_of(ms).date

    @property
    def today(self) -> times.Day:
        return self.day_of(self.now_ms)


def viewer() -> Viewer:
    """The viewer of the current request, worked out once."""
    if "viewer" not in g:
        g.viewer = _viewer_of_request()
    return cast(Viewer, g.viewer)


def _viewer_of_request() -> Viewer:
    cookies = request.cookies
    choices: list[tuple[Origin, str | None]] = [
        ("link", request.values.get("tz")),
        ("chosen", cookies.get(ZONE_COOKIE)),
        ("browser", cookies.get(BROWSER_ZONE_COOKIE)),
    ]
    zones = ((origin, zone_named(name)) for origin, name in choices)
    origin, zone = next(((o, z) for o, z in zones if z is not None), ("server", host_zone()))
    # The first known language of the browser: a week begins on Sunday for ``en-US``.
    tags = [tag.replace("-", "_") for tag in request.accept_languages.values()]
    locale = Locale.negotiate(tags, localedata.locale_identifiers())
    theme = cookies.get(THEME_COOKIE, "")
    day_start = cookies.get(DAY_START_COOKIE, "")
    return Viewer(
        zone=zone,
        zone_origin=origin,
        now_ms=services().clock(),
        theme=theme if theme in ("light", "dark") else "",
        day_start_min=60 * int(day_start) if day_start in ("1", "2", "3", "4", "5", "6") else 0,
        week_start=locale.first_week_day if locale else 0,
        single_keys=cookies.get(KEYS_COOKIE) != "off",
    )


def wants_fragment() -> bool:
    """Whether htmx asks for a piece of a page; a history restore gets the page."""
    return bool(request.htmx) and not request.htmx.history_restore_request


def is_disconnected(connection: socket.socket) -> bool:
    """Whether the other side has closed: the connection can be read and there is nothing."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):  # reset, or closed on this side
        return True


# -- what an address names: a chat or a turn of the current app's store; all raise `NotFound` -----


def chat_or_404(chat_id: int) -> Chat:
    return existing(conversations.get(services().database, chat_id), "chat", chat_id)


def turn_or_404(chat_id: int, n: int) -> StoredTurn:
    """The row of a turn; `stored_turn_or_404` reads all of it."""
    return existing(conversations.turn(services().database, chat_id, n), "turn", f"{n} in chat {chat_id}")


def stored_turn_or_404(chat_id: int, n: int) -> TurnResult:
    try:
        return stored_turn(services().database, chat_id, n)
    except UnknownChat as error:
        raise NotFound("turn", f"{n} in chat {chat_id}") from error
