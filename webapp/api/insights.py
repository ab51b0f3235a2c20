"""Insights: what a frame or a moment was about, told, told again, amended and put back."""

from __future__ import annotations

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
from store.memory import insights
from store.memory.insights import Insight, InsightFilter
from webapp.api.endpoint import all_of, cut_page, endpoint, read_place
from webapp.api.questions import (
    MODEL_PROBLEMS,
    MannerRequest,
    Prompt,
    Question,
    RunningAnswer,
    failure_problem,
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
    Seconds,
    Text,
    Timestamp,
)
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


class InsightsPagination(Pagination):
    total: int = Field(description="How many there are in all, at this moment.")


class InsightsAnswer(Listing[InsightSummary]):
    pagination: InsightsPagination


class InsightsQuery(Ranged):
    frame_id: QueryId | None = Field(None, description="Only those of this frame.")
    start_time: QuerySeconds | None = Field(None, description="Only those that reach into this range.")
    end_time: QuerySeconds | None = None
    persona_id: QueryId | None = None
    all_versions: QueryBool = Field(False, description="Also versions that are not current.")
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 50
    cursor: Text | None = Field(None, description="`next_cursor` of the page before.")


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


@endpoint("GET", "/insights", "Insights")
def all_insights(query: InsightsQuery) -> InsightsAnswer:
    """The current ones, of the latest time first; `GET /memory/search` finds them by words and meaning."""
    own = services()
    anchored = query.start_time, query.end_time, query.frame_id
    chosen = InsightFilter(*anchored, query.persona_id, query.all_versions)
    page = insights.list_insights(own.database, chosen, query.limit + 1, read_place(query.cursor))
    shown, following = cut_page(page, query.limit, lambda one: f"{one.anchor.start_ms}-{one.id}")
    total = insights.count(own.database, chosen)
    return InsightsAnswer(
        data=InsightSummary.list_of(shown),
        pagination=InsightsPagination(limit=query.limit, next_cursor=following, total=total),
    )


_GENERATE_PROBLEMS = all_of(
    MODEL_PROBLEMS,
    {
        404: "frame_not_found, persona_not_found",
        422: "invalid_anchor, model_not_found",
        503: "too_many_turns",
    },
)


@endpoint("POST", "/insights", "Tell what a frame or a moment was about", _GENERATE_PROBLEMS, status=201)
def generate(body: InsightRequest) -> InsightAnswer | RunningAnswer:
    """Becomes the current version; earlier ones stay. 202 when a tool call waits for a person: then the
    turn's own address tells how it goes on.
    """
    own = services()
    if body.frame_id is not None:
        frame = frames.get(own.database, body.frame_id)
        anchor = records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    else:
        anchor = Anchor("moment", body.start_time or 0, body.end_time or 0)  # both are there: validated
    asked = anchor_facts.request(anchor, now_ms=own.clock(), **body.manner)
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
        **body.manner,
    )
    result = wait_for_turn(start_turn(request))
    return result if isinstance(result, RunningAnswer) else turn_answer(result)
