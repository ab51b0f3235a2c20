"""What a stored conversation is made of: frozen values, and the rows that they come out of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import apsw
from peewee import IntegerField, Model, TextField

from store.core.database import Database
from store.core.records import insert


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


# -- rows -------------------------------------------------------------------------------------
# Not bound to a database: a query runs on the one it is handed, ``query.execute(database.peewee)``.


class Conversation(Model):
    id = IntegerField(primary_key=True)
    title = TextField()
    created_ms = IntegerField()
    updated_ms = IntegerField()
    without_context = IntegerField(default=0)

    class Meta:
        table_name = "conversations"


class Message(Model):
    """One message of a transcript, as stored."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField()
    turn = IntegerField()
    role = TextField()
    content = TextField()
    created_ms = IntegerField()
    session_id = IntegerField(null=True)
    tokens = IntegerField(null=True)

    class Meta:
        table_name = "messages"


class Turn(Model):
    """One question and its answer, with everything needed to show it again."""

    id = IntegerField(primary_key=True)
    conversation_id = IntegerField()
    n = IntegerField()
    mode = TextField()
    model = TextField()
    status = TextField()
    question = TextField()
    answer_md = TextField()
    start_ms = IntegerField(null=True)
    end_ms = IntegerField(null=True)
    timezone = TextField()
    payload = TextField()
    created_ms = IntegerField()
    persona_id = IntegerField(null=True)
    persona_version = IntegerField(null=True)
    style_note = TextField()
    given = TextField()
    last_deletion_id = IntegerField()

    class Meta:
        table_name = "turns"


# -- anchors ------------------------------------------------------------------------------
# What a conversation is about: a frame, a moment, or (most of them) nothing in particular.
#
# The conversation of an insight has an anchor; its first answered turn becomes the insight
# (`store.memory.insights`). With `amends_id` it goes on from that insight instead of beginning anew.

AnchorKind = Literal["frame", "moment"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame, with the time that it was on the screen, or a moment; ``[start_ms, end_ms)``."""

    kind: AnchorKind
    start_ms: int
    end_ms: int
    frame_id: int | None = None


@dataclass(frozen=True, slots=True)
class AnchoredChat:
    """A conversation's anchor, and the insight that it amends (None: it begins anew)."""

    anchor: Anchor
    amends_id: int | None = None


def anchors_of_frame(frame_id: int, captured_ms: int, ended_ms: int) -> Anchor:
    """The anchor that a frame is."""
    return Anchor("frame", captured_ms, max(captured_ms, ended_ms) + 1, frame_id)


def bind_anchor(connection: apsw.Connection, chat_id: int, anchored: AnchoredChat) -> None:
    """Let a new conversation be about something. Call inside `Database.write()`.

    Raises `apsw.ConstraintError` when the frame has gone.
    """
    insert(
        connection,
        "anchors",
        conversation_id=chat_id,
        **asdict(anchored.anchor),
        amends_id=anchored.amends_id,
    )


def anchor_of_chat(database: Database, chat_id: int) -> AnchoredChat | None:
    """What a conversation is about, or None."""
    sql = """
        select json_array(kind, start_ms, end_ms, frame_id), amends_id from anchors where conversation_id = ?
        """
    return database.first(AnchoredChat, sql, (chat_id,))
