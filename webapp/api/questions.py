"""The chat: a question about what was on the screen, answered with the frames that it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import quote

from flask import Response, request, stream_with_context
from pydantic import Field, StringConstraints, model_validator

from assistant.context.background import PreparedContext
from assistant.core.errors import UnknownChat
from assistant.core.records import (
    MAX_MESSAGE_CHARS,
    MAX_NOTE_CHARS,
    MAX_PROMPT_CHARS,
    ApprovalEvent,
    FinalEvent,
    TurnError,
    TurnFilters,
    TurnRequest,
    TurnResult,
)
from assistant.turns.live import LiveTurn
from assistant.turns.plan import MAX_FILES, TurnServices
from assistant.turns.stored_turns import stored_turn
from store.chats import tool_calls
from store.core.errors import NotFound
from store.memory import chat_sessions
from webapp.api.chats import number_of
from webapp.api.endpoint import TURN, all_of, endpoint
from webapp.api.event_stream import event_body
from webapp.api.tool_calls import WaitingCall
from webapp.api.turns import TurnAnswer, turn_answer
from webapp.api.values import Answer, Id, Ranged, Request, Seconds, Text, Zone
from webapp.core.errors import Problem
from webapp.core.services import Services, services, turn_or_404
from webapp.security import login

Question = Annotated[str, StringConstraints(min_length=1, max_length=MAX_MESSAGE_CHARS)]
Prompt = Annotated[str, StringConstraints(max_length=MAX_PROMPT_CHARS)]
Note = Annotated[str, StringConstraints(max_length=MAX_NOTE_CHARS)]


class FiltersBody(Request):
    """Which frames count; app, window and address as for search."""

    app_name: Text | None = None
    window_name: Text | None = None
    browser_url: Text | None = None
    focused: bool | None = None
    host: Text | None = Field(default=None, description="Name of another machine, exactly.")


class MannerRequest(Request):
    """In which zone, by which model and as whom a turn is told."""

    timezone: Zone = Field(description="IANA name; local times are told in it.")
    system_prompt: Prompt | None = Field(
        None, description="As whom the model speaks in this turn; the rules after it hold all the same."
    )
    persona_id: Id | None = Field(None, description="Who speaks; the active persona when missing.")
    style_note: Note = Field(
        "", description="Put under the persona or system prompt after an empty line, for this turn alone."
    )
    model: Text | None = Field(None, description="A name from GET /models; the default when missing.")

    @property
    def manner(self) -> dict[str, Any]:
        return self.model_dump(include=set(MannerRequest.model_fields))


class ChatRequest(MannerRequest, Ranged):
    message: Question
    start_time: Seconds | None = Field(
        None,
        description="Start of the range; looked for in the message when missing. A question that names no "
        "time is about everything that is remembered.",
    )
    end_time: Seconds | None = Field(None, description="End of the range, not included; now when missing.")
    mode: Literal["auto", "evidence", "agent"] = Field(
        "auto",
        description="`auto` looks up what fits, then goes as far as the model can. `evidence` is one bounded "
        "look and one call without tools, and needs a range; `agent` needs a model with tools.",
    )
    filters: FiltersBody = Field(default_factory=FiltersBody)
    chat_id: Id | None = Field(None, description="Continues this chat.")
    attachments: Annotated[list[Id], Field(max_length=MAX_FILES)] = Field(
        default_factory=list,
        description="Ids from POST /attachments. Text goes with the question, clipped; images only to a "
        "model that can see, and never in evidence mode.",
    )
    frame_id: Id | None = Field(
        None, description="The frame that the question is about: it is looked at with what stood around it."
    )
    pictures: bool = Field(
        False,
        description="Pictures of the frames it is most about may go to a model that can see, also where the "
        "settings ask first.",
    )
    amend: bool = Field(
        False,
        description="In the chat of an insight: makes a new current version of what is answered, in a chat "
        "of its own, with the prompt as it was sent.",
    )


class RunningAnswer(Answer):
    http_status: ClassVar[int] = 202

    chat_id: int
    turn_id: int
    status: Literal["running", "awaiting_approval"] = "running"
    approvals: list[WaitingCall] = Field(default_factory=list)


MODEL_PROBLEMS = {
    422: "context_too_long",
    502: "model_no_key, model_unauthorized, model_no_credit, model_unreachable, model_failed, "
    "model_refused, model_unknown, model_malformed",
    503: "model_rate_limited, model_busy, retrieval_timeout, search_failed, store_busy, interrupted, "
    "stopped, deleted",
    504: "model_timeout",
}
_ASK_PROBLEMS = {
    404: "chat_not_found, persona_not_found",
    422: "time_range_required, mode_unavailable, model_not_found, model_required, not_an_insight, "
    "attachment_not_found, attachment_refused",
    503: "too_many_turns",
}
_STATUS_OF = {code: status for status, codes in MODEL_PROBLEMS.items() for code in codes.split(", ")}


@endpoint("POST", "/chat", "Ask about what was on the screen", all_of(MODEL_PROBLEMS, _ASK_PROBLEMS))
def chat(body: ChatRequest) -> TurnAnswer | RunningAnswer:
    """The whole answer; every cited frame is one that this turn looked at.

    202 when a tool call waits for a person: after the decision the turn goes on by itself, and its
    own address tells how far it is. A turn that failed at the model is kept with its question. An answer that
    broke off is one as far as it came: it is `cut_off`, and `error` says why.
    """
    result = wait_for_turn(start_question(body))
    return result if isinstance(result, RunningAnswer) else turn_answer(result)


def wait_for_turn(turn: LiveTurn) -> TurnResult | RunningAnswer:
    """The answered turn, or how far it is when a call waits for a person. Raises why it failed."""
    for _, event in turn.follow():
        if isinstance(event, ApprovalEvent):
            return running_answer(turn.chat_id, turn.n)
        if isinstance(event, FinalEvent):
            return _answered(event.result)
    raise UnknownChat(turn.chat_id)  # deleted meanwhile


def start_question(body: ChatRequest, **window: Any) -> LiveTurn:
    """The question as a turn that runs by itself, asked in a `window` of its chat where there is one.

    Raises what it is refused for.
    """
    request = TurnRequest(
        now_ms=services().clock(),
        start_ms=body.start_time,
        end_ms=body.end_time,
        filters=TurnFilters(**body.filters.model_dump()),
        attachments=tuple(body.attachments),
        **body.model_dump(include={"message", "chat_id", "mode", "amend", "frame_id", "pictures"}),
        **body.manner,
        **window,
    )
    return start_turn(request)


def start_turn(request: TurnRequest) -> LiveTurn:
    """A turn that runs by itself. Raises what it is refused for."""
    return services().turns.start(turn_services(services()), request)


def turn_services(own: Services) -> TurnServices:
    return TurnServices(own.database, own.chat_models, own.clock, own.embedder, own.agent, own.context)


def running_answer(chat_id: int, n: int) -> RunningAnswer:
    """How far a turn is that has no answer yet."""
    own = services()
    waiting = tool_calls.pending(own.database, chat_id, n, own.clock())
    return RunningAnswer(
        chat_id=chat_id,
        turn_id=n,
        status="awaiting_approval" if waiting else "running",
        approvals=WaitingCall.list_of(waiting),
    )


def _answered(result: TurnResult) -> TurnResult:
    if result.error and not result.answer_md:
        raise failure_problem(result.error, result.chat_id, result.turn_id)
    return result


def failure_problem(error: TurnError, chat_id: int, turn_id: int) -> Problem:
    """A turn's failure as a problem."""
    headers = {} if error.retry_after_s is None else {"Retry-After": str(max(1, round(error.retry_after_s)))}
    status = _STATUS_OF.get(error.code, 502)
    detail = f"{error.message} {error.action}".strip()
    extra: dict[str, Any] = {"chat_id": chat_id, "turn_id": turn_id}
    return Problem(status, error.code, detail, headers=headers, extra=extra)


