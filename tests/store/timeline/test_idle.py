"""Time without anybody is in no total, and has its own word."""

from __future__ import annotations

import random
import uuid
from itertools import pairwise

import pytest

from store.core.database import Database, rows
from store.frames import frames
from store.frames.frames import Still
from store.spool.queue import DecisionRun, LookReport
from store.timeline import gaps, ledger, segments
from tests.factories import NOON_MS, capture

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
LATER_MS = NOON_MS + 24 * HOUR
STILL = Still("none", "image/webp", 1, "0" * 64, "0" * 64, 1, 1)


def show(database: Database, start_ms: int, end_ms: int, app: str = "Code", **changes: object) -> int:
    """A frame that stays on the screen, looked at twice a second."""
    batch = str(uuid.uuid4())
    record = capture(NOON_MS + start_ms, app_name=app, batch_id=batch, focused=True, **changes)
    with database.write() as connection:
        frame_id = frames.insert(connection, record, STILL, 0)
        segments.heartbeat(connection, frames.get(database, frame_id))
    looks = (end_ms - start_ms) // 500
    enter(
        database, batch, start_ms, end_ms, 1 + looks,
        run("deduped", "unchanged", start_ms, end_ms, looks, record.capture_id),
    )  # fmt: skip
    return frame_id


def rest(database: Database, start_ms: int, end_ms: int) -> None:
    """Nobody touches anything, reported as capture does: every ten seconds, the first part late."""
    bounds = [start_ms, *range(start_ms + 3 * MINUTE, end_ms, 10 * SECOND), end_ms]
    for start, end in pairwise(bounds):
        enter(database, str(uuid.uuid4()), end, end, 0, run("deduped", "idle", start, end, 0, None, ""))


def run(
    decision: str,
    reason: str,
    start_ms: int,
    end_ms: int,
    looks: int,
    capture_id: str | None = None,
    monitor: str = "DP-1",
) -> DecisionRun:
    return DecisionRun(monitor, decision, reason, NOON_MS + start_ms, NOON_MS + end_ms, looks, capture_id)


def enter(database: Database, batch: str, start_ms: int, end_ms: int, looks: int, *runs: DecisionRun) -> None:
    report = LookReport(batch, NOON_MS + start_ms, NOON_MS + end_ms, looks, runs)
    with database.write() as connection:
        ledger.add_report(connection, report)


def line(database: Database, end_ms: int = HOUR) -> list[tuple[int, int, str | None]]:
    found = segments.segments(database, NOON_MS, NOON_MS + end_ms)
    return [(each.start_ms - NOON_MS, each.end_ms - NOON_MS, each.app_name) for each in found]


def told(database: Database, end_ms: int) -> list[tuple[int, int, str]]:
    found = gaps.gaps(database, NOON_MS, NOON_MS + end_ms, LATER_MS)
    return [(gap.start_ms - NOON_MS, gap.end_ms - NOON_MS, gap.reason) for gap in found]


def test_ten_minutes_active_ten_idle_ten_locked_are_three_totals_of_ten(database: Database) -> None:
    show(database, 0, 20 * MINUTE)
    rest(database, 10 * MINUTE, 20 * MINUTE)
    enter(
        database, str(uuid.uuid4()), 20 * MINUTE, 30 * MINUTE, 1200,
        run("paused", "locked", 20 * MINUTE, 30 * MINUTE, 1200),
    )  # fmt: skip
    found = segments.totals(database, NOON_MS, NOON_MS + 30 * MINUTE)
    assert [(total.name, total.duration_ms) for total in found.by_app] == [("Code", 10 * MINUTE)]
    assert told(database, 30 * MINUTE) == [
        (10 * MINUTE, 20 * MINUTE, "idle"),
        (20 * MINUTE, 30 * MINUTE, "locked"),
    ]
    assert gaps.duration_ms(database, NOON_MS, NOON_MS + 30 * MINUTE) == 10 * MINUTE
    assert ledger.reconcile(database, NOON_MS, LATER_MS).difference == 0
    by_reason = {each.reason: each for each in ledger.daily(database, NOON_MS, LATER_MS)}
    assert (by_reason["idle"].looks, by_reason["idle"].duration_ms) == (0, 10 * MINUTE)


def test_a_stretch_around_idle_time_is_two_that_lead_to_their_own_frames(database: Database) -> None:
    first = show(database, 0, 2 * MINUTE)
    still = show(database, 2 * MINUTE, 20 * MINUTE)
    last = show(database, 20 * MINUTE, 21 * MINUTE)
    rest(database, 5 * MINUTE, 15 * MINUTE)
    before, after = segments.segments(database, NOON_MS, NOON_MS + HOUR)
    assert (before.first_frame_id, before.last_frame_id, before.frames) == (first, still, 2)
    assert (after.first_frame_id, after.last_frame_id, after.frames) == (still, last, 2)
    assert line(database) == [(0, 5 * MINUTE, "Code"), (15 * MINUTE, 21 * MINUTE, "Code")]


def test_a_part_between_two_looks_leads_to_the_frame_before_it(database: Database) -> None:
    with database.write() as connection:
        ids = []
        for second in (0, 50):
            record = capture(NOON_MS + second * SECOND, app_name="Code", source="folder")
            ids.append(frames.insert(connection, record, STILL, 0))
            segments.heartbeat(connection, frames.get(database, ids[-1]))
    enter(database, str(uuid.uuid4()), 0, 0, 0, run("deduped", "idle", -MINUTE, 10 * SECOND, 0))
    enter(database, str(uuid.uuid4()), 0, 0, 0, run("deduped", "idle", 20 * SECOND, HOUR, 0))
    [part] = segments.segments(database, NOON_MS, NOON_MS + HOUR)
    assert (part.first_frame_id, part.last_frame_id, part.frames) == (ids[0], ids[0], 0)


