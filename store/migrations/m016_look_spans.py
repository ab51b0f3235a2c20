"""The time that looks cover, joined as it is reported: what gaps are told from.

A year has three million look batches and some thousand spans. A trigger joins each new batch with
the spans it touches, so that the order of arrival does not matter; spans never touch each other.
"""

from __future__ import annotations

import apsw

_CLOSED_MS = 10_000
"""Holes as long as `store.line.CONTINUOUS_MS` was when this step was written."""


def m016_look_spans(connection: apsw.Connection) -> None:
    connection.execute(
        f"""
        create table look_spans (start_ms integer primary key, end_ms integer not null);

        insert into look_spans (start_ms, end_ms)
        with reported as (
            select start_ms, end_ms,
                max(end_ms) over (order by start_ms rows between unbounded preceding and 1 preceding)
                    as before_ms
            from look_batches
        ),
        islands as (
            select start_ms, end_ms,
                sum(before_ms is null or start_ms - before_ms > {_CLOSED_MS}) over (order by start_ms) as n
            from reported
        )
        select min(start_ms), max(end_ms) from islands group by n;

        create trigger look_batches_join after insert on look_batches
        begin
            insert or replace into look_spans (start_ms, end_ms)
            select
                min(new.start_ms, coalesce(min(start_ms), new.start_ms)),
                max(new.end_ms, coalesce(max(end_ms), new.end_ms))
            from look_spans
            where start_ms >= coalesce(
                    (select max(start_ms) from look_spans where start_ms <= new.start_ms), new.start_ms
                )
                and start_ms <= new.end_ms + {_CLOSED_MS}
                and end_ms >= new.start_ms - {_CLOSED_MS};

            delete from look_spans
            where start_ms > (select max(start_ms) from look_spans where start_ms <= new.start_ms)
                and start_ms <= new.end_ms + {_CLOSED_MS};
        end;
        """
    )
