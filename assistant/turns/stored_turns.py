"""A turn in the store: begun with its question, finished or failed, read back, asked again.

What goes in comes out equal, field by field; what has been deleted since is missing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from peewee import IntegrityError
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from assistant.context import background
from assistant.context.background import PreparedContext
from assistant.core.errors import UnknownChat, turn_error
from assistant.core.records import (
    NO_VOICE,
    Box,
    Claim,
    Coverage,
    EvidenceItem,
    TurnError,
    TurnFilters,
    TurnRequest,
    TurnResult,
    Way,
    claim_state,
)
from assistant.core.strings import clock, day, local_time, text
from assistant.evidence import citations, marks
from assistant.evidence.citations import JOINT, CheckedFrame
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan, TurnServices, not_there
from engines.chat.protocol import ModelError
from store.chats import attachments, conversations, feedback, personas, tool_calls
from store.chats.records import StoredEvidence, StoredTurn
from store.core import times
from store.core.database import Database
from store.core.errors import NotFound, StoreError
from store.frames import frames
from store.ocr import readings

log = logging.getLogger(__name__)


def begin(services: TurnServices, plan: TurnPlan) -> tuple[StoredTurn, PreparedContext]:
    """The question, stored as a running turn of its chat (a new one when none was named), and its background.

    Raises `UnknownChat` and `TurnRefused` for what was deleted since the request was admitted.
    """
    database, now_ms = services.database, services.clock()
    chat_id = plan.chat_id
    if chat_id is None:
        anchored = plan.about.anchored if plan.about else None
        # A note is for one turn: only who amends is told that it stays.
        identity = plan.voice.identity if plan.request.amend else plan.voice.words
        chat_id = conversations.create(database, plan.message, now_ms, identity, anchored)
    # What it was given beside its words, to be asked again; what was not given is missing.
    given = {
        "filters": plan.filters.given(),
        "start_ms": plan.start_ms if plan.is_bounded else None,
        "end_ms": plan.end_ms if plan.is_bounded else None,
        "without": sorted(plan.request.without),
        "persona_id": NO_VOICE if plan.request.persona_id == NO_VOICE else None,
        "frame_id": plan.request.frame_id,
    }
    # Where only tools look, what they show tells the time.
    is_timed = plan.mode != "agent" or plan.has_range
    try:
        turn = conversations.add_turn(
            database,
            chat_id,
            mode=plan.mode,
            model=plan.model.name,
            question=plan.message,
            start_ms=plan.start_ms if is_timed else None,
            end_ms=plan.end_ms if is_timed else None,
            timezone=plan.request.timezone,
            now_ms=now_ms,
            persona=plan.voice.persona,
            style_note=plan.voice.style_note,
            given={name: value for name, value in given.items() if value not in (None, [], {})},
            session_id=plan.request.session_id,
            attached=[file.id for file in plan.attached.own],
            last_deletion_id=plan.last_deletion_id,
        )
    except IntegrityError as error:
        raise UnknownChat(chat_id) from error
    except NotFound as error:
        if plan.chat_id is None:
            conversations.delete(database, chat_id)
        raise not_there(error) from error
    context = background.note(services.context, plan.context, turn) if services.context else plan.context
    return turn, context


def finish(turn: RunningTurn, answer: CheckedAnswer) -> TurnError | None:
    """Store the answer, also one that broke off; then the failure is given back."""
    is_failed = isinstance(turn.ending, ModelError)
    failure = _failure(turn, turn.ending, has_begun=True) if turn.ending and is_failed else None
    kept = _kept(turn, answer, failure)
    conversations.finish_turn(
        turn.database,
        turn.stored.id,
        answer.answer_md,
        kept,
        answer.evidence,
        turn.now_ms(),
        is_failed=is_failed,
    )
    return failure


def fail(turn: RunningTurn, error: BaseException) -> TurnError:
    """Store that there is no answer and why, with what was retrieved so far."""
    failure = _failure(turn, error)
    kept = _kept(turn, CheckedAnswer(warnings=tuple(turn.warnings)), failure)
    conversations.finish_turn(turn.database, turn.stored.id, "", kept, turn.evidence, None)
    return failure


def _failure(turn: RunningTurn, error: BaseException, *, has_begun: bool = False) -> TurnError:
    """The error, with when to try again where the endpoint said how long it wants to be left alone. No call
    waits for the person any more.
    """
    language, zone, now_ms = turn.plan.language, turn.plan.zone, turn.now_ms()
    failure = turn_error(error, language, has_begun=has_begun)
    if isinstance(error, ModelError | StoreError):
        log.warning("turn %s of chat %s failed: %s", turn.stored.n, turn.stored.chat_id, failure.code)
    tool_calls.expire(turn.database, now_ms, turn.stored.id)
    if not failure.retry_after_s:
        return failure
    at_ms = now_ms + math.ceil(failure.retry_after_s / 60) * 60_000
    when = clock(at_ms, zone)
    if times.to_local(at_ms, zone).date() != times.to_local(now_ms, zone).date():
        when = f"{day(at_ms, zone, now_ms, language)} {when}"
    return replace(failure, action=text("again_at", language, when=when))


def stored_turn(database: Database, chat_id: int, n: int) -> TurnResult:
    """The turn as it was answered. Raises `UnknownChat` when there is no such turn."""
    files = attachments.of_turn(database, chat_id, n)
    return replace(result(checked_again(database, _turn(database, chat_id, n))), attachments=tuple(files))


def _turn(database: Database, chat_id: int, n: int) -> StoredTurn:
    turn = conversations.turn(database, chat_id, n)
    if turn is None:
        raise UnknownChat(chat_id)
    return turn


# -- to rows and JSON, and back -------------------------------------------------------------


def payload(coverage: Coverage, error: TurnError | None = None, **kept: Any) -> dict[str, Any]:
    """The part of a turn that the store keeps as JSON."""
    document: dict[str, Any] = to_jsonable_python({"coverage": coverage, "error": error, **kept})
    return document


def _kept(turn: RunningTurn, answer: CheckedAnswer, error: TurnError | None) -> dict[str, Any]:
    """`measured` is as `store.deletion.chat_hooks` has it."""
    calls = tool_calls.of_turn(turn.database, turn.stored.chat_id, turn.stored.n)
    completed = sum(call.state == "completed" for call in calls)
    return payload(
        turn.coverage,
        error,
        claims=answer.claims,
        usage=turn.usage,
        warnings=answer.warnings,
        dropped=answer.dropped,
        sources=turn.sources,
        is_cut_off=turn.ending is not None,
        scope=turn.plan.scope,
        way=Way(turn.frames_read, completed, turn.now_ms() - turn.stored.created_ms),
        **({"measured": answer.measured.to_json()} if answer.measured else {}),
    )


@cache
def _results() -> TypeAdapter[TurnResult]:
    """Made when first needed: it takes a tenth of a second."""
    return TypeAdapter(TurnResult)


_OF_TURN = ("chat_id", "mode", "model", "question", "answer_md", "timezone", "status", "created_ms")


def result(turn: StoredTurn) -> TurnResult:
    """The turn as it was answered; what has been deleted since is missing from it.

    Turns stored before something was counted lack it, and have its default; those stored before scopes were
    have how their words named the range in the coverage.
    """
    zone = ZoneInfo(turn.timezone)
    kept = {name: value for name, value in turn.payload.items() if value is not None}
    coverage = kept.get("coverage") or asdict(Coverage(0, 0))
    # A turn that looked at no time at all has the empty range of its question.
    start_ms, end_ms = (turn.created_ms if ms is None else ms for ms in (turn.start_ms, turn.end_ms))
    scope = kept.get("scope") or coverage.get("reading", {})
    return _results().validate_python(
        {
            **kept,
            **{name: getattr(turn, name) for name in _OF_TURN},
            "turn_id": turn.n,
            "start_ms": start_ms,
            "end_ms": end_ms,
            "evidence": [_item(row, zone) for row in turn.evidence],
            "claims": [{**claim, "state": claim_state(claim)} for claim in kept.get("claims", ())],
            "coverage": coverage,
            "scope": {"text": "", "start_ms": turn.start_ms or 0, "end_ms": turn.end_ms or 0, **scope},
        }
    )


def _item(row: StoredEvidence, zone: ZoneInfo) -> EvidenceItem:
    kept = {each.name: getattr(row, each.name) for each in fields(row)}
    kept["boxes"] = tuple(map(Box._make, row.boxes))
    return EvidenceItem(**kept, local_time=local_time(row.captured_ms, zone))


# -- quotes of frames that were read again ----------------------------------------------------


def checked_again(database: Database, turn: StoredTurn) -> StoredTurn:
    """The turn with every quote judged by its frame's current reading; unchanged when they are.

    The store marks such quotes in the transaction of the reading; here they are judged by the same
    deterministic check as at first (`citations.checked`). A quote that the new reading lacks is `not_found`;
    the reading it did stand in stays named (`reading_id`) and kept: made current again, it proves it again.
    Raises `UnknownChat` when the turn was deleted meanwhile.
    """
    if not any(item.needs_check for item in turn.evidence):
        return turn
    with database.write() as connection:
        turn = _turn(database, turn.chat_id, turn.n)
        judged, checked = [], {}
        for item in turn.evidence:
            if item.n is None or item.frame_id is None:
                continue
            parts = [part for part in item.quote.split(JOINT) if part]
            reading = readings.current_reading(database, item.frame_id)
            checked[item.n] = citations.checked(frames.get(database, item.frame_id), reading, parts)
            if item.needs_check:
                judged.append(_judged(item, checked[item.n]))
        claims = _claims(turn, checked, {item.n for item in judged if item.n is not None})
        feedback.save_recheck(connection, turn.id, judged, to_jsonable_python(claims))
    return _turn(database, turn.chat_id, turn.n)


def _judged(item: StoredEvidence, checked: CheckedFrame) -> StoredEvidence:
    """One item as its frame's current reading proves it."""
    is_found = checked.state == "found"
    return replace(
        item,
        state=checked.state,
        quote=checked.quote if is_found else item.quote,
        boxes=checked.boxes,
        reading_id=checked.reading_id if is_found else item.reading_id,
        confidence=checked.confidence,
        # One that was never looked for before was not read again since.
        checked_ms=checked.read_ms if item.reading_id or item.state != "not_checked" else None,
    )


