"""A person's verdicts on answers and their sources."""

from __future__ import annotations

import apsw


def m010_answer_reports(connection: apsw.Connection) -> None:
    # A citation has n > 0, the answer as a whole n = 0. What was cited stands in `evidence`, so
    # that deleting a frame or a chat leaves nothing of it here.
    connection.execute(
        """
        create table answer_reports (
            turn_id integer not null references turns (id) on delete cascade,
            n integer not null check (n >= 0),
            verdict text not null check (verdict in ('right', 'wrong')),
            note text not null default '',
            reported_ms integer not null,
            primary key (turn_id, n)
        ) without rowid;
        """
    )
