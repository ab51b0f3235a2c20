"""Putting a backup in the place of a home, because somebody asked for it.

The backup is made ready as a whole first: checked against its SHA-256s, brought up to today's schema, and
what was deleted since it was made is deleted from it again, as far as the present database can be read: of
time that was deleted as a whole everything, else the frames that are not there any more, and of imported
sources what was. What an app lost is noted as well, because other machines may still have some of it to hand
in. Then database, pictures and attached files change places with the present ones by renaming; those are
kept in ``backups/replaced-…``, because the newest frames may be in them alone. A file says that this is under
way: until it is done no program opens the home (`store.core.database.open_database`), and `finish` does the
rest.

Settings, rules and what waits in the spool stay as they are; they come from the backup where there are none.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from store.backup import backup as backups
from store.backup.backup import ALONG, REPLACED, Backup, link, sha256_of
from store.core import cipher, copies, keys
from store.core.database import Database, column, open_database, rows
from store.core.errors import StoreBusy, StoreError
from store.core.migrations import check_version
from store.core.paths import DIRECTORY_MODE, DataDir, file_lock, replace_file, sync_directory
from store.core.records import insert
from store.core.times import now_ms
from store.deletion import deletion, sources
from store.egress import access_keys
from store.frames.frames import id_range
from store.frames.media import Media

# Whoever holds one of these has the database open; of others SQLite's own lock tells (`check_unused`).
LOCKS = "up.lock", "web.lock", "spool/ingest.lock"


class NoBackup(StoreError):
    """What was named is no backup, or not a whole one; the message says why."""


@dataclass(frozen=True, slots=True)
class Restored:
    """In place is now the home of `made_ms`; what was there before is in `replaced`.

    `is_outdated` says that something was deleted after the backup was made. Ranges, frames and imports were
    deleted again; chats, facts and insights may be back. Where the present database cannot be read
    (`is_blind`) nobody knows what was deleted: also frames and imports may be back.
    """

    made_ms: int
    replaced: Path
    is_outdated: bool
    is_blind: bool


def find(data_dir: DataDir, name: str) -> Path:
    """The backup of a path, of a name below ``backups/``, or the ``newest`` there. Raises `NoBackup`."""
    if name == "newest":
        found = backups.newest_good(data_dir)
        if found is None:
            raise NoBackup(f"there is no whole backup in {data_dir.backups}")
        return found[0]
    for path in (Path(name), data_dir.backups / name):
        if path.exists():
            return path.absolute()
    raise NoBackup(f"there is no backup {name}")


def restore(data_dir: DataDir, source: Path) -> Restored:
    """Let a backup, a folder or a zip file, take the place of the home.

    Raises `StoreBusy` while a program works on the home, `NoBackup`, `DatabaseTooNew` and `OSError`; then
    nothing was changed.
    """
    with stopped(data_dir):
        check_unused(data_dir)
        if data_dir.restoring.exists():
            raise StoreBusy("another restore was broken off; finish it first")
        for left in copies.leavings(data_dir):
            copies.drop(left)
        ready = data_dir.backups / f"{copies.UNDER_WAY}{uuid.uuid4().hex}"
        replaced = data_dir.backups / f"{REPLACED}{backups.stamp(now_ms())}"
        ready.mkdir(mode=DIRECTORY_MODE)
        try:
            if ready.stat().st_dev != data_dir.home.stat().st_dev:
                raise StoreError(
                    f"{data_dir.backups} is on another disk; nothing there can be renamed into place"
                )
            backup, generation, is_blind = _make_ready(data_dir, source, DataDir(ready))
            check_unused(data_dir)
            if not (ready / data_dir.database.name).exists():
                raise StoreBusy("something was deleted meanwhile; restore again")
            order = {"ready": ready.name, "replaced": replaced.name, "generation": generation}
            replace_file(data_dir.restoring, json.dumps(order).encode())
        except BaseException:
            shutil.rmtree(ready, ignore_errors=True)
            raise
        _swap(data_dir)
    return Restored(backup.made_ms, replaced, is_blind or generation != backup.generation, is_blind)


def finish(data_dir: DataDir) -> bool:
    """Do the rest of a restore that was broken off; False when there was none. Raises `StoreBusy`."""
    if not data_dir.restoring.exists():
        return False
    with stopped(data_dir):
        check_unused(data_dir)
        _swap(data_dir)
    return True


@contextmanager
def stopped(data_dir: DataDir, *more: str) -> Iterator[None]:
    """Keep the programs from the home that hold a lock of it; `more` are further ones. Raises `StoreBusy`."""
    with ExitStack() as held:
        held.enter_context(backups.only_one(data_dir))
        for name in (*LOCKS, *more):
            if not held.enter_context(file_lock(data_dir.home / name)):
                raise StoreBusy(f"Recollect is running on {data_dir.home}; stop it first")
        yield


def check_unused(data_dir: DataDir) -> None:
    """Raise `StoreBusy` where a program has the database open that holds none of the locks."""
    try:
        with closing(cipher.connect(data_dir, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # it is put aside as it is
            connection.execute("pragma locking_mode = exclusive; begin exclusive").fetchall()
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy("another program has the database open; end it first") from error
    except apsw.Error:
        pass  # missing or damaged: nobody can work with it


# -- making it ready ----------------------------------------------------------------------


def _make_ready(data_dir: DataDir, source: Path, ready: DataDir) -> tuple[Backup, str, bool]:
    """Have the whole home in `ready`; returns what it is, the generation that it has now, and whether the
    present home could not be read.
    """
    backup = _taken(source, ready.home)
    present = _present(data_dir, backup.made_ms)
    _check_key(data_dir, ready, is_readable=present is not None)
    check_version(ready)
    database = open_database(ready)
    try:
        with database.write() as connection:
            # No other key opens it afterwards: it may have been revoked.
            access_keys.keep_only(connection, _column(data_dir, "select secret_hash from access_keys"))
        _delete_again(data_dir, database, present.deletions if present else [])
        # Beside a home that cannot be read there are only backups of its generation: they stay good.
        beside = next((each.generation for _, each in backups.listed(data_dir)), backup.generation)
        generation = present.generation if present else beside
        copies.set_generation(database, generation)
        is_inside = source.resolve().is_relative_to(data_dir.home.resolve())
        outside = {} if is_inside else {str(source.absolute()): backup.made_ms}
        copies.add_elsewhere(database, {**(present.elsewhere if present else {}), **outside})
        database.checkpoint()
    finally:
        database.close_thread()
    return backup, generation, present is None


def _delete_again(data_dir: DataDir, database: Database, deletions: list[tuple[Any, ...]]) -> None:
    """Delete from a backup what was deleted from the present home since."""
    media, gone = Media(database.data_dir.media), dict[int, set[int]]()
    for kind, started_ms in {(kind, started_ms) for *_, kind, started_ms in deletions if kind}:
        sources.delete_again(database, kind, started_ms)
    for start_ms, end_ms, deleted_ms, is_whole, *_ in deletions:
        if is_whole:
            deletion.delete_range(database, media, start_ms, end_ms, now_ms=deleted_ms)
            continue
        span = id_range(start_ms, end_ms)
        ids = set(database.column(_IDS, span))
        if ids:  # that are there still belong to another app, or were kept
            gone.setdefault(deleted_ms, set()).update(ids.difference(_column(data_dir, _IDS, span)))
    for deleted_ms, ids in gone.items():
        if ids:
            deletion.delete_frames(database, media, ids, now_ms=deleted_ms)
    with database.write() as connection:
        for start_ms, end_ms, deleted_ms, _, receipt, *_ in deletions:
            if receipt is not None:
                span_columns = {"start_ms": start_ms, "end_ms": end_ms, "deleted_ms": deleted_ms}
                number = insert(connection, "deletions", **span_columns, receipt=receipt)
                connection.execute(_NUMBER, (number, number))


def _check_key(data_dir: DataDir, ready: DataDir, *, is_readable: bool) -> None:
    """What stays of the home must open with the key of what comes. Raises `NoBackup`.

    A home that is neither readable nor has a key is empty, or it lost the file: it takes the backup's.
    """
    present, coming = keys.read(data_dir.home), keys.read(ready.home)
    if (present or is_readable) and (present and present.id) != (coming and coming.id):
        how = "is encrypted with another key than" if present and coming else "is encrypted, unlike"
        which = ("the backup", "the home") if coming else ("the home", "the backup")
        raise NoBackup(f"{which[0]} {how} {which[1]}; restore the backup into an empty home folder (--home)")


def _taken(source: Path, ready: Path) -> Backup:
    """Have a backup's files: what is going to be written to as a copy, pictures and such as links."""
    if source.is_file():
        try:
            with zipfile.ZipFile(source) as bundle:
                bundle.extractall(ready)  # no name leads out of the folder, and checksums are compared
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise NoBackup(f"{source} is no whole backup: {error}") from error
    else:
        for path in sorted(each for each in source.rglob("*") if each.is_file()):
            link(path, ready / path.relative_to(source), as_copy=path.parent == source)
    backup = Backup.read(ready)
    if backup is None:
        raise NoBackup(f"{source} is no finished backup, or one of another version of Recollect")
    for name in {DataDir(ready).database.name, *backup.sha256}:
        if not (ready / name).is_file() or sha256_of(ready / name) != backup.sha256.get(name):
            raise NoBackup(f"{name} of {source} is missing or damaged")
    if hasattr(os, "sync"):
        os.sync()  # before the names of the home's own files are given away
    return backup