def _claims(turn: StoredTurn, checked: Mapping[int, CheckedFrame], again: set[int]) -> list[Claim]:
    """The claims; those that cite a frame of `again` are decided by what it says now.

    Durations are judged by what code had measured at the time; when that is gone
    (`store.deletion.chat_hooks`), a sentence that leans on them is warned of rather than believed.
    """
    was = result(turn)
    cited = {item.n: item for item in was.evidence if item.n is not None}
    screens = {n: marks.screen_of(cited[n], one.texts) for n, one in checked.items()}
    misquoted = {n: [*one.misquoted] for n, one in checked.items()}
    for (
        claim
    ) in was.claims:  # quotes that did not stand on a frame when the answer was made, and still do not
        if claim.state == "not_on_frame":
            given = [words for words in claim.missing if words not in claim.text]
            for n in (n for n in claim.citations if n in checked):
                misquoted[n] += (quote for quote in given if not screens[n].has_text(quote))
    measured = MeasuredFacts.from_json(turn.payload.get("measured"))
    seen = {n for claim in was.claims for n in claim.seen}
    found = marks.check(turn.answer_md, cited, screens, misquoted, measured, seen)
    now = {(claim.start, claim.end): claim for claim in found}
    return [
        now.get((old.start, old.end), old) if again.intersection(old.citations) else old for old in was.claims
    ]


