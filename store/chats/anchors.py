"""What a conversation is about: a frame, a moment, or (most of them) nothing in particular.

The conversation of an insight has an anchor; its first answered turn becomes the insight
(`store.memory.insights`). With `amends_id` it goes on from that insight instead of beginning anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import apsw

from store.core.database import Database, rows

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
    anchor = anchored.anchor
    connection.execute(
        "insert into anchors (conversation_id, kind, frame_id, start_ms, end_ms, amends_id) "
        "values (?, ?, ?, ?, ?, ?)",
        (chat_id, anchor.kind, anchor.frame_id, anchor.start_ms, anchor.end_ms, anchored.amends_id),
    )


def anchor_of_chat(database: Database, chat_id: int) -> AnchoredChat | None:
    """What a conversation is about, or None."""
    with database.read() as connection:
        found = rows(
            connection,
            "select kind, start_ms, end_ms, frame_id, amends_id from anchors where conversation_id = ?",
            (chat_id,),
        )
    if not found:
        return None
    *anchor, amends_id = found[0]
    return AnchoredChat(Anchor(*anchor), amends_id)
