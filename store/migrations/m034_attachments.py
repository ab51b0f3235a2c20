"""Files that somebody attached to a question: what they say, and which file on the disk they are.

Ids are never given twice: a composer that stands open for a day must not name another file by then. A
trigger notes the file of the last row that named it, so that whoever deletes rows, a chat's cascade
included, leaves nothing on the disk.
"""

from __future__ import annotations

import apsw


def m034_attachments(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table attachments (
            id integer primary key autoincrement,
            conversation_id integer references conversations (id) on delete cascade,
            turn integer,
            sha256 text not null,
            name text not null,
            kind text not null check (kind in ('text', 'html', 'pdf', 'docx', 'image')),
            media_type text not null,
            size_bytes integer not null,
            text text not null,
            is_whole integer not null,
            pages integer,
            width_px integer,
            height_px integer,
            added_ms integer not null,
            check ((conversation_id is null) = (turn is null))
        );
        create index attachments_of_chat on attachments (conversation_id, turn);
        create index attachments_of_file on attachments (sha256);

        create table attachment_trash (sha256 text primary key) without rowid;
        create trigger attachments_gone after delete on attachments
        when not exists (select 1 from attachments where sha256 = old.sha256)
        begin
            insert or ignore into attachment_trash (sha256) values (old.sha256);
        end;
        """
    )
