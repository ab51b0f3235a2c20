"""Who looks at the page, and on which clock: zone, theme and display choices of one request.

The browser decides the zone (cookie ``tz``, written by ``zone.js`` from `Intl`), a person may
override it for this browser (cookie ``zone``), and a link may carry its own (``?tz=``). Before
the browser has said anything the server's own zone stands in, and the page says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

from flask import g, request

from store import days
from webapp.services import services

ZONE_COOKIE = "zone"
BROWSER_ZONE_COOKIE = "tz"
THEME_COOKIE = "theme"
DAY_START_COOKIE = "day_start"
KEYS_COOKIE = "single_keys"

Origin = Literal["link", "chosen", "browser", "server"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+){0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Viewer:
    """The clock and the choices that a page is drawn with."""

    zone: ZoneInfo
    zone_origin: Origin
    now_ms: int
    theme: str  # "light", "dark" or "" for the system's
    day_start_min: int
    single_keys: bool

    @property
    def zone_name(self) -> str:
        return self.zone.key or "UTC"

    @property
    def zone_is_doubtful(self) -> bool:
        """A browser that reports UTC beside a server elsewhere may be hiding its zone."""
        is_utc = self.zone_name in ("UTC", "Etc/UTC")
        return self.zone_origin == "browser" and is_utc and host_zone().key not in ("UTC", "Etc/UTC")

    def day_of(self, ms: int) -> days.Day:
        return days.day_of(ms, self.zone, self.day_start_min)

    @property
    def today(self) -> days.Day:
        return self.day_of(self.now_ms)


def viewer() -> Viewer:
    """The viewer of the current request, worked out once."""
    if "viewer" not in g:
        g.viewer = _read()
    found: Viewer = g.viewer
    return found


def zone_named(name: str | None) -> ZoneInfo | None:
    """The zone of an IANA name, or None when there is no such zone."""
    if not name or len(name) > 64 or not _NAME.fullmatch(name) or name not in _known_zones():
        return None
    return ZoneInfo(name)


def zone_names() -> list[str]:
    """Zones to choose from: places, and UTC."""
    return ["UTC", *sorted(name for name in _known_zones() if "/" in name and not _is_old(name))]


def host_zone() -> ZoneInfo:
    """This machine's own zone, UTC when it does not say."""
    link = Path("/etc/localtime")
    linked = str(link.resolve()).partition("zoneinfo/")[2] if link.exists() else ""
    return zone_named(os.environ.get("TZ")) or zone_named(linked) or ZoneInfo("UTC")


_zones: frozenset[str] = frozenset()


def _known_zones() -> frozenset[str]:
    global _zones
    _zones = _zones or frozenset(available_timezones())  # walks a folder: once is enough
    return _zones


def _is_old(name: str) -> bool:
    return name.startswith(("Etc/", "SystemV/", "US/", "posix/", "right/"))


def _read() -> Viewer:
    cookies = request.cookies
    choices: list[tuple[Origin, str | None]] = [
        ("link", request.values.get("tz")),
        ("chosen", cookies.get(ZONE_COOKIE)),
        ("browser", cookies.get(BROWSER_ZONE_COOKIE)),
    ]
    found = ((origin, zone_named(name)) for origin, name in choices)
    origin, zone = next(((o, z) for o, z in found if z is not None), ("server", host_zone()))
    theme = cookies.get(THEME_COOKIE, "")
    day_start = cookies.get(DAY_START_COOKIE, "")
    return Viewer(
        zone=zone,
        zone_origin=origin,
        now_ms=services().clock(),
        theme=theme if theme in ("light", "dark") else "",
        day_start_min=60 * int(day_start) if day_start in ("1", "2", "3", "4", "5", "6") else 0,
        single_keys=cookies.get(KEYS_COOKIE) != "off",
    )
