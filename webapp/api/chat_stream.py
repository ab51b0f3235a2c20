"""A question answered as a stream of events, and a turn stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import quote

from flask import Response, request, stream_with_context
from pydantic import Field, StringConstraints

from assistant.context.background import PreparedContext
from assistant.turns.live import LiveTurn
from store.chats import conversations
from store.memory import chat_sessions
from webapp.api.chats import number_of
from webapp.api.endpoint import endpoint
from webapp.api.event_stream import event_body
from webapp.api.questions import ChatRequest, RunningAnswer, running_answer, started
from webapp.core.errors import Problem
from webapp.core.services import services


class StreamRequest(ChatRequest):
    """A question of a chat window."""

    session_id: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="The window's context session; one that is not of this chat is passed over."
    )
    context_version: Literal["v2"] | None = Field(
        None, description="`v2` lets the model be told of earlier chats as background."
    )
    previous_response_id: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None,
        description="`response_id` of an answer to go on from, where the provider keeps its own transcript; "
        "the conversation's last when missing, and without effect at others.",
    )


@endpoint(
    "POST",
    "/ai/chat/stream",
    "Ask, and follow the answer as it comes",
    body=StreamRequest,
    answer=("text/event-stream",),
    problems={
        400: "invalid_time, invalid_time_range, invalid_timezone",
        404: "chat_not_found, persona_not_found",
        422: "time_range_required, mode_unavailable, model_not_found, not_an_insight, attachment_not_found, "
        "attachment_refused",
        503: "too_many_turns",
    },
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
    turn = started_in_window(body)
    response = Response(stream_with_context(_events(turn)), content_type="text/event-stream; charset=utf-8")
    response.headers.update(topic_headers(turn.context))
    return response


def started_in_window(body: StreamRequest) -> LiveTurn:
    """The question of a window as a turn that runs by itself. Raises what it is refused for."""
    return started(
        body, number_of(body.session_id or ""), body.context_version or "", body.previous_response_id or ""
    )


def topic_headers(prepared: PreparedContext) -> dict[str, str]:
    """What the window is about, as headers; the older names, too, for who asked by them (R1.6, R1.23).

    A title may be in any writing, and a header may not: it is percent-encoded.
    """
    own, told = services(), {}
    if prepared.topic:
        told["Topic"] = quote(prepared.topic.tag, safe="")
        told["Topic-Title"] = quote(prepared.topic.title, safe=" ")
        told["Topic-Score"] = f"{prepared.topic.score:.2f}"
    is_verbose = chat_sessions.verbose_until_ms(own.database, own.clock()) is not None
    is_debugged = is_verbose or _asks("Context-Debug", "1")
    if is_debugged or _asks("Context", "preview"):
        told["Context"] = "v2" if prepared.system_augmentation else "none"
        told["Context-Reason"] = quote(prepared.reason, safe=" ")
    if is_debugged:
        told["Context-Hash"] = prepared.hash or "none"
        told["Context-Chars"] = str(len(prepared.system_augmentation))
    prefixes = ["X-Recollect-"]
    if any(name in request.headers for name in ("X-Reggie-Context", "X-Reggie-Context-Debug")):
        prefixes.append("X-Reggie-")
    return {prefix + name: value for prefix in prefixes for name, value in told.items()}


def _asks(header: str, value: str) -> bool:
    """Whether the request has this header, by either of its names (R1.6)."""
    return any(request.headers.get(f"X-{name}-{header}") == value for name in ("Recollect", "Reggie"))


def _events(turn: LiveTurn) -> Iterator[str]:
    for seq, event in turn.follow():
        told = event_body(turn.chat_id, turn.n, seq, event)
        data = json.dumps(told, ensure_ascii=False)
        yield f"id: {seq}\nevent: {told['type']}\ndata: {data}\n\n"


@endpoint(
    "POST",
    "/chats/<id:chat_id>/turns/<id:turn_id>/stop",
    "Stop a turn",
    answer=RunningAnswer,
    status=202,
    problems={404: "turn_not_found", 409: "turn_finished"},
)
def stop(chat_id: int, turn_id: int) -> RunningAnswer:
    """It ends within a moment and keeps what was said."""
    own = services()
    stored = conversations.turn(own.database, chat_id, turn_id)
    if stored is None:
        raise Problem(404, "turn_not_found", f"There is no turn {turn_id} in chat {chat_id}.")
    live = own.turns.get(chat_id, turn_id)
    if live is None or stored.status != "running":
        raise Problem(409, "turn_finished", f"Turn {turn_id} of chat {chat_id} does not run here any more.")
    live.stop.set()
    return running_answer(chat_id, turn_id)
