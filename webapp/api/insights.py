"""An insight as the API tells it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from assistant.turns.turn import stored_turn
from store.core.times import to_seconds
from store.memory.insights import Insight
from webapp.api.turns import TurnAnswer, turn_answer
from webapp.api.values import Answer
from webapp.core.services import services

NOT_FOUND = {404: "insight_not_found"}


class InsightSummary(Answer):
    """One version. Of each frame or moment exactly one is current."""

    id: int
    anchor: Literal["frame", "moment"]
    frame_id: int | None
    start_time: float
    end_time: float
    title: str
    summary: str = Field(description="Markdown with the numbers of its citations.")
    current: bool
    version: int
    versions: int
    amends_id: int | None = Field(description="The version that it was amended from.")
    persona_id: int | None
    persona: str = Field(description="The name of who spoke; empty for a prompt of its own, or nobody.")
    style_note: str
    model: str
    chat_id: int = Field(description="Its conversation, where it can be asked about.")
    turn_id: int
    created_at: float


class InsightAnswer(InsightSummary):
    turn: TurnAnswer = Field(description="The turn that told it: evidence, claims, coverage.")


def summary_of(found: Insight) -> InsightSummary:
    """One version, without its turn."""
    return InsightSummary(**_told(found))


def insight_answer(found: Insight) -> InsightAnswer:
    """One version with the turn that told it, as that stands now."""
    turn = stored_turn(services().database, found.chat_id, found.n)
    return InsightAnswer(**_told(found), turn=turn_answer(turn))


def _told(found: Insight) -> dict[str, Any]:
    return {
        "id": found.id,
        "anchor": found.anchor.kind,
        "frame_id": found.anchor.frame_id,
        "start_time": to_seconds(found.anchor.start_ms),
        "end_time": to_seconds(found.anchor.end_ms),
        "title": found.title,
        "summary": found.summary,
        "current": found.is_current,
        "version": found.version,
        "versions": found.versions,
        "amends_id": found.amends_id,
        "persona_id": found.persona_id,
        "persona": found.persona,
        "style_note": found.style_note,
        "model": found.model,
        "chat_id": found.chat_id,
        "turn_id": found.n,
        "created_at": to_seconds(found.created_ms),
    }
