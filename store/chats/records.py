"""What a stored conversation is made of: frozen values, and how they come out of their rows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Chat:
    id: int
    title: str
    created_ms: int
    updated_ms: int
    turns: int


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of the transcript. `turn` counts from 1."""

    turn: int
    role: str
    content: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """One frame shown for a turn. Once the frame is deleted `state` is ``deleted``, `frame_id` is
    None and nothing of it is left but its time. Boxes are [x, y, w, h] in pixels of the frame.

    With `needs_check` the frame was read again and its quote not yet looked for there; `checked_ms`
    is when it last was. `confidence` (0..1) is that of the least sure of the quoted words.
    """

    n: int | None
    frame_id: int | None
    captured_ms: int
    app_name: str | None = None
    window_name: str | None = None
    focused: bool | None = None
    browser_url: str | None = None
    snippet: str = ""
    quote: str = ""
    boxes: tuple[tuple[int, int, int, int], ...] = ()
    state: str = "retrieved"
    reading_id: int | None = None
    needs_check: bool = False
    checked_ms: int | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn as stored. `status` is running, done or failed; `n` counts from 1 in its chat.

    `given` is what the caller was given beside the words of the question, as it told `add_turn`.
    """

    id: int
    chat_id: int
    n: int
    mode: str
    model: str
    status: str
    question: str
    answer_md: str
    start_ms: int | None
    end_ms: int | None
    timezone: str
    payload: dict[str, Any]
    created_ms: int
    evidence: tuple[StoredEvidence, ...] = field(default=())
    given: dict[str, Any] = field(default_factory=dict)


# -- from rows of `store.core.schema` ------------------------------------------------------------


def chat_of(row: Any) -> Chat:
    return Chat(row.id, row.title, row.created_ms, row.updated_ms, row.turn_count)


def turn_of(row: Any, evidence: tuple[StoredEvidence, ...]) -> StoredTurn:
    return StoredTurn(
        row.id, row.conversation_id, row.n, row.mode, row.model, row.status, row.question, row.answer_md,
        row.start_ms, row.end_ms, row.timezone, json.loads(row.payload), row.created_ms, evidence,
        json.loads(row.given),
    )  # fmt: skip


def evidence_of(row: Any) -> StoredEvidence:
    return StoredEvidence(
        n=row.n,
        frame_id=row.frame_id,
        captured_ms=row.captured_ms,
        app_name=row.app_name,
        window_name=row.window_name,
        focused=None if row.focused is None else bool(row.focused),
        browser_url=row.browser_url,
        snippet=row.snippet,
        quote=row.quote,
        boxes=tuple(tuple(box) for box in json.loads(row.boxes)),
        state=row.state,
        reading_id=row.reading_id,
        needs_check=bool(row.needs_check),
        checked_ms=row.checked_ms,
        confidence=row.confidence,
    )
