"""A turn as the store keeps it, and back. What goes in comes out equal, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
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
    TurnResult,
    TurnStatus,
)
from assistant.core.strings import local_time
from assistant.retrieval.measured_facts import MeasuredFacts
from assistant.retrieval.packing import frame_url
from engines.chat.protocol import Usage
from store.chats.conversations import StoredEvidence, StoredTurn


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
