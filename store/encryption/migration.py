"""Encrypt a home folder, or decrypt it; while its programs are stopped.

The stage stands in ``encryption.json`` first (`store.core.keys`), and nothing opens the home until it is
done. Each file is written anew beside the old one, then takes its place; encrypting, the old bytes are
overwritten as soon as the new file is whole and durable. So whatever moment it is killed at, one of the two
is whole, and the next run goes on; at its end there is one of each. The database is copied into a new file
in the same way.

Backups go: those from before hold everything in the clear, and those of an encrypted home open with its key
alone, which decrypting gives up. What was deleted earlier may be left in free space of the disk.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import apsw

from store.backup.restore import check_unused, stopped
from store.chats import attachments
from store.core import cipher, copies, keys
from store.core.errors import DatabaseDamaged, HomeLocked, StoreBusy
from store.core.keys import Lock, SealedBox
from store.core.paths import FILE_MODE, DataDir, sync_directory, write_file
from store.frames import media
from store.spool import queue, window_hints

Told = Callable[[int], object]

_NEW = ".crypt"
_IN_THE_CLEAR = {"reason.txt", "deaths"}  # why an entry of the spool failed, and how often: no content
_ERASED_AT_ONCE = 1 << 20
_ROOM_BYTES = 200_000_000


def encrypt(
    data_dir: DataDir, passphrase: Callable[[], str], *, in_keyring: bool, on_file: Told = lambda _: None
) -> None:
    """Encrypt a home, or go on with it. One that is encrypted gets another passphrase, and a place in the
    keyring or none. `passphrase` is asked for a new one where one is needed; `on_file` is told how many files
    are done.

    Raises `HomeLocked` when a library or the key is missing, `StoreBusy` while a program works on the home,
    and `OSError`.
    """
    cipher.check_build()
    with stopped(data_dir, "spool/capture.lock"):
        _check_whole(data_dir)
        lock = keys.read(data_dir.home)
        if lock is None:
            check_unused(data_dir)
            _check_room(data_dir)
            lock = keys.new_lock(os.urandom(32), passphrase(), in_keyring=in_keyring, stage="encrypting")
            keys.write(data_dir.home, lock)
        elif lock.stage == "encrypted":
            return _change_lock(data_dir, lock, passphrase, in_keyring)
        elif lock.stage == "decrypting":
            raise HomeLocked("`recollect decrypt` was broken off; run it again to finish it")
        box = SealedBox(data_dir.home, lock, keys.unlock(data_dir.home, lock))
        _erase_leavings(data_dir)
        for number, (path, name) in enumerate(_files(data_dir), 1):
            _seal(path, name, box)
            on_file(number)
        _convert(data_dir, None, box.database_key)
        for path in (*copies.copies(data_dir), *copies.leavings(data_dir)):
            _erase(path)
        keys.write(data_dir.home, replace(lock, stage="encrypted"))


def decrypt(data_dir: DataDir, on_file: Told = lambda _: None) -> None:
    """Decrypt a home, or go on with it. Raises as `encrypt` does."""
    cipher.check_build()
    with stopped(data_dir, "spool/capture.lock"):
        _check_whole(data_dir)
        lock = keys.read(data_dir.home)
        if lock is None:
            return
        if lock.stage == "encrypting":
            raise HomeLocked("`recollect encrypt` was broken off; run it again to finish it")
        box = SealedBox(data_dir.home, lock, keys.unlock(data_dir.home, lock))
        if lock.stage == "encrypted":
            check_unused(data_dir)
            _check_room(data_dir)
            keys.write(data_dir.home, replace(lock, stage="decrypting"))
        _erase_leavings(data_dir)
        for number, (path, name) in enumerate(_files(data_dir), 1):
            _unseal(path, name, box)
            on_file(number)
        _convert(data_dir, box.database_key, None)
        for path in (*copies.copies(data_dir), *copies.leavings(data_dir)):
            _erase(path)
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
    if not in_keyring:
        keys.forget(lock)


def _check_room(data_dir: DataDir) -> None:
    needed = _ROOM_BYTES + (data_dir.database.stat().st_size if data_dir.database.exists() else 0)
    if shutil.disk_usage(data_dir.home).free < needed:
        raise StoreBusy(f"{needed / 1e9:.1f} GB of the disk must be free to write the database anew")


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


def _below(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if not name.endswith(_NEW) and not path.is_symlink():
                yield path


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}{_NEW}")


def _seal(path: Path, name: str, box: SealedBox) -> None:
    new = _new(path)
    if not _opens(new, name, box):
        content = path.read_bytes()
        if _is_sealed(content, name, box):
            return
        write_file(new, box.seal(name, content), os.O_TRUNC)
        sync_directory(new.parent)
    # The new file is whole and stays; the old one may be half overwritten when a run was killed here.
    if path.stat().st_nlink == 1:  # else a backup has it, too, and is erased with its bytes
        _overwrite(path)
    new.replace(path)


def _unseal(path: Path, name: str, box: SealedBox) -> None:
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


def _erase_leavings(data_dir: DataDir) -> None:
    """Files that a crash left unfinished: nobody looks for them any more."""
    staged = data_dir.attachments.glob(f"*{attachments.STAGED}")
    for path in (*data_dir.media.rglob(".*.tmp"), *staged, *data_dir.spool.glob(".*.tmp")):
        _erase(path)
    for path in (data_dir.spool / "tmp").glob("*"):
        _erase(path)


def _erase(path: Path) -> None:
    """Overwrite and remove a file, or all files of a folder."""
    if path.is_dir() and not path.is_symlink():
        for child in path.iterdir():
            _erase(child)
        path.rmdir()
        return
    if path.is_file() and not path.is_symlink():
        _overwrite(path)
    path.unlink()


def _overwrite(path: Path) -> None:
    """Put zeros in the place of a file's bytes."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        for start in range(0, size, _ERASED_AT_ONCE):
            file.write(bytes(min(_ERASED_AT_ONCE, size - start)))
        file.flush()
        os.fsync(file.fileno())


