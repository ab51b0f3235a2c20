"""A turn in the store: begun with its question, finished or failed, read back, asked again.

What goes in comes out equal, field by field; what has been deleted since is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast
from zoneinfo import ZoneInfo

from peewee import IntegrityError

from assistant.context import background
from assistant.core.errors import UnknownAttachment, UnknownChat, interrupted_error, turn_error
from assistant.core.records import (
    Box,
    Claim,
    Coverage,
    CoverageGap,
    EvidenceItem,
    EvidenceState,
    Mode,
    OnFrame,
    Query,
    Scope,
    SecondReading,
    SentenceOpinion,
    TurnError,
    TurnFilters,
    TurnRequest,
    TurnResult,
    TurnStatus,
    Way,
    claim_state,
)
from assistant.core.strings import local_time
from assistant.evidence import citations, marks
from assistant.evidence.citations import JOINT, CheckedFrame
from assistant.evidence.particulars import Screen
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.retrieval.packing import frame_url
from assistant.turns.plan import CheckedAnswer, RunningTurn, TurnPlan, TurnServices
from engines.chat.protocol import ModelError, Usage
from store.chats import attachments, conversations, feedback, personas, tool_calls
from store.chats.records import StoredEvidence, StoredTurn
from store.core.database import Database
from store.core.errors import AttachmentNotFound, StoreError
from store.frames import frames
from store.ocr import readings

log = logging.getLogger(__name__)

NO_ANSWER = CheckedAnswer("")


def begin(services: TurnServices, plan: TurnPlan) -> StoredTurn:
    """The question, stored as a running turn of its chat; a new chat when none was named.

    Raises `UnknownChat` and `UnknownAttachment` for what was deleted since the request was admitted.
    """
    database, now_ms = services.database, services.clock()
    chat_id = plan.chat_id
    if chat_id is None:
        anchored = plan.about.anchored if plan.about else None
        chat_id = conversations.create(database, plan.message, now_ms, plan.identity, anchored)
    start_ms, end_ms = _time_shown(plan)
    try:
        turn = conversations.add_turn(
            database,
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
            given=replay_parameters(plan),
            session_id=plan.session_id,
            attached=[file.id for file in plan.attached.own],
        )
    except IntegrityError as error:
        raise UnknownChat(chat_id) from error
    except AttachmentNotFound as error:
        if plan.chat_id is None:
            conversations.delete(database, chat_id)
        raise UnknownAttachment(error.attachment_id) from error
    if services.context:
        background.note(services.context, plan.context, turn)
    return turn


def _time_shown(plan: TurnPlan) -> tuple[int, int] | tuple[None, None]:
    """The time that the turn is shown with; None where only tools look, and tell by what they show."""
    if plan.mode == "agent" and not plan.has_range:
        return None, None
    return plan.start_ms, plan.end_ms


def finish(turn: RunningTurn, answer: CheckedAnswer) -> TurnError | None:
    """Store the answer, also one that broke off; then the failure is given back."""
    failure = interrupted_error(answer.failure, turn.plan.language) if answer.failure else None
    if failure:
        log.warning("turn %s of chat %s broke off: %s", turn.stored.n, turn.stored.chat_id, failure.code)
        tool_calls.expire(turn.database, turn.now_ms(), turn.stored.id)
    conversations.finish_turn(
        turn.database,
        turn.stored.id,
        answer.answer_md,
        _kept(turn, answer, failure),
        evidence_rows(answer.evidence),
        turn.now_ms(),
        is_failed=failure is not None,
    )
    return failure


def fail(turn: RunningTurn, error: BaseException) -> TurnError:
    """Store that there is no answer and why, with what was retrieved so far."""
    if isinstance(error, ModelError | StoreError):
        log.warning("turn %s of chat %s failed: %s", turn.stored.n, turn.stored.chat_id, type(error).__name__)
    failure = turn_error(error, turn.plan.language)
    tool_calls.expire(turn.database, turn.now_ms(), turn.stored.id)
    kept = _kept(turn, CheckedAnswer("", warnings=tuple(turn.warnings)), failure)
    conversations.fail_turn(turn.database, turn.stored.id, kept, evidence_rows(turn.evidence))
    return failure


def stored_turn(database: Database, chat_id: int, n: int) -> TurnResult:
    """The turn as it was answered. Raises `UnknownChat` when there is no such turn."""
    turn = conversations.turn(database, chat_id, n)
    if turn is None:
        raise UnknownChat(chat_id)
    files = attachments.of_turn(database, chat_id, n)
    return replace(result(checked_again(database, turn)), attachments=tuple(files))


# -- to rows and JSON, and back -------------------------------------------------------------


def payload(
    coverage: Coverage, answer: CheckedAnswer = NO_ANSWER, error: TurnError | None = None
) -> dict[str, Any]:
    """The part of a turn that the store keeps as JSON; `measured` as `store.deletion.chat_hooks` has it."""
    return {
        **({"measured": answer.measured.to_json()} if answer.measured else {}),
        "coverage": asdict(coverage),
        "claims": [asdict(claim) for claim in answer.claims],
        "usage": asdict(answer.usage) if answer.usage else None,
        "warnings": list(answer.warnings),
        "dropped": answer.dropped,
        "sources": list(answer.sources),
        "error": asdict(error) if error else None,
        **({"is_cut_off": True} if answer.is_cut_off else {}),
        **({"response_id": answer.response_id} if answer.response_id else {}),
    }


def _kept(turn: RunningTurn, answer: CheckedAnswer, error: TurnError | None) -> dict[str, Any]:
    calls = tool_calls.of_turn(turn.database, turn.stored.chat_id, turn.stored.n)
    completed = sum(call.state == "completed" for call in calls)
    way = Way(turn.frames_read, completed, turn.now_ms() - turn.stored.created_ms)
    return {**payload(turn.coverage, answer, error), "scope": asdict(turn.scope), "way": asdict(way)}


def evidence_rows(items: Sequence[EvidenceItem]) -> list[StoredEvidence]:
    """Evidence as rows of the store."""
    return [
        StoredEvidence(
            n=item.n,
            frame_id=item.frame_id,
            captured_ms=item.captured_ms,
            app_name=item.app_name,
            window_name=item.window_name,
            focused=item.focused,
            browser_url=item.browser_url,
            snippet=item.ocr_snippet,
            quote=item.quote,
            boxes=tuple((box.x, box.y, box.w, box.h) for box in item.boxes),
            state=item.state,
            reading_id=item.reading_id,
            confidence=item.confidence,
        )
        for item in items
    ]


def result(turn: StoredTurn) -> TurnResult:
    """The turn as it was answered; what has been deleted since is missing from it."""
    zone = ZoneInfo(turn.timezone)
    kept = turn.payload
    return TurnResult(
        chat_id=turn.chat_id,
        turn_id=turn.n,
        mode=cast(Mode, turn.mode),
        model=turn.model,
        question=turn.question,
        answer_md=turn.answer_md,
        # A turn that looked at no time at all has the empty range of its question.
        start_ms=turn.created_ms if turn.start_ms is None else turn.start_ms,
        end_ms=turn.created_ms if turn.end_ms is None else turn.end_ms,
        timezone=turn.timezone,
        evidence=tuple(evidence_item(row, zone) for row in turn.evidence),
        claims=tuple(_claim(claim) for claim in kept.get("claims", ())),
        coverage=_coverage(kept.get("coverage")),
        scope=_scope(turn),
        usage=Usage(**kept["usage"]) if kept.get("usage") else None,
        warnings=tuple(kept.get("warnings", ())),
        dropped=kept.get("dropped", 0),
        sources=tuple(kept.get("sources", ())),
        error=TurnError(**kept["error"]) if kept.get("error") else None,
        status=cast(TurnStatus, turn.status),
        created_ms=turn.created_ms,
        is_cut_off=kept.get("is_cut_off", False),
        response_id=kept.get("response_id", ""),
        way=Way(**kept["way"]) if kept.get("way") else None,
        second_readings=tuple(map(_second_reading, kept.get("second_readings", ()))),
    )


def evidence_item(row: StoredEvidence, zone: ZoneInfo) -> EvidenceItem:
    """One row of evidence as the answer shows it."""
    return EvidenceItem(
        n=row.n,
        frame_id=row.frame_id,
        captured_ms=row.captured_ms,
        local_time=local_time(row.captured_ms, zone),
        app_name=row.app_name,
        window_name=row.window_name,
        focused=row.focused,
        browser_url=row.browser_url,
        ocr_snippet=row.snippet,
        quote=row.quote,
        boxes=tuple(Box(*box) for box in row.boxes),
        state=cast(EvidenceState, row.state),
        frame_url=None if row.frame_id is None else frame_url(row.frame_id),
        reading_id=row.reading_id,
        checked_ms=row.checked_ms,
        confidence=row.confidence,
    )


def measured(turn: StoredTurn) -> MeasuredFacts:
    """What code had measured for the answer, as far as it is still kept."""
    return MeasuredFacts.from_json(turn.payload.get("measured"))


def _claim(kept: dict[str, Any]) -> Claim:
    return Claim(
        kept["text"],
        kept["start"],
        kept["end"],
        tuple(kept["citations"]),
        claim_state(kept),
        tuple(kept.get("missing", ())),
        tuple(OnFrame(**stretch) for stretch in kept.get("on_frame", ())),
        tuple(kept.get("seen", ())),
    )


def _second_reading(kept: dict[str, Any]) -> SecondReading:
    return SecondReading(
        kept["model"],
        kept["at_ms"],
        tuple(SentenceOpinion(**each) for each in kept["sentences"]),
        kept["left_out"],
        TurnError(**kept["error"]) if kept["error"] else None,
    )


def _scope(turn: StoredTurn) -> Scope:
    """Turns stored before scopes were have how their words named the range in the coverage."""
    kept = turn.payload.get("scope") or turn.payload.get("coverage", {}).get("reading", {})
    range_ms = {"text": "", "start_ms": turn.start_ms or 0, "end_ms": turn.end_ms or 0}
    return Scope(**{**range_ms, **kept, "also": tuple(tuple(span) for span in kept.get("also", ()))})


def _coverage(kept: dict[str, Any] | None) -> Coverage:
    """Turns stored before something was counted lack it, and have its default."""
    if not kept:
        return Coverage(0, 0)
    queries = (
        Query(**{**query, "filters": TurnFilters(**query["filters"])}) for query in kept.get("queries", ())
    )
    return Coverage(
        **{
            **{name: value for name, value in kept.items() if name != "reading"},
            "gaps": tuple(CoverageGap(**gap) for gap in kept.get("gaps", ())),
            "queries": tuple(queries),
        }
    )


# -- quotes of frames that were read again ----------------------------------------------------


def checked_again(database: Database, turn: StoredTurn) -> StoredTurn:
    """The turn with every quote judged by its frame's current reading; unchanged when they are.

    The store marks such quotes in the transaction of the reading; here they are judged by the same
    deterministic check as at first (`citations.checked`). A quote that the new reading lacks is `not_found`;
    the reading it did stand in stays named (`reading_id`) and kept: made current again, it proves it again.
    """
    if not any(item.needs_check for item in turn.evidence):
        return turn
    with database.write() as connection:
        waiting = {item.frame_id for item in feedback.pending_rechecks(database, turn.id)}
        cited = [item for item in turn.evidence if item.n is not None and item.frame_id is not None]
        checked = _checked(database, cited)
        judged = [_judged(item, checked[item.frame_id]) for item in cited if item.frame_id in waiting]
        by_number = {item.n: checked[item.frame_id] for item in cited if item.n is not None}
        again = {item.n for item in judged if item.n is not None}
        claims = _claims(turn, by_number, again)
        feedback.save_recheck(connection, turn.id, judged, [asdict(claim) for claim in claims])
    return cast(StoredTurn, conversations.turn(database, turn.chat_id, turn.n))


def _checked(database: Database, items: Sequence[StoredEvidence]) -> dict[int | None, CheckedFrame]:
    """What the frames' current readings say of their quotes, by the ids of the frames."""
    rows = frames.get_many(database, [item.frame_id for item in items if item.frame_id is not None])
    return {
        item.frame_id: citations.checked(
            rows[item.frame_id],
            readings.current_reading(database, item.frame_id),
            [part for part in item.quote.split(JOINT) if part],
        )
        for item in items
        if item.frame_id is not None
    }


