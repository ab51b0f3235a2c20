"""The intervals behind a total: what "2 h 10 min" is the sum of."""

from __future__ import annotations

from pydantic import Field

from store.core.times import to_seconds
from store.timeline import segments
from store.timeline.totals import Kind, intervals
from webapp.api.endpoint import endpoint
from webapp.api.timeline import range_ms
from webapp.api.values import Answer, RangeQuery, Text
from webapp.core.services import services


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


@endpoint(
    "GET", "/activity-intervals", "The intervals of a total", query=IntervalsQuery, answer=IntervalsAnswer
)
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
