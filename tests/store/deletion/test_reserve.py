"""Space that is kept aside for deleting on a full disk."""

from __future__ import annotations

import errno
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from store.core import database as core
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import reserve
from tests.tables import for_each

SIZE = 2_000_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "RESERVE_BYTES", SIZE)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how much room the disk has."""

    def set_free(free_bytes: int) -> None:
        monkeypatch.setattr(reserve.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_bytes))

    return set_free


def test_space_is_kept_and_given_up_for_a_deletion_that_needs_it(
    data_dir: DataDir, free: Callable[[int], None]
) -> None:
    free(10 * SIZE)
    reserve.keep(data_dir)
    reserve.keep(data_dir)
    kept = data_dir.reserve.stat()
    assert kept.st_size == SIZE and kept.st_blocks * 512 >= SIZE and kept.st_mode & 0o777 == 0o600
    reserve.use(data_dir)
    assert data_dir.reserve.exists()
    free(SIZE - 1)
    reserve.use(data_dir)
    reserve.use(data_dir)
    assert not data_dir.reserve.exists()


def test_a_disk_with_little_room_is_not_filled_further(
    data_dir: DataDir, free: Callable[[int], None]
) -> None:
    free(3 * SIZE)
    reserve.keep(data_dir)
    assert not data_dir.reserve.exists()


@for_each("number", [errno.ENOSPC, errno.EIO])
def test_a_database_that_a_full_disk_keeps_from_being_opened_gets_the_reserve(
    migrated: DataDir, free: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """SQLite needs some room to open one, and nothing can be deleted before."""
    real = core._opened

    def opened(data_dir: DataDir) -> Database:
        if has_room or (not data_dir.reserve.exists() and was_kept):
            return real(data_dir)
        raise OSError(number, "full")

    monkeypatch.setattr(core, "_opened", opened)
    free(0)
    has_room, was_kept = False, False
    migrated.reserve.unlink(missing_ok=True)
    with pytest.raises(OSError, match="No space left"):
        core.open_database(migrated)
    was_kept = True
    migrated.reserve.write_bytes(b"noise")
    core.open_database(migrated).close_thread()
    assert not migrated.reserve.exists()
    has_room = True
    migrated.reserve.write_bytes(b"noise")
    core.open_database(migrated).close_thread()
    assert migrated.reserve.exists()
