"""The chat's socket: the events of a turn as they come, and what a person does meanwhile.

A client says ``ask {message, timezone, …}``, which takes what ``POST /ai/chat/stream`` takes and begins the
next turn of the chat, or ``resume {turn, after}``, and gets every event beyond that number, once each; also
``stop {turn}``, ``approve {id, scope?}`` and ``deny {id}``. What cannot be done is answered by ``refused
{code, message, errors}``. Sockets begin as requests and pass the same guards. Where all places are
taken (`webapp.api.event_stream`) the next one is told to come back later and to ask the turn's own address
instead.
"""

from __future__ import annotations

import json
import logging
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Literal

from flask import Flask, request
from flask_sock import Sock
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from simple_websocket import Server
from wsproto.utilities import RemoteProtocolError

from store.chats import tool_calls
from store.chats.tool_calls import ApprovalScope
from webapp.api.endpoint import parse_json
from webapp.api.event_stream import VERSION, connection_slots, replay_events
from webapp.api.questions import StreamRequest, start_in_window
from webapp.api.tool_calls import decide
from webapp.api.values import MAX_ID
from webapp.core.errors import REFUSALS, Problem, problem_of, problem_response
from webapp.core.services import Services, services, turn_or_404
from webapp.security import login
from webapp.serving.server import IS_TAKEN_OVER

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 131_072
"""A question of the longest kind, with the words of who answers it."""
PING_S = 25
POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013
"""https://www.iana.org/assignments/websocket/websocket.xhtml"""

_LOOK_EVERY_S = 0.05
_SEND_S = 20  # a browser that takes nothing for so long has gone

Number = Annotated[int, Field(ge=1, le=MAX_ID)]


class _ClientMessage(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Resume(_ClientMessage):
    type: Literal["resume"]
    turn: Number
    after: Annotated[int, Field(ge=0, le=MAX_ID)] = 0


class StopTurn(_ClientMessage):
    type: Literal["stop"]
    turn: Number


class Decide(_ClientMessage):
    type: Literal["approve", "deny"]
    id: Number
    scope: ApprovalScope = "once"  # of what is approved


class Ask(StreamRequest):
    """A question, as ``POST /ai/chat/stream`` takes it; the chat is the socket's own."""

    type: Literal["ask"]


_MESSAGE: TypeAdapter[Resume | StopTurn | Decide] = TypeAdapter(
    Annotated[Resume | StopTurn | Decide, Field(discriminator="type")]
)


def install(app: Flask) -> None:
    """Serve ``/ws/chat/<id>``."""
    refusal = "This is no handshake of a WebSocket: {}."
    app.register_error_handler(
        RemoteProtocolError,
        lambda error: problem_response(Problem(400, "no_websocket", refusal.format(error))),
    )
    app.config["SOCK_SERVER_OPTIONS"] = {"ping_interval": PING_S, "max_message_size": MAX_MESSAGE_BYTES}
    sock = Sock(app)

    @sock.route("/ws/chat/<id:chat_id>")  # type: ignore[untyped-decorator]  # flask_sock is untyped
    def chat(ws: Server, chat_id: int) -> None:
        _take_over(ws)
        free = connection_slots()
        if not free.acquire(blocking=False):
            ws.close(TRY_AGAIN_LATER, "too many sockets; ask the turn's own address")
            ws.thread.join(1)  # it must not find its socket gone before it has looked at it
            return
        try:
            _Conversation(ws, services(), chat_id).run()
        except OSError as error:  # the browser went without a word: nobody to tell
            log.debug("a socket ended: %s", type(error).__name__)
        finally:
            free.release()
            ws.thread.join(1)  # its farewell goes out before the connection is closed


def _take_over(ws: Server) -> None:
    """The connection speaks frames from here on, each sent whole, and gets no HTTP answer behind them.

    A socket with a time limit of Python's may send a part of a frame and say no more of it.
    """
    request.environ[IS_TAKEN_OVER] = True
    with suppress(OSError):  # the browser has gone already: so says the first word to it
        ws.sock.settimeout(None)
        ws.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_S, 0))


class _Conversation:
    """One socket. It follows at most one turn at a time."""

    def __init__(self, ws: Server, own: Services, chat_id: int) -> None:
        self._ws = ws
        self._own = own
        self._chat_id = chat_id
        self._events: Iterator[dict[str, Any] | None] | None = None

    def run(self) -> None:
        """Until the client leaves, or is signed out: its key is looked up again and again."""
        look_s = time.monotonic() + login.LOOK_AGAIN_S
        while True:
            message = self._ws.receive(timeout=0 if self._events else _LOOK_EVERY_S)
            if message is not None or time.monotonic() >= look_s:
                if not login.is_key_good():
                    self._ws.close(POLICY_VIOLATION, "signed out")
                    return
                look_s = time.monotonic() + login.LOOK_AGAIN_S
            if message is not None:
                self._handle(message)
            if self._events:
                self._forward(self._events)

    def _handle(self, text: str | bytes) -> None:
        try:
            match _message(text):
                case Ask() as message:
                    self._ask(message)
                case Resume() as message:
                    turn_or_404(self._chat_id, message.turn)
                    self._events = replay_events(self._own, self._chat_id, message.turn, message.after)
                case StopTurn() as message:
                    live = self._own.turns.get(self._chat_id, message.turn)
                    if live:
                        live.stop.set()
                case Decide() as message:
                    self._check(message.id)
                    decide(self._own, message.id, message.scope if message.type == "approve" else None)
        except Problem as problem:
            self._refuse(problem)
        except REFUSALS as error:
            self._refuse(problem_of(error))

    def _ask(self, message: Ask) -> None:
        """Begin a turn and follow it; it goes on whether anybody does."""
        if message.chat_id not in (None, self._chat_id):
            raise Problem(422, "invalid_request", "A socket asks in its own chat only.")
        live = start_in_window(message.model_copy(update={"chat_id": self._chat_id}))
        self._chat_id = live.chat_id  # another one where an insight is amended
        self._events = replay_events(self._own, live.chat_id, live.n, 0)

    def _check(self, number: int) -> None:
        """A socket decides about calls of its own chat only."""
        call = tool_calls.get(self._own.database, number)
        if call is None or call.chat_id != self._chat_id:
            raise Problem(404, "tool_call_not_found", f"There is no tool call {number} in this chat.")

    def _forward(self, messages: Iterator[dict[str, Any] | None]) -> None:
        """Send what comes next of the turn; after its end there is nothing more to follow."""
        try:
            message = next(messages)
        except StopIteration:
            self._events = None
            return
        if message is not None:
            self._send(message)

    def _refuse(self, problem: Problem) -> None:
        errors = [{"field": field, "message": message} for field, message in problem.errors]
        refusal = {"v": VERSION, "type": "refused", "code": problem.code, "message": problem.detail}
        self._send({**refusal, "errors": errors})

    def _send(self, message: dict[str, Any]) -> None:
        self._ws.send(json.dumps(message, ensure_ascii=False))


def _message(text: str | bytes) -> Ask | Resume | StopTurn | Decide:
    """What a client says. Raises `Problem`."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        return _MESSAGE.validate_json(content)
    except ValidationError as error:
        if error.errors()[0]["type"] == "union_tag_invalid" and error.errors()[0]["ctx"]["tag"] == "ask":
            return parse_json(Ask, content)
        raise Problem(400, "invalid_message", "This is no message that the socket knows.") from error
