"""The time that looks cover, joined as batches arrive in any order."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.database import Database, rows
from store.gaps import Interval, joined
from store.line import CONTINUOUS_MS
from store.migrations.m003_ledger_and_activity import m003_ledger_and_activity
from store.migrations.m016_look_spans import m016_look_spans

BATCHES = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(0, 30_000)).map(lambda part: (part[0], sum(part))),
    max_size=25,
)


def enter(connection: apsw.Connection, batches: list[Interval], first: int = 0) -> None:
    connection.executemany(
        "insert into look_batches (id, start_ms, end_ms, looks) values (?, ?, ?, 1)",
        [(str(first + number), start, end) for number, (start, end) in enumerate(batches)],
    )


def spans(connection: apsw.Connection) -> list[Interval]:
    return [(start, end) for start, end in rows(connection, "select * from look_spans order by start_ms")]


@settings(max_examples=300)
@given(before=BATCHES, after=BATCHES)
def test_spans_are_the_union_whatever_came_first(before: list[Interval], after: list[Interval]) -> None:
    """Both the batches that were there at the migration and those that came later."""
    connection = apsw.Connection(":memory:")
    m003_ledger_and_activity(connection)
    enter(connection, before)
    m016_look_spans(connection)
    assert spans(connection) == joined(before, CONTINUOUS_MS)
    enter(connection, after, len(before))
    assert spans(connection) == joined(before + after, CONTINUOUS_MS)
    connection.close()


def test_a_batch_that_is_already_there_changes_nothing(database: Database) -> None:
    with database.write() as connection:
        enter(connection, [(0, 1_000)])
        with pytest.raises(apsw.ConstraintError):
            enter(connection, [(90_000, 91_000)])
        assert spans(connection) == [(0, 1_000)]