_IDS = "select id from frames where id >= ? and id < ?"
_DELETIONS = """
select start_ms, end_ms, deleted_ms, coalesce(receipt -> '$.whole' = 'true', 0),
    iif(receipt ->> '$.app' is null, null, receipt), receipt ->> '$.source', receipt ->> '$.started_ms'
from deletions where deleted_ms >= ? order by id
"""
_NUMBER = "update deletions set receipt = json_set(receipt, '$.deletion_id', ?) where id = ?"


@dataclass(frozen=True, slots=True)
class _Present:
    """What the present home knows: (start, end, time, of all apps, receipt if of one app, source, start of
    its import) of each deletion since a moment, its generation, and the files that were made elsewhere.
    """

    deletions: list[tuple[Any, ...]]
    generation: str
    elsewhere: dict[str, int]


def _present(data_dir: DataDir, made_ms: int) -> _Present | None:
    """None when the database cannot be read."""
    with suppress(apsw.Error), closing(cipher.connect(data_dir, apsw.SQLITE_OPEN_READONLY)) as connection:
        known = copies.generation_in(connection), copies.elsewhere_in(connection)
        return _Present(rows(connection, _DELETIONS, (made_ms,)), *known)
    return None


def _column(data_dir: DataDir, sql: str, parameters: tuple[int, ...] = ()) -> list[Any]:
    """A column of the present database; empty when it cannot be read."""
    with suppress(apsw.Error), closing(cipher.connect(data_dir, apsw.SQLITE_OPEN_READONLY)) as connection:
        return column(connection, sql, parameters)
    return []


