"""Evidence chat: a question about a range of time, answered with the frames that prove it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from store import conversations
from store.times import to_ms, to_seconds
from webapp.api.endpoint import endpoint, invalid
from webapp.api.texts import BoxAnswer
from webapp.api.values import MAX_ID, Answer, Request, Seconds, Text, Zone, check_range
from webapp.assistant.errors import TimeRangeRequired, TurnRefused, UnknownChat
from webapp.assistant.records import (
    MAX_MESSAGE_CHARS,
    Coverage,
    EvidenceItem,
    Query,
    TurnDeps,
    TurnError,
    TurnFilters,
    TurnRequest,
    TurnResult,
)
from webapp.assistant.turn import answer as answer_turn
from webapp.assistant.turn import stored_turn
from webapp.errors import FieldError, Problem
from webapp.services import services

_MAX_PROMPT_CHARS = 20_000


class FiltersBody(Request):
    """Which frames count; app, window and address as for search."""

    app_name: Text | None = None
    window_name: Text | None = None
    browser_url: Text | None = None
    focused: bool | None = None


class ChatRequest(Request):
    message: Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_CHARS)]
    start_time: Seconds | None = Field(
        None, description="Start of the range; looked for in the message when missing."
    )
    end_time: Seconds | None = Field(None, description="End of the range, not included; now when missing.")
    timezone: Zone = Field(description="IANA name; local times are told in it.")
    mode: Literal["evidence", "agent"] | None = Field(
        None, description="`agent` is not there yet and answered with 422 `mode_unavailable`."
    )
    filters: FiltersBody = Field(default_factory=FiltersBody)
    chat_id: Annotated[int, Field(ge=1, le=MAX_ID)] | None = Field(None, description="Continues this chat.")
    system_prompt: Annotated[str, StringConstraints(max_length=_MAX_PROMPT_CHARS)] | None = None
    model: Text | None = Field(None, description="A name from GET /models; the default when missing.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        check_range(self.start_time, self.end_time)
        return self


class RangeAnswer(Answer):
    start_time: float
    end_time: float
    timezone: str


class EvidenceAnswer(Answer):
    """A frame of this turn's selection; `n` is its citation number, null when it was not cited."""

    n: int | None
    frame_id: int | None = Field(description="Null once the frame was deleted.")
    timestamp: float
    local_time: str
    app_name: str | None
    window_name: str | None
    focused: bool | None
    browser_url: str | None
    ocr_snippet: str
    quote: str
    boxes: list[BoxAnswer] = Field(description="Where the quote stands, in pixels of the frame.")
    state: str = Field(description="found, not_found, not_checked, retrieved or deleted.")
    frame_url: str | None


class ClaimAnswer(Answer):
    """One sentence of the answer, `answer_md[start:end]`, with the numbers it cites."""

    text: str
    start: int
    end: int
    citations: list[int]
    state: str = Field(description="found, not_found, not_checked or no_evidence.")


class CoverageGapAnswer(Answer):
    start: float
    end: float
    reason: str


class QueryAnswer(Answer):
    start_time: float
    end_time: float
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    hits: int


class CoverageAnswer(Answer):
    frames_in_range: int
    frames_sampled: int
    gaps: list[CoverageGapAnswer]
    queries: list[QueryAnswer]
    index_fresh_to: float | None


class UsageAnswer(Answer):
    """Tokens as the endpoint counted them; null where it did not say."""

    input_tokens: int | None
    output_tokens: int | None


class TurnAnswer(Answer):
    chat_id: int
    turn_id: int = Field(description="Number of the turn in its chat, from 1.")
    mode: Literal["evidence"]
    model: str
    answer_md: str
    time_range: RangeAnswer
    evidence: list[EvidenceAnswer]
    claims: list[ClaimAnswer]
    coverage: CoverageAnswer
    sources: list[str] = Field(default_factory=list, description="Sources beside frames; none yet.")
    usage: UsageAnswer | None
    warnings: list[str]


class RunningAnswer(Answer):
    chat_id: int
    turn_id: int
    status: Literal["running"] = "running"


_MODEL_PROBLEMS = {
    422: "context_too_long",
    502: "model_unauthorized, model_unreachable, model_refused, model_malformed",
    503: "model_rate_limited, retrieval_timeout, search_failed, store_busy, interrupted",
    504: "model_timeout",
}
_STATUS_OF = {code: status for status, codes in _MODEL_PROBLEMS.items() for code in codes.split(", ")}


