"""What was sent to which model: a row per request, its text until that has to be forgotten."""

from __future__ import annotations

import apsw


def m013_sent_requests(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table sent_requests (
            id integer primary key autoincrement,
            purpose text not null check (purpose in ('answer', 'test')),
            turn_id integer references turns (id) on delete set null,
            at_ms integer not null,
            provider text not null,
            model text not null,
            url text not null,
            is_local integer not null,
            size_bytes integer not null,
            body text,
            outcome text not null default 'sent',
            input_tokens integer,
            output_tokens integer,
            is_estimated integer not null default 0,
            cost real,
            currency text not null default ''
        );
        create index sent_requests_by_turn on sent_requests (turn_id) where turn_id is not null;
        create index sent_requests_by_time on sent_requests (at_ms);
        create index sent_requests_with_text on sent_requests (id) where body is not null;

        -- A chat that goes takes the texts along; that something was sent stays.
        create trigger sent_requests_forgotten before delete on turns
        begin
            update sent_requests set body = null where turn_id = old.id;
        end;
        """
    )
