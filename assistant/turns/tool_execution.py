"""Carrying out the calls of one round: entered, decided about, run, and each with a result.

What runs at once runs first; then the turn waits for the person about the rest. A call that was denied,
has expired or cannot be used has a result like any other (R2.28).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Sequence
from dataclasses import replace

from assistant.core.cancellation import run_with_timeout
from assistant.core.records import ApprovalEvent, StatusEvent, ToolCallEvent, TurnEvent
from assistant.core.strings import text
from assistant.evidence.elsewhere import SOURCE_OF
from assistant.evidence.visible import visible_text
from assistant.tools.registry import APPROVAL_LIFETIME_MS, modes
from assistant.tools.tool import Tool, ToolFailed, ToolResult, failed_by_bug, invalid_arguments
from assistant.turns import destinations
from assistant.turns.requested_calls import ModelReply, WantedCall, result_text
from assistant.turns.tool_context import CallNotice, ToolSession, call_notice, context_of
from store.chats import tool_calls, tool_permissions
from store.chats.tool_calls import NewToolCall, NotApproved, Outcome, ToolCall

log = logging.getLogger(__name__)

CHANGED = "What this would do is not what was shown and approved any more."
_LOOK_EVERY_S = 1.0

WHY_NOT = {
    "denied": "denied by user",
    "expired": "not approved in time",
    "refused": "this call was not approved",
}
"""Why a call has not run, as the model is told."""


def carry_out(
    session: ToolSession, iteration: int, said: ModelReply
) -> Generator[TurnEvent, None, dict[str, str]]:
    """Events of the calls, then their results as text by the id of the call."""
    asked = [_asked(session, iteration, each) for each in said.wanted]
    asked[0] = replace(asked[0], said=visible_text(said.prose, session.form))
    entered = tool_calls.add(session.deps.database, session.turn.id, asked, session.deps.clock())
    by_id = {each.id: each for each in said.wanted}
    results: dict[str, str] = {}
    for call in entered:
        yield ToolCallEvent(call)
    for call in entered:
        if call.state == "approved":
            yield from _run(session, call, by_id[call.call_id], results)
        elif call.state == "failed":
            results[call.call_id] = result_text("", call.error)
    waiting = [call for call in entered if call.state == "pending"]
    if waiting:
        yield ApprovalEvent(tuple(waiting))
        told = text("waiting", session.plan.language, tools=", ".join(call.tool for call in waiting))
        yield StatusEvent("waiting", told, session.turn.chat_id, session.turn.n)
    while waiting:
        for call in list(waiting):
            now = tool_calls.get(session.deps.database, call.id)
            assert now is not None
            if now.state == "pending":
                continue
            waiting.remove(call)
            if now.state == "approved":
                yield from _run(session, now, by_id[call.call_id], results)
            else:
                yield ToolCallEvent(now)
                results[call.call_id] = result_text("", WHY_NOT[now.state])
        if waiting:
            _wait(session, waiting)
    return results


def _asked(session: ToolSession, iteration: int, wanted: WantedCall) -> NewToolCall:
    """The call as it enters: unusable, free to run, or waiting for the person."""
    asked = NewToolCall(iteration, wanted.id, wanted.name, wanted.arguments, error=wanted.error)
    if asked.error:
        return asked
    database, tool = session.deps.database, session.agent.registry.get(wanted.name)
    if tool is None:
        return replace(asked, error=f"There is no tool {wanted.name!r}.")
    mode = modes(database, session.agent.registry)[wanted.name]
    if mode == "off":
        return replace(asked, error=f"The tool {wanted.name!r} is switched off.")
    what = _told(session, tool, wanted)
    if isinstance(what, str):
        return replace(asked, error=what)
    is_free = mode == "auto" and destinations.is_auto_approved(session, tool)
    by = "mode" if is_free else tool_permissions.use(database, session.turn.chat_id, tool.name, what.scope)
    return replace(
        asked,
        approved_by=by,
        expires_ms=None if by else session.deps.clock() + APPROVAL_LIFETIME_MS,
        notice=what.notice,
        scope=what.scope,
        shown_ms=(what.shown_from_ms, what.shown_until_ms),
    )


def _told(session: ToolSession, tool: Tool, wanted: WantedCall) -> CallNotice | str:
    """What the person is told that the call does, or why it cannot be made."""
    problem = invalid_arguments(tool, wanted.arguments)
    if problem:
        return problem
    try:
        return call_notice(session, tool, wanted.arguments)
    except ToolFailed as error:
        return str(error)
    except Exception:  # as when it runs: a tool's bug must not end the turn
        log.exception("the tool %s cannot tell what it does", tool.name)
        return failed_by_bug(tool.name)


def _wait(session: ToolSession, waiting: Sequence[ToolCall]) -> None:
    """Until something was decided, the time is up, or the turn is stopped."""
    until_s = time.monotonic() + _LOOK_EVERY_S
    while time.monotonic() < until_s:
        session.stop.check()
        session.agent.decisions.wait(0.05)
        if any(_is_decided(session, call) for call in waiting):
            return
    tool_calls.expire(session.deps.database, session.deps.clock())


def _is_decided(session: ToolSession, call: ToolCall) -> bool:
    now = tool_calls.get(session.deps.database, call.id)
    return now is None or now.state != "pending"


def _run(
    session: ToolSession, call: ToolCall, wanted: WantedCall, results: dict[str, str]
) -> Generator[TurnEvent, None, None]:
    """Run an approved call, with the arguments that were approved and no others."""
    database, clock = session.deps.database, session.deps.clock
    try:
        tool_calls.claim(database, call.id, wanted.arguments, clock())
    except NotApproved:
        results[call.call_id] = result_text("", WHY_NOT["refused"])
        return
    yield ToolCallEvent(_again(session, call))
    outcome = _outcome(session, call, wanted)
    tool_calls.finish(database, call.id, outcome, clock())
    yield ToolCallEvent(_again(session, call))
    results[call.call_id] = result_text(outcome.output, outcome.error)


def _outcome(session: ToolSession, call: ToolCall, wanted: WantedCall) -> Outcome:
    """What the tool gave, within its time; what it finds after that is not taken in."""
    tool, settings = session.agent.registry.get(wanted.name), session.agent.settings
    assert tool is not None
    if call.decided_by == "person":
        now = _told(session, tool, wanted)
        if isinstance(now, str) or now.notice != call.notice:
            return Outcome("failed", error=f"{CHANGED} {now}" if isinstance(now, str) else CHANGED)
    if tool.risk == "sends" and (wait_s := session.agent.limit.take(tool.name)):
        most = session.agent.limit.per_minute
        return Outcome("failed", error=f"At most {most} calls a minute; ask again in {wait_s} s.")
    found = session.findings.of_call()
    context = context_of(session, found)

    def work() -> ToolResult:
        return session.agent.registry.run(context, call.call_id, wanted.name, wanted.arguments)

    try:
        result = run_with_timeout(work, settings.timeout_s, session.stop, session.deps.database.close_thread)
    except TimeoutError:
        return Outcome("timed_out", error=f"{wanted.name} took longer than {settings.timeout_s:g} s.")
    if context.vision:
        session.usages += context.vision.usages
    if not result.success:
        return Outcome("failed", error=result.error)
    if source := SOURCE_OF.get(wanted.name):
        found.sources.add(source)
    session.findings.take(found)
    session.off_screen.take(wanted.name, result.output, found.sources)
    return Outcome("completed", result.output, "", found.from_ms, found.until_ms)


def _again(session: ToolSession, call: ToolCall) -> ToolCall:
    found = tool_calls.get(session.deps.database, call.id)
    assert found is not None
    return found
