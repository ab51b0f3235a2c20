"""Summaries of days: one per local day, hour by hour, with the frames and lines that show it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from store.core.errors import existing
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries
from store.memory.daily_summaries import DailySummary
from store.memory.observations import HOUR_MS
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, SpanAnswer, Timestamp
from webapp.core.services import services

NO_DAY = {404: "day_not_found"}


class DaySummaryAnswer(SpanAnswer):
    day: str = Field(description="The local date, such as 2026-11-20.")
    timezone: str = Field(validation_alias="zone", description="The IANA zone that the day was counted by.")
    text: str
    source: Literal["rule", "model"]
    updated_at: Timestamp


class DayEvidenceAnswer(Answer):
    frame_id: int
    timestamp: Annotated[Timestamp, BeforeValidator(captured_ms_of)] = Field(validation_alias="frame_id")
    quote: str = Field(
        validation_alias="text",
        description="A line that stands on the frame; blank where the frame as such shows it.",
    )
    frame_url: Annotated[str, BeforeValidator("/frames/{}".format)] = Field(validation_alias="frame_id")


class PointAnswer(Answer):
    timestamp: Timestamp = Field(validation_alias="at_ms")
    text: str
    evidence: list[DayEvidenceAnswer] = Field(validation_alias="quotes")


class HourAnswer(SpanAnswer):
    source: Literal["none", "rule", "model"] = Field(
        description="`none` is a placeholder: nothing was captured."
    )
    points: list[PointAnswer]
    model_error: str | None = Field(description="Why a chat model did not tell it yet; it is asked again.")


class DayAnswer(DaySummaryAnswer):
    hours: list[HourAnswer]
    settled: bool = Field(description="False while something of the day is still to be told.")


@endpoint("GET", "/days/<day:on>", "One day", NO_DAY)
def one_day(on: date) -> DayAnswer:
    """Its text, and its hours point by point with what shows them."""
    day, database, now_ms = day_or_404(on), services().database, services().clock()
    with database.read() as connection:
        hours = daily_hours.between(database, day.start_ms, day.end_ms, now_ms)
        is_settled = daily_hours.is_settled(connection, day.start_ms, day.end_ms, now_ms)
    told = [HourAnswer.of(hour, end_time=hour.start_ms + HOUR_MS) for hour in hours]
    return DayAnswer.of(day, hours=told, settled=is_settled)


def day_or_404(on: date) -> DailySummary:
    return existing(daily_summaries.of_day(services().database, on), "day", on.isoformat())
