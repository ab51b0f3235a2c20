"""Insights, what a conversation is about, and insights among the documents of memory."""

from __future__ import annotations

import apsw


def m028_insights(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- What a conversation is about, where it is about a frame or a moment.
        create table anchors (
            conversation_id integer primary key references conversations (id) on delete cascade,
            kind text not null check (kind in ('frame', 'moment')),
            frame_id integer references frames (id) on delete cascade,
            start_ms integer not null,
            end_ms integer not null,
            amends_id integer references insights (id) on delete set null,
            check ((kind = 'frame') = (frame_id is not null))
        );
        create index anchors_by_frame on anchors (frame_id) where frame_id is not null;
        create index anchors_by_amended on anchors (amends_id) where amends_id is not null;

        create table insights (
            id integer primary key autoincrement,
            anchor_kind text not null check (anchor_kind in ('frame', 'moment')),
            frame_id integer references frames (id) on delete cascade,
            start_ms integer not null,
            end_ms integer not null,
            turn_id integer not null unique references turns (id) on delete cascade,
            persona_id integer references personas (id) on delete set null,
            title text not null,
            summary text not null,
            training_messages text not null,
            is_current integer not null check (is_current in (0, 1)),
            is_forgotten integer not null default 0 check (is_forgotten in (0, 1)),
            created_ms integer not null,
            check ((anchor_kind = 'frame') = (frame_id is not null))
        );
        create unique index insights_current_of_frame on insights (frame_id)
        where is_current = 1 and anchor_kind = 'frame';
        create unique index insights_current_of_moment on insights (start_ms, end_ms)
        where is_current = 1 and anchor_kind = 'moment';
        create index insights_by_frame on insights (frame_id, id) where frame_id is not null;
        create index insights_by_time on insights (start_ms, id);
        create index insights_by_persona on insights (persona_id) where persona_id is not null;

        -- When the current one goes, the newest of the same anchor takes its place.
        create trigger insights_succeeded after delete on insights when old.is_current = 1
        begin
            update insights set is_current = 1
            where id = (
                select max(id) from insights
                where anchor_kind = old.anchor_kind and frame_id is old.frame_id
                    and (anchor_kind = 'frame' or (start_ms = old.start_ms and end_ms = old.end_ms))
            );
        end;
        """
    )
    _widen_documents(connection)
    connection.execute(
        """
        -- A document of each current insight, and of no other.
        create trigger insights_document after insert on insights when new.is_current = 1
        begin
            insert into memory_documents (document_id, doc_type, sqlite_id, field, created_ms, ended_ms, text)
            values ('insight_' || new.id, 'insight', new.id, 'insight', new.start_ms, new.end_ms,
                new.title || char(10) || new.summary);
        end;
        create trigger insights_document_changed after update of is_current, title, summary on insights
        begin
            delete from memory_documents
            where doc_type = 'insight' and sqlite_id = new.id and new.is_current = 0;
            insert or ignore into memory_documents
                (document_id, doc_type, sqlite_id, field, created_ms, ended_ms, text)
            select 'insight_' || new.id, 'insight', new.id, 'insight', new.start_ms, new.end_ms,
                new.title || char(10) || new.summary
            where new.is_current = 1;
            update memory_documents set text = new.title || char(10) || new.summary
            where doc_type = 'insight' and sqlite_id = new.id
                and text <> new.title || char(10) || new.summary;
        end;
        create trigger insights_document_gone after delete on insights
        begin
            delete from memory_documents where doc_type = 'insight' and sqlite_id = old.id;
        end;
        """
    )


def _widen_documents(connection: apsw.Connection) -> None:
    """A check cannot be altered in place: the documents move, with their ids, to a table with a wider one.

    What refers to the table by name has to be away meanwhile. The index of words refers to it by name and
    rowid, so it stays as it is.
    """
    connection.execute(
        """
        drop trigger messages_document;
        drop trigger messages_document_gone;
        drop trigger observations_document_gone;
        drop trigger session_summaries_document_gone;
        create table memory_documents_wider (
            id integer primary key autoincrement,
            document_id text not null unique,
            doc_type text not null check (
                doc_type in ('observation', 'session_summary', 'user_prompt', 'insight')
            ),
            sqlite_id integer not null,
            field text not null,
            session_id integer,
            project text,
            created_ms integer not null,
            ended_ms integer not null,
            prompt_number integer not null default 0,
            text text not null
        );
        insert into memory_documents_wider (id, document_id, doc_type, sqlite_id, field, session_id, project,
            created_ms, ended_ms, prompt_number, text)
        select id, document_id, doc_type, sqlite_id, field, session_id, project,
            created_ms, ended_ms, prompt_number, text
        from memory_documents;
        -- Ids are never used again: vectors know documents by id.
        insert into sqlite_sequence (name, seq)
        select 'memory_documents_wider', 0
        where not exists (select 1 from sqlite_sequence where name = 'memory_documents_wider');
        update sqlite_sequence
        set seq = (
            select coalesce(max(seq), 0) from sqlite_sequence
            where name in ('memory_documents', 'memory_documents_wider')
        )
        where name = 'memory_documents_wider';
        drop table memory_documents;
        alter table memory_documents_wider rename to memory_documents;
        create index memory_documents_by_thing on memory_documents (doc_type, sqlite_id);
        create index memory_documents_by_time on memory_documents (created_ms);

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
