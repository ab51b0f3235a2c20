"""Memory: what was done, learned and asked, by words or meaning, around one moment, and day by day."""

from __future__ import annotations

import time
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AliasPath, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from store.core.errors import existing
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries, observations
from store.memory import search as memory
from store.memory import timeline as memory_timeline
from store.memory.chat_summaries import ChatSummary
from store.memory.daily_summaries import DailySummary
from store.memory.documents import SessionSummary
from store.memory.entries import ENTRY_TYPES, MEMORY_WINDOW_DAYS, EntryType, MemoryEntry, MemoryFilters
from store.memory.insights import Insight
from store.memory.observations import HOUR_MS, Fact, Observation
from store.memory.timeline import MAX_DEPTH, TIMELINE_DEPTH, BadAnchor, UnknownAnchor
from webapp.api.endpoint import endpoint, refusing
from webapp.api.values import (
    Answer,
    Minutes,
    QueryInt,
    QuerySeconds,
    Ranged,
    Request,
    SpanAnswer,
    Text,
    Timestamp,
)
from webapp.core.errors import Problem
from webapp.core.services import services


class ObservationAnswer(SpanAnswer):
    id: int
    minutes: Minutes = Field(validation_alias="active_ms", description="The time really spent there.")
    app_name: str | None
    kind: str
    project: str | None
    title: str
    narrative: str
    facts: list[Fact]
    concepts: list[str]
    files: list[str]
    urls: list[str]
    frame_ids: list[int]
    source: Literal["rule", "model", "user"]
    edited: list[str] = Field(description="Fields that a person wrote.")


class SummaryAnswer(Answer):
    """Null where nothing honest can be said."""

    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None


class SessionAnswer(SummaryAnswer, SpanAnswer):
    """What was `learned`, `completed` and is open are lines of the screen; `evidence` has their frames."""

    id: int
    project: str | None
    evidence: list[Fact]


class PromptAnswer(Answer):
    id: int
    chat_id: int
    prompt_number: int
    text: str
    time: Timestamp = Field(validation_alias="created_ms")


class InsightBody(Answer):
    """The current version; GET /insights/{id} has its evidence."""

    id: int
    chat_id: int
    frame_id: int | None = Field(validation_alias=AliasPath("anchor", "frame_id"))
    title: str
    summary: str
    persona_id: int | None
    time: Timestamp = Field(validation_alias=AliasPath("anchor", "start_ms"))


class ChatBody(SummaryAnswer):
    """What one window of a chat came to; `context_session_id` is its session."""

    context_session_id: str
    chat_id: int
    made_by: str = Field(description="Whose words it is: rules or person.")
    start_time: Timestamp = Field(validation_alias="started_ms")
    end_time: Timestamp = Field(validation_alias="ended_ms")


Body = ObservationAnswer | SessionAnswer | PromptAnswer | InsightBody | ChatBody


def body_of(entry: MemoryEntry) -> Body:
    match entry.body:
        case Observation():
            return ObservationAnswer.of(entry.body)
        case SessionSummary():
            lines = entry.body.fields.values()
            facts = observations.quoted(services().database, entry.start_ms, entry.end_ms, lines)
            return SessionAnswer.of(entry.body, evidence=facts)
        case Insight():
            return InsightBody.of(entry.body)
        case ChatSummary():
            return ChatBody.of(entry.body, context_session_id=str(entry.body.session_id))
    return PromptAnswer.of(entry.body)


# -- searching --------------------------------------------------------------------------------


def _types(value: Any) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(str(value).split(",")))
    if not set(names) <= set(ENTRY_TYPES):
        raise PydanticCustomError("invalid_types", f"must be some of {', '.join(ENTRY_TYPES)}, with commas")
    return names


Types = Annotated[
    tuple[str, ...],
    BeforeValidator(_types),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^({'|'.join(ENTRY_TYPES)})(,({'|'.join(ENTRY_TYPES)}))*$"}
    ),
]


class MemorySearchQuery(Ranged):
    q: Text = Field("", description="What is looked for; blank gives the newest entries.")
    types: Types | None = Field(
        None, description="observation, session, prompt, insight, chat; all when missing."
    )
    concept: Text | None = Field(None, description="Only observations with this concept, whole.")
    file: Text | None = Field(None, description="Only observations of a file whose path has this in it.")
    kind: Text | None = Field(None, description="Only observations of this kind, such as coding or mail.")
    project: Text | None = None
    start_time: QuerySeconds | None = Field(None, description="Start of the range, included.")
    end_time: QuerySeconds | None = Field(
        None, description="End of the range, not included. Without any range the last 90 days are searched."
    )
    order: Literal["relevance", "date"] = "relevance"
    limit: Annotated[QueryInt, Field(ge=1, le=100)] = memory.MEMORY_LIMIT


