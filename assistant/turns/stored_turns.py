"""A turn as the store keeps it, and back. What goes in comes out equal, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast
from zoneinfo import ZoneInfo

from assistant.core.records import (
    Box,
    Claim,
    Coverage,
    CoverageGap,
    EvidenceItem,
    EvidenceState,
    Mode,
    Query,
    TimeReading,
    TurnError,
    TurnFilters,
    TurnRequest,
    TurnResult,
    TurnStatus,
)
from assistant.core.strings import local_time
from assistant.evidence import claims
from assistant.evidence.citations import JOINT, Verdict, judge
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.retrieval.packing import frame_url
from assistant.turns.plan import TurnPlan
from engines.chat.protocol import Usage
from store.chats import conversations, feedback, personas
from store.chats.conversations import StoredEvidence, StoredTurn
from store.core.database import Database
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings


def payload(
    coverage: Coverage,
    claims: Sequence[Claim] = (),
    usage: Usage | None = None,
    warnings: Sequence[str] = (),
    error: TurnError | None = None,
    dropped: int = 0,
    measured: MeasuredFacts | None = None,
    sources: Sequence[str] = (),
    is_cut_off: bool = False,
    response_id: str = "",
) -> dict[str, Any]:
    """The part of a turn that the store keeps as JSON; `measured` as `store.deletion.chat_hooks` has it."""
    return {
        **({"measured": measured.to_json()} if measured else {}),
        "coverage": asdict(coverage),
        "claims": [asdict(claim) for claim in claims],
        "usage": asdict(usage) if usage else None,
        "warnings": list(warnings),
        "dropped": dropped,
        "sources": list(sources),
        "error": asdict(error) if error else None,
        **({"is_cut_off": True} if is_cut_off else {}),
        **({"response_id": response_id} if response_id else {}),
    }


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
        usage=Usage(**kept["usage"]) if kept.get("usage") else None,
        warnings=tuple(kept.get("warnings", ())),
        dropped=kept.get("dropped", 0),
        sources=tuple(kept.get("sources", ())),
        error=TurnError(**kept["error"]) if kept.get("error") else None,
        status=cast(TurnStatus, turn.status),
        created_ms=turn.created_ms,
        is_cut_off=kept.get("is_cut_off", False),
        response_id=kept.get("response_id", ""),
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
    missing = tuple(kept.get("missing", ()))
    return Claim(kept["text"], kept["start"], kept["end"], tuple(kept["citations"]), kept["state"], missing)


def _coverage(kept: dict[str, Any] | None) -> Coverage:
    if not kept:
        return Coverage(0, 0)
    reading = kept.get("reading", {})
    return Coverage(
        frames_in_range=kept["frames_in_range"],
        frames_sampled=kept["frames_sampled"],
        gaps=tuple(CoverageGap(**gap) for gap in kept["gaps"]),
        queries=tuple(
            Query(**{**each, "filters": TurnFilters(**each["filters"])}) for each in kept["queries"]
        ),
        index_fresh_to_ms=kept["index_fresh_to_ms"],
        # Turns stored before these were counted lack them.
        relevant=kept.get("relevant", 0),
        is_found=kept.get("is_found", True),
        unread=kept.get("unread", 0),
        unembedded=kept.get("unembedded", 0),
        by_tools=kept.get("by_tools", False),
        reading=TimeReading(**{**reading, "also": tuple(map(tuple, reading.get("also", ())))}),
    )


# ---- rechecking
# A frame was read again: its quotes are looked for in the new reading before anybody sees them.
#
# The store marks such quotes in the transaction of the reading, so that in between nothing is said
# about them; here, when their turn is next asked for, they are judged again by the same
# deterministic check (`evidence.judge`). A quote that the new reading lacks is `not_found`, and the
# reading it did stand in stays named (`reading_id`) and kept: made current again, it proves it again.


def checked_again(database: Database, turn: StoredTurn) -> StoredTurn:
    """The turn with every quote judged by its frame's current reading; unchanged when they are."""
    if not any(item.needs_check for item in turn.evidence):
        return turn
    with database.write() as connection:
        waiting = feedback.pending_rechecks(database, turn.id)
        rows = frames.get_many(database, [item.frame_id for item in waiting if item.frame_id is not None])
        judged = [_judged(database, item, rows) for item in waiting]
        now = _claims(turn, judged, result(turn).claims, _texts(database, turn))
        feedback.save_recheck(connection, turn.id, judged, [asdict(each) for each in now])
    return cast(StoredTurn, conversations.turn(database, turn.chat_id, turn.n))


