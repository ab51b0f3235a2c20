"""What capture decided at each look, and segments of activity."""

from __future__ import annotations

import apsw


def m003_ledger_and_activity(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table look_batches (
            id text primary key,
            start_ms integer not null,
            end_ms integer not null,
            looks integer not null
        ) without rowid;
        create index look_batches_by_time on look_batches (start_ms);

        create table decisions (
            id integer primary key,
            batch_id text,
            monitor text not null default '',
            decision text not null
                check (decision in ('kept', 'deduped', 'excluded', 'paused', 'failed')),
            reason text not null,
            start_ms integer not null,
            end_ms integer not null,
            looks integer not null
        );
        create index decisions_by_time on decisions (start_ms, end_ms);
        create index decisions_by_batch on decisions (batch_id);

        create table segments (
            id integer primary key,
            start_ms integer not null,
            end_ms integer not null,
            app_name text,
            window_name text,
            browser_url text,
            first_frame_id integer not null,
            last_frame_id integer not null,
            frames integer not null
        );
        create index segments_by_time on segments (start_ms);
        create index segments_by_end on segments (end_ms);
        """
    )
