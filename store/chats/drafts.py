"""What stands in a chat's composer and is not sent yet: one text for each chat, and one for a new chat.

These are the person's own words, as a question is. They go with their chat, and once they are sent.
"""

from __future__ import annotations

from store.core.database import Database, scalar


def get_draft(database: Database, chat_id: int | None) -> str:
    """The draft of a chat, of a new one for None; "" when there is none."""
    sql = "select message from drafts where coalesce(conversation_id, 0) = coalesce(?, 0)"
    with database.read() as connection:
        return scalar(connection, sql, (chat_id,)) or ""


def save_draft(database: Database, chat_id: int | None, message: str, now_ms: int) -> None:
    """Keep a draft instead of the one before; an empty one goes.

    Raises `apsw.ConstraintError` when the chat has gone.
    """
    if not message.strip():
        delete_draft(database, chat_id)
        return
    with database.write() as connection:
        connection.execute(
            """
            insert into drafts (conversation_id, message, saved_ms)
            values (?, ?, ?)
            on conflict (coalesce(conversation_id, 0))
            do update set message = excluded.message, saved_ms = excluded.saved_ms
            """,
            (chat_id, message, now_ms),
        )


def delete_draft(database: Database, chat_id: int | None) -> None:
    """It was sent, or is empty; no error when there is none."""
    sql = "delete from drafts where coalesce(conversation_id, 0) = coalesce(?, 0)"
    with database.write() as connection:
        connection.execute(sql, (chat_id,))
