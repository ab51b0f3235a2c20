"""The lines of an iCalendar file (RFC 5545), unfolded, as components in the order of the file.

Only what is asked for is kept of a component, so that attached files cost nothing.
https://www.rfc-editor.org/rfc/rfc5545#section-3.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import Source, decoded

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
