"""Which frames came in before rules marked frames, and are still to be marked."""

from __future__ import annotations

import apsw


def m038_frame_tag_backfill(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- One row while there are any: ids from `below` on are done. Frames that were stored later were
        -- marked as they came in, whatever their ids, and a tag that a person took off them stays off.
        create table frame_tag_backfill (
            below integer not null,
            stored_before_ms integer not null
        );
        insert into frame_tag_backfill (below, stored_before_ms)
        select max(f.id) + 1, m.applied_ms
        from migrations m
        join frames f on f.stored_ms < m.applied_ms
        where m.name = 'm035_frame_tag_source'
        having count(*) > 0;
        """
    )
