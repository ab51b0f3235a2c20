"""System prompts by model with their versions, and what the system prompt of a request was made of."""

from __future__ import annotations

import apsw


def m026_model_prompts(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table model_prompts (
            model_id text not null,
            version integer not null,
            content text not null,
            sha256 text not null,
            saved_by text not null check (saved_by in ('person', 'program')),
            is_draft integer not null,
            begun_ms integer not null,
            saved_ms integer not null,
            primary key (model_id, version)
        ) without rowid;

        alter table sent_requests add column blocks text not null default '';
        alter table sent_requests add column prefix_sha256 text not null default '';
        """
    )
