"""What a person decides about in a turn: tool calls that wait or failed, and a question to ask again."""

from __future__ import annotations

import json
from dataclasses import replace

from flask import Blueprint, request
from werkzeug.wrappers import Response

from assistant.core.records import FirstCall
from assistant.turns import stored_turns
from assistant.turns.turn import TurnRefused
from store.chats import tool_calls
from store.chats.tool_calls import Scope, ToolCall
from webapp.api.tool_calls import decide
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.chats.routes import PATIENCE_S, chat_of, refused, started, stored, turn_fragment
from webapp.views.evidence import is_retryable

decisions_blueprint = Blueprint("decisions", __name__)

_DECISIONS: dict[str, Scope | None] = {"deny": None, "once": "once", "chat": "chat", "always": "always"}


@decisions_blueprint.post("/chat/<id:chat_id>/turns/<id:n>/retry")
def retry(chat_id: int, n: int) -> Response:
    """Ask a question whose turn failed again, with everything that it was asked with."""
    chat, asked, who = chat_of(chat_id), stored(chat_id, n), viewer()
    if asked.status != "failed":
        raise Problem(409, "turn_not_failed", f"Turn {n} of chat {chat_id} has not failed.")
    question = stored_turns.replay_request(services().database, asked, who.now_ms)
    try:
        live = started(replace(question, day_start_min=who.day_start_min))
    except TurnRefused as refusal:
        return refused(chat, refusal, who)
    live.settle(PATIENCE_S)
    return templating.redirect_to(f"/chat/{chat_id}#t{live.n}")


@decisions_blueprint.post("/chat/<id:chat_id>/turns/<id:n>/calls/<id:call_id>")
def decide_call(chat_id: int, n: int, call_id: int) -> Response:
    """Decide about a waiting tool call: ``deny``, or allow ``once``, in this ``chat``, or ``always``."""
    decision = request.form.get("decision", "")
    if decision not in _DECISIONS:
        raise Problem(400, "invalid_request", "A decision is deny, once, chat or always.")
    _call(chat_id, n, call_id)
    try:
        decide(services(), call_id, _DECISIONS[decision])
    except Problem as problem:
        # Decided elsewhere, or too late: the turn as it is now says which.
        if problem.status != 409 or not templating.wants_fragment():
            raise
    return (
        turn_fragment(chat_id, n)
        if templating.wants_fragment()
        else templating.redirect_to(f"/chat/{chat_id}#t{n}")
    )


@decisions_blueprint.post("/chat/<id:chat_id>/turns/<id:n>/calls/<id:call_id>/retry")
def retry_call(chat_id: int, n: int, call_id: int) -> Response:
    """Make a call that failed again, in a new turn that goes on from its result."""
    own, chat, asked, who = services(), chat_of(chat_id), stored(chat_id, n), viewer()
    call = _call(chat_id, n, call_id)
    if not is_retryable(call) or asked.status == "running":
        raise Problem(409, "tool_call_not_failed", f"Tool call {call_id} cannot be tried again.")
    question = replace(
        stored_turns.replay_request(own.database, asked, who.now_ms),
        mode="agent",
        day_start_min=who.day_start_min,
        first_call=FirstCall(call.tool, json.loads(call.arguments)),
    )
    try:
        live = started(question)
    except TurnRefused as refusal:
        return refused(chat, refusal, who)
    live.settle(PATIENCE_S)
    if templating.wants_fragment():
        return turn_fragment(chat_id, live.n)
    return templating.redirect_to(f"/chat/{chat_id}#t{live.n}")


def _call(chat_id: int, n: int, call_id: int) -> ToolCall:
    """A tool call of this turn. Raises 404."""
    call = tool_calls.get(services().database, call_id)
    if call is None or (call.chat_id, call.turn) != (chat_id, n):
        raise Problem(404, "tool_call_not_found", f"There is no tool call {call_id} in this turn.")
    return call
