"""Copies of the home below ``backups/``: what a deletion has to reach, too.

Each deletion begins a generation in its own transaction (`outdate`). A copy of another generation was made
before, may hold what was deleted, and goes as a whole (`drop_outdated`): when the deletion ends, and within a
minute where a crash cut it short (`sweep`). One that is being made has none yet: a deletion takes it, and its
maker notices. So no clock decides what is older.

A copy is a folder with ``manifest.json`` (`store.backup`), or a file ``before-NAME-MS.db`` that was made
before a migration. Whatever else somebody keeps there is theirs. Files that were made elsewhere are out of
reach; a receipt names them (`elsewhere`).
"""

from __future__ import annotations

import glob
import json
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from store.core import cipher
from store.core.database import Database
from store.core.errors import StoreError
from store.core.keys import box_of
from store.core.paths import DataDir, file_lock, remove
from store.core.preferences import get_preference, put_preference, read_preference, set_preference

MANIFEST = "manifest.json"
UNDER_WAY = ".making-"
LOCK = ".lock"
"""Whoever makes or restores a backup holds it."""
_GOING = ".gone-"
_OURS = re.compile(r"(replaced-)?\d{4}-\d\d-\d\dT\d{6}-\d{3}Z|before-.+-\d+\.db(-\w+)?")
_TRIES = 9
_GENERATION = "backups.generation"
_ELSEWHERE = "backups.elsewhere"


def outdate(connection: apsw.Connection) -> None:
    """Make every copy one that has to go. Call in the transaction that deletes."""
    put_preference(connection, _GENERATION, uuid.uuid4().hex)


def generation(database: Database) -> str:
    """Which generation a copy of this moment is of."""
    return str(get_preference(database, _GENERATION, ""))


def generation_in(connection: apsw.Connection) -> str:
    return str(read_preference(connection, _GENERATION, ""))


def set_generation(database: Database, value: str) -> None:
    """For a backup that takes the place of a home, whose other copies stay good."""
    set_preference(database, _GENERATION, value)


def copies(data_dir: DataDir) -> list[Path]:
    """Every finished copy, sorted by name."""
    return sorted(path for path in data_dir.backups.glob("*") if _OURS.fullmatch(path.name))


def leavings(data_dir: DataDir) -> list[Path]:
    """What is being made or removed, or was when its program was killed."""
    return [path for start in (UNDER_WAY, _GOING) for path in data_dir.backups.glob(f"{start}*")]


def drop_outdated(database: Database) -> tuple[int, int]:
    """Remove the copies that may hold what was deleted just now; returns (how many, their bytes)."""
    paths = [*database.data_dir.backups.glob(f"{UNDER_WAY}*"), *_outdated(database)]
    return len(paths), sum(map(drop, paths))


def sweep(database: Database) -> int:
    """Remove the copies that a deletion did not come to, and what nobody makes any more; returns how many."""
    paths = _outdated(database)
    with file_lock(database.data_dir.backups / LOCK) as is_alone:
        paths += leavings(database.data_dir) if is_alone else []
        for path in paths:
            drop(path)
    return len(paths)


def _outdated(database: Database) -> list[Path]:
    now, key = generation(database), box_of(database.data_dir.home).database_key
    return [path for path in copies(database.data_dir) if _generation_of(path, key) != now]


def drop(path: Path) -> int:
    """Remove a copy; returns the bytes freed. No error when others remove it, too."""
    # Renamed first, so that whoever is making it puts nothing more into it.
    gone = path.with_name(f"{_GOING}{uuid.uuid4().hex}")
    freed = 0
    with suppress(FileNotFoundError):
        path.rename(gone)
        # What other links still hold is not freed.
        found = [file.stat() for file in (gone, *gone.rglob("*")) if file.is_file()]
        freed = sum(each.st_size for each in found if each.st_nlink == 1)
    for _ in range(_TRIES):  # a sweep may be at it, too
        with suppress(FileNotFoundError):
            remove(gone)
            break
    return freed


def manifest(path: Path) -> dict[str, Any] | None:
    """What a finished copy says of itself; None for anything else."""
    try:
        found = json.loads((path / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


@contextmanager
def noted_elsewhere(database: Database, path: Path, made_ms: int) -> Iterator[None]:
    """Remember a file that is made elsewhere in this block, for later receipts; where the block fails and no
    such file is there, nothing was. Raises `StoreError` for one in the home.
    """
    if path.resolve().is_relative_to(database.data_dir.home.resolve()):
        raise StoreError(f"{path} is inside the home folder; write it somewhere else")
    was_known = str(path) in get_preference(database, _ELSEWHERE, {})
    add_elsewhere(database, {str(path): made_ms})
    try:
        yield
    except BaseException:
        if not was_known and not path.exists():
            with database.write() as connection:
                known = elsewhere_in(connection)
                known.pop(str(path), None)
                put_preference(connection, _ELSEWHERE, known)
        raise


def add_elsewhere(database: Database, made_ms: dict[str, int]) -> None:
    """Remember files outside the home, as when each was made by its path."""
    with database.write() as connection:
        put_preference(connection, _ELSEWHERE, {**elsewhere_in(connection), **made_ms})


def elsewhere_in(connection: apsw.Connection) -> dict[str, int]:
    """Every file outside the home that was remembered."""
    return dict(read_preference(connection, _ELSEWHERE, {}))


def elsewhere(database: Database) -> tuple[str, ...]:
    """Files outside the home that may hold what is deleted now. One whose folder is not there, as on a disk
    that is not connected, counts as being there, and so does one that is still being written.
    """
    known = map(Path, get_preference(database, _ELSEWHERE, {}))
    return tuple(sorted(str(path) for path in known if _may_be_there(path)))


def partial_of(target: Path) -> Path:
    """Where a file is written that becomes `target` as a whole."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _may_be_there(path: Path) -> bool:
    # In this order: meanwhile the one may become the other.
    is_written = any(path.parent.glob(f".{glob.escape(path.name)}.*.part"))
    return is_written or path.exists() or not path.parent.exists()


def _generation_of(path: Path, key: str | None) -> str | None:
    """The generation of a copy, None where there is none to be read."""
    if path.is_dir():
        known = manifest(path)
        return None if known is None else known.get("generation")
    try:
        address, flags = f"{path.as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(address, flags)) as connection:
            cipher.unlock(connection, key)
            return generation_in(connection)
    except apsw.Error:
        return None
