"""The chat's socket: the events of a turn as they come, and what a person does meanwhile.

A client says ``resume {turn, after}`` and gets every event beyond that number, once each; also ``stop
{turn}``, ``approve {id, scope?}`` and ``deny {id}``. Sockets begin as requests and pass the same guards
(SEC-19). Each takes a thread, so there are at most `MAX_SOCKETS`; the next one is told to come back
later and to ask the turn's own address instead.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Annotated, Any, Literal

from flask import Flask
from flask_sock import Sock
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from simple_websocket import Server

from store import conversations, tool_calls
from store.tool_calls import Scope
from webapp.api.tool_calls import decide
from webapp.api.turn_events import VERSION, event_body
from webapp.api.values import MAX_ID
from webapp.assistant.records import FinalEvent
from webapp.assistant.turn import stored_turn
from webapp.errors import Problem
from webapp.services import Services, services

MAX_SOCKETS = 16
MAX_MESSAGE_BYTES = 16_384
PING_S = 25
TRY_AGAIN_LATER = 1013
"""https://www.iana.org/assignments/websocket/websocket.xhtml"""

_LOOK_EVERY_S = 0.05
_LOOK_IN_STORE_EVERY_S = 0.5

Number = Annotated[int, Field(ge=1, le=MAX_ID)]


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Resume(_Said):
    type: Literal["resume"]
    turn: Number
    after: Annotated[int, Field(ge=0, le=MAX_ID)] = 0


class StopTurn(_Said):
    type: Literal["stop"]
    turn: Number


class Approve(_Said):
    type: Literal["approve"]
    id: Number
    scope: Scope = "once"


class Deny(_Said):
    type: Literal["deny"]
    id: Number


_MESSAGE: TypeAdapter[Resume | StopTurn | Approve | Deny] = TypeAdapter(
    Annotated[Resume | StopTurn | Approve | Deny, Field(discriminator="type")]
)


def install(app: Flask) -> None:
    """Serve ``/ws/chat/<id>``."""
    app.config["SOCK_SERVER_OPTIONS"] = {"ping_interval": PING_S, "max_message_size": MAX_MESSAGE_BYTES}
    free = threading.BoundedSemaphore(MAX_SOCKETS)
    sock = Sock(app)

    @sock.route("/ws/chat/<id:chat_id>")
    def chat(ws: Server, chat_id: int) -> None:
        if not free.acquire(blocking=False):
            ws.close(TRY_AGAIN_LATER, "too many sockets; ask the turn's own address")
            ws.thread.join(1)  # it must not find its socket gone before it has looked at it
            return
        try:
            _Conversation(ws, services(), chat_id).run()
        finally:
            free.release()


class _Conversation:
    """One socket. It follows at most one turn at a time."""

    def __init__(self, ws: Server, own: Services, chat_id: int) -> None:
        self._ws = ws
        self._own = own
        self._chat_id = chat_id
        self._turn = 0
        self._seq = 0
        self._look_again_s = 0.0

    def run(self) -> None:
        """Until the client leaves."""
        while True:
            said = self._ws.receive(timeout=0 if self._turn else _LOOK_EVERY_S)
            if said is not None:
                self._hear(said)
            if self._turn:
                self._tell()

    def _hear(self, said: str | bytes) -> None:
        try:
            message = _MESSAGE.validate_json(said)
        except ValidationError:
            self._refuse("invalid_message", "This is no message that the socket knows.")
            return
        try:
            match message:
                case Resume():
                    self._resume(message)
                case StopTurn():
                    live = self._own.turns.get(self._chat_id, message.turn)
                    if live:
                        live.stop.set()
                case Approve():
                    self._check(message.id)
                    decide(self._own, message.id, message.scope)
                case Deny():
                    self._check(message.id)
                    decide(self._own, message.id, None)
        except Problem as problem:
            self._refuse(problem.code, problem.detail)

    def _resume(self, message: Resume) -> None:
        if conversations.turn(self._own.database, self._chat_id, message.turn) is None:
            detail = f"There is no turn {message.turn} in chat {self._chat_id}."
            raise Problem(404, "turn_not_found", detail)
        self._turn, self._seq = message.turn, message.after

    def _check(self, number: int) -> None:
        """A socket decides about calls of its own chat only."""
        call = tool_calls.get(self._own.database, number)
        if call is None or call.chat_id != self._chat_id:
            raise Problem(404, "tool_call_not_found", f"There is no tool call {number} in this chat.")

    def _tell(self) -> None:
        """Send what is new of the turn; when it is over there is nothing more to follow."""
        live = self._own.turns.get(self._chat_id, self._turn)
        if live is None:
            self._tell_stored()
            return
        for seq, event in live.after(self._seq, _LOOK_EVERY_S):
            self._send(event_body(self._chat_id, self._turn, seq, event))
            self._seq = seq
            if isinstance(event, FinalEvent):
                self._turn = 0

    def _tell_stored(self) -> None:
        """A turn that does not run here: its end is told once it is stored."""
        if time.monotonic() < self._look_again_s:
            time.sleep(_LOOK_EVERY_S)
            return
        self._look_again_s = time.monotonic() + _LOOK_IN_STORE_EVERY_S
        stored = conversations.turn(self._own.database, self._chat_id, self._turn)
        if stored is None or stored.status != "running":
            turn, self._turn = self._turn, 0
            if stored is not None:
                final = FinalEvent(stored_turn(self._own.database, self._chat_id, turn))
                self._send(event_body(self._chat_id, turn, self._seq + 1, final))

    def _refuse(self, code: str, detail: str) -> None:
        self._send({"v": VERSION, "type": "refused", "code": code, "message": detail})

    def _send(self, message: dict[str, Any]) -> None:
        self._ws.send(json.dumps(message, ensure_ascii=False))