def test_a_frame_kept_while_nobody_was_there_is_in_no_stretch(database: Database) -> None:
    """A film goes on: its pictures stay, its time is not told as use."""
    show(database, 0, 5 * MINUTE, "Player")
    frame_id = show(database, 5 * MINUTE, 10 * MINUTE, "Player")
    rest(database, 2 * MINUTE, 9 * MINUTE)
    assert segments.segment_of(database, frames.get(database, frame_id)) is None
    assert line(database) == [(0, 2 * MINUTE, "Player"), (9 * MINUTE, 10 * MINUTE, "Player")]
    [first] = [gap for gap in told(database, 10 * MINUTE) if gap[2] == "idle"]
    assert first == (2 * MINUTE, 9 * MINUTE, "idle")


@pytest.mark.parametrize(
    ("decision", "reason", "word"),
    [
        ("paused", "paused", "paused"),
        ("paused", "asleep", "asleep"),
        ("excluded", "rule:app", "excluded"),
        ("failed", "no_display", "failed:no_display"),
    ],
)
def test_time_without_a_picture_keeps_its_own_word(
    database: Database, decision: str, reason: str, word: str
) -> None:
    show(database, 0, MINUTE)
    enter(
        database, str(uuid.uuid4()), MINUTE, 8 * MINUTE, 9,
        run(decision, reason, MINUTE, 8 * MINUTE, 9),
    )  # fmt: skip
    rest(database, 0, 10 * MINUTE)
    assert told(database, 10 * MINUTE) == [
        (0, MINUTE, "idle"),
        (MINUTE, 8 * MINUTE, word),
        (8 * MINUTE, 10 * MINUTE, "idle"),
    ]


def test_a_report_without_idle_time_is_read_as_ever(database: Database) -> None:
    show(database, 0, 10 * MINUTE)
    assert line(database) == [(0, 10 * MINUTE, "Code")]
    assert told(database, 10 * MINUTE) == []


def test_four_minutes_of_alternation_with_input_stay_four_minutes(database: Database) -> None:
    for start in range(0, 240, 30):
        show(database, start * SECOND, (start + 30) * SECOND, "AB"[start // 30 % 2])
    rest(database, 240 * SECOND, 600 * SECOND)
    found = segments.totals(database, NOON_MS, NOON_MS + 10 * MINUTE)
    assert {total.name: total.duration_ms for total in found.by_app} == {"A": 2 * MINUTE, "B": 2 * MINUTE}


def test_sessions_and_hours_know_of_idle_time_that_is_told_late(database: Database) -> None:
    show(database, 0, 50 * MINUTE)
    with database.write() as connection:
        connection.execute("delete from memory_hours")
    rest(database, 10 * MINUTE, 40 * MINUTE)
    with database.read() as connection:
        assert [hour for (hour,) in rows(connection, "select hour from memory_hours")] == [NOON_MS // HOUR]
    parts = gaps.merge_intervals(segments.spans(database, NOON_MS, NOON_MS + HOUR))
    assert parts == [
        (NOON_MS, NOON_MS + 10 * MINUTE),
        (NOON_MS + 40 * MINUTE, NOON_MS + 50 * MINUTE),
    ]


def test_totals_never_exceed_the_time_that_was_not_idle(database: Database) -> None:
    """Random days of switches, idle stretches and ranges; every moment counts once or not at all."""
    draw = random.Random(23)
    for _ in range(60):
        with database.write() as connection:
            connection.execute(
                """
                insert into frames_fts (frames_fts) values ('delete-all');
                delete from segments; delete from frames; delete from ingest_records;
                delete from decisions; delete from look_batches;
                """
            )
        at_ms, stretches = 0, []
        for _ in range(draw.randrange(1, 10)):
            stays_ms = draw.choice((500, 9_000, 70_000, 250_000, 900_000))
            show(database, at_ms, at_ms + stays_ms, draw.choice("ABC"), window_name=draw.choice("xy"))
            at_ms += stays_ms + draw.choice((0, 500, 9_999, 10_001, 59_999, 200_000))
        for _ in range(draw.randrange(4)):
            start_ms = draw.randrange(at_ms)
            stretches.append((start_ms, start_ms + draw.choice((180_000, 181_234, 700_000))))
            rest(database, *stretches[-1])
        start_ms, end_ms = sorted((draw.randrange(at_ms), draw.randrange(at_ms + MINUTE)))
        whole = gaps.clipped(gaps.merge_intervals(stretches), start_ms, end_ms)
        found = segments.totals(database, NOON_MS + start_ms, NOON_MS + end_ms)
        idle_ms = sum(end - start for start, end in whole)
        assert gaps.duration_ms(database, NOON_MS + start_ms, NOON_MS + end_ms) == idle_ms
        assert sum(total.duration_ms for total in found.by_app) == found.covered_ms
        assert found.covered_ms <= found.wall_ms - idle_ms
        used = [
            (each.start_ms - NOON_MS, each.end_ms - NOON_MS)
            for each in segments.segments(database, NOON_MS + start_ms, NOON_MS + end_ms)
        ]
        assert gaps.subtract_intervals(used, whole) == gaps.merge_intervals(
            part for part in used if part[0] < part[1]
        )
        for gap in gaps.gaps(database, NOON_MS + start_ms, NOON_MS + end_ms, LATER_MS):
            if gap.reason == "idle":
                part = (gap.start_ms - NOON_MS, gap.end_ms - NOON_MS)
                assert (
                    gaps.subtract_intervals([part], gaps.merge_intervals(stretches, gaps.CONTINUOUS_MS)) == []
                )
