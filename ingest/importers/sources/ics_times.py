"""Times of an iCalendar file: dates, local times, UTC, and the zones they name (RFC 5545, section 3.3)."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import tz

from ingest.importers.sources.ics_parser import Property
from ingest.importers.sources.values import BadRecord, local_ms

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", re.ASCII)
_DURATION = re.compile(
    r"([+-]?)P(?:(\d{1,4})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?", re.ASCII
)
_RULES = re.compile(r"^RRULE:(.*)$", re.MULTILINE | re.IGNORECASE)
_LONG_AGO = re.compile(r"^(DTSTART:)(?:1[0-8]\d\d|19[0-6]\d)", re.MULTILINE | re.IGNORECASE)
_MAX_ZONES = 500


@dataclass(frozen=True, slots=True)
class Moment:
    """A time on the clock of a zone. A date is its midnight."""

    local: datetime
    zone: tzinfo
    is_date: bool

    def at_ms(self) -> float:
        return local_ms(self.local.replace(tzinfo=self.zone), self.zone)


class Zones:
    """The zones of one file by their names there; `own` is that of times without one."""

    def __init__(self, own: tzinfo) -> None:
        self.own = own
        self._known: dict[str, tzinfo | None] = {}

    def describe(self, block: str) -> None:
        """Take a zone from its VTIMEZONE, where its name is not one that everybody knows."""
        found = re.search(r"^TZID:(.+)$", block, re.MULTILINE | re.IGNORECASE)
        name = found[1].strip() if found else ""
        if not name or len(self._known) >= _MAX_ZONES or self._named(name) is not None:
            return
        self._known[name] = _described(block)

    def of(self, name: str) -> tzinfo:
        """The zone of this name. Raises `BadRecord` when the file does not describe it."""
        if name not in self._known:
            if len(self._known) >= _MAX_ZONES:
                raise BadRecord("the file has too many zones")
            self._known[name] = self._named(name)
        zone = self._known[name]
        if zone is None:
            raise BadRecord("its time zone is not known")
        return zone

    def prefer(self, name: str) -> None:
        """X-WR-TIMEZONE: the zone of the calendar."""
        self.own = self._named(name) or self.own

    def _named(self, name: str) -> tzinfo | None:
        """An IANA name, also behind a path of its maker (``/example.org/2026/Europe/Berlin``)."""
        parts = [part for part in name.strip().split("/") if part]
        for count in range(min(3, len(parts)), 0, -1):
            try:
                return ZoneInfo("/".join(parts[-count:]))
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
        return None


def _described(block: str) -> tzinfo | None:
    """A zone from its rules, read by dateutil. Its rules may change the clock once a year, and no more:
    others would keep it busy for ever.
    """
    if any("FREQ=YEARLY" not in rule.upper() for rule in _RULES.findall(block)) or block.count("\n") > 2_000:
        return None
    # Outlook begins its rules in 1601, and each time asked for would be counted from there.
    block = _LONG_AGO.sub(r"\g<1>1970", block)
    try:
        found: tzinfo | None = tz.tzical(io.StringIO(f"{block}\n")).get()
    except (ValueError, TypeError, IndexError, KeyError, OverflowError):
        return None
    return found


def moments(found: Property, zones: Zones) -> list[Moment]:
    """The times of a property; of periods their starts."""
    return [moment(part, found.parameters, zones) for part in found.value.split(",")]


def moment(text: str, parameters: dict[str, str], zones: Zones) -> Moment:
    written = _TIME.fullmatch(text.partition("/")[0].strip())
    if written is None:
        raise BadRecord("a time in it cannot be read")
    year, month, day, hour, minute, second, utc = written.groups()
    try:
        at = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), min(59, int(second or 0))
        )
    except ValueError as error:
        raise BadRecord("a time in it cannot be read") from error
    if utc:
        return Moment(at, UTC, False)
    name = parameters.get("TZID")
    return Moment(at, zones.of(name) if name and hour else zones.own, hour is None)


def duration(text: str) -> timedelta:
    """``PT1H30M``, ``P2D``. Raises `BadRecord`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()[1:]):
        raise BadRecord("its duration cannot be read")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    if found[1] == "-":
        raise BadRecord("it ends before it begins")
    return length
