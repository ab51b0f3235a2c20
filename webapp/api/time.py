"""What a text says of time: the one reader of time phrases, for every program that shows or sends a range."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pydantic import Field

from assistant.language.time_phrases import Calendar, Found, Refusal, in_message, widened
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, QuerySeconds, Request, SpanAnswer, Text, Zone
from webapp.core.services import services


class TimeQuery(Request):
    text: Text = Field(description="A question.")
    timezone: Zone = Field(description="IANA name of the zone of the person.")
    now: QuerySeconds | None = Field(
        None, description="Now for the person, epoch seconds; our clock if missing."
    )


class FoundTimeAnswer(SpanAnswer):
    text: str = Field(validation_alias="phrase", description="The words that say so.")
    so_far: bool = Field(description="Whether more of it may still come.")
    also: list[SpanAnswer] = Field(description="Other readings of the same words, nearest first.")


class TimeAnswer(Answer):
    found: list[FoundTimeAnswer] = Field(
        description="Ranges meant together; none, without a problem: the text names no time."
    )
    unread: list[str] = Field(description="Words of time that were not understood.")
    problem: str | None = Field(description="Why no range is certain: ambiguous, unread, future, …")
    also: list[SpanAnswer] = Field(description="What may be meant where there is a problem, nearest first.")


@endpoint("GET", "/time", "Read a time in words")
def time(query: TimeQuery) -> TimeAnswer:
    """The ranges that a text names in a person's zone. A moment is widened by five minutes to each side."""
    now_ms = services().clock() if query.now is None else query.now
    calendar = Calendar(now_ms, ZoneInfo(query.timezone))
    match read := in_message(query.text, calendar):
        case Found():
            ranges = FoundTimeAnswer.list_of(widened(found, calendar) for found in (read, *read.further))
            return TimeAnswer(found=ranges, unread=[], problem=None, also=[])
        case Refusal():
            unread = [read.phrase] if read.problem in ("unread", "unrecognised") else []
            readings = SpanAnswer.list_of(widened(found, calendar) for found in read.also)
            return TimeAnswer(found=[], unread=unread, problem=read.problem, also=readings)
    return TimeAnswer(found=[], unread=[], problem=None, also=[])
