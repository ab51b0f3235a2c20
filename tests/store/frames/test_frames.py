"""Frames: ids that carry time, neighbours, what waits to be read."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, open_database
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.core.times import MAX_EPOCH_SECONDS, to_ms, to_seconds
from store.frames import frames
from store.ocr import readings
from store.spool.queue import HIDDEN_WINDOW, PRIVATE_WINDOW
from tests.factories import NOON_MS, store_frame


@given(st.integers(0, int(MAX_EPOCH_SECONDS * 1000)))
def test_milliseconds_survive_the_api(ms: int) -> None:
    assert to_ms(to_seconds(ms)) == ms


def test_an_id_carries_its_time_and_is_safe_in_javascript(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOON_MS)
    assert frames.captured_ms_of(frame.id) == NOON_MS
    assert frame.id < 2**53


def test_two_monitors_at_the_same_moment_are_two_frames(database: Database, data_dir: DataDir) -> None:
    """Identity is the id, time is never a key."""
    one = store_frame(database, data_dir, NOON_MS, monitor="DP-1")
    two = store_frame(database, data_dir, NOON_MS, monitor="DP-2")
    assert one.id != two.id
    first, after = frames.id_range(NOON_MS, NOON_MS + 1)
    assert first <= one.id < two.id < after


def test_a_frame_that_arrives_late_lands_between_its_true_neighbours(
    database: Database, data_dir: DataDir
) -> None:
    """In both directions, and never across monitors."""
    before = store_frame(database, data_dir, NOON_MS)
    after = store_frame(database, data_dir, NOON_MS + 2000)
    store_frame(database, data_dir, NOON_MS + 900, monitor="DP-2")
    late = store_frame(database, data_dir, NOON_MS + 1000)
    assert frames.neighbours(database, late) == (before.id, after.id)
    assert frames.neighbours(database, before) == (None, late.id)
    assert frames.neighbours(database, after) == (late.id, None)


def test_nearest_prefers_the_closer_frame_and_then_the_earlier(database: Database, data_dir: DataDir) -> None:
    first = store_frame(database, data_dir, NOON_MS)
    second = store_frame(database, data_dir, NOON_MS + 1000)
    found = [frames.nearest(database, NOON_MS + at) for at in (-5, 400, 500, 501, 9000)]
    assert [frame and frame.id for frame in found] == [first.id, first.id, first.id, second.id, second.id]


def test_a_range_opens_at_its_newest_frame_that_shows_something(
    database: Database, data_dir: DataDir
) -> None:
    def newest(*apps: str) -> int | None:
        return frames.newest_shown(database, NOON_MS, NOON_MS + 10, apps)

    store_frame(database, data_dir, NOON_MS + 10)
    assert newest() is None
    hidden = store_frame(database, data_dir, NOON_MS, app_name=None)
    assert newest() == hidden.id
    shown = store_frame(database, data_dir, NOON_MS + 1, app_name="Code")
    store_frame(database, data_dir, NOON_MS + 2, app_name="Web", focused=False)
    for unnamed in (None, PRIVATE_WINDOW, HIDDEN_WINDOW):
        store_frame(database, data_dir, NOON_MS + 3, app_name=unnamed)
    assert newest() == newest("Code", "Mail") == shown.id
    assert newest("Mail") is None
    imported = store_frame(database, data_dir, NOON_MS + 4, app_name=None, source="import")
    assert newest() == imported.id


def test_nearest_in_an_empty_home_is_nothing(database: Database) -> None:
    assert frames.nearest(database, NOON_MS) is None


@pytest.mark.parametrize("frame_id", [0, -1, 1, 2**53, 2**63, 2**80])
def test_an_unknown_id_is_not_found(database: Database, frame_id: int) -> None:
    with pytest.raises(NotFound):
        frames.get(database, frame_id)


@pytest.mark.parametrize("focused", [True, False, None])
def test_focus_is_three_valued(database: Database, data_dir: DataDir, focused: bool | None) -> None:
    assert store_frame(database, data_dir, focused=focused).focused is focused


def test_extending_never_shortens(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, NOON_MS)
    with database.write() as connection:
        assert frames.extend(connection, frame.capture_id, NOON_MS + 5000) == frame.id
        frames.extend(connection, frame.capture_id, NOON_MS + 3000)
        assert frames.extend(connection, "unknown", NOON_MS) is None
    assert frames.get(database, frame.id).ended_ms == NOON_MS + 5000


def test_a_failed_reading_waits_for_its_next_try_and_can_be_given_up(
    database: Database, data_dir: DataDir
) -> None:
    """Failure is a state with a reason, never empty text."""
    frame = store_frame(database, data_dir, NOON_MS)
    with database.write() as connection:
        readings.mark_reading_failed(connection, frame.id, "engine died", NOON_MS + 1000)
    assert readings.pending_frames(database, NOON_MS, 10) == []
    assert [f.id for f in readings.pending_frames(database, NOON_MS + 1000, 10)] == [frame.id]
    with database.write() as connection:
        readings.mark_reading_failed(connection, frame.id, "engine died", None)
    given_up = frames.get(database, frame.id)
    assert (given_up.status, given_up.reading_error, given_up.reading_attempts) == (
        "failed",
        "engine died",
        2,
    )


def test_frames_wait_while_no_engine_can_read_them(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    with database.write() as connection:
        readings.mark_unavailable(connection, frame.id, "no OCR engine")
    assert readings.pending_frames(database, NOON_MS, 10) == []
    with database.write() as connection:
        assert readings.requeue_unavailable(connection) == 1
    assert [f.id for f in readings.pending_frames(database, NOON_MS, 10)] == [frame.id]


def test_the_index_is_fresh_up_to_the_last_frame_before_one_that_waits(
    database: Database, data_dir: DataDir
) -> None:
    assert readings.index_fresh_to_ms(database) is None
    store_frame(database, data_dir, NOON_MS, text="read")
    assert readings.index_fresh_to_ms(database) == NOON_MS
    store_frame(database, data_dir, NOON_MS + 1000)
    store_frame(database, data_dir, NOON_MS + 2000, text="read early")
    assert readings.index_fresh_to_ms(database) == NOON_MS
    assert readings.count_pending(database) == 1


def test_the_list_of_waiting_frames_is_read_from_its_index(database: Database) -> None:
    with database.read() as connection:
        plan = connection.execute(
            "explain query plan select id from frames where reading_state = 'pending' order by id limit 5"
        ).fetchall()
    assert "frames_to_read" in plan[0][3]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from(["A", "B"])), min_size=1, max_size=12))
def test_walking_by_neighbours_visits_each_frame_of_a_monitor_once(
    tmp_path_factory: pytest.TempPathFactory, moments: list[tuple[int, str]]
) -> None:
    home = DataDir(tmp_path_factory.mktemp("walk") / "home").create()
    database = open_database(home)
    made = [store_frame(database, home, NOON_MS + at, monitor=name) for at, name in moments]
    on_a = sorted(frame.id for frame in made if frame.monitor == "A")
    walked, at = [], on_a[0] if on_a else None
    while at is not None:
        walked.append(at)
        at = frames.neighbours(database, frames.get(database, at))[1]
    assert walked == on_a
    database.close_thread()
