"""One question, one answer: the generator that every mouth of the chat drains (C2).

Evidence mode: exactly one retrieval, at most one model call, no tools (R3.4). Agent mode has tools
(`assistant.turns.loop`). The question is stored before anything is looked up and the answer in one
transaction at the end; in between nothing is held (CHAT-11). The result that goes out is read back
from the store, so that a reload shows the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

from peewee import IntegrityError

from assistant.context import background
from assistant.core import errors
from assistant.core.cancellation import Cancelled, CancelToken
from assistant.core.errors import (
    BadMessage,
    BadRange,
    BadTimezone,
    TimeRangeRequired,
    TurnRefused,
    UnknownAttachment,
    UnknownChat,
    UnknownModel,
    interrupted,
    turn_error,
)
from assistant.core.records import (
    ApprovalEvent,
    Box,
    Claim,
    Coverage,
    CoverageGap,
    DeltaEvent,
    ErrorEvent,
    EvidenceEvent,
    EvidenceItem,
    FinalEvent,
    Query,
    ShortenedEvent,
    StatusEvent,
    TextEvent,
    TimeReading,
    ToolCallEvent,
    TurnError,
    TurnEvent,
    TurnFilters,
    TurnRequest,
    TurnResult,
)
from assistant.core.strings import text
from assistant.turns import evidence_mode, insights, loop, stored_turns, transcript
from assistant.turns.admission import admit
from assistant.turns.evidence_mode import PartialTurn
from assistant.turns.loop import Forgotten
from assistant.turns.plan import DraftAnswer, TurnPlan, TurnServices
from engines.chat.protocol import ModelError
from store.chats import attachments, conversations, tool_calls
from store.chats.conversations import StoredTurn
from store.core.database import Database
from store.core.errors import AttachmentNotFound, StoreError

__all__ = [
    "ApprovalEvent",
    "BadMessage",
    "BadRange",
    "BadTimezone",
    "Box",
    "Claim",
    "Coverage",
    "CoverageGap",
    "DeltaEvent",
    "ErrorEvent",
    "EvidenceEvent",
    "EvidenceItem",
    "FinalEvent",
    "Query",
    "ShortenedEvent",
    "StatusEvent",
    "TextEvent",
    "TimeRangeRequired",
    "TimeReading",
    "ToolCallEvent",
    "TurnError",
    "TurnEvent",
    "TurnFilters",
    "TurnRefused",
    "TurnRequest",
    "TurnResult",
    "TurnServices",
    "UnknownChat",
    "UnknownModel",
    "answer",
    "run_turn",
    "stored_turn",
]

log = logging.getLogger(__name__)


def run_turn(
    deps: TurnServices, request: TurnRequest, stop: CancelToken | None = None
) -> Iterator[TurnEvent]:
    """The turn's events, the last one a `FinalEvent`. `stop` ends it before that, keeping what was said.

    Raises `TurnRefused` at once, before the first event, when the request cannot become a turn.
    """
    return run_admitted(deps, admit(deps, request), stop)


def run_admitted(deps: TurnServices, plan: TurnPlan, stop: CancelToken | None = None) -> Iterator[TurnEvent]:
    """The events of a turn that was admitted."""
    return _events(deps, plan, stop or CancelToken())


def answer(deps: TurnServices, request: TurnRequest) -> TurnResult:
    """The finished turn. A failed one has `error` set and is stored, too. Raises `TurnRefused`."""
    for event in run_turn(deps, request):
        if isinstance(event, FinalEvent):
            return event.result
    raise AssertionError("a turn ends with its final event")


def stored_turn(database: Database, chat_id: int, n: int) -> TurnResult:
    """The same object, rebuilt from the store. Raises `UnknownChat` when there is no such turn."""
    found = conversations.turn(database, chat_id, n)
    if found is None:
        raise UnknownChat(chat_id)
    result = stored_turns.result(stored_turns.checked_again(database, found))
    return replace(result, attachments=tuple(attachments.of_turn(database, chat_id, n)))


def _events(deps: TurnServices, plan: TurnPlan, stop: CancelToken) -> Iterator[TurnEvent]:
    said, asked = transcript.before(deps.database, plan)
    plan = replace(plan, asked=asked, model=transcript.chained_model(deps.database, plan, said))
    turn = _enter(deps, plan)
    found = PartialTurn()
    try:
        if plan.mode == "agent" and deps.agent:
            yield StatusEvent("searching", text("searching", plan.language), turn.chat_id, turn.n)
            draft = yield from loop.run(deps, deps.agent, plan, turn, said, stop, found.warnings)
            found.coverage = draft.coverage or found.coverage
        else:
            draft = yield from evidence_mode.run(deps, plan, turn, said, found, stop)
        failure = errors.interrupted_error(draft.failure, plan.language) if draft.failure else None
        _finish(deps, turn, draft, found.coverage, failure)
    except (ModelError, StoreError) as error:
        log.warning("turn %s of chat %s failed: %s", turn.n, turn.chat_id, type(error).__name__)
        failure = turn_error(error, plan.language)
        _fail(deps, turn, found, failure)
        yield ErrorEvent(failure)
    except (Cancelled, Forgotten) as ending:
        is_stopped = isinstance(ending, Cancelled)
        failure = errors.stopped(plan.language) if is_stopped else errors.deleted(plan.language)
        _fail(deps, turn, found, failure)
        yield ErrorEvent(failure)
    except BaseException:
        # The asker went away, or there is a defect: the turn must not look as if it still ran.
        _fail(deps, turn, found, interrupted(plan.language))
        raise
    else:
        yield TextEvent(draft.answer_md)
        if failure:
            yield ErrorEvent(failure)
        else:
            insights.write_insight(deps, plan, turn, draft.answer_md, stop)
    yield FinalEvent(stored_turn(deps.database, turn.chat_id, turn.n))


def _enter(deps: TurnServices, plan: TurnPlan) -> StoredTurn:
    """The question, stored as a running turn of its chat; a new chat when none was named."""
    now_ms = deps.clock()
    chat_id = plan.chat_id
    if chat_id is None:
        anchored = plan.about.anchored if plan.about else None
        chat_id = conversations.create(deps.database, plan.message, now_ms, plan.identity, anchored)
    start_ms, end_ms = _looked_at(plan)
    try:
        turn = conversations.add_turn(
            deps.database,
            chat_id,
            mode=plan.mode,
            model=plan.model.name,
            question=plan.message,
            start_ms=start_ms,
            end_ms=end_ms,
            timezone=plan.timezone,
            now_ms=now_ms,
            persona=plan.persona,
            style_note=plan.style_note,
            given=stored_turns.replay_parameters(plan),
            session_id=plan.session_id,
            attached=[each.id for each in plan.attached.own],
        )
    except IntegrityError as error:  # deleted since it was looked up
        raise UnknownChat(chat_id) from error
    except AttachmentNotFound as error:
        if plan.chat_id is None:
            conversations.delete(deps.database, chat_id)
        raise UnknownAttachment(error.attachment_id) from error
    if deps.context:
        background.note(deps.context, plan.context, turn)
    return turn


def _looked_at(plan: TurnPlan) -> tuple[int, int] | tuple[None, None]:
    """The time that the turn is shown of itself: its range, else what its conversation is about."""
    if plan.has_range:
        return plan.start_ms, plan.end_ms
    return (plan.about.anchor.start_ms, plan.about.anchor.end_ms) if plan.about else (None, None)


def _finish(
    deps: TurnServices, turn: StoredTurn, draft: DraftAnswer, covered: Coverage, failure: TurnError | None
) -> None:
    """Store the answer, also one that broke off because of a failure."""
    payload = stored_turns.payload(
        covered,
        draft.claims,
        draft.usage,
        draft.warnings,
        error=failure,
        dropped=draft.dropped,
        measured=draft.measured,
        sources=draft.sources,
        is_cut_off=draft.is_cut_off,
        response_id=draft.response_id,
    )
    rows = stored_turns.evidence_rows(draft.evidence)
    if failure:
        log.warning("turn %s of chat %s broke off: %s", turn.n, turn.chat_id, failure.code)
        tool_calls.expire(deps.database, deps.clock(), turn.id)
    conversations.finish_turn(
        deps.database, turn.id, draft.answer_md, payload, rows, deps.clock(), is_failed=failure is not None
    )


def _fail(deps: TurnServices, turn: StoredTurn, found: PartialTurn, failure: TurnError) -> None:
    tool_calls.expire(deps.database, deps.clock(), turn.id)
    payload = stored_turns.payload(found.coverage, warnings=found.warnings, error=failure)
    conversations.fail_turn(deps.database, turn.id, payload, stored_turns.evidence_rows(found.evidence))
