"""Backups: a home at one moment, made while everything runs.

One in the home is a folder below ``backups/``: a compact copy of the database, with links to its pictures and
attached files, which are never changed in place, so that it takes little room. It helps where the database is
damaged or files got lost, not where the disk dies: `archive` writes the same as one zip file for elsewhere.
The token, keys that were entered in the app and what waits in the spool stay out; ``config.toml`` and the
rules go along, because without them excluded windows would be recorded. The backup of an encrypted home is
encrypted like it, and opens with the passphrase of when it was made.

It is written under a name that nobody takes for a backup, checked (SQLite's own check of the copy, SHA-256 of
every byte that was copied), and then renamed. A deletion meanwhile takes it away (`store.core.copies`).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from store.chats import attachments
from store.core import copies
from store.core.database import Database
from store.core.errors import Abandoned, DatabaseDamaged, StoreBusy, StoreError
from store.core.paths import DIRECTORY_MODE, FILE_MODE, DataDir, only_holder, sync_directory, write_file
from store.deletion import receipts
from store.frames import pending

FORMAT = "recollect-backup/1"
ALONG = ("encryption.json", "config.toml", "privacy.json", "recording.json", "sample-week.json")
DAY_MS = 86_400_000
ROOM_BYTES = 500_000_000
"""So much of the disk is left free: a backup never makes capture pause."""
REPLACED = "replaced-"
_WAIT_S = 120.0
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup; `missing` files were not there any more. `sha256` is by name, of what was copied."""

    made_ms: int
    generation: str
    pictures: int
    missing: int
    sha256: dict[str, str]
    format: str = FORMAT

    @classmethod
    def read(cls, path: Path) -> Backup | None:
        """What a folder says of itself; None when it is no backup of this kind."""
        try:
            found = cls(**(copies.manifest(path) or {}))
        except TypeError:
            return None
        return found if found.format == FORMAT and isinstance(found.sha256, dict) else None


def listed(data_dir: DataDir) -> list[tuple[Path, Backup]]:
    """The finished backups of a home, newest first; homes that were put aside by a restore are none."""
    found = [
        (path, backup)
        for path in copies.copies(data_dir)
        if not path.name.startswith(REPLACED) and (backup := Backup.read(path))
    ]
    return sorted(found, key=lambda each: each[1].made_ms, reverse=True)


def newest_good(data_dir: DataDir) -> tuple[Path, Backup] | None:
    """The newest backup whose database is still the one that was written; reads it whole."""
    name = data_dir.database.name
    for path, backup in listed(data_dir):
        if (path / name).exists() and sha256_of(path / name) == backup.sha256.get(name):
            return path, backup
    return None


def advice(data_dir: DataDir, error: Exception) -> str:
    """What a person can do where the database cannot be opened; a version says so itself."""
    if data_dir.restoring.exists():
        return "`recollect restore` finishes it."
    if not isinstance(error, DatabaseDamaged):
        return ""
    found = newest_good(data_dir)
    if found is None:
        name = data_dir.database.name
        return f"There is no backup here. Move {name} away to begin anew; the pictures stay."
    made = datetime.fromtimestamp(found[1].made_ms / 1000).astimezone().isoformat(" ", "minutes")
    return (
        f"Stop Recollect, then `recollect restore newest` puts the backup of {made} in its place;"
        " what is there now is kept."
    )


def make(database: Database, now_ms: int) -> tuple[Path, Backup]:
    """Make a backup in the home. Raises `StoreBusy` when another is being made or something was deleted
    meanwhile, `DatabaseDamaged` when the copy is not sound, and `OSError`; then there is none.
    """
    with _made(database, now_ms) as (folder, backup):
        final = folder.with_name(stamp(now_ms))
        folder.rename(final)
        sync_directory(final.parent)
    return final, backup


