"""Encrypt a home folder, or decrypt it; while its programs are stopped.

The stage stands in ``encryption.json`` first (`store.core.keys`), and nothing opens the home until it is
done. Each file is written anew beside the old one, then takes its place; encrypting, the old bytes are
overwritten as soon as the new file is whole and durable. So whatever moment it is killed at, one of the two
is whole, and the next run goes on; at its end there is one of each. The database is copied into a new file
in the same way. Where encrypting cannot go on, decrypting takes it back.

Backups go: those from before hold everything in the clear, and those of an encrypted home open with its key
alone, which decrypting gives up. Bytes that a hard link outside the home has, too, are never overwritten.
What was deleted earlier may be left in free space of the disk.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import apsw

from store.backup.restore import check_unused, stopped
from store.chats import attachments
from store.core import cipher, copies, keys
from store.core.errors import DatabaseDamaged, HomeLocked, StoreBusy, StoreError
from store.core.keys import Lock, SealedBox
from store.core.paths import FILE_MODE, DataDir, sync_directory, write_file
from store.frames import media
from store.spool import queue, window_hints

OnFile = Callable[[int], object]
Linked = dict[int, Path]
"""Files that were removed, but not overwritten because they had other links; by inode."""

_NEW = ".crypt"
_IN_THE_CLEAR = {"reason.txt", "deaths"}  # why an entry of the spool failed, and how often: no content
_ERASED_AT_ONCE = 1 << 20
_ROOM_BYTES = 200_000_000


def encrypt(
    data_dir: DataDir, passphrase: Callable[[], str], *, in_keyring: bool, on_file: OnFile = lambda _: None
) -> list[Path]:
    """Encrypt a home, or go on with it. One that is encrypted gets another passphrase, and a place in the
    keyring or none. `passphrase` is asked for a new one where one is needed; `on_file` is told how many files
    are done. Returns the files whose old bytes have a link outside the home and stay there.

    Raises `HomeLocked` when a library or the key is missing, `StoreBusy` while a program works on the home
    or the disk has no room, `DatabaseDamaged`, `StoreError` for a file that resists, and `OSError`.
    """
    cipher.check_build()
    linked: Linked = {}
    with _explaining_full_disk(), stopped(data_dir, "spool/capture.lock"):
        _check_whole(data_dir)
        lock = keys.read(data_dir.home)
        if lock is None:
            check_unused(data_dir)
            _check_room(data_dir)
            _check_sound(data_dir.database, None)
            lock = keys.new_lock(os.urandom(32), passphrase(), in_keyring=in_keyring, stage="encrypting")
            keys.write(data_dir.home, lock)
        elif lock.stage == "encrypted":
            _change_lock(data_dir, lock, passphrase, in_keyring)
            return []
        elif lock.stage == "decrypting":
            raise HomeLocked("`recollect decrypt` was broken off; run it again to finish it")
        else:
            _check_room(data_dir)
        box = SealedBox(data_dir.home, lock, keys.unlock(data_dir.home, lock))
        _erase_leavings(data_dir, linked)
        for number, (path, name) in enumerate(_files(data_dir), 1):
            with _named(path):
                _seal(path, name, box, linked)
            on_file(number)
        _convert(data_dir, None, box.database_key, linked)
        for path in (*copies.copies(data_dir), *copies.leavings(data_dir)):
            with suppress(FileNotFoundError, NotADirectoryError):
                (path / copies.MANIFEST).unlink()  # first: from here on it is no whole backup
            _erase(path, linked)
        keys.write(data_dir.home, replace(lock, stage="encrypted"))
    return sorted(linked.values())


def decrypt(data_dir: DataDir, on_file: OnFile = lambda _: None) -> None:
    """Decrypt a home, or go on with it; or take back an encryption that was broken off. Raises as `encrypt`
    does.
    """
    cipher.check_build()
    with _explaining_full_disk(), stopped(data_dir, "spool/capture.lock"):
        _check_whole(data_dir)
        lock = keys.read(data_dir.home)
        if lock is None:
            return
        box = SealedBox(data_dir.home, lock, keys.unlock(data_dir.home, lock))
        if lock.stage == "encrypting" and _new(data_dir.database).exists():
            _convert(data_dir, None, box.database_key, {})  # the old one may be half overwritten
        # Else encrypting had not come to the database: it stays, sound or not, and so do the backups.
        converts = lock.stage != "encrypting" or _has_key(data_dir.database, box.database_key)
        if converts:
            _check_room(data_dir)
        if lock.stage == "encrypted":
            check_unused(data_dir)
            _check_sound(data_dir.database, box.database_key)
            keys.write(data_dir.home, replace(lock, stage="decrypting"))
        _erase_leavings(data_dir, {})
        for number, (path, name) in enumerate(_files(data_dir), 1):
            with _named(path):
                _unseal(path, name, box)
            on_file(number)
        if converts:
            _convert(data_dir, box.database_key, None, {})
            for path in (*copies.copies(data_dir), *copies.leavings(data_dir)):
                copies.drop(path)
        _part(data_dir.database).unlink(missing_ok=True)
        data_dir.encryption.unlink()
        sync_directory(data_dir.home)
        keys.forget(lock)


def _check_whole(data_dir: DataDir) -> None:
    if data_dir.restoring.exists():
        raise StoreBusy("a restore was broken off; run `recollect restore` to finish it first")


def _change_lock(data_dir: DataDir, lock: Lock, passphrase: Callable[[], str], in_keyring: bool) -> None:
    key = keys.unlock(data_dir.home, lock)
    changed = keys.new_lock(key, passphrase(), in_keyring=in_keyring, lock_id=lock.id, stage=lock.stage)
    keys.write(data_dir.home, changed)
    for path in (*copies.copies(data_dir), *copies.leavings(data_dir)):
        # With the lock that the old passphrase opens.
        if (old := path / data_dir.encryption.name).exists():
            _erase(old, {})
            copies.drop(path)
    if not in_keyring:
        keys.forget(lock)


def _check_room(data_dir: DataDir) -> None:
    path = data_dir.database
    _part(path).unlink(missing_ok=True)
    needed = _ROOM_BYTES + (path.stat().st_size if path.exists() and not _new(path).exists() else 0)
    if shutil.disk_usage(data_dir.home).free < needed:
        raise StoreBusy(f"{needed / 1e9:.1f} GB of the disk must be free to write the database anew")


@contextmanager
def _explaining_full_disk() -> Iterator[None]:
    """Where the room goes meanwhile nothing is lost, and nothing is damaged."""
    try:
        yield
    except (OSError, apsw.FullError, apsw.IOError) as error:
        if not _is_full(error):
            raise
        raise StoreBusy("the disk is full; make room and run this again to go on") from error


def _is_full(error: OSError | apsw.Error) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    # Beside its log SQLite maps a small file, for which there is no room either.
    return (
        isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say which file it was that could not be worked on: the system's error for a read does not."""
    try:
        yield
    except OSError as error:
        if _is_full(error):
            raise
        raise StoreError(
            f"{path}: {error.strerror or error}. Nothing is lost: mend it or move it out of the home folder, "
            "and run this again; `recollect decrypt` takes back an encryption that was broken off"
        ) from error


