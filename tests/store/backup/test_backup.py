"""Backups: sound whatever happens while one is made, and nothing deleted lives on in one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from store.backup import backup, export
from store.chats import conversations
from store.core import copies
from store.core.database import Database, open_database
from store.core.errors import StoreBusy, StoreError
from store.core.paths import DataDir, file_lock
from store.core.settings import RetentionSettings
from store.deletion import deletion, receipts, retention
from store.frames import frames, packing
from store.frames.media import Media
from store.privacy.rules import RuleSet
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, store_frame

SECRET = "xylophonequark"
HOUR_MS = 3_600_000
LATER_MS = NOON_MS + 100 * HOUR_MS


class Killed(BaseException):
    """The process ends here: nothing that tidies up runs any more."""


def put(database: Database, count: int = 3, text: str = "ordinary words") -> list[frames.FrameRow]:
    return [store_frame(database, database.data_dir, NOON_MS + n * 1_000, text) for n in range(count)]


def holds(data_dir: DataDir, secret: str = SECRET) -> list[str]:
    """The files below the home that contain these bytes."""
    found = (path for path in data_dir.home.rglob("*") if path.is_file())
    return sorted(path.name for path in found if secret.encode() in path.read_bytes())


def problems(path: Path) -> tuple[str, ...]:
    """What a home or a copied backup does not agree on."""
    home = DataDir(path).create()
    database = open_database(home)
    try:
        return verify(database, Media(home.media), Spool(home.spool)).problems
    finally:
        database.close_thread()


def test_a_backup_is_a_home_that_verifies(database: Database, data_dir: DataDir, tmp_path: Path) -> None:
    put(database)
    data_dir.config.write_text("[web]\nport = 1\n")
    data_dir.token.write_text("secret")
    data_dir.providers.write_text("{}")
    path, made = backup.make(database, NOON_MS)
    assert (path.name, made.pictures, made.missing) == ("2026-11-20T120000-000Z", 3, 0)
    assert {each.name for each in path.iterdir()} == {"config.toml", "manifest.json", "media", "recollect.db"}
    assert [found for found, _ in backup.listed(data_dir)] == [path]
    assert all(each.stat().st_nlink == 2 for each in (path / "media").rglob("*.webp"))
    shutil.copytree(path, tmp_path / "copy")
    assert problems(tmp_path / "copy") == problems(data_dir.home)


def test_pictures_move_into_packs_and_the_backup_keeps_its_own(
    database: Database, data_dir: DataDir, media: Media, tmp_path: Path
) -> None:
    put(database)
    with database.write() as connection:
        connection.execute("update frames set is_packable = 1")
    path, _ = backup.make(database, NOON_MS)
    while packing.pack_next(database, media, LATER_MS):
        deletion.empty_trash(database, media)
    shutil.copytree(path, tmp_path / "copy")
    assert problems(tmp_path / "copy") == problems(data_dir.home)


def test_one_file_holds_the_same_and_is_read_back(
    database: Database, data_dir: DataDir, media: Media, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database)
    target = tmp_path / "out.zip"
    made = backup.archive(database, target, NOON_MS)
    with zipfile.ZipFile(target) as bundle:
        assert bundle.testzip() is None
        assert made.pictures == 3
        pictures = {f"media/{name}" for name in media.files()}
        assert set(bundle.namelist()) == {"recollect.db", "manifest.json", *pictures}
    assert target.stat().st_mode & 0o777 == 0o600
    assert copies.copies(data_dir) == []
    before = target.read_bytes()

    with monkeypatch.context() as patch, pytest.raises(OSError, match="as it should be"):
        patch.setattr(zipfile.ZipFile, "testzip", lambda _: "recollect.db")
        backup.archive(database, target, NOON_MS)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".zip", ".part")] == ["out.zip"]


def test_two_at_once_are_one(database: Database, data_dir: DataDir) -> None:
    with file_lock(data_dir.backups / ".lock"), pytest.raises(StoreBusy, match="another backup"):
        backup.make(database, NOON_MS)
    assert copies.copies(data_dir) == []


def test_daily_ones_rotate(database: Database, data_dir: DataDir) -> None:
    old = data_dir.backups / "before-m999-1.db"
    database.copy_to(old, lambda: False)
    assert backup.is_due(data_dir, NOON_MS)
    made = []
    for day in range(4):
        made.append(backup.make(database, NOON_MS + day * backup.DAY_MS)[0])
        backup.rotate(database, 2)
    assert [path for path, _ in backup.listed(data_dir)] == [made[3], made[2]]
    last_ms, day_ms = NOON_MS + 3 * backup.DAY_MS, backup.DAY_MS
    due = [backup.is_due(data_dir, last_ms + ms) for ms in (0, day_ms - 1, day_ms, -1, -day_ms - 1)]
    assert due == [False, False, True, False, True]


def test_a_clock_that_was_wrong_makes_neither_too_many_nor_takes_the_new_one(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    put(database)
    ahead, _ = backup.make(database, LATER_MS)
    path, _ = backup.make(database, NOON_MS)
    assert not backup.is_due(data_dir, NOON_MS)
    backup.rotate(database, 1, path)
    assert [found for found, _ in backup.listed(data_dir)] == [ahead, path]
    retention.run(database, media, RetentionSettings(days=1), 2 * LATER_MS)
    backup.rotate(database, 7, path)
    assert [found for found, _ in backup.listed(data_dir)] == [path]


# -- deletion -----------------------------------------------------------------------------


def test_what_is_deleted_is_in_no_backup(
    database: Database, data_dir: DataDir, media: Media, tmp_path: Path
) -> None:
    put(database, text=SECRET)
    backup.make(database, NOON_MS)
    outside = tmp_path / "out.zip"
    backup.archive(database, outside, NOON_MS)
    assert "recollect.db" in holds(data_dir)
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS)
    assert (receipt.verified, receipt.counts.copies, receipt.elsewhere) == (True, 1, (str(outside),))
    assert holds(data_dir) == [] and media.files() == []
    path, _ = backup.make(database, LATER_MS)
    outside.unlink()
    receipt = deletion.delete_range(database, media, LATER_MS, LATER_MS + 1)
    assert (receipt.counts.copies, receipt.elsewhere, path.exists()) == (1, (), False)


def test_what_retention_takes_goes_with_the_next_backup(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    put(database, text=SECRET)
    backup.make(database, NOON_MS)
    retention.run(database, media, RetentionSettings(text_days=1), LATER_MS)
    assert holds(data_dir) == ["recollect.db"] and len(backup.listed(data_dir)) == 1
    path, _ = backup.make(database, LATER_MS + 1)
    assert len(backup.listed(data_dir)) == 2
    backup.rotate(database, 7)
    assert [found for found, _ in backup.listed(data_dir)] == [path]
    assert holds(data_dir) == []
    backup.make(database, LATER_MS + 2)
    backup.rotate(database, 7)
    assert len(backup.listed(data_dir)) == 2


@pytest.mark.parametrize("step", ["copy_to", "_files_named", "link", "sha256_of", "write_file", "stamp"])
@pytest.mark.parametrize("is_after", [False, True])
def test_a_deletion_meanwhile_leaves_no_backup_that_has_it(
    database: Database,
    data_dir: DataDir,
    media: Media,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    is_after: bool,
) -> None:
    """Before or after each step of the maker somebody begins to delete, in another thread."""
    put(database, text=SECRET)
    owner = Database if step == "copy_to" else backup
    real, drop = getattr(owner, step), deletion.Erasure._drop_copies
    made, has_dropped = list[receipts.Receipt](), threading.Event()

    def delete() -> None:
        made.append(deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS))
        database.close_thread()

    def tell(erasure: deletion.Erasure) -> None:
        drop(erasure)
        has_dropped.set()

    thread = threading.Thread(target=delete)

    def stepped(*args: Any) -> Any:
        result = real(*args) if is_after else None
        if not has_dropped.is_set():
            thread.start()
            has_dropped.wait()
        return result if is_after else real(*args)

    monkeypatch.setattr(deletion.Erasure, "_drop_copies", tell)
    monkeypatch.setattr(owner, step, stepped)
    with contextlib.suppress(StoreBusy):
        backup.make(database, NOON_MS)
    thread.join()
    assert made[0].verified, made
    assert (holds(data_dir), media.files()) == ([], [])
    assert [path for path in data_dir.backups.rglob("*.webp")] == []


def test_a_deletion_stops_the_copying(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot it is read from would keep the log from being truncated."""
    put(database, text=SECRET)
    with pytest.raises(StoreBusy, match="deleted"), monkeypatch.context() as patch:
        patch.setattr("store.core.database._STEPS_BETWEEN_CHECKS", 1)
        patch.setattr("store.core.database._ASK_EVERY_S", 0)
        patch.setattr(Path, "exists", lambda path: not path.name.startswith(copies.UNDER_WAY))
        backup.make(database, NOON_MS)
    assert copies.copies(data_dir) == []


