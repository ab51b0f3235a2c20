"""The memory of chats: what would be told of them, what was told, all of it as a file, and none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from assistant.context import session_closing, topics
from assistant.context.background import VERSION, ContextRequest, prepare
from store.memory import chat_digests, chat_sessions, chat_summaries, context_packs
from webapp.api.chats import SessionId, number_of
from webapp.api.endpoint import endpoint
from webapp.api.memory import SummaryAnswer
from webapp.api.values import Answer, Request, Text, Timestamp
from webapp.core.services import services

SessionKey = Annotated[str, BeforeValidator(str)]


class SnapshotQuery(Request):
    session_id: SessionId | None = Field(None, description="The window for which a pack would be made.")
    message: Text = Field("", description="What would be asked in it.")


class LineAnswer(Answer):
    text: str
    session_ids: list[SessionKey] = Field(validation_alias="sessions")
    ended_at: Timestamp = Field(validation_alias="at_ms")


class TopicAnswer(Answer):
    topic: str = Field(validation_alias="tag")
    title: str
    score: float
    by: Literal["inferred", "person"]


class PackLineAnswer(Answer):
    section: Literal["recent", "history", "topic"]
    text: str
    session_ids: list[SessionKey] = Field(validation_alias="sessions")
    score: float


class PartAnswer(PackLineAnswer):
    why: str


class LeftOutAnswer(PackLineAnswer):
    reason: str


class PackAnswer(Answer):
    """What a model is told as background, and how it came to be."""

    reason: str
    text: str
    hash: str
    tokens: int
    build_ms: float
    parts: list[PartAnswer]
    left_out: list[LeftOutAnswer]


class SnapshotAnswer(Answer):
    recent: list[LineAnswer]
    history: list[LineAnswer]
    topic: TopicAnswer | None
    pack: PackAnswer | None = Field(description="Null where no window is named.")


class ChatSummaryAnswer(SummaryAnswer):
    session_id: SessionKey
    chat_id: int
    ended_at: Timestamp
    made_by: str
    edited: bool
    retracted: bool
    tags: dict[str, float]


class ExportedTopic(Answer):
    topic: str
    title: str
    dismissed: bool
    lines: list[LineAnswer]


class ExportAnswer(Answer):
    summaries: list[ChatSummaryAnswer]
    recent: list[LineAnswer]
    history: list[LineAnswer]
    topics: list[ExportedTopic]
    telemetry: context_packs.Telemetry = Field(
        description="Means over sampled answers; numbers only, and they stay here."
    )


@endpoint("GET", "/summaries/context", "What a pack would be made from")
def snapshot(query: SnapshotQuery) -> SnapshotAnswer:
    """The digests as they are, and the pack of a window as it would be told now; nothing is kept of it."""
    own = services()
    session_closing.close_idle_sessions(own.context)
    now_ms = own.clock()
    topic, pack = None, None
    if query.session_id is not None:
        session = chat_sessions.get(own.database, number_of(query.session_id))
        chat_id = session.chat_id if session else None
        asking = ContextRequest(query.message, chat_id, number_of(query.session_id), VERSION)
        prepared = prepare(own.context, asking)
        topic, made = prepared.topic, prepared.pack
        lines = {key: [_line(line) for line in made.record.get(key, ())] for key in ("parts", "left_out")}
        pack = PackAnswer.of(made, reason=prepared.reason, build_ms=round(made.build_ms, 1), **lines)
    return SnapshotAnswer(
        recent=LineAnswer.list_of(topics.roll_up(own.database, "recent", now_ms).lines),
        history=LineAnswer.list_of(topics.roll_up(own.database, "history", now_ms).lines),
        topic=None if topic is None else TopicAnswer.of(topic),
        pack=pack,
    )


@endpoint("GET", "/summaries/export", "All memory of chats")
def export() -> ExportAnswer:
    """Summaries with their tags, digests, topics and what was measured; not the chats themselves."""
    own = services()
    now_ms = own.clock()
    found = chat_summaries.get(own.database, chat_digests.everything(own.database))
    return ExportAnswer(
        summaries=[ChatSummaryAnswer.of(each, tags=dict(each.tags)) for each in found.values()],
        recent=LineAnswer.list_of(topics.roll_up(own.database, "recent", now_ms).lines),
        history=LineAnswer.list_of(topics.roll_up(own.database, "history", now_ms).lines),
        topics=ExportedTopic.list_of(topics.renewed(own.database, now_ms)),
        telemetry=context_packs.telemetry(own.database),
    )


def _line(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "hash"}