# -- files ------------------------------------------------------------------------------------------


def _files(data_dir: DataDir) -> Iterator[tuple[Path, str]]:
    """Every file that holds content, and the name under which it is encrypted."""
    for path in _below(data_dir.media):
        yield path, media.sealed_name(path.relative_to(data_dir.media).as_posix())
    for path in _below(data_dir.attachments):
        yield path, attachments.sealed_name(path.name)
    for folder in ("new", "taken", "failed"):
        for path in _below(data_dir.spool / folder):
            if path.name not in _IN_THE_CLEAR:
                yield path, queue.sealed_name(path)
    if (path := window_hints.extension_path(data_dir.spool)).exists():
        yield path, window_hints.SEALED_NAME
    if data_dir.export_key.exists():
        yield data_dir.export_key, data_dir.export_key.name


def _below(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if not name.endswith(_NEW) and not path.is_symlink():
                yield path


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}{_NEW}")


def _seal(path: Path, name: str, box: SealedBox, linked: Linked) -> None:
    new = _new(path)
    if not _opens(new, name, box):
        content = path.read_bytes()
        if _is_sealed(content, name, box):
            new.unlink(missing_ok=True)
            return
        write_file(new, box.seal(name, content), os.O_TRUNC)
        sync_directory(new.parent)
    # The new file is whole and stays; the old one may be half overwritten when a run was killed here.
    _overwrite_unlinked(path, linked)
    new.replace(path)


def _unseal(path: Path, name: str, box: SealedBox) -> None:
    if _opens(_new(path), name, box):
        _new(path).replace(path)  # encrypting was broken off, and what is there may be half overwritten
    _new(path).unlink(missing_ok=True)
    content = path.read_bytes()
    if _is_sealed(content, name, box):  # else it was decrypted already, or nothing opens it
        write_file(_new(path), box.open(name, content), os.O_TRUNC)
        _new(path).replace(path)
        sync_directory(path.parent)


def _opens(path: Path, name: str, box: SealedBox) -> bool:
    return path.exists() and _is_sealed(path.read_bytes(), name, box)


def _is_sealed(content: bytes, name: str, box: SealedBox) -> bool:
    try:
        box.open(name, content)
    except ValueError:
        return False
    return True


