"""The ledger adds up, and says why there is no picture."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database, rows
from store.frames import frames
from store.frames.activity_intervals import CONTINUOUS_MS
from store.frames.frames import Still
from store.spool.queue import DecisionRun, LookReport
from store.timeline import gaps, ledger, segments
from store.timeline.gaps import Gap
from store.timeline.ledger import DecisionCount, Reconciliation
from tests.factories import NOON_MS, capture

SECOND = 1_000
MINUTE = 60_000
STILL = Still("none", "image/webp", 1, "0" * 64, "0" * 64, 1, 1)
LATER_MS = NOON_MS + 24 * 3_600_000


def run(decision: str, start_ms: int, end_ms: int, looks: int = 1, **changes: Any) -> DecisionRun:
    values = {"monitor": "DP-1", "reason": "rule", "capture_id": None, **changes}
    return DecisionRun(
        decision=decision, start_ms=NOON_MS + start_ms, end_ms=NOON_MS + end_ms, looks=looks, **values
    )


def report(database: Database, start_ms: int, end_ms: int, *runs: DecisionRun, kept: int = 0) -> LookReport:
    """Enter a batch whose looks are its runs' and `kept` more."""
    batch = LookReport(
        str(uuid.uuid4()),
        NOON_MS + start_ms,
        NOON_MS + end_ms,
        kept + sum(r.looks for r in runs),
        runs,
    )
    with database.write() as connection:
        ledger.add_report(connection, batch)
    return batch


def put(database: Database, at_ms: int, **changes: Any) -> frames.FrameRow:
    record = capture(NOON_MS + at_ms, **changes)
    with database.write() as connection:
        frame_id = frames.insert(connection, record, STILL, 0)
        frame = frames.get(database, frame_id)
        segments.heartbeat(connection, frame)
    return frame


def told(
    database: Database, start_ms: int, end_ms: int, now_ms: int = LATER_MS
) -> list[tuple[int, int, str]]:
    found = gaps.gaps(database, NOON_MS + start_ms, NOON_MS + end_ms, now_ms)
    return [(gap.start_ms - NOON_MS, gap.end_ms - NOON_MS, gap.reason) for gap in found]


# -- counting -----------------------------------------------------------------------------


def test_every_look_is_accounted_for(database: Database) -> None:
    batch = report(
        database, 0, 10 * SECOND,
        run("deduped", 0, 4_000, 5, reason="unchanged"),
        run("excluded", 4_500, 6_000, 3),
        run("failed", 6_500, 7_000, 1, reason="no_display"),
        run("paused", 7_500, 10_000, 4),
        kept=2,
    )  # fmt: skip
    put(database, 100, batch_id=batch.batch_id)
    assert ledger.reconcile(database, NOON_MS, LATER_MS).difference == 1
    put(database, 200, batch_id=batch.batch_id)
    found = ledger.reconcile(database, NOON_MS, LATER_MS)
    assert found == Reconciliation(looks=15, kept=2, deduped=5, excluded=3, paused=4, failed=1)
    assert found.difference == 0


def test_import_counts_as_its_own_look(database: Database) -> None:
    put(database, 0, source="folder")
    assert ledger.reconcile(database, NOON_MS, LATER_MS) == Reconciliation(1, 1, 0, 0, 0, 0)


def test_batch_is_entered_once(database: Database) -> None:
    batch = report(database, 0, SECOND, run("excluded", 0, 500, 2))
    with database.write() as connection:
        assert ledger.add_report(connection, batch) is False
    assert ledger.reconcile(database, NOON_MS, LATER_MS).excluded == 2


def test_counts_say_how_many_looks_and_how_long(database: Database) -> None:
    batch = report(database, 0, 10 * SECOND, run("excluded", 0, 6_000, 12), kept=1)
    put(database, 8_000, batch_id=batch.batch_id)
    put(database, 9_000, source="video")
    assert ledger.daily(database, NOON_MS, LATER_MS) == [
        DecisionCount("excluded", "rule", 12, 6_000),
        DecisionCount("kept", "screen", 1, 0),
        DecisionCount("kept", "video", 1, 0),
    ]
    assert ledger.daily(database, LATER_MS, LATER_MS + SECOND) == []


