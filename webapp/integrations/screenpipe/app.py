"""``GET /activity-summary`` and ``GET /health``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import BaseModel

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall
from store.core.database import scalar
from store.frames.activity_intervals import Segment
from store.frames.frames import captured_ms_of
from store.search.search import Filters
from store.timeline.totals import of_segments
from webapp.core.services import services
from webapp.integrations.screenpipe.values import Answer, Query, Text, Time, read, utc, window_ms
from webapp.ops import health as app_health

_MAX_APPS = 20
_MAX_TEXTS = 10


class SummaryQuery(Query):
    start_time: Time
    end_time: Time
    app_name: Text | None = None


class AppUsage(Answer):
    name: str
    frame_count: int
    minutes: float
    first_seen: str
    last_seen: str


class RecentText(Answer):
    text: str
    app_name: str
    timestamp: str


class AudioSummary(Answer):
    segment_count: int
    speakers: list[str]


class TimeRange(Answer):
    start: str
    end: str


class SummaryAnswer(Answer):
    apps: list[AppUsage]
    recent_texts: list[RecentText]
    audio_summary: AudioSummary
    total_frames: int
    time_range: TimeRange


def summary(call: ReadCall) -> BaseModel:
    """Minutes by app, from a union of intervals, and what was read last."""
    query = read(SummaryQuery)
    start_ms, end_ms = window_ms(query.start_time, query.end_time)
    assert end_ms is not None  # it is required
    line = [
        segment
        for segment in calls.segments(call, start_ms, end_ms)
        if query.app_name is None or (segment.app_name or "").casefold() == query.app_name.casefold()
    ]
    apps = _apps(line, start_ms, end_ms)
    texts = _texts(call, start_ms, end_ms, query.app_name)
    call.returned = len(apps) + len(texts)
    return SummaryAnswer(
        apps=apps,
        recent_texts=texts,
        audio_summary=AudioSummary(segment_count=0, speakers=[]),
        total_frames=sum(segment.frames for segment in line),
        time_range=TimeRange(start=utc(query.start_time), end=utc(query.end_time)),
    )


def _apps(line: list[Segment], start_ms: int, end_ms: int) -> list[AppUsage]:
    counts: Counter[str | None] = Counter()
    for segment in line:
        counts[segment.app_name] += segment.frames
    totals = [total for total in of_segments(line, start_ms, end_ms).by_app if total.name]
    return [
        AppUsage(
            name=total.name or "",
            frame_count=counts[total.name],
            minutes=round(total.duration_ms / 60_000, 1),
            first_seen=utc(total.first_ms),
            last_seen=utc(total.last_ms),
        )
        for total in totals[:_MAX_APPS]
    ]


def _texts(call: ReadCall, start_ms: int, end_ms: int, app_name: str | None) -> list[RecentText]:
    """The beginnings of the newest different texts."""
    filters = Filters(start_ms=start_ms, end_ms=end_ms, app_name=app_name)
    found: dict[str, RecentText] = {}
    for hit in calls.find(call, "", filters, limit=4 * _MAX_TEXTS).hits:
        text = " ".join(hit.snippet.split())
        if text and text not in found:
            at = utc(hit.captured_ms)
            found[text] = RecentText(text=text, app_name=hit.app_name or "", timestamp=at)
    return list(found.values())[:_MAX_TEXTS]


def health(*, is_known: bool) -> dict[str, Any]:
    """Always 200, the state in the body, as theirs; the time of the last frame only with a token."""
    own = services()
    found = app_health.check(own)
    capture = next(part for part in found.parts if part.name == "capture")
    with own.database.read() as connection:
        newest = scalar(connection, "select max(id) from frames")
    frame_status = "not_started" if newest is None else "ok" if capture.verdict == "ok" else "stale"
    return {
        "status": found.status,
        "status_code": 503 if found.status == "unhealthy" else 200,
        "last_frame_timestamp": utc(captured_ms_of(newest)) if is_known and newest is not None else None,
        "last_audio_timestamp": None,
        "frame_status": frame_status,
        "audio_status": "disabled",
        "message": "Recollect records the screen; `recollect doctor` says what is wrong, if anything.",
        "verbose_instructions": None,
        "device_status_details": None,
    }