def _judged(database: Database, item: StoredEvidence, rows: Mapping[int, FrameRow]) -> StoredEvidence:
    """One item as its frame's current reading proves it."""
    assert item.frame_id is not None  # of a deleted frame nothing is left to check
    reading = readings.current_reading(database, item.frame_id)
    verdict: Verdict = judge(rows[item.frame_id], reading, [part for part in item.quote.split(JOINT) if part])
    is_found = verdict.state == "found"
    return replace(
        item,
        state=verdict.state,
        quote=verdict.quote if is_found else item.quote,
        boxes=tuple((box.x, box.y, box.w, box.h) for box in verdict.boxes),
        reading_id=verdict.reading_id if is_found else item.reading_id,
        confidence=verdict.confidence,
        needs_check=False,
        checked_ms=None if reading is None else reading.read_ms,
    )


def _texts(database: Database, turn: StoredTurn) -> dict[int, str]:
    """What the cited frames say now, by citation number, for claims that quote nothing of them."""
    found = {}
    for item in turn.evidence:
        reading = (
            None
            if item.n is None or item.frame_id is None
            else readings.current_reading(database, item.frame_id)
        )
        if item.n is not None and reading is not None:
            found[item.n] = reading.text
    return found


def _claims(
    turn: StoredTurn, judged: Sequence[StoredEvidence], was: Sequence[Claim], texts: Mapping[int, str]
) -> list[Claim]:
    """The claims; those that cite something judged otherwise than before are decided again.

    A claim that held and whose quotes still stand keeps its state. Durations are judged by what code
    had measured at the time; when that is gone (`store.deletion.chat_hooks`), a claim that leans on them is
    flagged rather than believed.
    """
    now = {item.n: item for item in judged if item.n is not None}
    items = [item if item.n is None else now.get(item.n, item) for item in turn.evidence]
    zone = ZoneInfo(turn.timezone)
    evidence: list[EvidenceItem] = [evidence_item(item, zone) for item in items]
    found = claims.check(turn.answer_md, evidence, measured(turn), texts)
    again = {(claim.start, claim.end): claim for claim in found}
    same = {n for item in turn.evidence if (n := item.n) in now and _is_same(item, now[n])}

    def decided(claim: Claim) -> Claim:
        judged_ones = now.keys() & claim.citations
        if not judged_ones or (claim.state == "found" and judged_ones <= same):
            return claim
        return again.get((claim.start, claim.end), claim)

    return [decided(claim) for claim in was]


def _is_same(before: StoredEvidence, now: StoredEvidence) -> bool:
    return (now.state, now.quote) == ("found", before.quote)


# ---- again
# The same question again: with the range, the filters and the voice that it was asked with.


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

    In evidence mode its times are those it was answered for, however they were found. A turn with tools
    looked at whatever they showed, unless it was given a range.
    """
    stored = conversations.turn(database, asked.chat_id, asked.turn_id)
    kept = stored.given if stored else {}
    in_range = kept if asked.mode == "agent" else {"start_ms": asked.start_ms, "end_ms": asked.end_ms}
    spoken = personas.of_turn(database, asked.chat_id, asked.turn_id)
    speakers = {each.id for each in personas.list_personas(database)}
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
        attachments=tuple(each.id for each in asked.attachments),
    )