class MemoryHitAnswer(SpanAnswer):
    type: Literal["observation", "session", "prompt", "insight", "chat"]
    id: int
    title: str
    snippet: str
    highlights: list[tuple[int, int]] = Field(description="(start, end) characters of `snippet`.")
    score: float
    body: Body


class MemoryHowAnswer(Answer):
    strategy: Literal["hybrid", "semantic", "fts", "newest"]
    fallback_reason: str | None
    window_days: int | None = Field(description="The default window, null when a range was given.")
    duration_ms: float


class MemorySearchAnswer(Answer):
    data: list[MemoryHitAnswer]
    search: MemoryHowAnswer


@endpoint("GET", "/memory/search", "Find what was done, learned and asked")
def search(query: MemorySearchQuery) -> MemorySearchAnswer:
    """Best first: by meaning where there is an embedder, else by words with the reason."""
    began = time.perf_counter()
    own = services()
    filters = MemoryFilters(
        start_ms=query.start_time,
        end_ms=query.end_time,
        project=query.project or None,
        concept=query.concept or None,
        file=query.file or None,
        kind=query.kind or None,
    )
    types: list[EntryType] = [kind for kind in ENTRY_TYPES if kind in (query.types or ENTRY_TYPES)]
    page = memory.search_memory(
        own.database, own.embedder.asked_soon(query.q), types, filters,
        now_ms=own.clock(), limit=query.limit, order=query.order,
    )  # fmt: skip
    return MemorySearchAnswer(
        data=[MemoryHitAnswer.of(entry, body=body_of(entry)) for entry in page.entries],
        search=MemoryHowAnswer.of(
            page,
            window_days=None if filters.has_range else MEMORY_WINDOW_DAYS,
            duration_ms=round((time.perf_counter() - began) * 1000, 3),
        ),
    )


# -- around one moment ----------------------------------------------------------------------


class MemoryTimelineQuery(Request):
    anchor: Text = Field(
        description="An observation's id, session:ID, prompt:ID or an ISO 8601 time (UTC without an offset)."
    )
    depth_before: Annotated[QueryInt, Field(ge=0, le=MAX_DEPTH)] = TIMELINE_DEPTH
    depth_after: Annotated[QueryInt, Field(ge=0, le=MAX_DEPTH)] = TIMELINE_DEPTH
    unit: Literal["records", "hours"] = Field("records", description="What the depths count.")
    format: Literal["index", "full"] = Field("index", description="`full` adds the bodies.")
    project: Text | None = None


class AnchorAnswer(Answer):
    type: Literal["observation", "session", "prompt", "time"]
    id: int | None
    time: Timestamp = Field(validation_alias="at_ms")


class EntryAnswer(Answer):
    type: Literal["observation", "session", "prompt"]
    id: int
    time: Timestamp = Field(validation_alias="start_ms")
    title: str
    is_anchor: bool
    body: Body | None = Field(description="Null with format=index.")


class MemoryTimelineAnswer(Answer):
    """Chronological; `before` entries come before the anchor."""

    anchor: AnchorAnswer
    before: int
    data: list[EntryAnswer]


@endpoint("GET", "/memory/timeline", "What lies around one moment", {404: "anchor_not_found"})
def timeline(query: MemoryTimelineQuery) -> MemoryTimelineAnswer:
    """Observations, sessions and prompts mixed, the anchor marked."""
    try:
        with refusing(BadAnchor, "invalid_anchor", "anchor", 400):
            surroundings = memory_timeline.get_context_timeline(
                services().database, query.anchor, depth_before=query.depth_before,
                depth_after=query.depth_after, unit=query.unit, project=query.project or None,
            )  # fmt: skip
    except UnknownAnchor as error:
        raise Problem(404, "anchor_not_found", f"{str(error).capitalize()}.") from error
    return MemoryTimelineAnswer.of(
        surroundings,
        data=[
            EntryAnswer.of(
                entry,
                is_anchor=surroundings.is_anchor(entry),
                body=body_of(entry) if query.format == "full" else None,
            )
            for entry in surroundings.entries
        ],
    )


# -- summaries of days: one per local day, hour by hour, with the frames and lines that show it --

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
    hour_answers = [HourAnswer.of(hour, end_time=hour.start_ms + HOUR_MS) for hour in hours]
    return DayAnswer.of(day, hours=hour_answers, settled=is_settled)


def day_or_404(on: date) -> DailySummary:
    return existing(daily_summaries.of_day(services().database, on), "day", on.isoformat())
