"""The same question again: with the range, the filters and the voice that it was asked with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from assistant.core.records import TurnFilters, TurnRequest, TurnResult
from assistant.turns.plan import TurnPlan
from store.chats import conversations, personas
from store.core.database import Database


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
