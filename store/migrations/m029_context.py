"""Memory of chats: windows' sessions, what each came to, digests of many, and what was told to a model."""

from __future__ import annotations

import apsw


def m029_context(connection: apsw.Connection) -> None:
    connection.execute(
        """
        alter table conversations add column without_context integer not null default 0;

        create table chat_sessions (
            id integer primary key autoincrement,
            conversation_id integer references conversations (id) on delete cascade,
            state text not null default 'open' check (state in ('open', 'closed')),
            is_visible integer not null default 1,
            created_ms integer not null,
            seen_ms integer not null,
            closed_ms integer,
            closed_by text not null default '',
            summary_state text not null default 'none'
                check (summary_state in ('none', 'pending', 'made', 'empty')),
            metadata text not null default '{}'
        );
        create index chat_sessions_by_chat on chat_sessions (conversation_id, id);
        create index chat_sessions_open on chat_sessions (seen_ms) where state = 'open';
        create index chat_sessions_pending on chat_sessions (id) where summary_state = 'pending';

        alter table messages add column session_id integer references chat_sessions (id) on delete set null;
        alter table messages add column tokens integer;
        create index messages_by_session on messages (session_id) where session_id is not null;

        create table chat_summaries (
            session_id integer primary key references chat_sessions (id) on delete cascade,
            ended_ms integer not null,
            request text,
            investigated text,
            learned text,
            completed text,
            next_steps text,
            notes text,
            tokens integer not null default 0,
            made_by text not null,
            is_edited integer not null default 0,
            is_retracted integer not null default 0,
            vector blob,
            vector_model text,
            updated_ms integer not null
        );
        create index chat_summaries_by_time on chat_summaries (ended_ms, session_id);

        create table session_tags (
            session_id integer not null references chat_sessions (id) on delete cascade,
            tag text not null,
            confidence real not null,
            primary key (session_id, tag)
        ) without rowid;
        create index session_tags_by_tag on session_tags (tag);

        -- Digests: `lines` is a JSON list of {text, sessions, at_ms}, `session_ids` all they rest on.
        create table user_chat_summaries (
            kind text primary key check (kind in ('recent', 'history')),
            lines text not null,
            session_ids text not null,
            until_ms integer not null,
            built_ms integer not null
        ) without rowid;
        create table user_topic_summaries (
            id integer primary key autoincrement,
            topic text not null unique,
            title text not null,
            lines text not null,
            session_ids text not null,
            score real not null,
            is_dismissed integer not null default 0,
            built_ms integer not null,
            expires_ms integer not null
        );

        -- What a turn told the model as background; the text goes with what it was made of.
        create table context_packs (
            turn_id integer primary key references turns (id) on delete cascade,
            session_id integer not null references chat_sessions (id) on delete cascade,
            hash text not null,
            text text not null,
            record text not null,
            tokens integer not null,
            build_ms real not null,
            created_ms integer not null
        );
        create index context_packs_by_session on context_packs (session_id, hash);
        -- Whose summaries a pack was made of; those may be gone.
        create table context_pack_sources (
            turn_id integer not null references context_packs (turn_id) on delete cascade,
            session_id integer not null,
            primary key (turn_id, session_id)
        ) without rowid;
        create index context_pack_sources_by_session on context_pack_sources (session_id);
        create table context_samples (
            turn_id integer primary key references turns (id) on delete cascade,
            pack_tokens integer not null,
            prompt_tokens integer not null,
            build_ms real not null,
            helpfulness real,
            created_ms integer not null
        );

        -- Digests say what summaries said: they are made anew when one changes or goes.
        create trigger chat_summaries_changed
        after update of request, investigated, learned, completed, next_steps, notes, is_retracted
        on chat_summaries
        begin
            delete from user_chat_summaries
            where new.is_retracted <> old.is_retracted
                or exists (select 1 from json_each(session_ids) where value = new.session_id);
            update user_topic_summaries set lines = '[]', session_ids = '[]', expires_ms = 0
            where exists (select 1 from json_each(session_ids) where value = new.session_id)
                or topic in (select tag from session_tags where session_id = new.session_id);
        end;
        create trigger chat_summaries_gone after delete on chat_summaries
        begin
            delete from user_chat_summaries
            where exists (select 1 from json_each(session_ids) where value = old.session_id);
            update user_topic_summaries set lines = '[]', session_ids = '[]', expires_ms = 0
            where exists (select 1 from json_each(session_ids) where value = old.session_id);
            update sent_requests set body = null
            where turn_id in (
                select turn_id from context_pack_sources where session_id = old.session_id
            );
            update context_packs set text = '', record = '{}', hash = ''
            where turn_id in (
                select turn_id from context_pack_sources where session_id = old.session_id
            );
        end;
        """
    )