def test_deduped_run_extends_its_frame_and_its_activity(database: Database) -> None:
    frame = put(database, 0)
    report(database, 0, MINUTE, run("deduped", 500, MINUTE, 120, capture_id=frame.capture_id))
    assert frames.get(database, frame.id).ended_ms == NOON_MS + MINUTE
    segment = segments.segment_of(database, frame)
    assert segment is not None
    assert segment.end_ms == NOON_MS + MINUTE


def test_deduped_run_of_an_unknown_frame_is_still_counted(database: Database) -> None:
    report(database, 0, MINUTE, run("deduped", 0, MINUTE, 9, capture_id=str(uuid.uuid4())))
    assert ledger.reconcile(database, NOON_MS, LATER_MS).deduped == 9


# -- gaps ---------------------------------------------------------------------------------


def test_excluded_time_has_a_duration_and_no_name(database: Database) -> None:
    frame = put(database, 0)
    for start in range(0, 12 * MINUTE, 10 * SECOND):
        decision, seen = ("excluded", None) if start else ("deduped", frame.capture_id)
        report(
            database, start, start + 10 * SECOND,
            run(decision, start, start + 10 * SECOND, 20, capture_id=seen),
        )  # fmt: skip
    assert told(database, 0, 12 * MINUTE) == [(10 * SECOND, 12 * MINUTE, "excluded")]
    with database.read() as connection:
        assert "Code" not in str(rows(connection, "select * from decisions"))


@pytest.mark.parametrize(
    ("decision", "reason", "expected"),
    [
        ("paused", "paused", "paused"),
        ("paused", "screensaver", "locked"),
        ("paused", "switched_user", "locked"),
        ("paused", "locked", "locked"),
        ("paused", "asleep", "asleep"),
        ("excluded", "rule:app", "excluded"),
        ("failed", "no_display", "failed:no_display"),
    ],
)
def test_reason_of_a_gap_is_the_ledgers(
    database: Database, decision: str, reason: str, expected: str
) -> None:
    report(database, 0, MINUTE, run(decision, 0, MINUTE, 9, reason=reason))
    assert told(database, 0, MINUTE) == [(0, MINUTE, expected)]


def test_what_no_look_covers_is_not_running(database: Database) -> None:
    report(database, 0, MINUTE)
    report(database, 2 * MINUTE, 3 * MINUTE)
    assert told(database, -MINUTE, 4 * MINUTE) == [
        (-MINUTE, 0, "not_running"),
        (MINUTE, 2 * MINUTE, "not_running"),
        (3 * MINUTE, 4 * MINUTE, "not_running"),
    ]


def test_looks_a_few_seconds_apart_are_continuous(database: Database) -> None:
    report(database, 0, MINUTE)
    report(database, MINUTE + CONTINUOUS_MS, 2 * MINUTE)
    assert told(database, 0, 2 * MINUTE) == []


def test_still_screen_is_no_gap(database: Database) -> None:
    frame = put(database, 0)
    report(database, 0, 10 * MINUTE, run("deduped", 0, 10 * MINUTE, 1200, capture_id=frame.capture_id))
    assert told(database, 0, 10 * MINUTE) == []


@pytest.mark.parametrize(
    ("recorded", "excluded", "expected"),
    [("DP-1", "DP-2", []), ("DP-2", "DP-1", [(0, MINUTE, "excluded")])],
    ids=["the other monitor is excluded", "the focused one is"],
)
def test_exclusion_is_a_gap_where_the_focused_monitor_is_not_recorded(
    database: Database, recorded: str, excluded: str, expected: list[tuple[int, int, str]]
) -> None:
    frame = put(database, 0, focused=recorded == "DP-1", monitor=recorded)
    report(
        database, 0, MINUTE,
        run("deduped", 0, MINUTE, 120, monitor=recorded, capture_id=frame.capture_id),
        run("excluded", 0, MINUTE, 120, monitor=excluded),
    )  # fmt: skip
    assert told(database, 0, MINUTE) == expected


