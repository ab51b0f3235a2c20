"""The tools of the chat: what there is, how each runs, and decisions about calls that wait."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from assistant.context.background import are_chats_told
from assistant.tools.registry import ToolGateOpts, modes, not_set_up
from assistant.tools.tool import Risk
from assistant.turns import tool_execution
from store.chats import tool_calls, tool_permissions
from store.chats.tool_calls import ApprovalScope, NotPending, State, ToolCall
from store.chats.tool_permissions import Mode
from store.core.errors import NotFound, existing
from store.sources import proposals
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, Request, Timestamp
from webapp.core.errors import Problem
from webapp.core.services import Services, services

log = logging.getLogger(__name__)


class ApprovalAnswer(Answer):
    """A standing approval: where and as what a tool runs without asking."""

    id: int
    chat_id: int | None = Field(description="Null for every chat.")
    title: str
    scope: str = Field(description="What it may reach and where its results go, in words.")
    allowed_at: Timestamp
    uses: int


class ToolAnswer(Answer):
    name: str
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments.")
    mode: Mode = Field(description="auto (runs), ask (waits for a person) or off (not offered).")
    default_mode: Mode
    risk: Risk = Field(description="What kind of thing it does; the default mode follows from it.")
    reaches: str = Field(description="What it can touch, in words.")
    last_used: Timestamp | None
    rules: list[ApprovalAnswer] = Field(description="Where it runs without asking although it asks.")
    is_offered: bool = Field(description="Whether a turn would have it now.")
    lacks: str = Field(description="Why it would not: switched off, not set up, or its source is empty.")


class ToolsAnswer(Answer):
    data: list[ToolAnswer]
    max_iterations: int = Field(description="Rounds of calls in one turn.")
    timeout_s: float


class ToolChange(Request):
    mode: Mode | None = Field(description="Null goes back to the default.")


class Decision(Request):
    scope: ApprovalScope = Field(
        "once", description="This call only, or all calls with its `scope`: in its chat, or always."
    )


class WaitingCall(Answer):
    """A tool call that waits for a person, with exactly what would run."""

    id: int
    tool: str
    arguments: Annotated[dict[str, Any], BeforeValidator(json.loads)]
    reason: str = Field(
        validation_alias="notice", description="What the call does and where its results go, in words."
    )
    scope: str = Field(description="What approving it for its chat or always would cover, in words.")
    created_at: Timestamp
    expires_at: Timestamp | None


class ToolCallAnswer(WaitingCall):
    """A call; its arguments and its result are empty once a frame they show was deleted."""

    chat_id: int
    turn_id: int = Field(validation_alias="turn")
    iteration: int
    state: State
    result: Annotated[Any, BeforeValidator(lambda text: json.loads(text) if text else None)] = Field(
        None, validation_alias="output"
    )
    error: str
    duration_ms: int | None


@endpoint("GET", "/tools", "Tools of the chat")
def tools() -> ToolsAnswer:
    """Every tool, with how it runs and where it was allowed; also those that no turn would have now."""
    own = services()
    settings = own.settings.tools
    return ToolsAnswer(data=_tools(own), max_iterations=settings.max_iterations, timeout_s=settings.timeout_s)


@endpoint("PATCH", "/tools/<string:name>", "Choose how a tool runs", {404: "tool_not_found"})
def change(name: str, body: ToolChange) -> ToolAnswer:
    """A choice other than `auto` also ends the tool's standing approvals. `auto` is for where the tool sends
    something now: with another endpoint or model it asks again.
    """
    own = services()
    _check(own, name)
    hosts = tool_execution.hosts(own.agent, own.chat_models, name)
    tool_permissions.choose(own.database, name, body.mode, own.clock(), hosts)
    return next(tool for tool in _tools(own) if tool.name == name)


@endpoint(
    "DELETE",
    "/tools/<string:name>/rules/<id:rule_id>",
    "Take a standing approval back",
    {404: "tool_not_found, rule_not_found"},
)
def revoke(name: str, rule_id: int) -> ToolAnswer:
    """The next call that it covered asks again."""
    own = services()
    _check(own, name)
    if not any(rule.id == rule_id and rule.tool == name for rule in tool_permissions.rules(own.database)):
        raise Problem(404, "rule_not_found", f"{name} has no standing approval {rule_id}.")
    tool_permissions.revoke(own.database, rule_id)
    return next(tool for tool in _tools(own) if tool.name == name)


_DECISION_PROBLEMS = {404: "tool_call_not_found", 409: "tool_call_decided"}


@endpoint(
    "POST",
    "/tool-calls/<id:call_id>/approve",
    "Let a waiting tool call run",
    _DECISION_PROBLEMS,
    body_required=False,
)
def approve(call_id: int, body: Decision) -> ToolCallAnswer:
    """The call runs with the arguments that were shown and no others; the turn goes on by itself. What a
    model proposed to remember is remembered, whenever that is.
    """
    return ToolCallAnswer.of(decide(services(), call_id, body.scope))


@endpoint("POST", "/tool-calls/<id:call_id>/deny", "Refuse a waiting tool call", _DECISION_PROBLEMS)
def deny(call_id: int) -> ToolCallAnswer:
    """The model is told so, and the turn goes on by itself."""
    return ToolCallAnswer.of(decide(services(), call_id, None))


def decide(own: Services, call_id: int, scope: ApprovalScope | None) -> ToolCall:
    """Approve a call, or deny it with no scope. Raises 404 and 409."""
    try:
        call = tool_calls.get(own.database, call_id)
        if call and call.is_proposed:
            chosen = {call_id} if scope else set[int]()
            now_ms, place = own.clock(), (call.chat_id, call.turn)
            proposals.decide(own.database, *place, chosen, now_ms, among={call_id}, scope=scope or "once")
            return existing(tool_calls.get(own.database, call_id), "tool call", call_id)
        if scope is None:
            call = tool_calls.deny(own.database, call_id, own.clock())
        else:
            call = tool_calls.approve(own.database, call_id, scope, own.clock())
    except NotFound:
        log.warning("refused a decision about tool call %s: there is none", call_id)
        raise
    except NotPending as error:
        log.warning("refused a decision about tool call %s: it is %s", call_id, error.state)
        detail = f"This call is not waiting for a decision: {error.state}."
        raise Problem(409, "tool_call_decided", detail) from error
    return call


def _check(own: Services, name: str) -> None:
    if own.agent.tools.get(name) is None:
        raise NotFound("tool", repr(name[:100]))


def _tools(own: Services) -> list[ToolAnswer]:
    """Every tool, with what is missing for it."""
    by_name = modes(own.database, own.agent.tools)
    gates = gates_of(own)
    lacks = [
        (tool, "It is switched off." if by_name[tool.name] == "off" else gates.lacks(tool.name))
        for tool in own.agent.tools.values()
    ]
    used, rules = tool_calls.last_used_tools(own.database), tool_permissions.rules(own.database)
    return [
        ToolAnswer.of(
            tool,
            mode=by_name.get(tool.name, tool.mode),
            default_mode=tool.mode,
            last_used=used.get(tool.name),
            rules=[rule for rule in rules if rule.tool == tool.name],
            is_offered=not missing,
            lacks=missing,
        )
        for tool, missing in [*lacks, *not_set_up(own.settings.tools)]
    ]


def gates_of(own: Services) -> ToolGateOpts:
    """The flags of any turn: a tool that needs eyes is offered where a model has them, and one that reads
    attached files where there are any.
    """
    can_see = any(info.supports_vision for info in own.chat_models.describe())
    return ToolGateOpts(own.database, can_see, True, partial(are_chats_told, own.context))