@endpoint("GET", TURN, "A turn as it is stored", MODEL_PROBLEMS)
def turn(chat_id: int, turn_id: int) -> TurnAnswer | RunningAnswer:
    """The same body that the question was answered with; 202 while it is being answered."""
    if turn_or_404(chat_id, turn_id).status == "running":
        return running_answer(chat_id, turn_id)
    return turn_answer(_answered(stored_turn(services().database, chat_id, turn_id)))


# -- as a stream of events, and stopped ---------------------------------------------------------


class SaidMessage(Request):
    role: Literal["system", "user", "assistant"]
    content: Question


class StreamRequest(ChatRequest):
    """A question of a chat window."""

    message: Annotated[str, StringConstraints(max_length=MAX_MESSAGE_CHARS)] = Field(
        "", description="The question; the last of `messages` when missing."
    )
    messages: Annotated[list[SaidMessage], Field(max_length=200)] = Field(
        default_factory=list,
        description="The conversation as a client keeps it. What was said before its last question is "
        "told to the model where no `chat_id` names a stored chat; a system message is the `system_prompt`.",
    )
    session_id: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="The window's context session; one that is not of this chat is passed over."
    )
    context_version: Literal["v2"] | None = Field(
        None, description="`v2` lets the model be told of earlier chats as background."
    )
    previous_response_id: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None,
        description="Accepted without effect: a conversation is kept here, not at the provider.",
    )

    @model_validator(mode="after")
    def _asks(self) -> Self:
        if not self.message and (not self.messages or self.messages[-1].role != "user"):
            raise ValueError("give a message, or messages that end with one of the user")
        return self


@endpoint(
    "POST",
    "/ai/chat/stream",
    "Ask, and follow the answer as it comes",
    _ASK_PROBLEMS,
    media_types=("text/event-stream",),
)
def stream(body: StreamRequest) -> Response:
    """Server-sent events of the same turn that POST /chat answers as a whole.

    Each event's id is its number. Who leaves ends nothing: the turn goes on, and its own address or a
    socket tells the rest.

    Response headers tell the topic: `X-Recollect-Topic`, `-Title`, `-Score`. With the request header
    `X-Recollect-Context: preview` they also tell what came of asking for background: `X-Recollect-Context` is
    `v2` where some was sent and `none` where not, `X-Recollect-Context-Reason` why. With
    `X-Recollect-Context-Debug: 1` there are its `-Hash` and its length, `-Chars`, too.
    """
    turn = start_in_window(body)
    response = Response(stream_with_context(_events(turn)), content_type="text/event-stream; charset=utf-8")
    response.headers.update(topic_headers(turn.context))
    return response