@endpoint(
    "POST",
    "/chat",
    "Ask about a range of time",
    body=ChatRequest,
    answer=TurnAnswer,
    problems={
        **_MODEL_PROBLEMS,
        400: "invalid_time, invalid_time_range, invalid_timezone",
        404: "chat_not_found",
        422: "time_range_required, mode_unavailable, model_not_found, context_too_long",
    },
)
def chat(body: ChatRequest) -> TurnAnswer:
    """One retrieval, one model call, one answer; every cited frame is one that was retrieved.

    A turn that failed at the model is kept with its question, and can be asked again.
    """
    if body.mode == "agent":
        raise invalid(
            422, "mode_unavailable", [FieldError("mode", "agent is not available yet; use evidence")]
        )
    own = services()
    deps = TurnDeps(own.database, own.chat_models, own.clock)
    request = TurnRequest(
        message=body.message,
        timezone=body.timezone,
        now_ms=own.clock(),
        start_ms=None if body.start_time is None else to_ms(body.start_time),
        end_ms=None if body.end_time is None else to_ms(body.end_time),
        chat_id=body.chat_id,
        filters=TurnFilters(**body.filters.model_dump()),
        model=body.model,
        mode="evidence",
        system_prompt=body.system_prompt,
    )
    try:
        result = answer_turn(deps, request)
    except TurnRefused as error:
        raise refused(error) from error
    return _finished(result)


def refused(error: TurnRefused) -> Problem:
    """A question that cannot become a turn, as a problem."""
    if isinstance(error, UnknownChat):
        return Problem(404, error.code, f"There is no chat {error.chat_id}.")
    status = 400 if error.code in ("invalid_time_range", "invalid_timezone") else 422
    extra: dict[str, Any] = {}
    if isinstance(error, TimeRangeRequired):
        extra = {"understood": error.understood, "problem": error.problem}
    return Problem(status, error.code, str(error), errors=(FieldError(error.field, str(error)),), extra=extra)


def _finished(result: TurnResult) -> TurnAnswer:
    if result.error:
        raise _failed(result.error, result.chat_id, result.turn_id)
    return turn_answer(result)


def _failed(error: TurnError, chat_id: int, turn_id: int) -> Problem:
    headers = {} if error.retry_after_s is None else {"Retry-After": str(max(1, round(error.retry_after_s)))}
    status = _STATUS_OF.get(error.code, 502)
    detail = f"{error.message} {error.action}".strip()
    return Problem(
        status, error.code, detail, headers=headers, extra={"chat_id": chat_id, "turn_id": turn_id}
    )


def turn_answer(result: TurnResult) -> TurnAnswer:
    """A finished turn as the API tells it."""
    return TurnAnswer(
        chat_id=result.chat_id,
        turn_id=result.turn_id,
        mode=result.mode,
        model=result.model,
        answer_md=result.answer_md,
        time_range=RangeAnswer(
            start_time=to_seconds(result.start_ms),
            end_time=to_seconds(result.end_ms),
            timezone=result.timezone,
        ),
        evidence=[_evidence(item) for item in result.evidence],
        claims=[
            ClaimAnswer(
                text=claim.text,
                start=claim.start,
                end=claim.end,
                citations=list(claim.citations),
                state=claim.state,
            )
            for claim in result.claims
        ],
        coverage=_coverage(result.coverage),
        usage=None if result.usage is None else UsageAnswer.model_validate(result.usage),
        warnings=list(result.warnings),
    )


def _evidence(item: EvidenceItem) -> EvidenceAnswer:
    return EvidenceAnswer(
        n=item.n,
        frame_id=item.frame_id,
        timestamp=to_seconds(item.captured_ms),
        local_time=item.local_time,
        app_name=item.app_name,
        window_name=item.window_name,
        focused=item.focused,
        browser_url=item.browser_url,
        ocr_snippet=item.ocr_snippet,
        quote=item.quote,
        boxes=[BoxAnswer.model_validate(box) for box in item.boxes],
        state=item.state,
        frame_url=item.frame_url,
    )


def _coverage(coverage: Coverage) -> CoverageAnswer:
    fresh_ms = coverage.index_fresh_to_ms
    return CoverageAnswer(
        frames_in_range=coverage.frames_in_range,
        frames_sampled=coverage.frames_sampled,
        gaps=[
            CoverageGapAnswer(start=to_seconds(gap.start_ms), end=to_seconds(gap.end_ms), reason=gap.reason)
            for gap in coverage.gaps
        ],
        queries=[_query(query) for query in coverage.queries],
        index_fresh_to=None if fresh_ms is None else to_seconds(fresh_ms),
    )


def _query(query: Query) -> QueryAnswer:
    return QueryAnswer(
        start_time=to_seconds(query.start_ms),
        end_time=to_seconds(query.end_ms),
        app_name=query.filters.app_name,
        window_name=query.filters.window_name,
        browser_url=query.filters.browser_url,
        focused=query.filters.focused,
        hits=query.hits,
    )


@endpoint(
    "GET",
    "/chats/<id:chat_id>/turns/<id:turn_id>",
    "A turn as it is stored",
    answer=TurnAnswer,
    more_answers={202: RunningAnswer},
    problems={**_MODEL_PROBLEMS, 404: "turn_not_found"},
)
def turn(chat_id: int, turn_id: int) -> TurnAnswer | tuple[RunningAnswer, int]:
    """The same body that the question was answered with; 202 while it is being answered."""
    database = services().database
    stored = conversations.turn(database, chat_id, turn_id)
    if stored is None:
        raise Problem(404, "turn_not_found", f"There is no turn {turn_id} in chat {chat_id}.")
    if stored.status == "running":
        return RunningAnswer(chat_id=chat_id, turn_id=turn_id), 202
    return _finished(stored_turn(database, chat_id, turn_id))
