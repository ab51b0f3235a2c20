"""What days are made of: their hours, told point by point with the lines that prove them."""

from __future__ import annotations

import apsw


def m027_days(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- One row per clock hour (since 1970, UTC) of a day with activity; one without is a placeholder
        -- without points. `model_next_ms` says when a chat model is to be asked for better words; null:
        -- not any more, which only an answer that was kept brings about.
        create table daily_hours (
            hour integer primary key,
            source text not null check (source in ('none', 'rule', 'model')),
            fingerprint text not null,
            model_next_ms integer,
            model_attempts integer not null default 0,
            model_error text,
            updated_ms integer not null
        );
        create index daily_hours_to_tell on daily_hours (model_next_ms) where model_next_ms is not null;

        create table daily_points (
            hour integer not null references daily_hours (hour) on delete cascade,
            n integer not null,
            at_ms integer not null,
            text text not null,
            primary key (hour, n)
        ) without rowid;

        -- `text` stands word for word on the frame; '' where the frame as such shows it.
        create table daily_quotes (
            hour integer not null references daily_hours (hour) on delete cascade,
            n integer not null,
            k integer not null,
            frame_id integer not null,
            text text not null,
            primary key (hour, n, k)
        ) without rowid;
        create index daily_quotes_by_frame on daily_quotes (frame_id);

        -- Hours whose observations changed, and hours whose days have to be written anew.
        create table daily_hours_due (
            hour integer primary key,
            changes integer not null default 1
        );
        create table daily_texts_due (
            hour integer primary key
        );
        create trigger daily_hours_observed after insert on observations
        begin
            insert into daily_hours_due (hour) values (new.hour)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger daily_hours_changed
        after update of title, narrative, source, edits, is_hidden, fingerprint, start_ms on observations
        begin
            insert into daily_hours_due (hour) values (new.hour)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger daily_hours_gone after delete on observations
        begin
            insert into daily_hours_due (hour) values (old.hour)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger daily_hours_forgotten after delete on daily_hours
        begin
            insert into daily_hours_due (hour) values (old.hour)
            on conflict (hour) do update set changes = changes + 1;
            insert into daily_texts_due (hour) values (old.hour) on conflict do nothing;
        end;
        insert into daily_hours_due (hour) select distinct hour from observations;

        -- A day may begin after midnight.
        alter table daily_summaries add column day_start_min integer not null default 0;
        """
    )
