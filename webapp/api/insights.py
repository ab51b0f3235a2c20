"""Insights: what a frame or a moment was about, told, told again, amended and put back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AliasPath, Field, model_validator
from pydantic_core import PydanticCustomError

from assistant.core.records import TurnRequest
from assistant.turns import anchor_facts
from assistant.turns.stored_turns import stored_turn
from store.chats import records
from store.chats.records import Anchor
from store.core.errors import NotFound
from store.frames import frames
from store.memory import insights, search
from store.memory.insights import Insight, InsightFilter
from webapp.api.endpoint import NO_CURSOR, all_of, cut_page, endpoint, read_place
from webapp.api.questions import (
    MODEL_PROBLEMS,
    Note,
    Prompt,
    Question,
    RunningAnswer,
    failure_problem,
    manner,
    start_turn,
    wait_for_turn,
)
from webapp.api.turns import TurnAnswer, turn_answer
from webapp.api.values import (
    Answer,
    DeletedAnswer,
    Id,
    Listing,
    Pagination,
    QueryBool,
    QueryId,
    QueryInt,
    QuerySeconds,
    Ranged,
    Request,
    Seconds,
    Text,
    Timestamp,
    Zone,
)
from webapp.core.errors import invalid
from webapp.core.services import services

INSIGHT = "/insights/<id:insight_id>"


class InsightSummary(Answer):
    """One version. Of each frame or moment exactly one is current."""

    id: int
    anchor: Literal["frame", "moment"] = Field(validation_alias=AliasPath("anchor", "kind"))
    frame_id: int | None = Field(validation_alias=AliasPath("anchor", "frame_id"))
    start_time: Timestamp = Field(validation_alias=AliasPath("anchor", "start_ms"))
    end_time: Timestamp = Field(validation_alias=AliasPath("anchor", "end_ms"))
    title: str
    summary: str = Field(description="Markdown with the numbers of its citations.")
    current: bool
    version: int
    versions: int
    amends_id: int | None = Field(description="The version that it was amended from.")
    persona_id: int | None
    persona: str = Field(description="The name of who spoke; empty for a prompt of its own, or nobody.")
    style_note: str
    model: str
    chat_id: int = Field(description="Its conversation, where it can be asked about.")
    turn_id: int = Field(validation_alias="n")
    created_at: Timestamp


class InsightAnswer(InsightSummary):
    turn: TurnAnswer = Field(description="The turn that told it: evidence, claims, coverage.")


def insight_answer(insight: Insight) -> InsightAnswer:
    """One version with the turn that told it, as that stands now."""
    turn = stored_turn(services().database, insight.chat_id, insight.n)
    return InsightAnswer.of(insight, turn=turn_answer(turn))


# -- listed, told, asked about ------------------------------------------------------

_FOUND_CURSOR = re.compile(r"q-([0-9]{1,6})", re.ASCII)


class InsightsPagination(Pagination):
    total: int = Field(description="How many there are in all, at this moment.")


class InsightsAnswer(Listing[InsightSummary]):
    pagination: InsightsPagination


class InsightsQuery(Ranged):
    q: Text = Field("", description="Words or meaning; those that fit best come first then. Blank: all.")
    frame_id: QueryId | None = Field(None, description="Only those of this frame.")
    start_time: QuerySeconds | None = Field(None, description="Only those that reach into this range.")
    end_time: QuerySeconds | None = None
    persona_id: QueryId | None = None
    all_versions: QueryBool = Field(False, description="Also versions that are not current.")
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 50
    cursor: Text | None = Field(None, description="`next_cursor` of the page before.")

    @model_validator(mode="after")
    def _finds_current(self) -> Self:
        if self.q.strip() and self.all_versions:
            raise PydanticCustomError("invalid_request", "q finds current versions only")
        return self


class MannerRequest(Request):
    timezone: Zone = Field(description="IANA name; local times are told in it.")
    system_prompt: Prompt | None = Field(None, description="As whom it is told, in place of a persona.")
    persona_id: Id | None = Field(None, description="Who tells it; the active persona when missing.")
    style_note: Note = Field("", description="Put under persona or prompt after an empty line.")
    model: Text | None = Field(None, description="A name from GET /models; the default when missing.")


class InsightRequest(MannerRequest, Ranged):
    """What it should be about: a frame, or a range of time."""

    frame_id: Id | None = None
    start_time: Seconds | None = None
    end_time: Seconds | None = None

    @model_validator(mode="after")
    def _one_anchor(self) -> Self:
        has_range = self.start_time is not None and self.end_time is not None
        if (self.start_time is None) != (self.end_time is None) or has_range == (self.frame_id is not None):
            raise PydanticCustomError("invalid_anchor", "give frame_id, or start_time and end_time")
        return self


@endpoint("GET", "/insights", "Insights", {400: "invalid_time, invalid_time_range, invalid_cursor"})
def all_insights(query: InsightsQuery) -> InsightsAnswer:
    """The current ones, of the latest time first, or those that `q` finds."""
    anchored = query.start_time, query.end_time, query.frame_id
    chosen = InsightFilter(*anchored, query.persona_id, query.all_versions)
    shown, next_cursor, total = (_found if query.q.strip() else _listed)(query, chosen)
    return InsightsAnswer(
        data=InsightSummary.list_of(shown),
        pagination=InsightsPagination(limit=query.limit, next_cursor=next_cursor, total=total),
    )


def _listed(query: InsightsQuery, chosen: InsightFilter) -> tuple[Sequence[Insight], str | None, int]:
    """A page by time, the cursor of the next one, and how many there are."""
    page = insights.list_insights(services().database, chosen, query.limit + 1, read_place(query.cursor))
    shown = cut_page(page, query.limit, lambda insight: f"{insight.anchor.start_ms}-{insight.id}")
    return *shown, insights.count(services().database, chosen)


def _found(query: InsightsQuery, chosen: InsightFilter) -> tuple[Sequence[Insight], str | None, int]:
    """The same of what is found: a cursor is ``q-`` and a place in the order."""
    match = _FOUND_CURSOR.fullmatch(query.cursor or "q-0")
    if match is None:
        raise invalid(400, "invalid_cursor", NO_CURSOR)
    first = int(match[1])
    asking = services().embedder.asked(query.q)
    hits = search.search_insights(services().database, asking, chosen, limit=query.limit, offset=first)
    after = first + query.limit
    return hits.insights, f"q-{after}" if after < hits.total else None, hits.total


_GENERATE_PROBLEMS = all_of(
    MODEL_PROBLEMS,
    {
        400: "invalid_time, invalid_time_range, invalid_timezone",
        404: "frame_not_found, persona_not_found",
        422: "invalid_anchor, model_not_found",
        503: "too_many_turns",
    },
)


@endpoint(
    "POST",
    "/insights",
    "Tell what a frame or a moment was about",
    _GENERATE_PROBLEMS,
    status=201,
)
def generate(body: InsightRequest) -> InsightAnswer | RunningAnswer:
    """Becomes the current version; earlier ones stay. 202 when a tool call waits for a person: then the
    turn's own address tells how it goes on.
    """
    own = services()
    asked = anchor_facts.request(_anchor(body), now_ms=own.clock(), **manner(body))
    result = wait_for_turn(start_turn(asked))
    if isinstance(result, RunningAnswer):
        return result
    if result.error:  # of what broke off no insight is made
        raise failure_problem(result.error, result.chat_id, result.turn_id)
    made = insights.of_chat(own.database, result.chat_id)
    if made is None:  # what it was about was deleted meanwhile
        raise NotFound("insight", result.chat_id)
    return insight_answer(made)


@endpoint("GET", INSIGHT, "One insight")
def one(insight_id: int) -> InsightAnswer:
    """With its evidence, as it stands now."""
    return insight_answer(insights.get(services().database, insight_id))


@endpoint("DELETE", INSIGHT, "Delete an insight")
def remove(insight_id: int) -> DeletedAnswer:
    """One version with its conversation. If it was the current one, the newest that is left takes over."""
    insights.delete(services().database, insight_id)
    return DeletedAnswer(id=insight_id)


class InsightChatRequest(MannerRequest):
    message: Question
    amend: bool = Field(False, description="Makes a new current version of what is answered.")
    system_prompt: Prompt | None = Field(
        None, description="For this turn alone; with `amend` kept with the new version as it was sent."
    )


@endpoint(
    "POST",
    f"{INSIGHT}/chat",
    "Ask about an insight, or amend it",
    {
        **_GENERATE_PROBLEMS,
        404: "insight_not_found, persona_not_found",
        422: f"{_GENERATE_PROBLEMS[422]}, model_required",
    },
)
def chat(insight_id: int, body: InsightChatRequest) -> TurnAnswer | RunningAnswer:
    """Goes on in its conversation. An amending turn has one of its own, which holds the new version."""
    insight = insights.get(services().database, insight_id)
    request = TurnRequest(
        message=body.message,
        now_ms=services().clock(),
        chat_id=insight.chat_id,
        amend=body.amend,
        **manner(body),
    )
    result = wait_for_turn(start_turn(request))
    return result if isinstance(result, RunningAnswer) else turn_answer(result)


# -- support ------------------------------------------------------------------------------


def _anchor(body: InsightRequest) -> Anchor:
    if body.frame_id is not None:
        frame = frames.get(services().database, body.frame_id)
        return records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    assert body.start_time is not None and body.end_time is not None  # validated
    return Anchor("moment", body.start_time, body.end_time)
