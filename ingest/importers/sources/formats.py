"""Which formats there are, and which one a file is in: by how it begins, not by its name.

fitting("messages", source)  ->  the Format, or `CannotImport` with the formats there are
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources import (
    geojson,
    gpx,
    ics,
    location_tables,
    locations,
    mbox,
    message_table,
    messengers,
    sms_backup,
    telegram,
    text_messages,
)
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.tables import Aliases, has_columns
from store.sources.imports import Kind

Read = Callable[[Source, Options], Iterator[Any | Skipped]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its name on the command line. `begins` says whether a file's beginning looks like it."""

    name: str
    title: str
    read: Read
    begins: Callable[[str], bool]


def _pattern(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.DOTALL)
    return lambda head: compiled.search(head) is not None


def _any_line(*patterns: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether one of the first lines fits."""

    def begins(head: str) -> bool:
        lines = (line.lstrip("\u200e\ufeff") for line in head.splitlines(keepends=True)[:50])
        return any(pattern.match(line) for line in lines for pattern in patterns)

    return begins


def _table(aliases: Aliases, needed: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda head: has_columns(head.partition("\n")[0].rstrip("\r"), aliases, needed)


def _element(*names: str) -> Callable[[str], bool]:
    return _pattern(rf"\A\s*(?=<).*?<(?:\w+:)?(?:{'|'.join(names)})\b")


_FEATURES = r'\A\s*\{(?=.*"(?:FeatureCollection|features)")'

FORMATS: dict[Kind, tuple[Format, ...]] = {
    "messages": (
        Format("sms-backup", "SMS Backup & Restore", sms_backup.read_sms_backup, _element("smses", "calls")),
        Format("telegram", "Telegram Desktop, JSON", telegram.read_telegram, _pattern(r"\A\s*\{")),
        Format("mbox", "mbox (e-mail)", mbox.read, _pattern(r"\AFrom ")),
        Format("imessage", "iMessage, text of imessage-exporter", text_messages.read_imessage, _any_line(text_messages.IMESSAGE_STARTS)),
        Format("whatsapp", "WhatsApp, exported chat", messengers.read_whatsapp, _any_line(messengers.WHATSAPP_LINE)),
        Format("csv", "CSV", message_table.read_csv_messages, _table(message_table.MESSAGE_COLUMNS, message_table.MESSAGE_NEEDED)),
    ),
    "calendar": (Format("ics", "iCalendar (.ics)", ics.read, _pattern(r"(?i)\A\s*BEGIN:VCALENDAR")),),
    "location": (
        Format("gpx", "GPX", gpx.read_gpx, _element("gpx")),
        Format("geojson", "GeoJSON", geojson.read_geojson_points, _pattern(_FEATURES)),
        Format("takeout", "Google Takeout or Timeline, JSON", locations.read_takeout, _pattern(r"\A\s*[{\[]")),
        Format(
            "csv", "CSV", location_tables.read_csv_points,
            _table(location_tables.POINT_COLUMNS, location_tables.POINT_NEEDED),
        ),
    ),
    "places": (
        Format("geojson", "GeoJSON", geojson.read_geojson_places, _pattern(r"\A\s*\{")),
        Format(
            "csv", "CSV", location_tables.read_csv_places,
            _table(location_tables.PLACE_COLUMNS, location_tables.PLACE_NEEDED),
        ),
    ),
}  # fmt: skip

SUFFIXES: dict[Kind, frozenset[str]] = {
    "messages": frozenset({".xml", ".json", ".mbox", ".txt", ".csv"}),
    "calendar": frozenset({".ics"}),
    "location": frozenset({".gpx", ".geojson", ".json", ".csv"}),
    "places": frozenset({".geojson", ".json", ".csv"}),
}


def detect_format(kind: Kind, source: Source, name: str | None = None) -> Format:
    """The format of this name, or the one that the file's beginning looks like."""
    formats = FORMATS[kind]
    if name is not None:
        found = next((each for each in formats if each.name == name), None)
        if found is None:
            raise CannotImport(f"{name!r} is none of the formats {', '.join(each.name for each in formats)}")
        return found
    head = source.head.decode("utf-8", "replace").removeprefix("\ufeff")
    found = next((each for each in formats if each.begins(head)), None)
    if found is None:
        titles = "; ".join(each.title for each in formats)
        raise CannotImport(f"{source.name!r} is in none of these formats: {titles}")
    return found
