"""Copies of the home below ``backups/``: what a deletion has to reach, too.

Each deletion begins a generation in its own transaction (`outdate`). A copy of another generation was made
before, may hold what was deleted, and goes as a whole (`drop_outdated`): when the deletion ends, and within a
minute where a crash cut it short. One that is being made has none yet: it goes, and its maker notices.
So no clock decides what is older.

A copy is a folder with ``manifest.json`` (`store.backup`), or a file ``before-NAME-MS.db`` that was made
before a migration. Files that were made elsewhere are out of reach; a receipt names them (`elsewhere`).
"""

from __future__ import annotations

import json
import shutil
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from store.core import cipher
from store.core.database import Database, scalar
from store.core.keys import box_of
from store.core.paths import DataDir
from store.core.preferences import get_preference, put_preference, set_preference

MANIFEST = "manifest.json"
UNDER_WAY = ".making-"
_GENERATION = "backups.generation"
_ELSEWHERE = "backups.elsewhere"
_GENERATION_SQL = f"select value from preferences where key = '{_GENERATION}'"


def outdate(connection: apsw.Connection) -> None:
    """Make every copy one that has to go. Call in the transaction that deletes."""
    put_preference(connection, _GENERATION, uuid.uuid4().hex)


def generation(database: Database) -> str:
    """Which generation a copy of this moment is of."""
    with database.read() as connection:
        return generation_in(connection)


def generation_in(connection: apsw.Connection) -> str:
    return str(json.loads(scalar(connection, _GENERATION_SQL) or '""'))


def set_generation(database: Database, value: str) -> None:
    """For a backup that takes the place of a home, whose other copies stay good."""
    set_preference(database, _GENERATION, value)


def copies(data_dir: DataDir) -> list[Path]:
    """Every copy, one that is being made included, sorted by name."""
    found = data_dir.backups.glob("*")
    return sorted(path for path in found if not path.name.startswith(".") or _is_under_way(path))


def drop_outdated(database: Database) -> tuple[int, int]:
    """Remove the copies that may hold what was deleted since; returns (how many, their bytes)."""
    now, key = generation(database), box_of(database.data_dir.home).database_key
    gone = [path for path in copies(database.data_dir) if _generation_of(path, key) != now]
    return len(gone), sum(map(drop, gone))


def drop(path: Path) -> int:
    """Remove a copy; returns the bytes freed. No error when it is gone meanwhile."""
    # Renamed first, so that whoever is making it puts nothing more into it.
    gone = path.with_name(f"{UNDER_WAY}{uuid.uuid4().hex}")
    try:
        path.rename(gone)
    except FileNotFoundError:
        return 0
    if not gone.is_dir():
        freed = gone.stat().st_size
        gone.unlink()
        return freed
    # What other links still hold is not freed.
    found = [file.stat() for file in gone.rglob("*") if file.is_file()]
    freed = sum(each.st_size for each in found if each.st_nlink == 1)
    shutil.rmtree(gone)
    return freed


def manifest(path: Path) -> dict[str, Any] | None:
    """What a finished copy says of itself; None for anything else."""
    try:
        found = json.loads((path / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def note_elsewhere(database: Database, path: Path, made_ms: int) -> None:
    """Remember a file that was made outside the home, for the receipts of later deletions."""
    set_preference(database, _ELSEWHERE, {**get_preference(database, _ELSEWHERE, {}), str(path): made_ms})


def elsewhere(database: Database) -> tuple[str, ...]:
    """Files outside the home that may hold what is deleted now. One whose folder is not there, as on a disk
    that is not connected, counts as being there.
    """
    known = (Path(each) for each in get_preference(database, _ELSEWHERE, {}))
    return tuple(sorted(str(path) for path in known if path.exists() or not path.parent.exists()))


def _is_under_way(path: Path) -> bool:
    return path.name.startswith(UNDER_WAY)


def _generation_of(path: Path, key: str | None) -> str | None:
    """The generation of a copy, None where there is none to be read."""
    if path.is_dir():
        known = manifest(path)
        return None if known is None or _is_under_way(path) else known.get("generation")
    try:
        address, flags = f"{path.as_uri()}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(address, flags)) as connection:
            cipher.unlock(connection, key)
            return generation_in(connection)
    except apsw.Error:
        return None
