"""ActivityWatch: which window was open when, of the JSON that it exports, as events of a calendar.

It keeps no pictures, so nothing of it can be a frame or counted beside frames: a window is an event with its
title, its app as the place and its bucket as the calendar. Heartbeats of one window are one event; looks of
seconds are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ingest.importers.items import Skipped
from ingest.importers.sources.record_streams import EACH, json_records
from ingest.importers.sources.source_file import Options, Source
from store.core.translation import N_
from store.memory.episodes import LOOK_MS
from store.sources.calendars import EventRecord

_EVENTS = ("buckets", EACH, "events", "[]")
_BREAK_MS = 60_000
_LOOK = N_("open for less than ten seconds")
_UNREADABLE = N_("when it was open cannot be read")


def read(source: Source, options: Options) -> Iterator[EventRecord | Skipped]:
    """The windows of every window watcher; what other watchers saw (the browser's, the idle one) is in them
    already, or is no window. Files have the newest first, but nothing rests on it.
    """
    open_now: EventRecord | None = None
    for number, (path, event) in enumerate(json_records(source, {_EVENTS}), 1):
        data = event.get("data") if isinstance(event, dict) else None
        if not isinstance(data, dict) or not isinstance(data.get("app"), str):
            continue
        found = _window(path[1], event, data)
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