def start_in_window(body: StreamRequest) -> LiveTurn:
    """The question of a window as a turn that runs by itself. Raises what it is refused for."""
    earlier = body.messages if body.message else body.messages[:-1]
    system_text = "\n\n".join(each.content for each in earlier if each.role == "system")[:MAX_PROMPT_CHARS]
    taken = {
        "message": body.message or body.messages[-1].content,
        "system_prompt": body.system_prompt or system_text,
    }
    return start_question(
        body.model_copy(update=taken),
        session_id=number_of(body.session_id or ""),
        context_version=body.context_version or "",
        said=tuple((each.role, each.content) for each in earlier if each.role != "system"),
    )


def topic_headers(prepared: PreparedContext) -> dict[str, str]:
    """What the window is about, as headers; the older names, too, for who asked by them.

    A title may be in any writing, and a header may not: it is percent-encoded.
    """
    own, headers = services(), {}
    if prepared.topic:
        headers["Topic"] = quote(prepared.topic.tag, safe="")
        headers["Topic-Title"] = quote(prepared.topic.title, safe=" ")
        headers["Topic-Score"] = f"{prepared.topic.score:.2f}"
    is_verbose = chat_sessions.verbose_until_ms(own.database, own.clock()) is not None
    is_debugged = is_verbose or _asks("Context-Debug", "1")
    if is_debugged or _asks("Context", "preview"):
        headers["Context"] = "v2" if prepared.system_augmentation else "none"
        headers["Context-Reason"] = quote(prepared.reason, safe=" ")
    if is_debugged:
        headers["Context-Hash"] = prepared.pack.hash or "none"
        headers["Context-Chars"] = str(len(prepared.system_augmentation))
    prefixes = ["X-Recollect-"]
    if any(name in request.headers for name in ("X-Reggie-Context", "X-Reggie-Context-Debug")):
        prefixes.append("X-Reggie-")
    return {prefix + name: value for prefix in prefixes for name, value in headers.items()}


def _asks(header: str, value: str) -> bool:
    return any(request.headers.get(f"X-{name}-{header}") == value for name in ("Recollect", "Reggie"))


def _events(turn: LiveTurn) -> Iterator[str]:
    for seq, event in login.while_key_is_good(turn.follow()):
        body = event_body(turn.chat_id, turn.n, seq, event)
        data = json.dumps(body, ensure_ascii=False)
        yield f"id: {seq}\nevent: {body['type']}\ndata: {data}\n\n"


class CheckRequest(Request):
    model: Text | None = Field(
        None, description="A name from GET /models; the one that gave the answer when missing."
    )


@endpoint(
    "POST",
    f"{TURN}/check",
    "Let a model read an answer again",
    all_of(
        MODEL_PROBLEMS,
        {409: "turn_not_answered", 422: "model_not_found, nothing_to_check", 503: "too_many_turns"},
    ),
    body_required=False,
)
def check(chat_id: int, turn_id: int, body: CheckRequest) -> TurnAnswer:
    """The turn with what the model thinks of each sentence, which sees the sentence and its quotes alone.

    Its opinion stands in `second_readings`, and changes nothing else. POST …/stop ends it.
    """
    live = start_check(chat_id, turn_id, body.model)
    results = (event.result for _, event in live.follow() if isinstance(event, FinalEvent))
    result = next(results, None)
    if result is None:  # deleted meanwhile
        raise NotFound("turn", f"{turn_id} in chat {chat_id}")
    made = max(result.second_readings, key=lambda reading: reading.at_ms, default=None)
    if made and made.error:
        raise failure_problem(made.error, chat_id, turn_id)
    return turn_answer(result)


def start_check(chat_id: int, n: int, model: str | None) -> LiveTurn:
    """A model that reads an answer again, by itself. Raises what it is refused for."""
    if turn_or_404(chat_id, n).status != "done":
        raise Problem(409, "turn_not_answered", f"Turn {n} of chat {chat_id} has no answer.")
    own = services()
    return own.turns.check(turn_services(own), chat_id, n, model)


@endpoint("POST", f"{TURN}/stop", "Stop a turn", {409: "turn_finished"}, status=202)
def stop(chat_id: int, turn_id: int) -> RunningAnswer:
    """It ends within a moment and keeps what was said."""
    turn = turn_or_404(chat_id, turn_id)  # of one that failed, only the last event may be to come
    live = services().turns.get(chat_id, turn_id)
    if live is None or live.is_over or turn.status == "failed":
        raise Problem(409, "turn_finished", f"Turn {turn_id} of chat {chat_id} does not run here any more.")
    live.stop.set()
    return running_answer(chat_id, turn_id)