# -- the database -----------------------------------------------------------------------------------


def _convert(data_dir: DataDir, old_key: str | None, new_key: str | None) -> None:
    """Let the database have another key; None for none."""
    path, ready = data_dir.database, _new(data_dir.database)
    if not path.exists():
        return
    if not ready.exists():
        if _has_key(path, new_key):
            return
        _copy(path, old_key, ready, new_key)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    sync_directory(path.parent)
    _overwrite(path)
    ready.replace(path)
    sync_directory(path.parent)


def _copy(path: Path, old_key: str | None, ready: Path, new_key: str | None) -> None:
    """Write the database anew; the file has its name only when it is whole, checked and durable."""
    part = ready.with_name(f"{ready.name}.part")
    part.unlink(missing_ok=True)
    with closing(_connection(path, old_key)) as connection:
        try:
            # No program that had the home open before comes back to it meanwhile.
            connection.execute("pragma locking_mode = exclusive; begin exclusive; commit").fetchall()
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(f"another program has {path} open; stop it first") from error
        connection.execute("vacuum into ?", (_address(part, new_key),)).fetchall()
    with closing(_connection(part, new_key)) as connection:
        problems = connection.execute("pragma quick_check").fetchall()
    if problems != [("ok",)]:
        raise DatabaseDamaged("the copy of the database is not sound, and nothing was changed")
    part.chmod(FILE_MODE)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(ready)
    sync_directory(ready.parent)


def _address(path: Path, key: str | None) -> str:
    """Where SQLite writes a copy; with an empty key it is in the clear, whatever the source is."""
    given = "key=" if key is None else f"cipher={cipher.CIPHER}&key=raw:{key}"
    return f"file:{quote(str(path))}?{given}"


def _connection(path: Path, key: str | None) -> apsw.Connection:
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    cipher.unlock(connection, key)
    return connection


def _has_key(path: Path, key: str | None) -> bool:
    with suppress(apsw.NotADBError), closing(_connection(path, key)) as connection:
        connection.execute("select count(*) from sqlite_schema").fetchall()
        return True
    return False