def _erase_leavings(data_dir: DataDir, linked: Linked) -> None:
    """Files that a crash left unfinished: nobody looks for them any more."""
    staged, spool = data_dir.attachments.glob(f"*{attachments.STAGED}"), data_dir.spool
    for path in (*data_dir.media.rglob(".*.tmp"), *staged, *spool.glob(".*.tmp"), *spool.glob("tmp/*")):
        _erase(path, linked)


def _erase(path: Path, linked: Linked) -> None:
    """Overwrite and remove a file, or all files of a folder."""
    if path.is_dir() and not path.is_symlink():
        for child in path.iterdir():
            _erase(child, linked)
        path.rmdir()
        return
    if path.is_file() and not path.is_symlink():
        _overwrite_unlinked(path, linked)
    path.unlink()


def _overwrite_unlinked(path: Path, linked: Linked) -> None:
    """Overwrite a file that is about to go, if this is its last link. Until then it is in `linked`, and stays
    there when its last link is not in the home.
    """
    found = path.stat()
    if found.st_nlink == 1:
        _overwrite(path)
        linked.pop(found.st_ino, None)
    else:
        linked.setdefault(found.st_ino, path)


def _overwrite(path: Path) -> None:
    """Put zeros in the place of a file's bytes."""
    size = path.stat().st_size
    with suppress(OSError):
        path.chmod(FILE_MODE)  # it may be read-only
    with path.open("r+b") as file:
        for start in range(0, size, _ERASED_AT_ONCE):
            file.write(bytes(min(_ERASED_AT_ONCE, size - start)))
        file.flush()
        os.fsync(file.fileno())


# -- the database -----------------------------------------------------------------------------------


def _convert(data_dir: DataDir, old_key: str | None, new_key: str | None, linked: Linked) -> None:
    """Let the database have another key; None for none."""
    path, ready = data_dir.database, _new(data_dir.database)
    if not path.exists():
        return
    if _has_key(path, new_key):
        if ready.exists():  # decrypting was broken off, and encrypting goes on: it is in the clear
            _erase(ready, {})
        return
    if not ready.exists():
        _copy(path, old_key, ready, new_key)
    for beside in (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")):
        if beside.exists():
            _erase(beside, linked)
    sync_directory(path.parent)
    if new_key is not None:
        _overwrite_unlinked(path, linked)
    ready.replace(path)
    sync_directory(path.parent)


def _part(path: Path) -> Path:
    return path.with_name(f"{_new(path).name}.part")


def _copy(path: Path, old_key: str | None, ready: Path, new_key: str | None) -> None:
    """Write the database anew; the file has its name only when it is whole, checked and durable."""
    part = _part(path)
    part.unlink(missing_ok=True)
    try:
        _write_copy(path, old_key, part, new_key)
    except Exception:
        part.unlink(missing_ok=True)  # of no use, and as large as the room that was left
        raise
    part.replace(ready)
    sync_directory(ready.parent)


def _write_copy(path: Path, old_key: str | None, part: Path, new_key: str | None) -> None:
    with _sound(), closing(_connection(path, old_key)) as connection:
        try:
            # No program that had the home open before comes back to it meanwhile.
            connection.execute("pragma locking_mode = exclusive; begin exclusive; commit").fetchall()
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(f"another program has {path} open; stop it first") from error
        connection.execute("pragma wal_checkpoint(full)").fetchall()
        connection.execute("vacuum into ?", (_address(part, new_key),)).fetchall()
    _check_sound(part, new_key)
    part.chmod(FILE_MODE)
    with part.open("rb+") as file:
        os.fsync(file.fileno())


def _check_sound(path: Path, key: str | None) -> None:
    """Raise `DatabaseDamaged` where SQLite finds fault with a database."""
    if not path.exists():
        return
    with _sound(), closing(_connection(path, key)) as connection:
        problems = connection.execute("pragma quick_check").fetchall()
        if problems != [("ok",)]:
            raise apsw.CorruptError(str(problems[0][0]))


@contextmanager
def _sound() -> Iterator[None]:
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
        if _is_full(error):
            raise
        raise DatabaseDamaged(
            f"the database is damaged ({error}). It stays as it is: restore a backup first, and where an "
            "encryption was broken off, run `recollect decrypt` before that"
        ) from error


def _address(path: Path, key: str | None) -> str:
    """Where SQLite writes a copy; with an empty key it is in the clear, whatever the source is."""
    given = "key=" if key is None else f"cipher={cipher.CIPHER}&key=raw:{key}"
    return f"file:{quote(str(path))}?{given}"


def _connection(path: Path, key: str | None) -> apsw.Connection:
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # its log is overwritten before it goes
    cipher.unlock(connection, key)
    return connection


def _has_key(path: Path, key: str | None) -> bool:
    with suppress(apsw.NotADBError, apsw.CantOpenError), closing(_connection(path, key)) as connection:
        connection.execute("select count(*) from sqlite_schema").fetchall()
        return True
    return False
