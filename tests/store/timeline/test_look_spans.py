"""The time that looks cover, joined as batches arrive in any order."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, rows
from store.frames.activity_intervals import CONTINUOUS_MS
from store.timeline.gaps import Gap, Interval, gaps, merge_intervals
from tests.factories import NOON_MS
from tests.store.frames.test_activity_intervals import SECOND, put

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


def test_a_stop_of_seconds_within_one_window_is_told_where_looks_are_counted(database: Database) -> None:
    """Frames that no batch counts stand for the time between them: nothing says how often anybody looked."""
    frame_ids = [put(database, at * SECOND, "A") for at in (0, 40)]
    whole = NOON_MS, NOON_MS + 40 * SECOND
    assert gaps(database, *whole, NOON_MS + 3_600_000) == []
    with database.write() as connection:
        enter(connection, [(NOON_MS - SECOND, NOON_MS + SECOND), (whole[1] - SECOND, whole[1] + SECOND)])
        for batch, frame_id in enumerate(frame_ids):
            connection.execute("update frames set batch_id = ? where id = ?", (str(batch), frame_id))
    stop = Gap(NOON_MS + SECOND, whole[1] - SECOND, "not_running")
    assert gaps(database, *whole, NOON_MS + 3_600_000) == [stop]
