"""One question, one answer: the generator that every mouth of the chat drains (C2).

Evidence mode: exactly one retrieval, at most one model call, no tools (R3.4). Agent mode has tools
(`webapp.assistant.agent`). The question is stored before anything is looked up and the answer in one
transaction at the end; in between nothing is held (CHAT-11). The result that goes out is read back
from the store, so that a reload shows the same.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from peewee import IntegrityError

from engines.chat import Message, ModelError
from store import conversations, tool_calls
from store.conversations import StoredTurn
from store.database import Database
from store.errors import StoreError
from store.filters import Filters
from webapp.assistant import (
    agent,
    answering,
    coverage,
    evidence,
    failures,
    history,
    rechecking,
    stored,
    telling,
)
from webapp.assistant.admission import admit
from webapp.assistant.agent import Forgotten
from webapp.assistant.answering import Draft, Plan
from webapp.assistant.errors import (
    BadMessage,
    BadRange,
    BadTimezone,
    TimeRangeRequired,
    TurnRefused,
    UnknownChat,
    UnknownModel,
)
from webapp.assistant.failures import interrupted, turn_error
from webapp.assistant.questions import needs_sound
from webapp.assistant.records import (
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
    Stage,
    StatusEvent,
    TextEvent,
    TimeReading,
    ToolCallEvent,
    TurnDeps,
    TurnError,
    TurnEvent,
    TurnFilters,
    TurnRequest,
    TurnResult,
)
from webapp.assistant.retrieval import retrieve
from webapp.assistant.sentences import say
from webapp.assistant.waiting import Stop, Stopped, within
from webapp.query_embedder import WORDS_ONLY, Meaning

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
    "StatusEvent",
    "TextEvent",
    "TimeRangeRequired",
    "TimeReading",
    "ToolCallEvent",
    "TurnDeps",
    "TurnError",
    "TurnEvent",
    "TurnFilters",
    "TurnRefused",
    "TurnRequest",
    "TurnResult",
    "UnknownChat",
    "UnknownModel",
    "answer",
    "run_turn",
    "stored_turn",
]

log = logging.getLogger(__name__)


def run_turn(deps: TurnDeps, request: TurnRequest, stop: Stop | None = None) -> Iterator[TurnEvent]:
    """The turn's events, the last one a `FinalEvent`. `stop` ends it before that, keeping what was said.

    Raises `TurnRefused` at once, before the first event, when the request cannot become a turn.
    """
    return _events(deps, admit(deps, request), stop or Stop())


def answer(deps: TurnDeps, request: TurnRequest) -> TurnResult:
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
    return stored.result(rechecking.checked_again(database, found))


@dataclass(slots=True)
class _Found:
    """What a turn has in hand so far, to be stored with it even if it fails."""

    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    evidence: tuple[EvidenceItem, ...] = ()


def _events(deps: TurnDeps, plan: Plan, stop: Stop) -> Iterator[TurnEvent]:
    said, asked = history.before(deps.database, plan)
    plan = replace(plan, asked=asked)
    turn = _enter(deps, plan)
    found = _Found()
    try:
        if plan.mode == "agent" and deps.agent:
            yield StatusEvent("searching", say("searching", plan.language), turn.chat_id, turn.n)
            draft = yield from agent.run(deps, deps.agent, plan, turn, said, stop)
            found.coverage = draft.coverage or found.coverage
        else:
            draft = yield from _draft(deps, plan, turn, said, found, stop)
        payload = stored.payload(
            found.coverage,
            draft.claims,
            draft.usage,
            draft.warnings,
            dropped=draft.dropped,
            measured=draft.measured,
            sources=draft.sources,
        )
        rows = stored.evidence_rows(draft.evidence)
        conversations.finish_turn(deps.database, turn.id, draft.answer_md, payload, rows, deps.clock())
    except (ModelError, StoreError) as error:
        log.warning("turn %s of chat %s failed: %s", turn.n, turn.chat_id, type(error).__name__)
        failure = turn_error(error, plan.language)
        _fail(deps, turn, found, failure)
        yield ErrorEvent(failure)
    except (Stopped, Forgotten) as ending:
        is_stopped = isinstance(ending, Stopped)
        failure = failures.stopped(plan.language) if is_stopped else failures.deleted(plan.language)
        _fail(deps, turn, found, failure)
        yield ErrorEvent(failure)
    except BaseException:
        # The asker went away, or there is a defect: the turn must not look as if it still ran.
        _fail(deps, turn, found, interrupted(plan.language))
        raise
    else:
        yield TextEvent(draft.answer_md)
        telling.keep(deps, plan, turn, draft.answer_md, stop)
    yield FinalEvent(stored_turn(deps.database, turn.chat_id, turn.n))


def _draft(
    deps: TurnDeps,
    plan: Plan,
    turn: StoredTurn,
    history: Sequence[Message],
    found: _Found,
    stop: Stop,
) -> Generator[TurnEvent, None, Draft]:
    """Retrieval, the model's call, and the checks, with an event before each."""

    def status(stage: Stage, **values: str) -> StatusEvent:
        return StatusEvent(stage, say(stage, plan.language, **values), turn.chat_id, turn.n)

    if plan.start_ms >= plan.now_ms:
        return answering.future(plan)
    yield status("searching")
    # An endpoint of vectors may be slow, too.
    meaning = within(partial(_meaning, deps, plan, turn), math.inf, stop, deps.database.close_thread)
    retrieval = retrieve(deps.database, _filters(plan), plan.words, deps.clock(), meaning=meaning)
    if plan.without:
        entries = tuple(each for each in retrieval.entries if each.frame.id not in plan.without)
        retrieval = replace(retrieval, entries=entries)
    found.coverage = coverage.of(retrieval, plan.filters, plan.reading)
    if not retrieval.entries:
        return answering.no_captures(plan, retrieval)
    found.evidence = evidence.items(retrieval.entries, (), {}, plan.zone)
    yield EvidenceEvent(found.evidence, found.coverage)
    if needs_sound(plan.message):
        opening = f"{say('audio', plan.language)} {say('audio_screen', plan.language)}"
        return answering.quote(deps, plan, retrieval, opening, asked=False)
    yield status("thinking", model=plan.model.name)
    # The model keeps its own time limit; whoever stops the turn does not wait for it.
    ask = partial(answering.ask, deps, plan, retrieval, history, turn.id)
    return within(ask, math.inf, stop, deps.database.close_thread)