def test_every_deletion_reaches_the_backups(database: Database, data_dir: DataDir) -> None:
    chat_id = conversations.create(database, "what?", NOON_MS)
    backup.make(database, NOON_MS)
    conversations.delete(database, chat_id)
    assert copies.copies(data_dir) == []


# -- kills and full disks -----------------------------------------------------------------

STEPS = [
    (Database, "copy_to"),
    (backup, "_files_named"),
    (backup, "_copy"),
    (backup, "link"),
    (backup, "sync_directory"),
    (backup, "sha256_of"),
    (backup, "write_file"),
    (Path, "rename"),
]
at_each_step = pytest.mark.parametrize(("owner", "step"), STEPS, ids=[step for _, step in STEPS])


@pytest.fixture
def good(database: Database, data_dir: DataDir) -> Path:
    """A backup that was made before."""
    put(database)
    data_dir.config.write_text("")
    return backup.make(database, NOON_MS)[0]


@at_each_step
def test_a_kill_leaves_no_half_backup(
    database: Database,
    data_dir: DataDir,
    good: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    step: str,
) -> None:
    for is_after in (False, True):
        real = getattr(owner, step)

        def die(*args: Any, real: Any = real, after: bool = is_after, **named: Any) -> None:
            if after:
                real(*args, **named)
            raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(owner, step, die)
            patch.setattr(backup.shutil, "rmtree", lambda *_, **__: None)
            backup.make(database, NOON_MS + 1)
        found = [path for path, _ in backup.listed(data_dir)]
        assert good in found
        for path in found:
            assert (
                backup.sha256_of(path / "recollect.db")
                == json.loads((path / copies.MANIFEST).read_text())["sha256"]["recollect.db"]
            )
    copies.sweep(database)
    assert copies.leavings(data_dir) == []


