"""Vectors, the models that made them, and what waits for its own."""

from __future__ import annotations

import apsw


def m006_vectors(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table embedding_models (
            id integer primary key,
            name text not null unique,
            dimension integer not null,
            is_active integer not null check (is_active in (0, 1))
        );

        -- Autoincrement: an index in memory knows rows by id, so an id must never come back.
        create table vectors (
            id integer primary key autoincrement,
            kind text not null check (kind in ('frame', 'document')),
            thing_id integer not null,
            model_id integer not null references embedding_models (id),
            chunk_start integer not null,
            chunk_end integer not null,
            vector blob not null
        );
        create index vectors_by_thing on vectors (kind, thing_id, model_id);

        -- What waits for its vectors. A row goes in the transaction that stores them, so a restart
        -- goes on where the last run ended.
        create table embedding_queue (
            kind text not null,
            thing_id integer not null,
            primary key (kind, thing_id)
        ) without rowid;
        insert into embedding_queue (kind, thing_id)
        select 'frame', id from frames where reading_state = 'read';
        """
    )
