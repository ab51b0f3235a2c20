"""The entries of memory as the API tells them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from store.core.times import to_seconds
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import SessionSummary
from store.memory.entries import MemoryEntry
from store.memory.insights import Insight
from store.memory.observations import Observation
from webapp.api.values import Answer


class FactAnswer(Answer):
    """A line; with a frame it stood there word for word, without one a person wrote it."""

    text: str
    frame_id: int | None


class ObservationAnswer(Answer):
    id: int
    start_time: float
    end_time: float
    minutes: float = Field(description="The time really spent there.")
    app_name: str | None
    kind: str
    project: str | None
    title: str
    narrative: str
    facts: list[FactAnswer]
    concepts: list[str]
    files: list[str]
    urls: list[str]
    frame_ids: list[int]
    source: Literal["rule", "model", "user"]
    edited: list[str] = Field(description="Fields that a person wrote.")


class SessionAnswer(Answer):
    """Null where nothing honest can be said."""

    id: int
    start_time: float
    end_time: float
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    project: str | None


class PromptAnswer(Answer):
    id: int
    chat_id: int
    prompt_number: int
    text: str
    time: float


class InsightBody(Answer):
    """The current version; GET /insights/{id} has its evidence."""

    id: int
    chat_id: int
    frame_id: int | None
    title: str
    summary: str
    persona_id: int | None
    time: float


class ChatBody(Answer):
    """What one window of a chat came to; `context_session_id` is its session."""

    context_session_id: str
    chat_id: int
    start_time: float
    end_time: float
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None


Body = ObservationAnswer | SessionAnswer | PromptAnswer | InsightBody | ChatBody


def body_of(entry: MemoryEntry) -> Body:
    """The whole of an entry."""
    body = entry.body
    if isinstance(body, Observation):
        return observation_of(body)
    if isinstance(body, SessionSummary):
        return SessionAnswer(
            id=body.id, start_time=to_seconds(body.start_ms), end_time=to_seconds(body.end_ms),
            project=body.project, **body.fields,
        )  # fmt: skip
    if isinstance(body, Insight):
        return InsightBody(
            id=body.id, chat_id=body.chat_id, frame_id=body.anchor.frame_id, title=body.title,
            summary=body.summary, persona_id=body.persona_id, time=to_seconds(body.anchor.start_ms),
        )  # fmt: skip
    if isinstance(body, ChatSummary):
        return ChatBody(
            context_session_id=str(body.session_id), chat_id=body.chat_id,
            start_time=to_seconds(body.started_ms), end_time=to_seconds(body.ended_ms), **body.fields,
        )  # fmt: skip
    return PromptAnswer(
        id=body.id, chat_id=body.chat_id, prompt_number=body.prompt_number, text=body.text,
        time=to_seconds(body.created_ms),
    )  # fmt: skip


def observation_of(body: Observation) -> ObservationAnswer:
    """An observation with the person's words over what was derived."""
    return ObservationAnswer(
        id=body.id,
        start_time=to_seconds(body.start_ms),
        end_time=to_seconds(body.end_ms),
        minutes=body.active_ms / 60_000,
        app_name=body.app_name,
        kind=body.kind,
        project=body.project,
        title=body.title,
        narrative=body.narrative,
        facts=[FactAnswer(text=fact.text, frame_id=fact.frame_id) for fact in body.facts],
        concepts=list(body.concepts),
        files=list(body.files),
        urls=list(body.urls),
        frame_ids=list(body.frame_ids),
        source=body.source,
        edited=list(body.edited),
    )
