"""The time that looks cover, joined as batches arrive in any order."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, rows
from store.frames.activity_intervals import CONTINUOUS_MS
from store.timeline.gaps import Interval, merge_intervals

BATCHES = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(0, 30_000)).map(lambda part: (part[0], sum(part))),
    max_size=25,
)


def enter(connection: apsw.Connection, batches: list[Interval]) -> None:
    connection.executemany(
        "insert into look_batches (id, start_ms, end_ms, looks) values (?, ?, ?, 1)",
        [(str(number), start, end) for number, (start, end) in enumerate(batches)],
    )


def spans(connection: apsw.Connection) -> list[Interval]:
    return [(start, end) for start, end in rows(connection, "select * from look_spans order by start_ms")]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
def test_spans_are_the_union_whatever_came_first(database: Database, batches: list[Interval]) -> None:
    connection = database.connection()
    connection.execute("begin")
    enter(connection, batches)
    assert spans(connection) == merge_intervals(batches, CONTINUOUS_MS)
    connection.execute("rollback")


def test_a_batch_that_is_already_there_changes_nothing(database: Database) -> None:
    with database.write() as connection:
        enter(connection, [(0, 1_000)])
        with pytest.raises(apsw.ConstraintError):
            enter(connection, [(90_000, 91_000)])
        assert spans(connection) == [(0, 1_000)]
