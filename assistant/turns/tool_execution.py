"""The calls in a model's answer: read, decided about, run, and each told back with a result.

What runs at once runs first; then the turn waits for the person about the rest. A call that was denied, has
expired or cannot be used has a result like any other: strict providers want one for every call they made.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assistant.core.errors import UnknownChat
from assistant.core.models import ChatModels
from assistant.core.records import ApprovalEvent, ToolCallEvent, TurnEvent
from assistant.core.texts import neutralized, without_thinking
from assistant.evidence.off_screen import SOURCE_OF
from assistant.evidence.replies import is_object, visible_text
from assistant.formats.parsing import MAX_CALLS, Call, Parsed, call_as_text, parse_any, parse_message
from assistant.tools.context import Findings, ToolContext
from assistant.tools.registry import APPROVAL_LIFETIME_MS, AgentServices, modes
from assistant.tools.tool import Tool, ToolFailed
from assistant.tools.web import search_engine
from assistant.turns.model_session import RESULTS, ModelSession
from engines.chat.protocol import Completion, Message, RequestedCall
from store.chats import tool_calls, tool_permissions
from store.chats.tool_calls import NewToolCall, NotApproved, Outcome, ToolCall
from store.core.translation import N_, stored_form
from store.core.translation import deferred as _
from store.sources import proposals

CHANGED = "What this would do is not what was shown and approved any more."
PROPOSED = "The person is asked whether to remember it once your answer stands. Go on."
_LOOK_EVERY_S = 0.05

WHY_NOT = {
    "denied": "denied by user",
    "expired": "not approved in time",
    "approved": "this call was not approved",  # not with these arguments
}
"""Why a call has not run, as the model is told."""


# -- one round of calls ---------------------------------------------------------------------


def carry_out(
    session: ModelSession, iteration: int, reply: Parsed
) -> Generator[TurnEvent, None, dict[str, str]]:
    """Events of the calls, then their results as text by the id of the call."""
    calls_wanted = [
        replace(wanted, arguments=session.findings.resolved(wanted.arguments)) for wanted in reply.wanted
    ]
    new = [_new_call(session, iteration, wanted) for wanted in calls_wanted]
    new[0] = replace(new[0], said=visible_text(reply.prose))
    calls = tool_calls.add(session.database, session.turn.stored.id, new, session.turn.now_ms())
    wanted_by_id = {wanted.id: wanted for wanted in calls_wanted}
    for call in calls:
        yield ToolCallEvent(call)
    for call in calls:
        if call.state == "approved":
            yield from _run(session, call, wanted_by_id[call.call_id])
    waiting = [call for call in calls if call.state == "pending" and not call.is_proposed]
    if waiting:
        yield ApprovalEvent(tuple(waiting))
        yield session.turn.status("waiting", tools=", ".join(call.tool for call in waiting))
    while waiting:
        for call in (now := [_stored(session, call) for call in waiting]):
            if call.state == "approved":
                yield from _run(session, call, wanted_by_id[call.call_id])
            elif call.state != "pending":
                yield ToolCallEvent(call)
        waiting = [call for call in now if call.state == "pending"]
        if waiting:
            session.turn.stop.wait(_LOOK_EVERY_S)
            session.turn.stop.check()
            now_ms = session.turn.now_ms()
            if any(call.expires_ms is not None and call.expires_ms <= now_ms for call in waiting):
                tool_calls.expire(session.database, now_ms)
    return {call.call_id: result_text(result_of(_stored(session, call))) for call in calls}


def _new_call(session: ModelSession, iteration: int, wanted: Call) -> NewToolCall:
    """The call as it is stored at first: unusable, free to run, or waiting for the person."""
    call = NewToolCall(iteration, wanted.id, wanted.name, wanted.arguments, error=wanted.error)
    if call.error:
        return call
    database, tool = session.database, session.agent.tools[wanted.name]
    mode = modes(database, session.agent.tools)[wanted.name]
    if mode == "off":
        return replace(call, error=f"The tool {wanted.name!r} is switched off.")
    call = _noticed(session, tool, call)
    if call.error:
        return call
    if mode == "auto" and is_auto_approved(session, tool):
        return replace(call, approved_by="mode")
    approved_by = tool_permissions.use(database, session.turn.stored.chat_id, tool.name, call.scope)
    # What is only to be remembered is asked about when the answer stands.
    waits = not approved_by and tool.risk != "changes"
    expires_ms = session.turn.now_ms() + APPROVAL_LIFETIME_MS if waits else None
    return replace(call, approved_by=approved_by, expires_ms=expires_ms)


def _noticed(session: ModelSession, tool: Tool, call: NewToolCall) -> NewToolCall:
    """The call with what the person is told that it does and what a standing approval would cover, both in
    words, and the span of what these already tell of the screen; or with why it cannot be made.
    """
    findings = session.findings.of_call()
    context, endpoint = context_of(session, findings), session.endpoint
    try:
        does, scope = tool.notice(context, call.arguments)
    except ToolFailed as failure:
        return replace(call, error=str(failure))
    where = N_("%(scope)s; results stay on this computer")
    where = where if endpoint.is_local else N_("%(scope)s; results go to %(host)s")
    if tool.risk != "changes" and endpoint.is_local:
        does = _("%(does)s Its results stay on this computer.", does=does)
    elif tool.risk != "changes":
        does = _("%(does)s Its results go to %(host)s.", does=does, host=endpoint.host)
    return replace(
        call,
        notice=stored_form(does),
        scope=where % {"scope": scope, "host": endpoint.host},
        shown_ms=(findings.from_ms, findings.until_ms),
    )


def _run(session: ModelSession, call: ToolCall, wanted: Call) -> Generator[TurnEvent, None, None]:
    """Run an approved call, with the arguments that were approved and no others."""
    try:
        tool_calls.claim(session.database, call.id, wanted.arguments, session.turn.now_ms())
    except NotApproved:
        return
    yield ToolCallEvent(_stored(session, call))
    outcome = _outcome(session, call, wanted)
    tool_calls.finish(session.database, call.turn_id, call.id, outcome, session.turn.now_ms())
    yield ToolCallEvent(_stored(session, call))


def _outcome(session: ModelSession, call: ToolCall, wanted: Call) -> Outcome:
    """What the tool gave, within its time; what it finds after that is not taken in."""
    tool, timeout_s = session.agent.tools[wanted.name], session.agent.settings.timeout_s
    if call.decided_by == "person":
        now = _noticed(session, tool, NewToolCall(call.iteration, wanted.id, wanted.name, wanted.arguments))
        if now.notice != call.noted:
            return Outcome("failed", error=f"{CHANGED} {now.error}".strip())
    if tool.risk == "sends" and (wait_s := session.agent.limit.take(tool.name)):
        most = session.agent.limit.per_minute
        return Outcome("failed", error=f"At most {most} calls a minute; ask again in {wait_s} s.")
    findings = session.findings.of_call()
    context = context_of(session, findings)
    try:
        output = session.turn.wait_for(partial(tool.answer, context, wanted.arguments), timeout_s)
    except TimeoutError:
        return Outcome("timed_out", error=f"{wanted.name} took longer than {timeout_s:g} s.")
    except ToolFailed as failure:
        return Outcome("failed", error=str(failure))
    finally:
        session.usages += findings.usages
    if source := SOURCE_OF.get(wanted.name):
        findings.sources.add(source)
    session.findings.take(findings)
    session.off_screen.take(wanted.name, output, findings.sources, wanted.arguments)
    return Outcome("completed", output, "", findings.from_ms, findings.until_ms)


def _stored(session: ModelSession, call: ToolCall) -> ToolCall:
    """The call as it stands now. Raises `UnknownChat` when its chat was deleted meanwhile."""
    stored = tool_calls.get(session.database, call.id)
    if stored is None:
        raise UnknownChat(call.chat_id)
    return stored


def context_of(session: ModelSession, findings: Findings) -> ToolContext:
    """What a call is handed that notes in `findings` what it shows."""
    plan, endpoint, turn = session.plan, session.endpoint, session.turn
    return ToolContext(
        library=session.agent.library,
        settings=session.agent.settings,
        findings=findings,
        now_ms=turn.now_ms(),
        zone=plan.zone,
        range_ms=(plan.start_ms, plan.end_ms) if plan.is_bounded else None,
        at_ms=sum(plan.about.range_ms) // 2 if plan.about else None,
        turn_id=turn.stored.id,
        chat_id=turn.stored.chat_id,
        eyes=session.model if endpoint.supports_vision else None,
        endpoint=endpoint,
    )


# -- where the tools that send something send it ---------------------------------------------
#
# Who lets such a tool run by itself knows where that goes today. When the search endpoint or the model is
# another one tomorrow, nobody has agreed to that yet: the tool asks again.


def hosts(agent: AgentServices, models: ChatModels, name: str) -> frozenset[str]:
    """The hosts that a tool of this installation would send to now; none for one that sends nothing."""
    seeing = (info.host for info in models.describe() if info.supports_vision)
    tool = agent.tools.get(name)
    return _hosts(agent, tool, seeing) if tool else frozenset()


def is_auto_approved(session: ModelSession, tool: Tool) -> bool:
    """Whether a tool whose mode is ``auto`` may run now: one that sends something only to where it did when
    the person chose that mode.
    """
    if tool.risk != "sends":
        return True
    now = _hosts(session.agent, tool, filter(None, [session.endpoint.host]))
    choice = tool_permissions.chosen(session.database).get(tool.name)
    return bool(now) and choice is not None and now <= choice.hosts


def _hosts(agent: AgentServices, tool: Tool, seeing: Iterable[str]) -> frozenset[str]:
    """Where the tool sends to, if pictures go to the models at `seeing`."""
    if tool.risk != "sends":
        return frozenset()
    engine = search_engine(agent.settings)
    return frozenset(seeing if tool.name != "web_search" else [engine.host] if engine else [])


# -- calls as the model writes and reads them ------------------------------------------------


ALIASES: Mapping[str, str] = {"get_current_time": "get_current_datetime"}
"""Names that a tool is called by as well; they are not offered."""


def read(completion: Completion, tools: Sequence[Tool], form: str) -> Parsed:
    """What a completion says and wants, unusable calls included. Raises nothing, whatever it holds.

    Calls that a model writes as text count whatever is known of it: many a server passes them on unread.
    """
    known = {tool.name: tool.parameters for tool in tools}
    known |= {alias: known[name] for alias, name in ALIASES.items() if name in known}
    said = without_thinking(completion.text)
    parsed = parse_message({"content": said, "tool_calls": completion.tool_calls}, known)
    if not parsed.wanted and not is_object(said):
        parsed = parse_any(said, form, known)
    wanted = parsed.wanted[: MAX_CALLS + 1]
    return replace(parsed, wanted=tuple(replace(c, name=ALIASES.get(c.name, c.name)) for c in wanted))


def result_messages(
    reply: Parsed, results: Mapping[str, str], form: str, *, written: str = "", as_text: bool = False
) -> list[Message]:
    """The messages that repeat the calls and give their results, by the id of the call. `form` is the text
    format that the model was told, "" for the endpoint's own, and `written` its calls in that; `as_text` for
    a model that calls natively and knows no messages of a tool.
    """
    if form or as_text:
        called = [reply.prose] if reply.prose else []
        for call in reply.wanted:
            plain = json.dumps({"id": call.id, "name": call.name, "arguments": dict(call.arguments)})
            called.append(call_as_text(call.name, call.arguments, form) or plain)
        lines = [
            json.dumps({"tool_call_id": call.id, "name": call.name}) + "\n" + results[call.id]
            for call in reply.wanted
        ]
        said = written if form and reply.form else "\n".join(called)
        return [Message("assistant", said), Message("user", "\n".join([RESULTS, *lines]))]
    requested = tuple(
        RequestedCall(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
        for call in reply.wanted
    )
    return [
        Message("assistant", reply.prose, requested),
        *(Message("tool", results[call.id], call_id=call.id) for call in reply.wanted),
    ]


def result_of(call: ToolCall) -> str:
    """What a call that is over gave, as JSON: its output, or why there is none."""
    if call.output:
        return call.output
    if call.is_proposed:
        proposed: dict[str, object] = {"proposed": True, "note": PROPOSED}
        if call.tool == "store_entity":
            proposed["entity_id"] = proposals.provisional_id(call)
        return json.dumps(proposed)
    why = "deleted" if call.is_forgotten else call.error or WHY_NOT.get(call.state, call.state)
    return json.dumps({"error": why}, ensure_ascii=False)


def result_text(result: str, *, is_of_now: bool = True) -> str:
    """A result as the model gets it: JSON that cannot imitate a call or a citation. One of an earlier turn
    has no ids, which mean nothing now.
    """

    def harmless(value: Any) -> Any:
        if isinstance(value, str):
            return neutralized(value).replace("[[", "[ [").replace("]]", "] ]")
        if isinstance(value, dict):
            kept = {key: inner for key, inner in value.items() if is_of_now or key != "cite"}
            return {harmless(key): harmless(inner) for key, inner in kept.items()}
        return list(map(harmless, value)) if isinstance(value, list) else value

    return json.dumps(harmless(json.loads(result)), ensure_ascii=False)
