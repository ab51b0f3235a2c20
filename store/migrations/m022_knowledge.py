"""What is remembered beside the frames: summaries of days, entities and facts, tags."""

from __future__ import annotations

import apsw


def m022_knowledge(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- One row per local day, made of the frames of that day.
        create table daily_summaries (
            id integer primary key autoincrement,
            day text not null unique,
            zone text not null,
            start_ms integer not null,
            end_ms integer not null,
            text text not null,
            source text not null check (source in ('rule', 'model')),
            updated_ms integer not null
        );
        create index daily_summaries_by_time on daily_summaries (start_ms);

        create virtual table daily_summaries_fts using fts5 (
            text, content = 'daily_summaries', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into daily_summaries_fts (daily_summaries_fts, rank) values ('secure-delete', 1);
        create trigger daily_summaries_insert after insert on daily_summaries
        begin
            insert into daily_summaries_fts (rowid, text) values (new.id, new.text);
            insert into embedding_queue (kind, thing_id) values ('day', new.id)
            on conflict do nothing;
        end;
        create trigger daily_summaries_update after update of text on daily_summaries
        begin
            insert into daily_summaries_fts (daily_summaries_fts, rowid, text)
            values ('delete', old.id, old.text);
            insert into daily_summaries_fts (rowid, text) values (new.id, new.text);
            delete from vectors where kind = 'day' and thing_id = old.id;
            insert into embedding_queue (kind, thing_id) values ('day', new.id)
            on conflict do nothing;
        end;
        create trigger daily_summaries_delete after delete on daily_summaries
        begin
            insert into daily_summaries_fts (daily_summaries_fts, rowid, text)
            values ('delete', old.id, old.text);
            delete from vectors where kind = 'day' and thing_id = old.id;
            delete from embedding_queue where kind = 'day' and thing_id = old.id;
        end;

        -- `name_key` is the name as the index of words sees it. The span is of what the chat had been
        -- shown of the screen when this was stored; it outlives the chat.
        create table entities (
            id integer primary key autoincrement,
            kind text not null check (kind in ('person', 'place', 'event', 'thing')),
            name text not null,
            name_key text not null,
            description text not null,
            turn_id integer references turns (id) on delete set null,
            shown_from_ms integer,
            shown_until_ms integer,
            created_ms integer not null,
            updated_ms integer not null,
            unique (kind, name_key)
        );

        create table entity_frames (
            entity_id integer not null references entities (id) on delete cascade,
            frame_id integer not null,
            primary key (entity_id, frame_id)
        ) without rowid;
        create index entity_frames_by_frame on entity_frames (frame_id);

        create table facts (
            id integer primary key autoincrement,
            subject_id integer not null references entities (id) on delete cascade,
            predicate text not null,
            object_entity_id integer references entities (id) on delete cascade,
            object_value text,
            source_frame_id integer,
            turn_id integer references turns (id) on delete set null,
            shown_from_ms integer,
            shown_until_ms integer,
            created_ms integer not null,
            check ((object_entity_id is null) <> (object_value is null))
        );
        create unique index facts_said_once on facts (
            subject_id, predicate, coalesce(object_entity_id, 0), coalesce(object_value, ''),
            coalesce(source_frame_id, 0)
        );
        create index facts_by_object on facts (object_entity_id) where object_entity_id is not null;
        create index facts_by_frame on facts (source_frame_id) where source_frame_id is not null;

        create table frame_tags (
            frame_id integer not null,
            tag text not null collate nocase,
            created_ms integer not null,
            primary key (frame_id, tag)
        ) without rowid;
        create index frame_tags_by_tag on frame_tags (tag);

        -- A tool has another name now.
        update or ignore tool_modes set tool = 'get_current_datetime' where tool = 'get_current_time';
        update or ignore tool_allowances set tool = 'get_current_datetime' where tool = 'get_current_time';
        """
    )
