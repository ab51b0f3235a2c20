"""What a person brings along: messages, calendars, where they were, and their places."""

from __future__ import annotations

import apsw

_KINDS_BEFORE = "check (kind in ('frame', 'document'))"
_KINDS = "check (kind in ('frame', 'document', 'message', 'day'))"


def m021_sources(connection: apsw.Connection) -> None:
    _allow_more_vectors(connection)
    connection.execute(
        """
        create table imports (
            id integer primary key autoincrement,
            kind text not null check (kind in ('messages', 'calendar', 'location', 'places')),
            name text not null,
            format text not null,
            started_ms integer not null,
            finished_ms integer,
            added integer not null default 0,
            updated integer not null default 0,
            skipped integer not null default 0
        );

        create table contacts (
            id integer primary key autoincrement,
            name text not null
        );
        -- A number, an e-mail address, or a name where a file has nothing else.
        create table contact_addresses (
            address text primary key,
            contact_id integer not null references contacts (id) on delete cascade
        ) without rowid;
        create index contact_addresses_by_contact on contact_addresses (contact_id);

        -- Ids are never used again: vectors know messages by id.
        create table text_messages (
            id integer primary key autoincrement,
            natural_key text not null unique,
            import_id integer not null references imports (id),
            service text not null,
            conversation text not null,
            contact_id integer references contacts (id),
            is_outgoing integer not null check (is_outgoing in (0, 1)),
            sent_ms integer not null,
            subject text not null,
            body text not null
        );
        create index text_messages_by_time on text_messages (sent_ms, id);
        create index text_messages_by_contact on text_messages (contact_id, sent_ms);
        create index text_messages_by_import on text_messages (import_id);

        create virtual table text_messages_fts using fts5 (
            subject, body, content = 'text_messages', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into text_messages_fts (text_messages_fts, rank) values ('secure-delete', 1);
        create trigger text_messages_insert after insert on text_messages
        begin
            insert into text_messages_fts (rowid, subject, body) values (new.id, new.subject, new.body);
            insert into embedding_queue (kind, thing_id) values ('message', new.id)
            on conflict do nothing;
        end;
        create trigger text_messages_update after update of subject, body on text_messages
        begin
            insert into text_messages_fts (text_messages_fts, rowid, subject, body)
            values ('delete', old.id, old.subject, old.body);
            insert into text_messages_fts (rowid, subject, body) values (new.id, new.subject, new.body);
            delete from vectors where kind = 'message' and thing_id = old.id;
            insert into embedding_queue (kind, thing_id) values ('message', new.id)
            on conflict do nothing;
        end;
        create trigger text_messages_delete after delete on text_messages
        begin
            insert into text_messages_fts (text_messages_fts, rowid, subject, body)
            values ('delete', old.id, old.subject, old.body);
            delete from vectors where kind = 'message' and thing_id = old.id;
            delete from embedding_queue where kind = 'message' and thing_id = old.id;
        end;

        create table calendar_events (
            id integer primary key autoincrement,
            natural_key text not null unique,
            import_id integer not null references imports (id),
            calendar text not null,
            title text not null,
            description text not null,
            location text not null,
            attendees text not null,
            start_ms integer not null,
            end_ms integer not null,
            is_all_day integer not null check (is_all_day in (0, 1)),
            status text not null
        );
        create index calendar_events_by_time on calendar_events (start_ms, end_ms);
        create index calendar_events_by_import on calendar_events (import_id);

        -- Degrees times ten million, as whole numbers: the same point is the same row.
        create table location_points (
            id integer primary key autoincrement,
            at_ms integer not null,
            latitude_e7 integer not null,
            longitude_e7 integer not null,
            import_id integer not null references imports (id),
            accuracy_m real,
            altitude_m real,
            source text not null,
            unique (at_ms, latitude_e7, longitude_e7)
        );
        create index location_points_by_import on location_points (import_id);

        create table places (
            id integer primary key autoincrement,
            natural_key text not null unique,
            import_id integer not null references imports (id),
            name text not null,
            category text not null,
            address text not null,
            note text not null,
            latitude_e7 integer not null,
            longitude_e7 integer not null,
            radius_m real not null
        );
        create index places_by_import on places (import_id);
        """
    )


def _allow_more_vectors(connection: apsw.Connection) -> None:
    """Let vectors belong to messages and days as well.

    Only the words of the check change, so the rows need not be copied, of which there may be
    millions (https://www.sqlite.org/lang_altertable.html#otheralter). Other connections notice
    the new schema by the tables that are made after this.
    """
    connection.execute("pragma writable_schema = on")
    connection.execute(
        "update sqlite_schema set sql = replace(sql, ?, ?) where type = 'table' and name = 'vectors'",
        (_KINDS_BEFORE, _KINDS),
    )
    connection.execute("pragma writable_schema = reset")
