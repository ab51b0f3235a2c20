"""Frames with their readings, addresses and apps, and what became of each capture."""

from __future__ import annotations

import apsw


def m001_frames(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table frames (
            id integer primary key,
            capture_id text not null unique,
            captured_ms integer not null,
            ended_ms integer not null,
            utc_offset_min integer,
            monitor text not null default '',
            width_px integer not null,
            height_px integer not null,
            app_name text,
            window_name text,
            browser_url text,
            focused integer check (focused in (0, 1)),
            pid integer,
            trigger text,
            source text not null,
            batch_id text,
            media_path text,
            media_type text not null,
            size_bytes integer not null,
            sha256 text not null,
            pixels_sha256 text not null,
            media_gone_reason text,
            reading_state text not null default 'pending'
                check (reading_state in ('pending', 'read', 'failed', 'unavailable')),
            reading_attempts integer not null default 0,
            reading_error text,
            reading_next_ms integer,
            stored_ms integer not null,
            read_ms integer
        );
        create index frames_by_monitor on frames (monitor, captured_ms, id);
        create index frames_by_app on frames (app_name collate nocase, id);
        create index frames_to_read on frames (id) where reading_state = 'pending';
        create index frames_by_batch on frames (batch_id);

        create table readings (
            id integer primary key,
            frame_id integer not null references frames (id) on delete cascade,
            engine text not null,
            language text not null,
            text text not null,
            layout blob not null,
            words integer not null,
            confidence real,
            duration_ms integer not null,
            read_ms integer not null,
            is_current integer not null check (is_current in (0, 1))
        );
        create index readings_by_frame on readings (frame_id);
        create unique index readings_current on readings (frame_id) where is_current = 1;

        create table frame_urls (
            frame_id integer not null references frames (id) on delete cascade,
            url text not null,
            primary key (frame_id, url)
        ) without rowid;

        create table apps (
            name text primary key,
            colour_slot integer,
            first_ms integer not null
        ) without rowid;

        create table ingest_records (
            capture_id text primary key,
            outcome text not null
                check (outcome in ('stored', 'deduplicated', 'excluded', 'failed', 'deleted')),
            frame_id integer,
            reason text,
            captured_ms integer not null,
            recorded_ms integer not null
        ) without rowid;
        create index ingest_records_by_frame on ingest_records (frame_id);
        """
    )
