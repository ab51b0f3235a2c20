"""ActivityWatch: which window was open when, of the JSON that it exports or of its database, as events of a
calendar.

It keeps no pictures, so nothing of it can be a frame or counted beside frames: a window is an event with its
title, its app as the place and its bucket as the calendar. Heartbeats of one window are one event; looks of
seconds are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import EACH, json_records
from ingest.importers.sources.source_file import Options, Source
from store.core.translation import N_
from store.memory.episodes import LOOK_MS
from store.sources import recorders
from store.sources.calendars import EventRecord

_EVENTS = ("buckets", EACH, "events", "[]")
_BREAK_MS = 60_000
_LOOK = N_("open for less than ten seconds")
_UNREADABLE = N_("when it was open cannot be read")


def read(source: Source, options: Options) -> Iterator[EventRecord | Skipped]:
    """The windows of every window watcher; what other watchers saw (the browser's, the idle one) is in them
    already, or is no window. Files have the newest first, but nothing rests on it.
    """
    return _windows((path[1], event) for path, event in json_records(source, {_EVENTS}))


def read_database(source: Source, options: Options) -> Iterator[EventRecord | Skipped]:
    """The same of `peewee-sqlite.v2.db` (aw-server) or `sqlite.db` (aw-server-rust)."""
    if source.path is None:
        raise CannotImport("a database in a zip is not read; unpack it first")
    try:
        yield from _windows(recorders.activitywatch_events(source.path))
    except apsw.Error as error:
        raise CannotImport(f"{source.name!r} cannot be read as ActivityWatch's database: {error}") from error


def _windows(events: Iterable[tuple[str, Any]]) -> Iterator[EventRecord | Skipped]:
    open_now: EventRecord | None = None
    for number, (bucket, event) in enumerate(events, 1):
        data = event.get("data") if isinstance(event, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("app"), str):
            continue
        found = _window(bucket, event, data)
        if found is None:
            yield Skipped(f"event {number}", _UNREADABLE)
        elif open_now and _is_same(open_now, found):
            start_ms, end_ms = min(open_now.start_ms, found.start_ms), max(open_now.end_ms, found.end_ms)
            open_now = replace(open_now, start_ms=start_ms, end_ms=end_ms)
        else:
            if open_now:
                yield _told(open_now)
            open_now = found
    if open_now:
        yield _told(open_now)


def _window(bucket: str, event: dict[str, Any], data: dict[str, Any]) -> EventRecord | None:
    try:
        start_ms = round(datetime.fromisoformat(event["timestamp"]).timestamp() * 1000)
        end_ms = start_ms + round(float(event["duration"]) * 1000)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    title = data.get("title")
    named = title if isinstance(title, str) and title.strip() else data["app"]
    is_possible = 0 < start_ms <= end_ms
    return (
        EventRecord(named, start_ms, end_ms, calendar=bucket, location=data["app"]) if is_possible else None
    )


def _is_same(one: EventRecord, other: EventRecord) -> bool:
    apart_ms = max(one.start_ms, other.start_ms) - min(one.end_ms, other.end_ms)
    names = ((each.calendar, each.location, each.title) for each in (one, other))
    return len(set(names)) == 1 and apart_ms <= _BREAK_MS


def _told(window: EventRecord) -> EventRecord | Skipped:
    return window if window.end_ms - window.start_ms >= LOOK_MS else Skipped(window.calendar, _LOOK)