def _enter(deps: TurnDeps, plan: Plan) -> StoredTurn:
    """The question, stored as a running turn of its chat; a new chat when none was named."""
    now_ms = deps.clock()
    chat_id = plan.chat_id
    if chat_id is None:
        anchored = plan.about.anchored if plan.about else None
        chat_id = conversations.create(deps.database, plan.message, now_ms, plan.identity, anchored)
    start_ms, end_ms = _looked_at(plan)
    try:
        return conversations.add_turn(
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
        )
    except IntegrityError as error:  # deleted since it was looked up
        raise UnknownChat(chat_id) from error


def _looked_at(plan: Plan) -> tuple[int, int] | tuple[None, None]:
    """The time that the turn is shown of itself: its range, else what its conversation is about."""
    if plan.has_range:
        return plan.start_ms, plan.end_ms
    return (plan.about.anchor.start_ms, plan.about.anchor.end_ms) if plan.about else (None, None)


def _fail(deps: TurnDeps, turn: StoredTurn, found: _Found, failure: TurnError) -> None:
    tool_calls.expire(deps.database, deps.clock(), turn.id)
    payload = stored.payload(found.coverage, error=failure)
    conversations.fail_turn(deps.database, turn.id, payload, stored.evidence_rows(found.evidence))


def _meaning(deps: TurnDeps, plan: Plan, turn: StoredTurn) -> Meaning:
    """What the question means, when it asks for something; made before anything is read."""
    return deps.meaning(plan.searched_for, turn.id) if deps.meaning and plan.words else WORDS_ONLY


def _filters(plan: Plan) -> Filters:
    wanted = plan.filters
    return Filters(
        plan.start_ms,
        plan.end_ms,
        wanted.app_name or None,
        wanted.window_name or None,
        wanted.browser_url or None,
        wanted.focused,
    )
