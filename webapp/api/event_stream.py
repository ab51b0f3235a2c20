"""Events of a turn as streams and sockets tell them: ``{v, chat_id, turn, seq, type, …}``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from flask import Flask, Response, current_app, stream_with_context

from assistant.core.records import (
    ApprovalEvent,
    DeltaEvent,
    ErrorEvent,
    EvidenceEvent,
    FinalEvent,
    ShortenedEvent,
    StatusEvent,
    TextEvent,
    ToolCallEvent,
    TurnEvent,
)
from assistant.turns.turn import stored_turn
from store.chats import conversations
from webapp.api.tool_calls import call_answer
from webapp.api.turns import evidence_answer, turn_answer
from webapp.core.errors import Problem
from webapp.core.services import Services

VERSION = 1


def event_body(chat_id: int, turn: int, seq: int, event: TurnEvent) -> dict[str, Any]:
    """One event as JSON can hold it."""
    return {"v": VERSION, "chat_id": chat_id, "turn": turn, "seq": seq, **_content(event)}


def _content(event: TurnEvent) -> dict[str, Any]:
    match event:
        case StatusEvent():
            return {"type": "status", "stage": event.stage, "message": event.message}
        case EvidenceEvent():
            found = [evidence_answer(item).model_dump() for item in event.evidence]
            return {"type": "evidence", "evidence": found}
        case DeltaEvent():
            return {"type": "text", "part": event.part, "text": event.text}
        case ShortenedEvent():
            return {
                "type": "shortened",
                "left_out": event.left_out,
                "shortened": event.shortened,
                "message": event.message,
            }
        case TextEvent():
            return {"type": "block", "answer_md": event.answer_md}
        case ToolCallEvent():
            return {"type": "tool", "call": call_answer(event.call).model_dump()}
        case ApprovalEvent():
            return {"type": "approve", "approvals": [call_answer(call).model_dump() for call in event.calls]}
        case ErrorEvent():
            told = event.error
            return {"type": "error", "code": told.code, "message": told.message, "action": told.action}
        case FinalEvent():
            answer = None if event.result.error else turn_answer(event.result).model_dump()
            return {"type": "final", "status": event.result.status, "answer": answer}


# ---- following
# A turn as it is told to whoever follows it: each event once, from the number after the last one heard.
#
# Sockets and event streams tell the same messages (`webapp.api.event_stream`) and share their places:
# each follower holds a thread, so there are at most `MAX_FOLLOWERS`. The next one asks the turn's own
# address from time to time instead.

MAX_FOLLOWERS = 16

_LOOK_EVERY_S = 0.05
_LOOK_IN_STORE_EVERY_S = 0.5
_HEARTBEAT_S = 5.0


def install(app: Flask) -> None:
    """The places of this app."""
    app.extensions["recollect_followers"] = threading.BoundedSemaphore(MAX_FOLLOWERS)


def connection_slots() -> threading.BoundedSemaphore:
    """One place for each follower."""
    found: threading.BoundedSemaphore = current_app.extensions["recollect_followers"]
    return found


def replay_events(own: Services, chat_id: int, n: int, after: int) -> Iterator[dict[str, Any] | None]:
    """Messages beyond number `after`, the final one last; None whenever nothing came for a moment."""
    seq = after
    while True:
        live = own.turns.get(chat_id, n)
        if live is None:
            yield from _stored(own, chat_id, n, seq)
            return
        found = live.after(seq, _LOOK_EVERY_S)
        for seq, event in found:
            yield event_body(chat_id, n, seq, event)
            if isinstance(event, FinalEvent):
                return
        if not found:
            if live.is_over:  # it heard the end before, or asks beyond it
                yield _final(own, chat_id, n, seq)
                return
            yield None


def _stored(own: Services, chat_id: int, n: int, seq: int) -> Iterator[dict[str, Any] | None]:
    """A turn that does not run here: its end is told once it is stored."""
    while True:
        stored = conversations.turn(own.database, chat_id, n)
        if stored is None:
            return
        if stored.status != "running":
            yield _final(own, chat_id, n, seq)
            return
        until_s = time.monotonic() + _LOOK_IN_STORE_EVERY_S
        while time.monotonic() < until_s:
            time.sleep(_LOOK_EVERY_S)
            yield None


def _final(own: Services, chat_id: int, n: int, seq: int) -> dict[str, Any]:
    return event_body(chat_id, n, seq + 1, FinalEvent(stored_turn(own.database, chat_id, n)))


def event_stream(own: Services, chat_id: int, n: int, after: int) -> Response:
    """The messages as server-sent events, for browsers whose sockets do not come through.

    Raises 503 when all places are taken.
    """
    free = connection_slots()
    if not free.acquire(blocking=False):
        raise Problem(503, "too_many_followers", "Too many pages follow answers; ask again.")
    lines = stream_with_context(_lines(replay_events(own, chat_id, n, after)))
    response = Response(lines, content_type="text/event-stream; charset=utf-8")
    response.call_on_close(free.release)
    return response


def _lines(messages: Iterator[dict[str, Any] | None]) -> Iterator[str]:
    """Events, and a comment now and then: a follower that has gone is noticed only by writing to it."""
    yield ": here\n\n"
    wrote_s = time.monotonic()
    for message in messages:
        if message is None:
            if time.monotonic() - wrote_s < _HEARTBEAT_S:
                continue
            yield ": still here\n\n"
        else:
            yield f"id: {message['seq']}\ndata: {json.dumps(message, ensure_ascii=False)}\n\n"
        wrote_s = time.monotonic()
