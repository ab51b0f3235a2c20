"""Frames from before rules marked any are marked later: all of them, once, whatever happens in between."""

from __future__ import annotations

import threading

import pytest

from ingest.observations import observation_loop, places
from ingest.observations.observation_loop import ObservationLoop
from store.core.database import Database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.frames import tags as frame_tags
from tests.factories import NOON_MS, store_frame

FRAMES = 7
RULES_MS = NOON_MS + 3_600_000  # since when frames are marked as they come in


@pytest.fixture
def older(database: Database, data_dir: DataDir) -> Database:
    """A database with frames of two apps from before rules marked any, which are still to be marked."""
    for n in range(FRAMES):
        frame = store_frame(
            database, data_dir, NOON_MS + n * 1_000, app_name="Code" if n % 2 else "Firefox",
            window_name="main.py - recall-server - Visual Studio Code", browser_url=None,
        )  # fmt: skip
    with database.write() as connection:
        waiting = "insert into frame_tag_backfill (below, stored_before_ms) values (?, ?)"
        connection.execute(waiting, (frame.id + 1, RULES_MS))
    return database


def tags(database: Database) -> list[list[str]]:
    with database.read() as connection:
        ids = [number for (number,) in connection.execute("select id from frames order by id")]
    return [frame_tags.of_frame(database, number) for number in ids]


def backfill(database: Database) -> int:
    steps = 0
    while observation_loop.tag_some(database, now_ms):
        steps += 1
    return steps


def expected() -> list[list[str]]:
    found = [places.tags(app, "main.py - recall-server - Visual Studio Code", None)
             for app in ("Firefox", "Code")]  # fmt: skip
    assert all(found)
    return [sorted(found[n % 2]) for n in range(FRAMES)]


def test_old_frames_are_marked_in_small_steps(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation_loop, "AT_ONCE", 3)
    assert tags(older) == [[]] * FRAMES
    assert observation_loop.tag_some(older, now_ms)
    assert tags(older) == [[]] * 4 + expected()[4:]  # the newest first
    assert backfill(older) == 3  # 3, 1, and that nothing is left
    assert tags(older) == expected()
    assert {each.source for each in frame_tags.listed(older, NOON_MS * 1024)} == {"rule"}


def test_killed_in_between_it_goes_on_and_marks_nothing_twice(
    older: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation_loop, "AT_ONCE", 3)
    calls = 0

    def dies(*args: str | None) -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return places.tags(*args)

    with monkeypatch.context() as patched:
        patched.setattr(observation_loop, "places", type("Places", (), {"tags": staticmethod(dies)}))
        with pytest.raises(KeyboardInterrupt):
            backfill(older)
    assert tags(older) == [[]] * 4 + expected()[4:]  # what the second step had marked was undone
    backfill(older)
    assert tags(older) == expected()


def test_a_tag_that_was_taken_off_stays_off_and_a_person_s_own_stays(
    older: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a frame that came in since, of a time before: an import."""
    monkeypatch.setattr(observation_loop, "AT_ONCE", 3)
    with older.write() as connection:
        number = connection.execute("select max(id) from frames").fetchone()[0]
        frame_tags.add(connection, number, "mine", NOON_MS)
    late = store_frame(older, data_dir, NOON_MS - 5_000, app_name="Code").id
    with older.write() as connection:
        connection.execute("update frames set stored_ms = ? where id = ?", (RULES_MS, late))
    observation_loop.tag_some(older, now_ms)
    with older.write() as connection:
        for tag in frame_tags.of_frame(older, number):
            if tag != "mine":
                frame_tags.remove(connection, number, tag)
    backfill(older)
    assert frame_tags.of_frame(older, number) == ["mine"]
    assert frame_tags.of_frame(older, late) == []


def test_a_new_home_has_nothing_to_do(database: Database, data_dir: DataDir) -> None:
    store_frame(database, data_dir, NOON_MS, app_name="Code")
    assert backfill(database) == 0 and tags(database) == [[]]


def test_the_worker_does_it_when_nothing_else_is_due(older: Database) -> None:
    loop = ObservationLoop(older, now_ms, threading.Event())
    while loop.step():
        pass
    assert tags(older) == expected()
