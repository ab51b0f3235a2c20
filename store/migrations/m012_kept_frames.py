"""Frames that retention leaves alone, and quotes whose frame was read again."""

from __future__ import annotations

import apsw


def m012_kept_frames(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- Frames that a person wants kept whatever retention says; cited ones are kept beside them.
        create table pins (
            frame_id integer primary key references frames (id) on delete cascade,
            pinned_ms integer not null
        );
        create index evidence_cited on evidence (frame_id) where n is not null and frame_id is not null;

        -- A quote was found in one reading of its frame. When another becomes the current one, the
        -- quote has to be looked for again, and until then nothing is said about it. Kept by
        -- triggers, so that no way of reading a frame forgets it.
        alter table evidence add column needs_check integer not null default 0;
        alter table evidence add column checked_ms integer;
        create index evidence_to_check on evidence (turn_id) where needs_check = 1;
        create trigger evidence_read_again after insert on readings when new.is_current = 1
        begin
            update evidence set state = 'not_checked', needs_check = 1
            where frame_id = new.frame_id and n is not null and quote <> ''
                and state in ('found', 'not_found');
        end;
        create trigger evidence_reading_chosen after update of is_current on readings
        when new.is_current = 1 and old.is_current <> 1
        begin
            update evidence set state = 'not_checked', needs_check = 1
            where frame_id = new.frame_id and n is not null and quote <> ''
                and state in ('found', 'not_found');
        end;
        """
    )
