"""What a chat's tools were asked and gave, which calls a person allowed, and how each tool runs."""

from __future__ import annotations

import apsw


def m019_tool_calls(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table tool_calls (
            id integer primary key autoincrement,
            turn_id integer not null references turns (id) on delete cascade,
            iteration integer not null,
            call_id text not null,
            tool text not null,
            arguments text not null,
            arguments_sha256 text not null,
            state text not null check (state in (
                'pending', 'approved', 'executing', 'completed', 'failed', 'denied', 'timed_out', 'expired'
            )),
            decided_by text not null default '',
            output text not null default '',
            error text not null default '',
            shown_from_ms integer,
            shown_until_ms integer,
            is_forgotten integer not null default 0,
            created_ms integer not null,
            expires_ms integer,
            started_ms integer,
            finished_ms integer,
            unique (turn_id, iteration, call_id)
        );
        create index tool_calls_pending on tool_calls (turn_id) where state = 'pending';
        create index tool_calls_shown on tool_calls (shown_from_ms) where shown_from_ms is not null;

        create table tool_modes (
            tool text primary key,
            mode text not null check (mode in ('auto', 'ask', 'off')),
            changed_ms integer not null
        ) without rowid;

        create table tool_allowances (
            conversation_id integer not null references conversations (id) on delete cascade,
            tool text not null,
            allowed_ms integer not null,
            primary key (conversation_id, tool)
        ) without rowid;

        -- What was run and decided, without what it said.
        create table tool_log (
            id integer primary key autoincrement,
            at_ms integer not null,
            tool text not null,
            event text not null,
            duration_ms integer
        );
        """
    )
