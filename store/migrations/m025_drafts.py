"""Messages that are being written: one for each chat, and one for a chat that is not begun."""

from __future__ import annotations

import apsw


def m025_drafts(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table drafts (
            id integer primary key,
            conversation_id integer references conversations (id) on delete cascade,
            message text not null,
            saved_ms integer not null
        );
        create unique index drafts_place on drafts (coalesce(conversation_id, 0));
        """
    )