@at_each_step
def test_a_full_disk_leaves_what_was_there(
    database: Database,
    data_dir: DataDir,
    good: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    step: str,
) -> None:

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(owner, step, full)
        backup.make(database, NOON_MS + 1)
    assert copies.copies(data_dir) == [good]


def test_a_disk_with_little_room_is_left_alone(
    database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda _: SimpleNamespace(free=backup.ROOM_BYTES))
    with pytest.raises(OSError, match="free space"):
        backup.make(database, NOON_MS)
    assert copies.copies(data_dir) == []


def test_one_that_is_being_made_is_not_swept_away(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that starts sweeps, and so does the worker every minute."""
    put(database)
    real = backup._files_named

    def swept(copied: Database) -> list[str]:
        found = real(copied)
        copied.close_thread()
        deletion.sweep(database, media)
        return found

    monkeypatch.setattr(backup, "_files_named", swept)
    path, _ = backup.make(database, NOON_MS)
    assert copies.copies(data_dir) == [path]


def test_two_that_remove_the_same_copy_do_not_stumble(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker sweeps in the midst of a deletion."""
    put(database, text=SECRET)
    backup.make(database, NOON_MS)
    real = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        result = real(path, target)
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=lambda: (copies.sweep(database), database.close_thread()))
            thread.start()
            thread.join()
        return result

    monkeypatch.setattr(Path, "rename", renamed)
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS)
    assert receipt.verified and holds(data_dir) == [] and copies.leavings(data_dir) == []


def test_what_a_person_put_there_stays(database: Database, data_dir: DataDir, media: Media) -> None:
    own = data_dir.backups / "mine.zip"
    own.write_bytes(b"mine")
    deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS)
    copies.sweep(database)
    assert own.read_bytes() == b"mine"
    with pytest.raises(StoreError, match="inside the home"):
        backup.archive(database, data_dir.backups / "out.zip", NOON_MS)


def test_none_is_made_before_the_words_of_a_deletion_are_erased(
    database: Database, data_dir: DataDir, media: Media, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, text=SECRET)
    store_frame(database, data_dir, NOON_MS + 2 * HOUR_MS, "others")
    monkeypatch.setattr(deletion, "_MERGE_WORTH", 0)
    monkeypatch.setattr(deletion, "_ERASED_AT_ONCE", 0)
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS)
    assert not receipt.verified
    for made in (lambda: backup.make(database, NOON_MS), lambda: backup.archive(database, tmp_path / "x", 1)):
        with pytest.raises(StoreBusy, match="being erased"):
            made()
    receipts.settle(database, media)
    backup.make(database, NOON_MS)
    assert holds(data_dir) == []


def test_a_pipe_or_a_device_is_never_replaced(database: Database, tmp_path: Path) -> None:
    put(database)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="no file that can be replaced"):
        backup.archive(database, pipe, NOON_MS)
    with pytest.raises(StoreError, match="no file that can be replaced"):
        export.export(database, pipe, 0, NOON_MS, NOON_MS, RuleSet())
    assert pipe.is_fifo()
