"""The model is asked: with tools in rounds of generate, call, approve, execute and tell; without them once.

At most ``tools.max_iterations`` rounds of calls, then one answer without tools, so that there always is one.
Every call is stored before it runs and runs only as it was approved (`store.chats.tool_calls`). What the
answer may cite are the frames of the first look that the model was shown, and what tools returned.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial

from assistant.core.egress_log import SentLedger, total_of
from assistant.core.records import DeltaEvent, TurnEvent
from assistant.core.strings import text
from assistant.evidence.replies import StreamBuffer, has_answer
from assistant.formats.parsing import Call, Parsed, call_as_text
from assistant.retrieval.measured_facts import facts
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.tools import registry
from assistant.turns import tool_execution
from assistant.turns.answering import check, partial_completion
from assistant.turns.beside_answers import Beside
from assistant.turns.model_session import OUTPUT_SCHEMA, ModelSession
from assistant.turns.plan import CheckedAnswer, RunningTurn
from assistant.turns.tool_execution import carry_out
from engines.cancellation import Cancelled, iterate_until_cancelled
from engines.chat.protocol import (
    ChatModel,
    Completion,
    ContextTooLong,
    ModelBrokeOff,
    ModelError,
    ModelGarbled,
    ModelSilent,
)
from store.chats import tool_calls

MAX_SHRINKS = 2
"""How often a request that was too long is made smaller."""


def ask(
    turn: RunningTurn, model: ChatModel, retrieval: Retrieval, beside: Beside
) -> Generator[TurnEvent, None, CheckedAnswer]:
    """The turn's events, then the answer with its marks.

    Raises `StoreError`, and `ModelError` or `Cancelled` when it ended before anything was said.
    """
    retrieval = replace(retrieval, beside=beside.told)
    if retrieval.beside:
        beside.note()
    session = ModelSession(turn, model, retrieval, beside)
    try:
        completion = yield from _rounds(session)
    except (ModelError, Cancelled) as ending:
        tool_calls.expire(turn.database, turn.now_ms(), turn.stored.id)
        completed = partial_completion(session.heard.text, turn.plan)
        if completed is None:
            turn.refusal = session.refusal(ending)
            session.warn()
            raise
        turn.ending = ending
        return _answer(session, completed)
    return _answer(session, completion)


def _rounds(session: ModelSession) -> Generator[TurnEvent, None, Completion]:
    """Rounds of calls until there is an answer."""
    rounds = session.agent.settings.max_iterations if session.tools else 0
    for iteration in range(1, rounds + 1):
        first = session.plan.request.first_call if iteration == 1 else None
        completion, reply = _as_requested(session, first) if first else (yield from _generate(session))
        if not reply.wanted:
            if not reply.has_lost and has_answer(reply.prose):
                return replace(completion, text=reply.prose)
            session.is_silent = True
            break
        results = yield from carry_out(session, iteration, reply)
        session.rounds += tool_execution.result_messages(
            reply,
            results,
            session.form,
            written=completion.text,
            as_text=not session.endpoint.supports_tool_role,
        )
    else:
        if rounds:
            session.turn.warnings.append(text("capped", session.plan.language, count=rounds))
    return (yield from _last(session))


def _last(session: ModelSession) -> Generator[TurnEvent, None, Completion]:
    """The answer without tools. Where the model has said nothing for the first time it is asked for again, in
    no format: small models fill an object that is asked of them with nothing.
    """
    if session.tools:
        session.close_tools()
    completion, reply = yield from _generate(session)
    if not has_answer(reply.prose) and not session.is_silent:
        session.is_silent = True
        completion, reply = yield from _generate(session)
    return replace(completion, text=reply.prose)


def _as_requested(session: ModelSession, call: Call) -> tuple[Completion, Parsed]:
    """A call as if the model had just asked for it; it is decided about like any other."""
    session.parts += 1
    if all(tool.name != call.name for tool in session.tools):
        call = replace(call, error=f"There is no tool {call.name!r}.")
    called = call_as_text(call.name, call.arguments, session.form)
    return Completion(called, None, session.plan.model.name), Parsed("", (call,), session.form)


def _generate(session: ModelSession) -> Generator[TurnEvent, None, tuple[Completion, Parsed]]:
    """One answer of the model, told as it comes. A request that was too long is made smaller."""
    session.parts += 1
    yield session.turn.status("thinking", model=session.plan.model.name)
    session.fit()
    for shrinks_left in range(MAX_SHRINKS, -1, -1):
        try:
            completion = yield from _completed(session)
            break
        except ContextTooLong as error:
            if not (shrinks_left and session.shrink(error)):
                raise
    reply = tool_execution.read(completion, session.tools, session.form)
    if reply.calls:
        session.turn.called_as.add(reply.form)
    if reply.form and not session.form:  # told again as the endpoint's own, which have ids of their own
        named = (replace(call, id=f"w{session.parts}_{n}") for n, call in enumerate(reply.wanted, 1))
        reply = replace(reply, wanted=tuple(named))
    return completion, reply


def _completed(session: ModelSession) -> Generator[TurnEvent, None, Completion]:
    """The answer to one request; asked for as a whole where its stream broke before a word was shown."""
    try:
        try:
            return (yield from _streamed(session))
        except (ModelGarbled, ModelBrokeOff):
            if session.heard.shown:
                raise
        return (yield from _streamed(session, in_pieces=False))
    except ModelSilent:
        return Completion("", None, session.plan.model.name)


def _streamed(session: ModelSession, *, in_pieces: bool = True) -> Generator[TurnEvent, None, Completion]:
    """The answer to one request, its words told as they come."""
    turn, services, messages = session.turn, session.turn.services, session.messages
    turn.stop.check()
    session.heard = StreamBuffer(session.parts)
    ledger = SentLedger(
        turn.database,
        services.clock,
        session.endpoint,
        turn_id=turn.stored.id,
        blocks=session.blocks,
        shows=session.pictures.shows,
        named=session.pictures.named,
        is_current=session.is_current,
    )
    # The model keeps its own time limit; whoever stops the turn does not wait for it.
    pieces = partial(
        session.model.stream,
        messages,
        schema=None if session.plan.uses_tools or session.is_silent else OUTPUT_SCHEMA,
        tools=[] if session.form else registry.definitions(session.tools),
        timeout_s=services.models.timeout_s,
        on_send=ledger,
        in_pieces=in_pieces,
    )
    completion = None
    with ledger.asking():
        for piece in iterate_until_cancelled(pieces, turn.stop, turn.database.close_thread):
            if isinstance(piece, Completion):
                completion = piece
                session.usages.append(ledger.answered(completion, messages))
            elif fresh := session.heard.add(piece):
                session.parts = session.heard.part
                yield DeltaEvent(session.parts, fresh)
    assert completion is not None  # a stream ends with it
    return completion


def _answer(session: ModelSession, completion: Completion) -> CheckedAnswer:
    """What was said, on the frames that it was shown; the turn notes what it looked at."""
    turn, plan = session.turn, session.plan
    session.warn()
    if completion.finish_reason == "length":
        turn.warnings.append(text("cut_short", plan.language))
    for file, shown in () if plan.uses_tools else session.files.cut:
        counts = {"shown": f"{shown:,}", "total": f"{file.characters:,}"}
        turn.warnings.append(text("file_cut", plan.language, file=file.name, **counts))
    retrieval, entries = _all_shown(session)
    turn.frames_read = len(entries)
    by_tools = plan.shows_anchor or not session.retrieval.entries
    sampled = len(retrieval.entries if by_tools else session.retrieval.entries)
    by_tools = by_tools and plan.uses_tools
    turn.coverage = replace(retrieval.coverage, frames_sampled=sampled, by_tools=by_tools)
    # What code had counted, of the range that was looked at and in the tools.
    range_ms = (plan.start_ms, plan.end_ms) if plan.has_range else ()
    measured = session.findings.facts(plan.zone, range_ms)
    if plan.mode != "agent":
        first = facts(session.retrieval, plan.start_ms, plan.end_ms, plan.zone)
        durations, moments = first.durations + measured.durations, first.moments + measured.moments
        measured = replace(first, durations=durations, moments=moments)
    turn.usage, turn.sources = total_of(session.usages), tuple(sorted(session.findings.sources))
    return check(
        turn,
        completion,
        retrieval,
        entries,
        measured=measured,
        off_screen=session.off_screen,
        seen=session.findings.seen,
    )


def _all_shown(session: ModelSession) -> tuple[Retrieval, tuple[Entry, ...]]:
    """The first look with what tools found beside it, and the entries of both that the model was shown."""
    plan, first = session.plan, session.retrieval
    found = session.findings.retrieval(session.database, plan.words, (plan.start_ms, plan.end_ms))
    shown = (*session.packed.entries, *found.entries)
    if not first.entries and (found.entries or plan.mode == "agent"):
        return found, shown
    new = {entry.frame.id for entry in found.entries}
    entries = (*(entry for entry in first.entries if entry.frame.id not in new), *found.entries)
    queries = (*first.coverage.queries, *found.coverage.queries)
    looked = replace(first.coverage, queries=queries, is_found=first.coverage.is_found or bool(new))
    return replace(first, entries=entries, coverage=looked), shown
