"""Stretches of time: activity for a band of some width, and minutes by app, window and address."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from store.core.times import to_ms, to_seconds
from store.timeline import ledger, segments
from store.timeline import timeline as store_timeline
from store.timeline.gaps import Gap
from store.timeline.totals import Kind, Total, intervals
from webapp.api.endpoint import endpoint
from webapp.api.frames import SegmentAnswer, stretch_values
from webapp.api.values import Answer, QueryInt, RangeQuery, Text
from webapp.core.errors import invalid
from webapp.core.services import services


def range_ms(query: RangeQuery) -> tuple[int, int]:
    """``[start, end)`` in milliseconds, the end being now when it was not given."""
    start = to_ms(query.start_time)
    end = services().clock() if query.end_time is None else to_ms(query.end_time)
    if end <= start:
        raise invalid(400, "invalid_time_range", ("start_time", "lies in the future"))
    return start, end


class TimelineQuery(RangeQuery):
    width_px: Annotated[QueryInt, Field(ge=1, le=10_000)] | None = Field(
        None, description="Merge segments to the pixels of a band this wide."
    )


class RunAnswer(SegmentAnswer):
    """A stretch in one app; window and address where it has only one."""

    colour_slot: int | None = Field(description="The app's colour, the same for good; null: neutral.")


class GapAnswer(Answer):
    """A stretch that is nobody's: without a picture, or idle. Never names what was left out."""

    start: float
    end: float
    reason: str = Field(
        description="paused, locked, asleep, excluded, idle, failed:…, not_running or deleted."
    )


class TotalAnswer(Answer):
    name: str | None
    app_name: str | None
    minutes: float
    first_seen: float
    last_seen: float


class TimelineAnswer(Answer):
    start_time: float
    end_time: float
    frames: int
    segments: list[RunAnswer]
    gaps: list[GapAnswer]
    apps: list[TotalAnswer]


@endpoint("GET", "/timeline", "Activity over time")
def timeline(query: TimelineQuery) -> TimelineAnswer:
    """Activity segments in order, gaps with their reasons, and time per app."""
    start_ms, end_ms = range_ms(query)
    own = services()
    found = store_timeline.timeline(own.database, start_ms, end_ms, query.width_px, now_ms=own.clock())
    return TimelineAnswer(
        start_time=to_seconds(start_ms),
        end_time=to_seconds(end_ms),
        frames=found.frames,
        segments=[RunAnswer(**stretch_values(run), colour_slot=run.colour_slot) for run in found.runs],
        gaps=_gaps(found.gaps),
        apps=_totals(found.totals.by_app),
    )


class SummaryAnswer(Answer):
    """The sum over `apps` is `covered_minutes`, which never exceeds `wall_minutes`."""

    start_time: float
    end_time: float
    wall_minutes: float
    covered_minutes: float
    apps: list[TotalAnswer]
    windows: list[TotalAnswer]
    urls: list[TotalAnswer]
    sites: list[TotalAnswer]
    gaps: list[GapAnswer]


@endpoint("GET", "/activity-summary", "How long, by app, window and address")
def activity_summary(query: RangeQuery) -> SummaryAnswer:
    """Minutes from a union of intervals, longest first, with when each was first and last seen."""
    start_ms, end_ms = range_ms(query)
    own = services()
    found = segments.totals(own.database, start_ms, end_ms)
    return SummaryAnswer(
        start_time=to_seconds(start_ms),
        end_time=to_seconds(end_ms),
        wall_minutes=_minutes(found.wall_ms),
        covered_minutes=_minutes(found.covered_ms),
        apps=_totals(found.by_app),
        windows=_totals(found.by_window),
        urls=_totals(found.by_url),
        sites=_totals(found.by_site),
        gaps=_gaps(ledger.gaps(own.database, start_ms, end_ms, own.clock())),
    )


def _gaps(found: list[Gap] | tuple[Gap, ...]) -> list[GapAnswer]:
    return [
        GapAnswer(start=to_seconds(gap.start_ms), end=to_seconds(gap.end_ms), reason=gap.reason)
        for gap in found
    ]


def _totals(found: tuple[Total, ...]) -> list[TotalAnswer]:
    return [
        TotalAnswer(
            name=total.name,
            app_name=total.app_name,
            minutes=_minutes(total.duration_ms),
            first_seen=to_seconds(total.first_ms),
            last_seen=to_seconds(total.last_ms),
        )
        for total in found
    ]


def _minutes(duration_ms: int) -> float:
    return duration_ms / 60_000


# ---- activity
# The intervals behind a total: what "2 h 10 min" is the sum of.


class IntervalsQuery(RangeQuery):
    kind: Kind = "app"
    name: Text | None = Field(None, description="As in /activity-summary; missing for the unknown one.")
    app_name: Text | None = Field(None, description="The app of a window or an address.")


class IntervalAnswer(Answer):
    """A stretch in one window, without a gap of more than a minute in it."""

    start_time: float
    end_time: float
    minutes: float
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    first_frame_id: int
    frames: int


class IntervalsAnswer(Answer):
    """`minutes` is the sum over `intervals`, which never overlap."""

    start_time: float
    end_time: float
    minutes: float
    intervals: list[IntervalAnswer]


@endpoint("GET", "/activity-intervals", "The intervals of a total")
def activity_intervals(query: IntervalsQuery) -> IntervalsAnswer:
    """The very intervals whose lengths add up to one total of `/activity-summary`, in order."""
    start_ms, end_ms = range_ms(query)
    line = segments.segments(services().database, start_ms, end_ms)
    found = intervals(line, query.kind, query.name, query.app_name)
    return IntervalsAnswer(
        start_time=to_seconds(start_ms),
        end_time=to_seconds(end_ms),
        minutes=sum(segment.duration_ms for segment in found) / 60_000,
        intervals=[
            IntervalAnswer(
                start_time=to_seconds(segment.start_ms),
                end_time=to_seconds(segment.end_ms),
                minutes=segment.duration_ms / 60_000,
                app_name=segment.app_name,
                window_name=segment.window_name,
                browser_url=segment.browser_url,
                first_frame_id=segment.first_frame_id,
                frames=segment.frames,
            )
            for segment in found
        ],
    )
