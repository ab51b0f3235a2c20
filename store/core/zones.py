"""Time zones by name, this machine's own, and the clock that a person's days are counted by."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from store.core import days, preferences
from store.core.database import Database

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+){0,2}", re.ASCII)
_PREFERENCE = "days.clock"


@dataclass(frozen=True, slots=True)
class DayClock:
    """The clock by which days are summarised: an IANA zone, and when a day begins in it."""

    zone: ZoneInfo
    day_start_min: int = 0

    def day_of(self, ms: int) -> days.Day:
        """The local day that holds an instant."""
        return days.day_of(ms, self.zone, self.day_start_min)


def day_clock(database: Database) -> DayClock:
    """The clock that was chosen, else this machine's zone from midnight."""
    chosen = preferences.get_preference(database, _PREFERENCE)
    if not isinstance(chosen, dict):
        return DayClock(host_zone())
    zone = zone_named(chosen.get("zone")) or host_zone()
    return DayClock(zone, int(chosen.get("day_start_min", 0)))


def choose_day_clock(database: Database, clock: DayClock) -> None:
    """Count days by this clock from now on; summaries of earlier days are written again for it."""
    preferences.set_preference(
        database, _PREFERENCE, {"zone": clock.zone.key, "day_start_min": clock.day_start_min}
    )


def zone_named(name: str | None) -> ZoneInfo | None:
    """The zone of an IANA name, or None when there is no such zone."""
    if not name or len(name) > 64 or not _NAME.fullmatch(name) or name not in _known_zones():
        return None
    return ZoneInfo(name)


def zone_names() -> list[str]:
    """Zones to choose from: places, and UTC."""
    return ["UTC", *sorted(name for name in _known_zones() if "/" in name and not _is_old(name))]


def utc_offset(ms: int, zone: tzinfo) -> str:
    """``UTC+08:00``: the offset in force at that instant."""
    minutes = utc_offset_min(ms, zone)
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def utc_offset_min(ms: int, zone: tzinfo) -> int:
    """Minutes east of UTC at that instant."""
    delta = days.to_local(ms, zone).utcoffset()
    return 0 if delta is None else round(delta.total_seconds() / 60)


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
