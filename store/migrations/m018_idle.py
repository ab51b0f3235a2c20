"""Idle time is found by an index of its own, and an hour in which some was found is derived anew.

Capture learns of it late: when the stretch is entered, the frames on both sides may be old news.
"""

from __future__ import annotations

import apsw


def m018_idle(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create index decisions_idle on decisions (start_ms, end_ms) where reason = 'idle';
        create trigger memory_hours_idle after insert on decisions when new.reason = 'idle'
        begin
            insert into memory_hours (hour) values (new.start_ms / 3600000), (new.end_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        """
    )
