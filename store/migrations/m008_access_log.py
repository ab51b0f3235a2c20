"""What other programs asked for through the doors."""

from __future__ import annotations

import apsw


def m008_access_log(connection: apsw.Connection) -> None:
    # Counts and names of tools, never content: nothing here belongs to a frame.
    connection.execute(
        """
        create table access_log (
            id integer primary key,
            at_ms integer not null,
            door text not null,
            tool text not null,
            outcome text not null check (outcome in ('answered', 'refused', 'failed')),
            returned integer not null,
            withheld integer not null
        );
        """
    )