# -- the same question again -----------------------------------------------------------------


def replay_request(database: Database, asked: TurnResult, now_ms: int) -> TurnRequest:
    """A stored question as it would be asked now.

    Its times are those it was answered for, however they were found; one about everything is so again.
    """
    stored = conversations.turn(database, asked.chat_id, asked.turn_id)
    kept = stored.given if stored else {}
    in_range = (
        kept
        if asked.mode == "agent" or asked.scope.is_everything
        else {"start_ms": asked.start_ms, "end_ms": asked.end_ms}
    )
    spoken = personas.of_turn(database, asked.chat_id, asked.turn_id)
    speakers = {persona.id for persona in personas.list_personas(database)}
    speaker = spoken.version.persona_id if spoken.version else None
    return TurnRequest(
        message=asked.question,
        timezone=asked.timezone,
        now_ms=now_ms,
        start_ms=in_range.get("start_ms"),
        end_ms=in_range.get("end_ms"),
        chat_id=asked.chat_id,
        filters=TurnFilters(**kept.get("filters", {})),
        model=asked.model,
        mode=asked.mode,
        persona_id=speaker if speaker in speakers else kept.get("persona_id"),
        style_note=spoken.style_note,
        frame_id=kept.get("frame_id"),
        without=tuple(kept.get("without", ())),
        attachments=tuple(attachment.id for attachment in asked.attachments),
    )
