"""Preferences: what a person chose in the app, as JSON values by key.

`store.core.settings` says where and how; this says what somebody likes. A value of False or None is a
choice like any other and is kept (ActivityWatch lost such a setting once).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import apsw

from store.core import records, times
from store.core.database import Database, scalar
from store.core.settings import ChoosableSettings, OcrSettings, with_choices


def get_preference(database: Database, key: str, default: Any = None) -> Any:
    """What was chosen, or `default` when nothing was."""
    with database.read() as connection:
        return read_preference(connection, key, default)


def read_preference(connection: apsw.Connection, key: str, default: Any = None) -> Any:
    """The same in a read or a transaction that is under way."""
    value = scalar(connection, "select value from preferences where key = ?", (key,))
    return default if value is None else json.loads(value)


def set_preference(database: Database, key: str, value: Any) -> None:
    """Keep a choice. Raises `TypeError` when JSON cannot hold it."""
    with database.write() as connection:
        put_preference(connection, key, value)


def put_preference(connection: apsw.Connection, key: str, value: Any) -> None:
    """Keep a choice in a transaction that is under way (`Database.write`)."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    records.put(connection, "preferences", "key", key=key, value=text)


def delete_preference(database: Database, key: str) -> None:
    """Go back to the default."""
    database.change("delete from preferences where key = ?", (key,))


def choose(database: Database, key: str, value: Any, default: Any) -> None:
    """Keep a choice; one that is the default needs no keeping."""
    if value == default:
        delete_preference(database, key)
    else:
        set_preference(database, key, value)


def chosen(database: Database, section: ChoosableSettings, key: str) -> Any:
    """A setting such as ``ocr.languages``: as a file, a variable or an argument gives it, else as it was
    chosen in the app, else the default.
    """
    name = key.partition(".")[2]
    configured = getattr(section, name)
    return configured if name in section.given else get_preference(database, key, configured)


def choose_setting(database: Database, section: ChoosableSettings, key: str, value: Any) -> None:
    """Keep a choice of such a setting, unless it is given. Raises `SettingsError` for what it cannot be."""
    name = key.partition(".")[2]
    if name not in section.given:
        with_choices(section, {name: value}, origin="the app")
        choose(database, key, value, getattr(section, name))


# -- reading ------------------------------------------------------------------------------

_LANGUAGES = "ocr.languages"


def reading_languages(database: Database, settings: OcrSettings) -> tuple[str, ...]:
    """What text is read in, as Tesseract's codes."""
    return tuple(chosen(database, settings, _LANGUAGES))


def choose_reading_languages(database: Database, languages: Sequence[str], settings: OcrSettings) -> None:
    choose_setting(database, settings, _LANGUAGES, tuple(languages))


# -- time zones ---------------------------------------------------------------------------
# Time zones by name, this machine's own, and the clock that a person's days are counted by.

_PREFERENCE = "days.clock"


@dataclass(frozen=True, slots=True)
class DayClock:
    """The clock by which days are summarised: an IANA zone, and when a day begins in it."""

    zone: ZoneInfo
    day_start_min: int = 0

    def day_of(self, ms: int) -> times.Day:
        """The local day that holds an instant."""
        return times.day_of(ms, self.zone, self.day_start_min)


def day_clock(database: Database) -> DayClock:
    """The clock that was chosen, else this machine's zone from midnight."""
    chosen = get_preference(database, _PREFERENCE)
    if not isinstance(chosen, dict):
        return DayClock(host_zone())
    zone = zone_named(chosen.get("zone")) or host_zone()
    return DayClock(zone, int(chosen.get("day_start_min", 0)))


def choose_day_clock(database: Database, clock: DayClock) -> None:
    """Count days by this clock from now on; summaries of earlier days are written again for it."""
    set_preference(database, _PREFERENCE, {"zone": clock.zone.key, "day_start_min": clock.day_start_min})


def zone_named(name: str | None) -> ZoneInfo | None:
    """The zone of an IANA name, or None when there is no such zone."""
    return ZoneInfo(name) if name and name in _known_zones() else None


def zone_names() -> list[str]:
    """Zones to choose from: places, and UTC."""
    old = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return ["UTC", *sorted(name for name in _known_zones() if "/" in name and not name.startswith(old))]


def utc_offset(ms: int, zone: tzinfo) -> str:
    """``UTC+08:00``: the offset in force at that instant."""
    minutes = utc_offset_min(ms, zone)
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def utc_offset_min(ms: int, zone: tzinfo) -> int:
    """Minutes east of UTC at that instant."""
    delta = times.to_local(ms, zone).utcoffset()
    return 0 if delta is None else round(delta.total_seconds() / 60)


def host_zone() -> ZoneInfo:
    """This machine's own zone, UTC when it does not say."""
    return named_host_zone() or ZoneInfo("UTC")


def named_host_zone() -> ZoneInfo | None:
    """The zone that this machine names as its own, None when it names none."""
    link = Path("/etc/localtime")
    linked = str(link.resolve()).partition("zoneinfo/")[2] if link.exists() else ""
    return zone_named(os.environ.get("TZ")) or zone_named(linked)


@cache
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())  # walks a folder: once is enough
