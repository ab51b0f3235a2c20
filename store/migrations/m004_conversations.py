"""Chats: messages, turns and the evidence of each answer."""

from __future__ import annotations

import apsw


def m004_conversations(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table conversations (
            id integer primary key autoincrement,
            title text not null,
            created_ms integer not null,
            updated_ms integer not null
        );
        create index conversations_by_update on conversations (updated_ms);

        create table messages (
            id integer primary key,
            conversation_id integer not null references conversations (id) on delete cascade,
            turn integer not null,
            role text not null,
            content text not null,
            created_ms integer not null
        );
        create index messages_by_conversation on messages (conversation_id, id);

        create table turns (
            id integer primary key,
            conversation_id integer not null references conversations (id) on delete cascade,
            n integer not null,
            mode text not null,
            model text not null,
            status text not null check (status in ('running', 'done', 'failed')),
            question text not null,
            answer_md text not null default '',
            start_ms integer,
            end_ms integer,
            timezone text not null,
            payload text not null default '{}',
            created_ms integer not null,
            unique (conversation_id, n)
        );

        create table evidence (
            id integer primary key,
            turn_id integer not null references turns (id) on delete cascade,
            n integer,
            frame_id integer references frames (id) on delete set null,
            reading_id integer,
            captured_ms integer not null,
            app_name text,
            window_name text,
            focused integer,
            browser_url text,
            snippet text not null,
            quote text not null,
            boxes text not null default '[]',
            state text not null
        );
        create index evidence_by_turn on evidence (turn_id, n);
        create index evidence_by_frame on evidence (frame_id);
        """
    )
