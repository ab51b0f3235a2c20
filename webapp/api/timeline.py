"""Stretches of time: activity for a band of some width, and minutes by app, window and address."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from store.timeline import gaps, segments
from store.timeline import timeline as store_timeline
from webapp.api.endpoint import endpoint, range_ms
from webapp.api.frames import SegmentAnswer
from webapp.api.values import Answer, GapAnswer, Minutes, QueryInt, RangeQuery, SpanAnswer, Text, Timestamp
from webapp.core.services import services


class HostQuery(RangeQuery):
    host: Text | None = Field(
        None, description="Only of this machine; blank is this one. Of all, no moment counts twice."
    )


class TimelineQuery(HostQuery):
    width_px: Annotated[QueryInt, Field(ge=1, le=10_000)] | None = Field(
        None, description="Merge segments to the pixels of a band this wide."
    )


class RunAnswer(SegmentAnswer):
    """A stretch in one app; window and address where it has only one."""

    colour_slot: int | None = Field(description="The app's colour, the same for good; null: neutral.")


class TotalAnswer(Answer):
    name: str | None
    app_name: str | None
    minutes: Minutes = Field(validation_alias="duration_ms")
    first_seen: Timestamp = Field(validation_alias="first_ms")
    last_seen: Timestamp = Field(validation_alias="last_ms")


class LaneAnswer(Answer):
    """What one machine showed. Lanes may overlap, so their minutes can add up to more than was spent."""

    host: str = Field(description="The name of its token; blank for this machine.")
    minutes: Minutes = Field(validation_alias="duration_ms")
    segments: list[RunAnswer] = Field(validation_alias="runs")


class TimelineAnswer(SpanAnswer):
    frames: int
    segments: list[RunAnswer]
    moments: list[RunAnswer] = Field(
        description="Pictures that were imported: no segment, and in no total. Those of one pixel are one."
    )
    gaps: list[GapAnswer] = Field(description="Those of all machines: when none of them recorded.")
    apps: list[TotalAnswer]
    hosts: list[LaneAnswer] = Field(
        validation_alias="lanes", description="A lane for each machine, where there are others than this one."
    )


@endpoint("GET", "/timeline", "Activity over time")
def timeline(query: TimelineQuery) -> TimelineAnswer:
    """Activity segments in order, gaps with their reasons, and time per app."""
    start_ms, end_ms = range_ms(query)
    own = services()
    activity = store_timeline.timeline(
        own.database, start_ms, end_ms, query.width_px, now_ms=own.clock(), host=query.host
    )
    apps = activity.totals.by_app
    return TimelineAnswer.of(
        activity, start_time=start_ms, end_time=end_ms, segments=activity.runs, apps=apps
    )


class HostTotalAnswer(Answer):
    host: str = Field(description="The name of its token; blank for this machine.")
    minutes: Minutes


class ActivitySummaryAnswer(SpanAnswer):
    """The sum over `apps` is `covered_minutes`, which never exceeds `wall_minutes`."""

    wall_minutes: Minutes = Field(validation_alias="wall_ms")
    covered_minutes: Minutes = Field(validation_alias="covered_ms")
    apps: list[TotalAnswer] = Field(validation_alias="by_app")
    windows: list[TotalAnswer] = Field(validation_alias="by_window")
    urls: list[TotalAnswer] = Field(validation_alias="by_url")
    sites: list[TotalAnswer] = Field(validation_alias="by_site")
    imported: int = Field(description="Pictures that were imported; they count no time.")
    gaps: list[GapAnswer]
    hosts: list[HostTotalAnswer] = Field(
        description="Each machine by itself, where there are others than this one."
    )


@endpoint("GET", "/activity-summary", "How long, by app, window and address")
def activity_summary(query: HostQuery) -> ActivitySummaryAnswer:
    """Minutes from a union of intervals, longest first, with when each was first and last seen."""
    start_ms, end_ms = range_ms(query)
    own = services()
    return ActivitySummaryAnswer.of(
        segments.totals(own.database, start_ms, end_ms, query.host),
        start_time=start_ms,
        end_time=end_ms,
        imported=len(segments.moments(own.database, start_ms, end_ms, query.host)),
        gaps=gaps.gaps(own.database, start_ms, end_ms, own.clock()),
        hosts=[
            HostTotalAnswer(host=name, minutes=sum(segment.duration_ms for segment in line))
            for name, line in segments.by_host(own.database, start_ms, end_ms).items()
        ],
    )
