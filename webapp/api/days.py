"""Summaries of days: one per local day, hour by hour, with the frames and lines that show it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from store.core.times import to_seconds
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries
from store.memory.daily_hours import Hour
from store.memory.daily_summaries import DailySummary
from store.memory.observations import HOUR_MS
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, QueryInt, Request
from webapp.core.errors import Problem
from webapp.core.services import services

NO_DAY = {404: "day_not_found"}
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


class DaysQuery(Request):
    before: Annotated[str, Field(pattern=_DATE)] | None = Field(
        None, description="Only days before this date, such as 2026-11-20."
    )
    limit: Annotated[QueryInt, Field(ge=1, le=366)] = 31


class DaySummaryAnswer(Answer):
    day: str = Field(description="The local date, such as 2026-11-20.")
    timezone: str = Field(description="The IANA zone that the day was counted by.")
    start_time: float
    end_time: float
    text: str
    source: Literal["rule", "model"]
    updated_at: float


class DaysAnswer(Answer):
    data: list[DaySummaryAnswer]


class DayEvidenceAnswer(Answer):
    frame_id: int
    timestamp: float
    quote: str = Field(description="A line that stands on the frame; blank where the frame as such shows it.")
    frame_url: str


class PointAnswer(Answer):
    timestamp: float
    text: str
    evidence: list[DayEvidenceAnswer]


class HourAnswer(Answer):
    start_time: float
    end_time: float
    source: Literal["none", "rule", "model"] = Field(
        description="`none` is a placeholder: nothing was captured."
    )
    points: list[PointAnswer]
    model_error: str | None = Field(description="Why a chat model did not tell it yet; it is asked again.")


class DayAnswer(DaySummaryAnswer):
    hours: list[HourAnswer]
    settled: bool = Field(description="False while something of the day is still to be told.")


class RedoneAnswer(Answer):
    day: str
    queued: Literal[True] = True


@endpoint("GET", "/days", "Summaries of days")
def all_days(query: DaysQuery) -> DaysAnswer:
    """Latest first."""
    try:
        before = None if query.before is None else date.fromisoformat(query.before)
    except ValueError as error:
        raise Problem(400, "invalid_before", "No calendar has this date.") from error
    found = daily_summaries.listed(services().database, before, query.limit)
    return DaysAnswer(data=[_summary(each) for each in found])


@endpoint("GET", "/days/<day:on>", "One day", NO_DAY)
def one_day(on: date) -> DayAnswer:
    """Its text, and its hours point by point with what shows them."""
    found = day_or_404(on)
    own = services()
    with own.database.read() as connection:
        hours = daily_hours.between(connection, found.start_ms, found.end_ms)
        is_settled = daily_hours.is_settled(connection, found.start_ms, found.end_ms, own.clock())
    told = [_hour(each) for each in hours]
    return DayAnswer(**_summary(found).model_dump(), hours=told, settled=is_settled)


@endpoint("POST", "/days/<day:on>/redo", "Have a day told again", NO_DAY, status=202)
def redo_day(on: date) -> RedoneAnswer:
    """Every hour of it is derived anew, and told anew by the chat model where one may be used."""
    redo(day_or_404(on))
    return RedoneAnswer(day=on.isoformat())


def day_or_404(on: date) -> DailySummary:
    """The summary of a day."""
    found = daily_summaries.of_day(services().database, on)
    if found is None:
        raise Problem(404, "day_not_found", f"There is no summary of {on.isoformat()}.")
    return found


def redo(day: DailySummary) -> None:
    """Put every hour of a day on the list of what is to be told."""
    with services().database.write() as connection:
        daily_hours.redo(connection, day.start_ms, day.end_ms)


def document(day: DailySummary) -> DayAnswer:
    """The day as the API gives it."""
    return one_day(date.fromisoformat(day.day))


def _summary(found: DailySummary) -> DaySummaryAnswer:
    return DaySummaryAnswer(
        day=found.day,
        timezone=found.zone,
        start_time=to_seconds(found.start_ms),
        end_time=to_seconds(found.end_ms),
        text=found.text,
        source=found.source,
        updated_at=to_seconds(found.updated_ms),
    )


def _hour(found: Hour) -> HourAnswer:
    return HourAnswer(
        start_time=to_seconds(found.start_ms),
        end_time=to_seconds(found.start_ms + HOUR_MS),
        source=found.source,
        points=[
            PointAnswer(
                timestamp=to_seconds(point.at_ms),
                text=point.text,
                evidence=[_evidence(quote.frame_id, quote.text) for quote in point.quotes],
            )
            for point in found.points
        ],
        model_error=found.model_error,
    )


def _evidence(frame_id: int, quote: str) -> DayEvidenceAnswer:
    return DayEvidenceAnswer(
        frame_id=frame_id,
        timestamp=to_seconds(captured_ms_of(frame_id)),
        quote=quote,
        frame_url=f"/frames/{frame_id}",
    )
