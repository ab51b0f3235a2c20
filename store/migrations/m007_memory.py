"""Observations, summaries of sessions, and their searchable documents."""

from __future__ import annotations

import apsw


def m007_memory(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- What was done: derived from the frames of one clock hour, so it can be derived again.
        -- `edits` is what a person wrote instead; deriving never touches it.
        create table observations (
            id integer primary key autoincrement,
            hour integer not null,
            place text not null,
            start_ms integer not null,
            end_ms integer not null,
            active_ms integer not null,
            app_name text,
            kind text not null,
            project text,
            title text not null,
            narrative text not null,
            source text not null check (source in ('rule', 'model')),
            edits text not null default '{}',
            is_hidden integer not null default 0 check (is_hidden in (0, 1)),
            fingerprint text not null,
            refine_attempts integer not null default 0,
            refine_next_ms integer,
            refine_error text,
            updated_ms integer not null,
            unique (hour, place)
        );
        create index observations_by_time on observations (start_ms, id);
        create index observations_to_refine on observations (refine_next_ms)
        where refine_next_ms is not null;

        create table observation_frames (
            observation_id integer not null references observations (id) on delete cascade,
            frame_id integer not null,
            primary key (observation_id, frame_id)
        ) without rowid;
        create index observation_frames_by_frame on observation_frames (frame_id);

        -- A line that stood on a frame, word for word.
        create table observation_facts (
            observation_id integer not null references observations (id) on delete cascade,
            n integer not null,
            frame_id integer not null,
            text text not null,
            primary key (observation_id, n)
        ) without rowid;
        create index observation_facts_by_frame on observation_facts (frame_id);

        -- Concepts, files and addresses, as they are now with the person's edits.
        create table observation_terms (
            observation_id integer not null references observations (id) on delete cascade,
            term text not null check (term in ('concept', 'file', 'url')),
            n integer not null,
            value text not null,
            primary key (observation_id, term, n)
        ) without rowid;
        create index observation_terms_by_value on observation_terms (term, value collate nocase);

        create table session_summaries (
            id integer primary key autoincrement,
            start_ms integer not null,
            end_ms integer not null,
            request text,
            investigated text,
            learned text,
            completed text,
            next_steps text,
            notes text,
            project text,
            updated_ms integer not null
        );
        create index session_summaries_by_time on session_summaries (start_ms, id);

        -- Hours whose frames or texts changed since they were derived. `changes` tells whether one
        -- changed again meanwhile. Kept by triggers, so that no way of writing forgets it.
        create table memory_hours (
            hour integer primary key,
            changes integer not null default 1
        );
        create trigger memory_hours_frame after insert on frames
        begin
            insert into memory_hours (hour) values (new.captured_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_shown
        after update of ended_ms, browser_url, window_name, app_name on frames
        begin
            insert into memory_hours (hour) values (new.captured_ms / 3600000), (new.ended_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_gone after delete on frames
        begin
            insert into memory_hours (hour) values (old.captured_ms / 3600000), (old.ended_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_read after insert on readings
        begin
            insert into memory_hours (hour) values (new.frame_id / 1024 / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        insert into memory_hours (hour) select distinct captured_ms / 3600000 from frames;

        -- One searchable text per field. Ids are never used again: vectors know documents by id.
        create table memory_documents (
            id integer primary key autoincrement,
            document_id text not null unique,
            doc_type text not null check (doc_type in ('observation', 'session_summary', 'user_prompt')),
            sqlite_id integer not null,
            field text not null,
            session_id integer,
            project text,
            created_ms integer not null,
            ended_ms integer not null,
            prompt_number integer not null default 0,
            text text not null
        );
        create index memory_documents_by_thing on memory_documents (doc_type, sqlite_id);
        create index memory_documents_by_time on memory_documents (created_ms);
        create index messages_asked on messages (created_ms, id) where role = 'user';

        create virtual table memory_fts using fts5 (
            text, content = 'memory_documents', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into memory_fts (memory_fts, rank) values ('secure-delete', 1);

        create trigger memory_documents_insert after insert on memory_documents
        begin
            insert into memory_fts (rowid, text) values (new.id, new.text);
            insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
        end;
        create trigger memory_documents_update after update of text on memory_documents
        begin
            insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
            insert into memory_fts (rowid, text) values (new.id, new.text);
            delete from vectors where kind = 'document' and thing_id = old.id;
            insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
        end;
        create trigger memory_documents_delete after delete on memory_documents
        begin
            insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
            delete from vectors where kind = 'document' and thing_id = old.id;
            delete from embedding_queue where kind = 'document' and thing_id = old.id;
        end;

        -- A question is a document as soon as it is asked, and none when its chat goes.
        create trigger messages_document after insert on messages
        when new.role = 'user' and trim(new.content) <> ''
        begin
            insert into memory_documents (document_id, doc_type, sqlite_id, field, session_id, created_ms,
                ended_ms, prompt_number, text)
            values ('prompt_' || new.id, 'user_prompt', new.id, 'prompt', new.conversation_id,
                new.created_ms, new.created_ms + 1, new.turn, new.content);
        end;
        create trigger messages_document_gone after delete on messages when old.role = 'user'
        begin
            delete from memory_documents where doc_type = 'user_prompt' and sqlite_id = old.id;
        end;
        create trigger observations_document_gone after delete on observations
        begin
            delete from memory_documents where doc_type = 'observation' and sqlite_id = old.id;
        end;
        create trigger session_summaries_document_gone after delete on session_summaries
        begin
            delete from memory_documents where doc_type = 'session_summary' and sqlite_id = old.id;
        end;
        """
    )
