"""Events of a turn as streams and sockets tell them: ``{v, chat_id, turn, seq, type, …}``."""

from __future__ import annotations

from typing import Any

from assistant.core.records import (
    ApprovalEvent,
    DeltaEvent,
    ErrorEvent,
    EvidenceEvent,
    FinalEvent,
    ShortenedEvent,
    StatusEvent,
    TextEvent,
    ToolCallEvent,
    TurnEvent,
)
from webapp.api.tool_calls import call_answer
from webapp.api.turns import evidence_answer, turn_answer

VERSION = 1


def event_body(chat_id: int, turn: int, seq: int, event: TurnEvent) -> dict[str, Any]:
    """One event as JSON can hold it."""
    return {"v": VERSION, "chat_id": chat_id, "turn": turn, "seq": seq, **_content(event)}


def _content(event: TurnEvent) -> dict[str, Any]:
    match event:
        case StatusEvent():
            return {"type": "status", "stage": event.stage, "message": event.message}
        case EvidenceEvent():
            found = [evidence_answer(item).model_dump() for item in event.evidence]
            return {"type": "evidence", "evidence": found}
        case DeltaEvent():
            return {"type": "text", "part": event.part, "text": event.text}
        case ShortenedEvent():
            return {
                "type": "shortened",
                "left_out": event.left_out,
                "shortened": event.shortened,
                "message": event.message,
            }
        case TextEvent():
            return {"type": "block", "answer_md": event.answer_md}
        case ToolCallEvent():
            return {"type": "tool", "call": call_answer(event.call).model_dump()}
        case ApprovalEvent():
            return {"type": "approve", "approvals": [call_answer(call).model_dump() for call in event.calls]}
        case ErrorEvent():
            told = event.error
            return {"type": "error", "code": told.code, "message": told.message, "action": told.action}
        case FinalEvent():
            answer = None if event.result.error else turn_answer(event.result).model_dump()
            return {"type": "final", "status": event.result.status, "answer": answer}