def test_short_exclusion_between_two_pictures_is_told(database: Database) -> None:
    put(database, 0)
    report(database, 0, 10 * SECOND, run("excluded", 500, 8_000, 15), kept=2)
    put(database, 8_500)
    assert told(database, 0, 10 * SECOND) == [(500, 8_000, "excluded")]


def test_night_asleep_is_one_gap_however_long(database: Database) -> None:
    report(database, 0, SECOND)
    days = 3 * 24 * 60 * MINUTE
    report(database, SECOND, days, run("paused", SECOND, days, 0, reason="asleep"))
    assert told(database, 2 * MINUTE, 3 * MINUTE) == [(2 * MINUTE, 3 * MINUTE, "asleep")]
    assert told(database, SECOND, days, NOON_MS + 2 * days) == [(SECOND, days, "asleep")]


def test_imported_frames_cover_themselves_up_to_a_minute_apart(database: Database) -> None:
    for at in (0, 50 * SECOND, 100 * SECOND, 300 * SECOND):
        put(database, at, source="folder")
    assert told(database, 0, 300 * SECOND) == [(100 * SECOND, 300 * SECOND, "not_running")]


def test_frame_whose_batch_is_still_on_its_way_covers_itself(database: Database) -> None:
    for second in range(0, 60, 5):
        put(database, second * SECOND, batch_id=str(uuid.uuid4()))
    assert told(database, 0, 55 * SECOND) == []


def test_last_seconds_before_now_are_not_called_a_gap(database: Database) -> None:
    report(database, 0, MINUTE)
    now_ms = NOON_MS + MINUTE + gaps.UNREPORTED_MS
    assert told(database, 0, 10 * MINUTE, now_ms) == []
    assert told(database, 0, 10 * MINUTE, now_ms + 1) == [
        (MINUTE, MINUTE + gaps.UNREPORTED_MS + 1, "not_running")
    ]


def test_deleted_time_is_told_as_deleted_though_looks_cover_it(database: Database) -> None:
    report(database, 0, 3 * MINUTE, run("paused", MINUTE, 2 * MINUTE, 9))
    with database.write() as connection:
        connection.execute(
            "insert into deletions (start_ms, end_ms, deleted_ms, receipt) values (?, ?, ?, '{}')",
            (NOON_MS + 30 * SECOND, NOON_MS + 90 * SECOND, LATER_MS),
        )
    assert told(database, 0, 3 * MINUTE) == [
        (30 * SECOND, 90 * SECOND, "deleted"),
        (90 * SECOND, 2 * MINUTE, "paused"),
    ]


INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda p: (p[0], p[0] + p[1])))


def points(parts: list[tuple[int, int]]) -> set[int]:
    return {point for start, end in parts for point in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_interval_arithmetic_is_that_of_sets(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    assert points(gaps.merge_intervals(one)) == points(one)
    assert points(gaps.subtract_intervals(one, gaps.merge_intervals(two))) == points(one) - points(two)
    assert points(gaps.clipped(one, 10, 30)) == points(one) & set(range(10, 30))


def test_gaps_do_not_overlap_and_stay_in_the_range(database: Database) -> None:
    report(
        database, 0, MINUTE, run("paused", 0, 40_000, 3), run("excluded", 20_000, 70_000, 3, monitor="DP-2")
    )
    found = gaps.gaps(database, NOON_MS + 5_000, NOON_MS + 90_000, LATER_MS)
    assert found == [
        Gap(NOON_MS + 5_000, NOON_MS + 40_000, "paused"),
        Gap(NOON_MS + 40_000, NOON_MS + 70_000, "excluded"),
        Gap(NOON_MS + 70_000, NOON_MS + 90_000, "not_running"),
    ]