# -- changing places ----------------------------------------------------------------------


def _swap(data_dir: DataDir) -> None:
    """Follow the order in `data_dir.restoring`; what was done before is not done again."""
    order = json.loads(data_dir.restoring.read_bytes())
    ready, replaced = data_dir.backups / order["ready"], data_dir.backups / order["replaced"]
    replaced.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    name = data_dir.database.name
    if (ready / name).exists():  # the log of a database goes where it goes
        for beside in (f"{name}-wal", f"{name}-shm"):
            _move(data_dir.home / beside, replaced / beside)
    for each in (name, data_dir.media.name, data_dir.attachments.name):
        if (ready / each).exists():
            _move(data_dir.home / each, replaced / each)
            _move(ready / each, data_dir.home / each)
    for each in ALONG:
        if not (data_dir.home / each).exists():
            _move(ready / each, data_dir.home / each)
    replace_file(replaced / copies.MANIFEST, json.dumps({"generation": order["generation"]}).encode())
    for folder in (replaced, data_dir.backups, data_dir.home):
        sync_directory(folder)
    data_dir.restoring.unlink()
    sync_directory(data_dir.home)
    copies.drop(ready)


def _move(path: Path, target: Path) -> None:
    """Rename what is there; an empty folder that some program made meanwhile only goes."""
    if path.is_dir() and target.is_dir():
        path.rmdir()
    elif path.exists():
        path.rename(target)
