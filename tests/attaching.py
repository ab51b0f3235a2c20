"""Files attached to questions, put where they would be after an upload."""

from __future__ import annotations

from store.chats import attachments, conversations
from store.chats.attachments import Attachment, Contents
from store.core.database import Database
from tests import documents
from tests.factories import NOON_MS


def attach(
    database: Database, content: bytes = b"plan", text: str = "plan", name: str = "a.txt"
) -> Attachment:
    """A text file that nobody has asked about yet."""
    staged = attachments.stage(database.data_dir, content)
    return attachments.add(database, staged, name, Contents("text", "text/plain", text), NOON_MS)


def attach_text(database: Database, name: str, text: str) -> Attachment:
    return attach(database, text.encode(), text, name)


def attach_image(database: Database, name: str = "shot.png", size: tuple[int, int] = (40, 30)) -> Attachment:
    staged = attachments.stage(database.data_dir, documents.image(size=size))
    found = Contents("image", "image/png", width_px=size[0], height_px=size[1])
    return attachments.add(database, staged, name, found, NOON_MS)


def ask(database: Database, *attached: int, chat_id: int | None = None) -> tuple[int, int]:
    """A question that brings files: (chat, turn)."""
    chat_id = chat_id or conversations.create(database, "What?", NOON_MS)
    turn = conversations.add_turn(
        database,
        chat_id,
        mode="agent",
        model="stub",
        question="What?",
        start_ms=None,
        end_ms=None,
        timezone="UTC",
        now_ms=NOON_MS,
        attached=attached,
    )
    return chat_id, turn.n


def attached_chat(database: Database, name: str, text: str) -> tuple[int, Attachment]:
    """A chat with one file in it."""
    found = attach_text(database, name, text)
    return ask(database, found.id)[0], found
