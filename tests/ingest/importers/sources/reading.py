"""A file as a reader sees it, from its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ingest.importers.items import Skipped
from ingest.importers.sources.source_file import Dates, Options, opened
from ingest.importers.sources.source_import import SUFFIXES, detect_format
from store.sources.imports import Kind

BERLIN = ZoneInfo("Europe/Berlin")
NOW_MS = 1_795_176_000_000
"""2026-11-20, 12:40 UTC."""


def options(me: str = "", dates: Dates | None = None) -> Options:
    return Options(BERLIN, NOW_MS, frozenset({me}) if me else frozenset(), dates)


def read(
    folder: Path, kind: Kind, name: str, content: str | bytes, chosen: Options | None = None
) -> tuple[list[Any], list[tuple[str, str]]]:
    """The records of a file, and (where, why) of what was left out."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with opened(path, SUFFIXES[kind]) as source:
        found = list(detect_format(kind, source).read(source, chosen or options()))
    skipped = [(each.name, each.reason) for each in found if isinstance(each, Skipped)]
    return [each for each in found if not isinstance(each, Skipped)], skipped


def at(text: str) -> int:
    """Milliseconds of a time on a clock in Berlin, or of one with an offset."""
    from datetime import datetime

    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=BERLIN)).timestamp() * 1000)
