"""Stored pictures are looked after while the worker runs, and a failure is told."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.worker.housekeeping import Housekeeping
from store.backup import backup
from store.core import copies, database
from store.core.database import Database
from store.core.settings import BackupSettings, RetentionSettings
from store.deletion import deletion, receipts, reserve, retention
from store.frames import pending
from store.frames.frames import FrameRow
from tests.factories import NOON_MS, Clock, store_frame

LATER_MS = NOON_MS + 100 * 86_400_000


def housekeeping(home: Home) -> tuple[Housekeeping, WorkerStats]:
    stats = WorkerStats(Clock(LATER_MS))
    return Housekeeping(home, stats, Clock(LATER_MS), threading.Event()), stats


def test_what_was_chosen_in_the_app_is_done(home: Home) -> None:
    store_frame(home.database, home.data_dir, text="words")
    keeper, _ = housekeeping(home)
    keeper.step()
    assert len(home.media.files()) == 1 and retention.runs(home.database, 1) == []
    retention.choose(home.database, RetentionSettings(days=50, preview_days=50), RetentionSettings())
    keeper, _ = housekeeping(home)
    keeper.step()
    assert home.media.files() == []
    assert [run.pictures for run in retention.runs(home.database, 9)] == [1]


def test_it_waits_for_another_and_tells_of_a_failure(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    store_frame(home.database, home.data_dir, text="words")
    retention.choose(home.database, RetentionSettings(days=50), RetentionSettings())
    monkeypatch.setattr(retention, "_WAIT_S", 0)
    keeper, stats = housekeeping(home)
    with pending.only_writer(home.database):
        assert keeper.step() > 1
    assert stats.known.last_error == ""

    def full(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(type(home.media), "write", full)
        keeper.step()
    assert "no space left" in stats.known.last_error
    assert len(home.media.files()) == 1


@pytest.fixture(autouse=True)
def _small_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "RESERVE_BYTES", 2_000_000)


def test_a_deletion_is_followed_by_a_backup_at_the_next_step(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step a minute; but many deletions in a row make no backup each."""
    frames = [store_frame(home.database, home.data_dir, NOON_MS + n, text="words") for n in range(4)]
    keeper, _ = housekeeping(home)
    monkeypatch.setattr(time, "monotonic", clock := Ticking())

    def is_backed_up_after(seconds: float, *gone: FrameRow) -> bool:
        clock.seconds += seconds
        if gone:
            deletion.delete_frames(home.database, home.media, [frame.id for frame in gone])
        keeper.step()
        return bool(backup.listed(home.data_dir))

    assert is_backed_up_after(0)
    assert is_backed_up_after(1_000)  # it is of today: none is due
    assert is_backed_up_after(60, frames[0])
    assert not is_backed_up_after(60, frames[1])
    assert is_backed_up_after(541)


class Ticking:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def test_space_for_deleting_is_kept_again_after_it_was_used(home: Home) -> None:
    for _ in range(2):
        housekeeping(home)[0].step()
        assert home.data_dir.reserve.stat().st_size == 2_000_000
        home.data_dir.reserve.unlink()


def test_a_log_that_readers_kept_long_is_folded(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    log = home.data_dir.database.with_name("recollect.db-wal")
    with home.database.read() as connection:
        connection.execute("select * from preferences").fetchall()
        other = Database(home.data_dir)
        for _ in range(20):
            store_frame(other, home.data_dir, text="words " * 500)
        other.close_thread()
    long = log.stat().st_size
    housekeeping(home)[0].step()
    assert log.stat().st_size >= long  # it is as it always was, and SQLite would use it from the start
    monkeypatch.setattr(database, "_LONG_LOG_BYTES", long - 1)
    housekeeping(home)[0].step()
    assert log.stat().st_size < long / 2


def test_a_backup_is_made_once_a_day_and_after_a_deletion(home: Home) -> None:
    store_frame(home.database, home.data_dir, text="words")
    for _ in range(2):
        housekeeping(home)[0].step()
    [(_, made)] = backup.listed(home.data_dir)
    assert (made.made_ms, made.pictures, made.generation) == (LATER_MS, 1, "")
    with home.database.write() as connection:
        copies.outdate(connection)
    housekeeping(home)[0].step()
    [(_, again)] = backup.listed(home.data_dir)
    assert again.generation == copies.generation(home.database) != ""


def test_a_deletion_whose_program_died_is_finished_without_a_restart(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_frame(home.database, home.data_dir, text="words")

    def die(_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr(deletion.Erasure, "remove", die)
        deletion.delete_range(home.database, home.media, NOON_MS, NOON_MS + 1)
    assert receipts.is_unfinished(home.database)
    housekeeping(home)[0].step()
    assert home.media.files() == [] and not receipts.is_unfinished(home.database)


@pytest.mark.parametrize("keep", [0, 7])
def test_what_retention_took_frees_its_room_where_no_backup_is_made(
    home: Home, monkeypatch: pytest.MonkeyPatch, keep: int
) -> None:
    store_frame(home.database, home.data_dir, text="words")
    backup.make(home.database, NOON_MS)
    retention.choose(home.database, RetentionSettings(days=50, preview_days=50), RetentionSettings())
    home = replace(home, settings=replace(home.settings, backup=BackupSettings(keep=keep)))
    monkeypatch.setattr(backup, "ROOM_BYTES", 2**62)  # of which no disk has as much
    housekeeping(home)[0].step()
    assert copies.copies(home.data_dir) == []
