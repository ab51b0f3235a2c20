"""Events of a turn as programs and pages hear them: each once, from the number after the last one heard.

Programs hear them over a socket, as ``{v, chat_id, turn, seq, type, …}``; pages get HTML as an event stream.
Both share their places: each follower holds a thread, so there are at most `MAX_FOLLOWERS`. The next one
asks from time to time instead.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from flask import Flask, Response, current_app, request, stream_with_context

from assistant.core import records
from assistant.core.errors import UnknownChat
from assistant.core.records import DeltaEvent, FinalEvent, TurnEvent
from assistant.turns.stored_turns import stored_turn
from webapp.api.tool_calls import ToolCallAnswer
from webapp.api.turns import EvidenceAnswer, FailureAnswer, scope_answer, turn_answer
from webapp.core.services import Services, is_disconnected
from webapp.security import login

VERSION = 1


def event_body(chat_id: int, turn: int, seq: int, event: TurnEvent) -> dict[str, Any]:
    return {"v": VERSION, "chat_id": chat_id, "turn": turn, "seq": seq, **_content(event)}


_AS_THEY_ARE = {DeltaEvent: "text", records.TextEvent: "block"}


def _content(event: TurnEvent) -> dict[str, Any]:
    match event:
        case records.StatusEvent():
            return {"type": "status", "stage": event.stage, "message": event.message}
        case records.EvidenceEvent():
            evidence = [EvidenceAnswer.of(item).model_dump() for item in event.evidence]
            return {"type": "evidence", "evidence": evidence, "scope": scope_answer(event.scope).model_dump()}
        case records.ToolCallEvent():
            return {"type": "tool", "call": ToolCallAnswer.of(event.call).model_dump()}
        case records.ApprovalEvent():
            calls = [ToolCallAnswer.of(call).model_dump() for call in event.calls]
            return {"type": "approve", "approvals": calls}
        case records.ErrorEvent():
            return {"type": "error", **FailureAnswer.of(event.error).model_dump()}
        case FinalEvent():
            answer = None if event.result.error else turn_answer(event.result).model_dump()
            return {"type": "final", "status": event.result.status, "answer": answer}
    return {"type": _AS_THEY_ARE[type(event)], **asdict(event)}


# ---- following

MAX_FOLLOWERS = 16
TAKE_UP_MS = 250
"""How soon a browser connects again after its event stream was lost."""
ASK_AGAIN_MS = 2_000

_LOOK_EVERY_S = 0.05
_SAY_EVERY_S = 0.06  # words come in pieces of a few letters; each message costs the page a layout


def install(app: Flask) -> None:
    app.extensions["recollect_followers"] = threading.BoundedSemaphore(MAX_FOLLOWERS)


def connection_slots() -> threading.BoundedSemaphore:
    slots: threading.BoundedSemaphore = current_app.extensions["recollect_followers"]
    return slots


def replay_events(own: Services, chat_id: int, n: int, after: int) -> Iterator[dict[str, Any] | None]:
    """Messages beyond number `after`, the final one last; None whenever nothing came for a moment."""
    for events in _events(own, chat_id, n, after):
        yield from (event_body(chat_id, n, seq, event) for seq, event in events)
        if not events:
            yield None


def _events(own: Services, chat_id: int, n: int, after: int) -> Iterator[list[tuple[int, TurnEvent]]]:
    """Events with their numbers as they come, the final one last; none of them after a moment without any.

    A turn that does not run here, or did not end here, has that one event, once it is stored.
    """
    seq = after
    while True:
        live = own.turns.get(chat_id, n)
        was_over = live is None or live.is_over  # asked first: what comes until it is over is told, too
        events = live.after(seq, _LOOK_EVERY_S) if live else []
        if not events and was_over:
            try:
                stored = stored_turn(own.database, chat_id, n)
            except UnknownChat:  # deleted
                return
            if stored.status != "running":
                events = [(seq + 1, FinalEvent(stored))]
            else:
                time.sleep(_LOOK_EVERY_S)
        yield events
        if events and isinstance(events[-1][1], FinalEvent):
            return
        seq = events[-1][0] if events else seq


@dataclass(frozen=True, slots=True)
class PageEvent:
    """``turn`` is the whole turn as HTML, empty when it was deleted; ``text`` what was said since.

    `seq` is the number of the last event in it, None when nothing more comes.
    """

    type: Literal["turn", "text"]
    content: str
    seq: int | None


def event_stream(own: Services, chat_id: int, n: int, draw: Callable[[], PageEvent]) -> Response:
    """A turn for its page, as server-sent events; their data are JSON strings.

    A connection begins with the whole turn as `draw` gives it. One that was lost is taken up by the
    browser, and goes on behind the last event it heard
    (https://html.spec.whatwg.org/multipage/server-sent-events.html). Where all places are taken it is the
    whole alone, and the browser asks again after `ASK_AGAIN_MS`.
    """
    free = connection_slots()
    if not free.acquire(blocking=False):
        return _response(iter([draw()]), ASK_AGAIN_MS)
    last_id = request.headers.get("Last-Event-ID", "")
    after = int(last_id) if last_id.isdecimal() and len(last_id) < 10 else 0
    response = _response(_pieces(own, chat_id, n, after, draw), TAKE_UP_MS)
    response.call_on_close(free.release)
    return response


def _pieces(
    own: Services, chat_id: int, n: int, after: int, draw: Callable[[], PageEvent]
) -> Iterator[PageEvent | None]:
    """What comes of the turn beyond event `after`; None whenever nothing came for a moment."""
    seq = after
    if not seq:
        yield (drawn := draw())
        if drawn.seq is None:
            return
        seq = drawn.seq
    part = _part_at(own, chat_id, n, seq)
    for events in _events(own, chat_id, n, seq):
        fresh = [event for number, event in events if number > seq]
        words = [event.text for event in fresh if isinstance(event, DeltaEvent) and event.part == part]
        if not fresh:
            yield None
        elif len(words) == len(fresh):
            seq = events[-1][0]
            yield PageEvent("text", "".join(words), seq)
            time.sleep(_SAY_EVERY_S)
        else:
            yield (drawn := draw())
            if drawn.seq is None:
                return
            seq = drawn.seq
            part = _part_at(own, chat_id, n, seq)
    yield draw()  # deleted meanwhile


def _part_at(own: Services, chat_id: int, n: int, seq: int) -> int | None:
    """The part of the answer whose words the event of this number tells, None where it tells others."""
    live = own.turns.get(chat_id, n)
    events = live.after(seq - 1) if live and seq else []
    return events[0][1].part if events and isinstance(events[0][1], DeltaEvent) else None


def _response(pieces: Iterator[PageEvent | None], retry_ms: int) -> Response:
    lines = stream_with_context(_lines(pieces, retry_ms))
    return Response(lines, content_type="text/event-stream; charset=utf-8")


def _lines(pieces: Iterator[PageEvent | None], retry_ms: int) -> Iterator[str]:
    """Events as they travel, for as long as the browser is there and signed in."""
    connection = request.environ.get("werkzeug.socket")
    yield f"retry: {retry_ms}\n\n"
    for piece in login.while_key_is_good(pieces):
        if piece:
            number = "" if piece.seq is None else f"id: {piece.seq}\n"
            yield f"{number}event: {piece.type}\ndata: {json.dumps(piece.content, ensure_ascii=False)}\n\n"
        elif connection and is_disconnected(connection):
            return