def stamp(ms: int) -> str:
    """A name that says when, and sorts by it: ``2026-11-20T143208-125Z``."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H%M%S}-{ms % 1000:03}Z"


def archive(database: Database, target: Path, now_ms: int) -> Backup:
    """Write a backup as one zip file; one that is there is replaced. Raises as `make` does."""
    with copies.noted_elsewhere(database, target.absolute(), now_ms):
        with _made(database, now_ms) as (folder, backup), replacing(target) as partial:
            _zip(folder, partial)
            refuse_deletion_since(database, backup.generation)
        if copies.generation(database) != backup.generation:
            target.unlink()
            raise StoreBusy(DELETED)
    return backup


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new file beside `target`, that takes its place when the block comes to its end. What fails is told of
    `target`: nobody asked for another file. Raises `StoreError` for a device, a pipe or a socket, which a
    rename would take away.
    """
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is no file that can be replaced")
    partial = copies.partial_of(target)
    try:
        write_file(partial, b"", os.O_TRUNC, durable=False)  # with its mode
        yield partial
        with partial.open("r+b") as file:
            os.fsync(file.fileno())
        partial.replace(target)
        sync_directory(target.absolute().parent)
    except OSError as error:
        if error.filename is not None and Path(error.filename) == partial:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        with suppress(OSError):  # a folder that is none has no such file
            partial.unlink(missing_ok=True)


def _zip(folder: Path, partial: Path) -> None:
    """Write a folder as a zip file, and read it back: its own checksums are of every byte."""
    with zipfile.ZipFile(partial, "w", strict_timestamps=False) as bundle:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            kind = zipfile.ZIP_DEFLATED if path.parent == folder else zipfile.ZIP_STORED
            bundle.write(path, path.relative_to(folder), kind)
    with zipfile.ZipFile(partial) as bundle:
        if damaged := bundle.testzip():
            raise OSError(errno.EIO, f"{damaged} was not written to {partial.name} as it should be")


def is_due(data_dir: DataDir, now_ms: int) -> bool:
    """Whether no backup is of the last day (one from the future is of a clock that was wrong)."""
    return not any(0 <= now_ms - made.made_ms < DAY_MS for _, made in listed(data_dir))


def rotate(database: Database, keep: int = 0, new: Path | None = None) -> None:
    """Remove all backups but the `new` one and the newest `keep` (0 keeps all), and every copy of before the
    last time that retention took something. What a restore put aside stays as long as it may.
    """
    found = listed(database.data_dir)
    last_sql = "select max(run_ms) from retention_runs where pictures + previews + frames > 0"
    taken_ms = database.scalar(last_sql) or -1
    outdated_ms = found[keep - 1][1].made_ms - 1 if 0 < keep <= len(found) else -1
    for path in copies.copies(database.data_dir):
        is_aside, known = path.name.startswith(REPLACED), Backup.read(path)
        made_ms = known.made_ms if known else path.stat().st_mtime_ns // 1_000_000
        # Of the new one no clock says that it is old.
        if path != new and made_ms <= (taken_ms if is_aside else max(taken_ms, outdated_ms)):
            copies.drop(path)


# -- how one is made ----------------------------------------------------------------------

DELETED = "something was deleted while this was being written; make it again"


def refuse_deletion_since(database: Database, generation: str) -> None:
    """Raise `StoreBusy` where what was read before may hold what is deleted now."""
    if copies.generation(database) != generation:
        raise StoreBusy(DELETED)


def only_one(data_dir: DataDir) -> AbstractContextManager[None]:
    """Be the only one that makes or restores a backup. Raises `StoreBusy`."""
    return only_holder(data_dir.backups / copies.LOCK, 0.0, "another backup is being made or restored")


@contextmanager
def _made(database: Database, now_ms: int) -> Iterator[tuple[Path, Backup]]:
    """A whole backup under the name of one that is being made; it goes when the block leaves it there."""
    data_dir = database.data_dir
    folder = data_dir.backups / f"{copies.UNDER_WAY}{uuid.uuid4().hex}"
    with only_one(data_dir):
        for left in copies.leavings(data_dir):  # by a maker that was killed
            copies.drop(left)
        if receipts.is_unfinished(database):
            raise StoreBusy("what was deleted is still being erased; make a backup when that is done")
        _check_room(data_dir)
        folder.mkdir(mode=DIRECTORY_MODE)
        number = folder.stat().st_ino
        try:
            backup = _fill(database, folder, now_ms)
            refuse_deletion_since(database, backup.generation)
            if not _is(folder, number):
                raise StoreBusy(DELETED)
            yield folder, backup
        except Exception as error:
            if isinstance(error, Abandoned) or not _is(folder, number):
                raise StoreBusy(DELETED) from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _is(folder: Path, number: int) -> bool:
    """Whether a folder is there, and the very one: writing into one that was taken away makes another."""
    return folder.exists() and folder.stat().st_ino == number


