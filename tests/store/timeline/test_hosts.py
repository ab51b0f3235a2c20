"""Several machines of one person: a line each, and one of all in which no moment counts twice."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames
from store.spool.queue import DecisionRun, LookReport
from store.timeline import gaps, ledger, segments, timeline
from tests.factories import NOON_MS, store_frame

MINUTE_MS = 60_000


def show(database: Database, data_dir: DataDir, host: str, app: str, start_s: int, end_s: int) -> None:
    """An app on one machine, looked at each second."""
    at_ms, end_ms, monitor = NOON_MS + start_s * 1_000, NOON_MS + end_s * 1_000, f"{host}/DP-1"
    frame = store_frame(database, data_dir, at_ms, app_name=app, host=host, monitor=monitor)
    run = DecisionRun(monitor, "deduped", "same", at_ms, end_ms, end_s - start_s, frame.capture_id)
    with database.write() as connection:
        segments.heartbeat(connection, frame)
        ledger.add_report(connection, LookReport(frame.capture_id, at_ms, end_ms, 1, (run,), host))


def spent(database: Database, host: str | None = None) -> dict[str | None, int]:
    found = segments.totals(database, NOON_MS, NOON_MS + 3_600_000, host)
    return {total.name: total.duration_ms // 1_000 for total in found.by_app}


@pytest.fixture
def both(database: Database, data_dir: DataDir) -> Database:
    """This machine for five minutes, a laptop from 30 to 60 s and from 200 to 350 s."""
    show(database, data_dir, "", "Editor", 0, 300)
    show(database, data_dir, "laptop", "Mail", 30, 60)
    show(database, data_dir, "laptop", "Mail", 200, 350)
    return database


def test_time_of_two_machines_counts_once(both: Database) -> None:
    """Where both were in use the one counts that was turned to last; the other goes on when that ends."""
    assert spent(both) == {"Mail": 180, "Editor": 170}
    assert spent(both, "") == {"Editor": 300}
    assert spent(both, "laptop") == {"Mail": 180}
    line = segments.segments(both, NOON_MS, NOON_MS + 3_600_000)
    assert all(one.end_ms <= other.start_ms for one, other in pairwise(line))


def test_a_frame_is_told_of_on_the_line_of_its_own_machine(database: Database, data_dir: DataDir) -> None:
    show(database, data_dir, "laptop", "Mail", 0, 45)
    show(database, data_dir, "", "Editor", 40, 100)
    show(database, data_dir, "laptop", "Mail", 45, 60)
    with database.read() as connection:
        (last,) = frames.select_rows(
            connection, "where host = 'laptop' and captured_ms > :at", {"at": NOON_MS}
        )
    segment = segments.segment_of(database, last)
    assert segment and (segment.app_name, segment.host) == ("Mail", "laptop")
    shown = timeline.timeline(database, NOON_MS, NOON_MS + 100_000, now_ms=NOON_MS, host="laptop")
    assert shown.frames == 2


def test_each_machine_has_a_lane(both: Database) -> None:
    shown = timeline.timeline(both, NOON_MS, NOON_MS + 400_000, now_ms=NOON_MS + 400_000)
    assert [(lane.host, lane.duration_ms // 1_000) for lane in shown.lanes] == [("", 300), ("laptop", 180)]
    assert shown.totals.covered_ms == 350_000


def test_one_machine_alone_has_none(database: Database, data_dir: DataDir) -> None:
    show(database, data_dir, "", "Editor", 0, 100)
    assert timeline.timeline(database, NOON_MS, NOON_MS + 200_000, now_ms=NOON_MS).lanes == ()


def test_who_is_idle_here_and_works_there_is_not_idle(both: Database) -> None:
    idle = DecisionRun("", "deduped", "idle", NOON_MS + 10_000, NOON_MS + 250_000, 0)
    with both.write() as connection:
        ledger.add_report(connection, LookReport("idle", NOON_MS, NOON_MS + 250_000, 0, (idle,)))
    assert spent(both, "laptop") == {"Mail": 180}
    assert spent(both) == {"Mail": 130, "Editor": 60}  # back at this machine at 250 s
    assert gaps.duration_ms(both, NOON_MS, NOON_MS + 400_000) == 160_000
    told = gaps.gaps(both, NOON_MS, NOON_MS + 300_000, NOON_MS + 400_000)
    assert [(gap.start_ms - NOON_MS, gap.end_ms - NOON_MS) for gap in told if gap.reason == "idle"] == [
        (10_000, 30_000),
        (60_000, 200_000),
    ]


def test_lines_stay_what_their_frames_give_in_whatever_order_they_come(
    database: Database, data_dir: DataDir
) -> None:
    chance = random.Random(7)
    looks = [(host, app, at) for host in ("", "a", "b") for at in range(0, 900, 45) for app in ("X", "Y")]
    chance.shuffle(looks)
    for host, app, at in looks:
        start = at + (20 if app == "Y" else 0)
        show(database, data_dir, host, app, start, start + chance.randrange(1, 40))
    with database.write() as connection:
        assert segments.stored_line(connection) == segments.folded_line(connection)
        connection.execute("delete from frames where host = 'a'")
        segments.rebuild(connection, NOON_MS, NOON_MS + 900_000)
        assert segments.stored_line(connection) == segments.folded_line(connection)
    total = segments.totals(database, NOON_MS, NOON_MS + 3_600_000)
    assert total.covered_ms <= 960_000


def test_time_that_was_deleted_is_not_told_of_again(database: Database, data_dir: DataDir) -> None:
    """A report that waited on another machine extends no frame into it."""
    at = NOON_MS - 10_000
    capture_id = store_frame(database, data_dir, at, host="laptop").capture_id
    receipt = '{"whole": true}'
    database.change(
        "insert into deletions (start_ms, end_ms, deleted_ms, receipt) values (?, ?, ?, ?)",
        (NOON_MS, NOON_MS + MINUTE_MS, NOON_MS + 2 * MINUTE_MS, receipt),
    )
    run = DecisionRun("laptop/", "deduped", "same", at, NOON_MS + 30_000, 40, capture_id)
    with database.write() as connection:
        ledger.add_report(connection, LookReport("late", at, run.end_ms, 40, (run,), "laptop"))
    assert database.column("select ended_ms from frames") == [at]
