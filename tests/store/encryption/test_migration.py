"""A home is encrypted and decrypted whole, whatever moment it is killed at."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.backup import backup, restore
from store.core import copies, keys
from store.core.database import open_database
from store.core.errors import DatabaseDamaged, HomeLocked, StoreBusy, StoreError
from store.core.paths import DataDir, file_lock
from store.deletion import deletion
from store.encryption import migration
from store.frames.media import Media
from store.spool.queue import Spool
from store.verify.verify import Report, verify
from tests import factories
from tests.store.encryption import homes
from tests.store.encryption.homes import NEEDS_ENCRYPTING_SQLITE, PASSPHRASE, quick_scrypt

__all__ = ["quick_scrypt"]

pytestmark = [NEEDS_ENCRYPTING_SQLITE, pytest.mark.usefixtures("quick_scrypt")]


def encrypt(data_dir: DataDir, passphrase: str = PASSPHRASE) -> None:
    migration.encrypt(data_dir, lambda: passphrase, in_keyring=False)


def verified(data_dir: DataDir) -> Report:
    database = open_database(data_dir)
    report = verify(database, Media(data_dir.media, database), Spool(data_dir.spool))
    database.close_thread()
    return report


def test_no_word_and_no_picture_is_left_in_the_files(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    before, found = homes.contents(data_dir), verified(data_dir)
    homes.leave(data_dir)
    assert len(homes.in_the_clear(data_dir)) > len(before)
    encrypt(data_dir)
    assert homes.in_the_clear(data_dir) == []
    assert homes.contents(data_dir) == before
    assert homes.frames_found(data_dir) == 3
    assert copies.copies(data_dir) == []
    assert verified(data_dir) == found


def test_what_is_written_later_is_encrypted_too(data_dir: DataDir) -> None:
    encrypt(data_dir)
    homes.fill(data_dir)
    database = open_database(data_dir)  # with its log
    assert homes.frames_found(data_dir) == 3
    assert homes.in_the_clear(data_dir) == []
    database.close_thread()


def test_decrypting_gives_back_the_same(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    before = homes.contents(data_dir)
    encrypt(data_dir)
    migration.decrypt(data_dir)
    assert homes.contents(data_dir) == before
    assert homes.frames_found(data_dir) == 3
    assert keys.read(data_dir.home) is None
    migration.decrypt(data_dir)  # there is nothing to do


def test_a_passphrase_is_changed_and_the_old_one_opens_nothing(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    encrypt(data_dir, "another passphrase")
    homes.forget()
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    with pytest.raises(HomeLocked, match="is wrong"):
        open_database(data_dir)
    monkeypatch.setenv(keys.PASSPHRASE, "another passphrase")
    assert homes.frames_found(data_dir) == 3


def test_no_backup_opens_with_the_old_passphrase(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    database = open_database(data_dir)
    backup.make(database, factories.NOON_MS)
    database.close_thread()
    before = homes.contents(data_dir)
    encrypt(data_dir, "another passphrase")
    monkeypatch.setenv(keys.PASSPHRASE, "another passphrase")
    assert list(data_dir.home.rglob("encryption.json")) == [data_dir.encryption]
    assert homes.contents(data_dir) == before


def test_a_damaged_database_is_not_begun_with(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    before = homes.contents(data_dir)
    sound = data_dir.database.read_bytes()
    data_dir.database.write_bytes(sound[:8192] + os.urandom(len(sound) - 8192))
    with pytest.raises(DatabaseDamaged):
        encrypt(data_dir)
    assert keys.read(data_dir.home) is None
    assert homes.contents(data_dir) == before
    data_dir.database.write_bytes(sound)
    encrypt(data_dir)
    content = bytearray(data_dir.database.read_bytes())
    content[9000] ^= 1
    data_dir.database.write_bytes(content)
    with pytest.raises(DatabaseDamaged):
        migration.decrypt(data_dir)
    lock = keys.read(data_dir.home)
    assert lock is not None and lock.stage == "encrypted"


def test_a_file_that_resists_is_named_and_the_way_back_is_open(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.fill(data_dir)
    before, bad = homes.contents(data_dir), sorted(data_dir.media.rglob("*.webp"))[-1]
    homes.leave(data_dir)
    seal = migration._seal

    def sealed(path: Path, *rest: Any) -> None:
        if path == bad:
            raise OSError(errno.EIO, "Input/output error")
        seal(path, *rest)

    monkeypatch.setattr(migration, "_seal", sealed)
    with pytest.raises(StoreError, match=bad.name):
        encrypt(data_dir)
    migration.decrypt(data_dir)
    assert homes.contents(data_dir) == before
    assert homes.frames_found(data_dir) == 3
    assert len(copies.copies(data_dir)) == 2


def test_bytes_that_are_linked_outside_the_home_stay_and_are_named(data_dir: DataDir, tmp_path: Path) -> None:
    homes.fill(data_dir)
    homes.leave(data_dir)
    picture, other = sorted(data_dir.media.rglob("*.webp"))[:2]
    saved = {path: path.read_bytes() for path in (picture, data_dir.database)}
    for path in saved:
        (tmp_path / path.name).hardlink_to(path)
    (data_dir.backups / ".making-other").hardlink_to(other)
    left = migration.encrypt(data_dir, lambda: PASSPHRASE, in_keyring=False)
    assert left == sorted(saved)
    (tmp_path / "sealed").hardlink_to(picture)
    (tmp_path / "database").hardlink_to(data_dir.database)
    encrypted = (tmp_path / "sealed").read_bytes(), (tmp_path / "database").read_bytes()
    migration.decrypt(data_dir)
    assert all((tmp_path / path.name).read_bytes() == content for path, content in saved.items())
    assert ((tmp_path / "sealed").read_bytes(), (tmp_path / "database").read_bytes()) == encrypted


def test_the_log_of_the_database_is_folded_and_overwritten(data_dir: DataDir, tmp_path: Path) -> None:
    homes.fill(data_dir)
    database = open_database(data_dir)
    factories.store_frame(database, data_dir, factories.NOON_MS + 9000, f"{homes.PLANTED} report 9")
    log = data_dir.database.with_name(f"{data_dir.database.name}-wal")
    shutil.copy(data_dir.database, tmp_path / "database")
    shutil.copy(log, tmp_path / "log")
    database.close_thread()
    shutil.copy(tmp_path / "database", data_dir.database)  # as a power cut leaves it
    shutil.copy(tmp_path / "log", log)
    with log.open("rb") as opened:
        encrypt(data_dir)
        assert not any(opened.read())
    assert homes.frames_found(data_dir) == 4


def test_a_home_that_is_worked_on_stays_as_it_is(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    for name in (*restore.LOCKS, "spool/capture.lock"):
        with file_lock(data_dir.home / name), pytest.raises(StoreBusy, match="stop it first"):
            encrypt(data_dir)
        assert keys.read(data_dir.home) is None
    database = open_database(data_dir)
    with pytest.raises(StoreBusy, match="database open"):
        encrypt(data_dir)
    assert keys.read(data_dir.home) is None
    database.close_thread()
    encrypt(data_dir)
    assert homes.frames_found(data_dir) == 3


def test_a_database_of_another_key_is_said_to_be_damaged(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    other = keys.new_lock(bytes(32), PASSPHRASE, in_keyring=False, stage="encrypted")
    keys.write(data_dir.home, other)
    with pytest.raises(DatabaseDamaged):
        open_database(data_dir)


def test_an_altered_page_of_the_database_is_said_to_be_damaged(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    database = open_database(data_dir)
    # A page of a table: one that is free is never read, and so never found to be altered.
    [page] = database.column("select rootpage from sqlite_master where name = 'frames'")
    [size] = database.column("pragma page_size")
    database.close_thread()
    content = bytearray(data_dir.database.read_bytes())
    content[page * size - size // 2] ^= 1
    data_dir.database.write_bytes(content)
    database = open_database(data_dir)
    with pytest.raises(DatabaseDamaged):
        database.rows("pragma integrity_check")
    database.close_thread()


def test_deleting_from_an_encrypted_home_is_verified(data_dir: DataDir) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    database = open_database(data_dir)
    span = 0, factories.NOON_MS * 2
    receipt = deletion.delete_range(database, Media(data_dir.media, database), *span)
    database.close_thread()
    assert (receipt.verified, receipt.frames) == (True, 3)
    assert homes.frames_found(data_dir) == 0


def test_a_backup_is_encrypted_and_restored_where_its_key_fits(
    data_dir: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.fill(data_dir)
    encrypt(data_dir)
    database = open_database(data_dir)
    backup.make(database, factories.NOON_MS)
    backup.archive(database, tmp_path / "elsewhere.zip", factories.NOON_MS)
    database.close_thread()
    assert homes.in_the_clear(data_dir) == []
    content = (tmp_path / "elsewhere.zip").read_bytes()
    assert b"zanzibar" not in content and b"WEBPVP8" not in content
    restore.restore(data_dir, restore.find(data_dir, "newest"))
    assert homes.frames_found(data_dir) == 3
    plain, empty = DataDir(tmp_path / "plain").create(), DataDir(tmp_path / "empty").create()
    open_database(plain).close_thread()
    with pytest.raises(restore.NoBackup, match="the backup is encrypted, unlike the home"):
        restore.restore(plain, tmp_path / "elsewhere.zip")
    homes.forget()
    with pytest.raises(HomeLocked, match="is locked"):
        restore.restore(empty, tmp_path / "elsewhere.zip")
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    restore.restore(empty, tmp_path / "elsewhere.zip")
    assert homes.frames_found(empty) == 3
    assert [path for path in homes.contents(empty) if path.startswith("media")]


# -- killed at every step ---------------------------------------------------------------------------

_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Killer:
    """Ends this process with SIGKILL before the step of a number: a file opened to be written, half written,
    flushed, renamed, removed or half overwritten.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def install(self) -> None:
        sys.addaudithook(self._event)
        fsync, overwrite, write_file = os.fsync, migration._overwrite, migration.write_file

        def half_written(path: Path, content: bytes, flag: int) -> None:
            self.step(lambda: path.write_bytes(content[: len(content) // 2]))
            write_file(path, content, flag)

        def flushed(descriptor: int) -> None:
            self.step()
            fsync(descriptor)

        def half_overwritten(path: Path) -> None:
            self.step(lambda: path.write_bytes(bytes(100) + path.read_bytes()[100:]))
            overwrite(path)

        os.fsync, migration._overwrite = flushed, half_overwritten
        migration.write_file = half_written  # type: ignore[assignment]

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        is_written = name == "open" and isinstance(arguments[2], int) and bool(arguments[2] & _CHANGING)
        if is_written or name in ("os.rename", "os.remove", "os.rmdir"):
            self.step()

    def step(self, first: Callable[[], object] = lambda: None) -> None:
        self.left -= 1
        if self.left == 0:
            first()
            os.kill(os.getpid(), signal.SIGKILL)


class Filler(Killer):
    """Lets the disk be full from such a step on: what is written in place is half written, too."""

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT:
            self.step()

    def step(self, first: Callable[[], object] = lambda: None) -> None:
        self.left -= 1
        if self.left <= 0:
            first()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def is_killed(
    work: Callable[[DataDir], None], data_dir: DataDir, at: int, fault: type[Killer] = Killer
) -> bool:
    """Whether work on a home that was to be broken off at a step was; False when it came to its end before.

    Where it was not killed it says why it stops.
    """
    child = os.fork()
    if child == 0:
        try:
            fault(at).install()
            work(data_dir)
        except StoreBusy as error:
            os._exit(4 if "the disk is full" in str(error) else 3)
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) if fault is Killer and status else os.WEXITSTATUS(status) in (0, 4)
    return bool(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked for each step")
@pytest.mark.parametrize("work", [encrypt, migration.decrypt])
def test_killed_at_any_step_the_next_run_finishes(
    tmp_path: Path, data_dir: DataDir, work: Callable[[DataDir], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    homes.fill(data_dir)
    before = homes.contents(data_dir)
    if work is encrypt:
        homes.leave(data_dir)
    else:
        encrypt(data_dir)
    at, broken_off = 0, 0
    while True:
        at += 1
        # Each time in the same place: what is bound to the home stays bound.
        copy = DataDir(tmp_path / "copy")
        shutil.rmtree(copy.home, ignore_errors=True)
        shutil.copytree(data_dir.home, copy.home)
        (copy.backups / ".making-linked").hardlink_to(next(copy.media.rglob("*.webp")))
        (copy.home / ".recollect.db.crypt.part").write_bytes(b"half a database")
        if not is_killed(work, copy, at):
            break
        lock = keys.read(copy.home)
        if lock is not None and lock.stage in ("encrypting", "decrypting"):
            broken_off += 1
            with pytest.raises(HomeLocked, match="was broken off"):
                open_database(copy)
        work(copy)
        assert homes.contents(copy) == before, at
        assert [path.name for path in copy.home.rglob("*.crypt*")] == [], at
        assert homes.frames_found(copy) == 3, at
        if work is encrypt:
            assert homes.in_the_clear(copy) == [], at
    assert broken_off > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked for each step")
def test_encrypting_that_was_killed_is_taken_back(
    tmp_path: Path, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    homes.fill(data_dir)
    before = homes.contents(data_dir)
    for at in range(1, 200, 3):
        copy = DataDir(tmp_path / "copy")
        shutil.rmtree(copy.home, ignore_errors=True)
        shutil.copytree(data_dir.home, copy.home)
        if not is_killed(encrypt, copy, at):
            break
        if at % 2 and is_killed(migration.decrypt, copy, at):
            encrypted_on = keys.read(copy.home)
            if encrypted_on is not None and encrypted_on.stage == "encrypting":
                encrypt(copy)
        migration.decrypt(copy)
        assert homes.contents(copy) == before, at
        assert [path.name for path in copy.home.rglob("*.crypt*")] == [], at
        assert homes.frames_found(copy) == 3, at
    assert at > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked for each step")
@pytest.mark.parametrize("work", [encrypt, migration.decrypt])
def test_a_disk_that_fills_is_told_and_the_next_run_finishes(
    tmp_path: Path, data_dir: DataDir, work: Callable[[DataDir], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    homes.fill(data_dir)
    before = homes.contents(data_dir)
    if work is migration.decrypt:
        encrypt(data_dir)
    for at in range(1, 200, 7):
        copy = DataDir(tmp_path / "copy")
        shutil.rmtree(copy.home, ignore_errors=True)
        shutil.copytree(data_dir.home, copy.home)
        if not is_killed(work, copy, at, Filler):
            break
        assert not (copy.home / ".recollect.db.crypt.part").exists()
        work(copy)
        assert homes.contents(copy) == before, at
        assert homes.frames_found(copy) == 3, at
    assert at > 20