def _check_room(data_dir: DataDir) -> None:
    needed = data_dir.database.stat().st_size + ROOM_BYTES
    if shutil.disk_usage(data_dir.backups).free < needed:
        raise OSError(errno.ENOSPC, f"a backup needs {needed / 1e9:.1f} GB of free space")


def _fill(database: Database, folder: Path, now_ms: int) -> Backup:
    source, made = database.data_dir, DataDir(folder)
    digests: dict[str, str] = {}
    missing = 0
    # First, because the copy of an encrypted database is encrypted with the same key.
    for name in (each for each in ALONG if (source.home / each).exists()):
        digests[name] = _copy(source.home / name, folder / name)
    with pending.only_writer(database, _WAIT_S):  # no picture moves into a pack meanwhile
        database.copy_to(made.database, lambda: not folder.exists())
        with opened(made) as copied:
            generation, names = copies.generation(copied), _files_named(copied)
        for name in names:
            try:
                digest = link(source.home / name, folder / name)
            except FileNotFoundError:
                missing += 1
                continue
            if digest:
                digests[name] = digest
    with opened(made) as copied:
        found = copied.column("pragma integrity_check(1)")
    if found != ["ok"]:
        raise DatabaseDamaged(f"the copy of the database is not sound: {found[0]}")
    made.database.chmod(FILE_MODE)
    for inner in [path for path in folder.rglob("*") if path.is_dir()]:
        sync_directory(inner)
    digests[made.database.name] = sha256_of(made.database)
    backup = Backup(now_ms, generation, len(names) - missing, missing, digests)
    write_file(folder / copies.MANIFEST, json.dumps(asdict(backup)).encode())
    sync_directory(folder)
    return backup


def _files_named(database: Database) -> list[str]:
    """The pictures and attached files that a database names, as paths below its home."""
    made = database.data_dir
    pictures = database.column(
        "select media_path from frames where media_path is not null"
        " union select preview_path from frames where preview_path is not null"
    )
    files = database.column("select distinct sha256 from attachments")
    paths = [attachments.path_of(made, sha256).relative_to(made.home).as_posix() for sha256 in files]
    return [*(f"{made.media.name}/{path}" for path in pictures), *paths]


def pictures_of_frames(database: Database) -> int:
    """How many there are; a file may be a pack of many, and others were attached to questions."""
    return int(database.scalar("select count(*) from frames where media_path is not null"))


@contextmanager
def opened(made: DataDir) -> Iterator[Database]:
    """A database of a backup, closed at the end so that nothing but the one file is left."""
    database = Database(made)
    try:
        yield database
    finally:
        database.close_thread()


def link(source: Path, target: Path, *, as_copy: bool = False) -> str:
    """Have a file in two places. Returns "", or the SHA-256 of a copy, where one is wanted or the disk knows
    no links.
    """
    target.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    if not as_copy:
        try:
            os.link(source, target, follow_symlinks=False)
            return ""
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EDQUOT):
                raise
    return _copy(source, target)


def _copy(source: Path, target: Path) -> str:
    """Copy a file durably; returns its SHA-256, which was read back."""
    with source.open("rb") as read, target.open("xb") as written:
        shutil.copyfileobj(read, written, _CHUNK_BYTES)
        written.flush()
        os.fsync(written.fileno())
    target.chmod(FILE_MODE)
    digest = sha256_of(target)
    if sha256_of(source) != digest:
        raise OSError(errno.EIO, f"{target.name} was not written as it should be")
    return digest


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
