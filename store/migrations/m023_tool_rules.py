"""Standing approvals with a scope, what each call was said to do, and requests of tools in the ledger."""

from __future__ import annotations

import apsw


def m023_tool_rules(connection: apsw.Connection) -> None:
    # Allowances so far say nothing of where results went: they are asked for again.
    connection.execute(
        """
        drop table tool_allowances;

        create table tool_rules (
            id integer primary key autoincrement,
            tool text not null,
            conversation_id integer references conversations (id) on delete cascade,
            scope text not null,
            allowed_ms integer not null,
            uses integer not null default 0
        );
        create unique index tool_rules_once on tool_rules (tool, coalesce(conversation_id, 0), scope);
        create index tool_rules_by_conversation on tool_rules (conversation_id)
        where conversation_id is not null;

        alter table tool_calls add column notice text not null default '';
        alter table tool_calls add column scope text not null default '';
        """
    )
    # A check cannot be altered in place: the rows move to a table with a wider one.
    connection.execute(
        """
        drop trigger sent_requests_forgotten;
        create table sent_requests_wider (
            id integer primary key autoincrement,
            purpose text not null check (purpose in (
                'answer', 'test', 'refine', 'embed', 'search', 'describe', 'web_search'
            )),
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
            currency text not null default '',
            texts integer not null default 0,
            first_ms integer,
            last_ms integer,
            pictures integer not null default 0
        );
        insert into sent_requests_wider (id, purpose, turn_id, at_ms, provider, model, url, is_local,
            size_bytes, body, outcome, input_tokens, output_tokens, is_estimated, cost, currency, texts,
            first_ms, last_ms)
        select id, purpose, turn_id, at_ms, provider, model, url, is_local,
            size_bytes, body, outcome, input_tokens, output_tokens, is_estimated, cost, currency, texts,
            first_ms, last_ms
        from sent_requests;
        drop table sent_requests;
        alter table sent_requests_wider rename to sent_requests;

        create index sent_requests_by_turn on sent_requests (turn_id) where turn_id is not null;
        create index sent_requests_by_time on sent_requests (at_ms);
        create index sent_requests_by_purpose on sent_requests (purpose, id);
        create index sent_requests_with_text on sent_requests (purpose, id) where body is not null;

        create trigger sent_requests_forgotten before delete on turns
        begin
            update sent_requests set body = null where turn_id = old.id;
        end;
        """
    )
