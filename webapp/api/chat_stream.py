"""A question answered as a stream of events, and a turn stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Literal

from flask import Response, stream_with_context
from pydantic import Field, StringConstraints

from store import conversations
from webapp.api.chat import ChatRequest, RunningAnswer, running_answer, started
from webapp.api.endpoint import endpoint
from webapp.api.turn_events import event_body
from webapp.assistant.live import LiveTurn
from webapp.errors import Problem
from webapp.services import services


class StreamRequest(ChatRequest):
    """A question of a chat window. Context packs are not made yet, so these two fields change nothing."""

    session_id: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="The window's context session."
    )
    context_version: Literal["v2"] | None = Field(None, description="Asks for a context pack.")


@endpoint(
    "POST",
    "/ai/chat/stream",
    "Ask, and follow the answer as it comes",
    body=StreamRequest,
    answer=("text/event-stream",),
    problems={
        400: "invalid_time, invalid_time_range, invalid_timezone",
        404: "chat_not_found, persona_not_found",
        422: "time_range_required, mode_unavailable, model_not_found",
        503: "too_many_turns",
    },
)
def stream(body: StreamRequest) -> Response:
    """Server-sent events of the same turn that POST /chat answers as a whole.

    Each event's id is its number. Who leaves ends nothing: the turn goes on, and its own address or a
    socket tells the rest.
    """
    turn = started(body)
    return Response(stream_with_context(_events(turn)), content_type="text/event-stream; charset=utf-8")


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