def _judged(item: StoredEvidence, checked: CheckedFrame) -> StoredEvidence:
    """One item as its frame's current reading proves it."""
    is_found = checked.state == "found"
    return replace(
        item,
        state=checked.state,
        quote=checked.quote if is_found else item.quote,
        boxes=tuple((box.x, box.y, box.w, box.h) for box in checked.boxes),
        reading_id=checked.reading_id if is_found else item.reading_id,
        confidence=checked.confidence,
        needs_check=False,
        checked_ms=checked.read_ms,
    )


def _claims(turn: StoredTurn, checked: Mapping[int, CheckedFrame], again: set[int]) -> list[Claim]:
    """The claims; those that cite a frame of `again` are decided by what it says now.

    Durations are judged by what code had measured at the time; when that is gone
    (`store.deletion.chat_hooks`), a sentence that leans on them is warned of rather than believed.
    """
    was = result(turn).claims
    zone = ZoneInfo(turn.timezone)
    items = [evidence_item(item, zone) for item in turn.evidence]
    cited = {item.n: item for item in items if item.n is not None}
    screens = {n: marks.screen_of(cited[n], one.texts) for n, one in checked.items() if one.texts}
    misquoted = {n: (*checked[n].misquoted, *_misquoted(n, was, screens.get(n))) for n in checked}
    seen = {n for claim in was for n in claim.seen}
    found = marks.check(turn.answer_md, cited, screens, misquoted, measured(turn), seen)
    now = {(claim.start, claim.end): claim for claim in found}
    return [now.get((old.start, old.end), old) if again.intersection(old.citations) else old for old in was]


def _misquoted(n: int, claims: Sequence[Claim], screen: Screen | None) -> Iterator[str]:
    """The quotes that did not stand on a frame when the answer was made, and still do not."""
    for claim in claims:
        if n in claim.citations and claim.state == "not_on_frame":
            given = (words for words in claim.missing if words not in claim.text)
            yield from (quote for quote in given if screen is None or not screen.has_text(quote))


# -- the same question again -----------------------------------------------------------------


def replay_parameters(plan: TurnPlan) -> dict[str, Any]:
    """What is kept with a turn of what it was given beside its words; what was not given is missing."""
    filters = {name: value for name, value in asdict(plan.filters).items() if value not in (None, "")}
    kept: dict[str, Any] = {"filters": filters} if filters else {}
    if plan.is_bounded:
        kept |= {"start_ms": plan.start_ms, "end_ms": plan.end_ms}
    if plan.without:
        kept["without"] = sorted(plan.without)
    return kept


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
        persona_id=speaker if speaker in speakers else None,
        style_note=spoken.style_note,
        without=tuple(kept.get("without", ())),
        attachments=tuple(attachment.id for attachment in asked.attachments),
    )
