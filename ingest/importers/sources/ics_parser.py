"""The lines of an iCalendar file (RFC 5545), unfolded, as components in the order of the file.

Only what is asked for is kept of a component, so that attached files cost nothing.
https://www.rfc-editor.org/rfc/rfc5545#section-3.1
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import tz

from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import BadRecord, Source, decoded, local_ms

MAX_DEPTH = 8
MAX_VALUE_BYTES = 200_000
MAX_COMPONENT_BYTES = 2_000_000

_NAME = re.compile(rb"[A-Za-z0-9-]{1,60}")
# Parameters may be quoted, and then hold colons and semicolons.
_WRITTEN = r'(?:"[^"]*"|[^";:,]*)'
_LINE = re.compile(
    rf"([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+={_WRITTEN}(?:,{_WRITTEN})*)*):(.*)",
    re.DOTALL,
)
_PARAMETER = re.compile(r';([A-Za-z0-9-]+)=("[^"]*"|[^;:]*)')
_ESCAPED = re.compile(r"\\([\\;,nN])")


@dataclass(frozen=True, slots=True)
class Property:
    """``NAME;PARAMETER=…:value``, the value as it is written."""

    name: str
    parameters: dict[str, str]
    value: str

    def text(self) -> str:
        """The value of a TEXT property, without its escapes (section 3.3.11)."""
        if "\\" not in self.value:
            return self.value
        return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], self.value)


@dataclass(slots=True)
class Component:
    """An event or a zone that is whole, or properties of the calendar itself. `line` is where it begins."""

    name: str
    line: int
    properties: list[Property] = field(default_factory=list)
    source: str = ""  # of a zone: its lines, as they stand

    def first(self, name: str) -> Property | None:
        return next((each for each in self.properties if each.name == name), None)

    def every(self, name: str) -> list[Property]:
        return [each for each in self.properties if each.name == name]


def components(
    source: Source, wanted: frozenset[str], calendar_wanted: frozenset[str]
) -> Iterator[Component]:
    """Each VEVENT and VTIMEZONE, and a VCALENDAR component for every property of the calendar that is wanted.

    Raises `CannotImport` for what is no calendar, or ends in the middle of one.
    """
    open_names: list[str] = []
    event: Component | None = None
    zone: list[str] | None = None
    size = 0
    asked = frozenset(name.encode() for name in (*wanted, *calendar_wanted, "BEGIN", "END"))
    for line, raw in _unfolded(source, asked):
        text = decoded(raw, line).rstrip("\r\n")
        upper = text[:80].upper()
        if upper.startswith("BEGIN:"):
            name = upper[6:].strip()
            if not open_names and name != "VCALENDAR":
                raise CannotImport("this is no calendar: it does not begin with BEGIN:VCALENDAR")
            if len(open_names) >= MAX_DEPTH:
                raise CannotImport(f"the calendar is nested more than {MAX_DEPTH} levels deep")
            open_names.append(name)
            if name == "VEVENT":
                event, size = Component(name, line), 0
            elif name == "VTIMEZONE":
                zone, size = [], 0
        if zone is not None:
            zone.append(text)
        size += len(raw)
        if size > MAX_COMPONENT_BYTES:
            raise CannotImport(f"what begins before line {line} is larger than {MAX_COMPONENT_BYTES:,} bytes")
        if upper.startswith("BEGIN:"):
            continue
        if not open_names:
            if text.strip():
                raise CannotImport("this is no calendar: it does not begin with BEGIN:VCALENDAR")
            continue
        if upper.startswith("END:"):
            name = upper[4:].strip()
            if open_names.pop() != name:
                raise CannotImport(f"line {line} ends a {name[:20]} that has not begun")
            size = 0 if not open_names or name in ("VEVENT", "VTIMEZONE") else size
            if name == "VEVENT" and event is not None:
                yield event
                event = None
            elif name == "VTIMEZONE" and zone is not None:
                yield Component(name, line, source="\n".join(zone))
                zone = None
        elif event is not None and open_names[-1] == "VEVENT":
            if found := _property(text, wanted):
                event.properties.append(found)
        elif open_names == ["VCALENDAR"]:
            size = 0
            if found := _property(text, calendar_wanted):
                yield Component("VCALENDAR", line, [found])
    if open_names:
        raise CannotImport(f"the file ends in the middle of a {open_names[-1][:20]}")


def _unfolded(source: Source, asked: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
    """(line, content) with folded lines joined; folding counts bytes, and may cut through a character.

    A long line of a property that nobody asked for is kept short.
    """
    start, parts, size, is_asked, in_zone = 0, [], 0, False, False  # type: int, list[bytes], int, bool, bool
    for number, line in enumerate(source.byte_lines(), 1):
        if line[:1] in (b" ", b"\t") and parts:
            size += len(line)
            if is_asked or in_zone:
                if size > MAX_VALUE_BYTES:
                    raise CannotImport(f"line {start} goes on for more than {MAX_VALUE_BYTES:,} bytes")
                parts[-1] = parts[-1].rstrip(b"\r\n")
                parts.append(line[1:])
            continue
        if parts:
            yield start, b"".join(parts)
        name = _NAME.match(line.removeprefix(b"\xef\xbb\xbf"))
        word = name.group().upper() if name else b""
        if word in (b"BEGIN", b"END") and b"VTIMEZONE" in line.upper():
            in_zone = word == b"BEGIN"
        is_asked = word in asked
        start, parts, size = number, [line], len(line)
    if parts:
        yield start, b"".join(parts)


def _property(text: str, wanted: frozenset[str]) -> Property | None:
    name = re.split("[;:]", text, maxsplit=1)[0].upper()
    if name not in wanted:
        return None
    found = _LINE.fullmatch(text)
    if found is None:
        return None
    parameters = (
        {key.upper(): value.strip('"') for key, value in _PARAMETER.findall(found[2])} if found[2] else {}
    )
    return Property(name, parameters, found[3])


# ---- ics times
# Times of an iCalendar file: dates, local times, UTC, and the zones they name (RFC 5545, section 3.3).

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
