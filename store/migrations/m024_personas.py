"""Personas: named identities, every version of each, and which one a turn spoke with."""

from __future__ import annotations

import apsw


def m024_personas(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table personas (
            id integer primary key autoincrement,
            builtin text unique,
            name text not null,
            description text not null default '',
            system_prompt text not null,
            version integer not null default 1,
            is_edited integer not null default 0,
            archived_ms integer,
            created_ms integer not null,
            updated_ms integer not null
        );
        create unique index personas_names on personas (name collate nocase) where archived_ms is null;

        -- What a turn names stays readable, whatever the persona says now.
        create table persona_versions (
            persona_id integer not null references personas (id) on delete cascade,
            version integer not null,
            name text not null,
            description text not null,
            system_prompt text not null,
            saved_ms integer not null,
            primary key (persona_id, version)
        ) without rowid;

        alter table turns add column persona_id integer references personas (id) on delete set null;
        alter table turns add column persona_version integer;
        alter table turns add column style_note text not null default '';
        create index turns_personas on turns (persona_id) where persona_id is not null;
        """
    )
