"""The encryption of the database, by the build of SQLite that has it (SQLite3 Multiple Ciphers)."""

from __future__ import annotations

import sys

import apsw

from store import ENCRYPTING_SQLITE
from store.core.errors import HomeLocked
from store.core.keys import box_of
from store.core.paths import DataDir

CIPHER = "aegis"
"""AEGIS-256: each page carries a tag. Of the ciphers that do, it is the fastest to read."""

_UNUSABLE = "3.54.0"
"""Deleting from a text index leaves a read open in this SQLite, so that the log is never truncated."""


def connect(data_dir: DataDir, flags: int) -> apsw.Connection:
    """A connection to the database of a home. Raises `HomeLocked`, and what apsw does."""
    key = box_of(data_dir.home).database_key
    connection = apsw.Connection(str(data_dir.database), flags)
    unlock(connection, key)
    return connection


def unlock(connection: apsw.Connection, key: str | None) -> None:
    """Give a new connection the key of its database (`store.core.keys`), before anything is read.

    Raises `HomeLocked` where SQLite was built without encryption.
    """
    if key is not None:
        check_build()
        connection.execute(f"pragma cipher = '{CIPHER}'; pragma key = 'raw:{key}'").fetchall()


def check_build() -> None:
    """Raise `HomeLocked` where SQLite was built without encryption: it would take a key and write plainly."""
    if not hasattr(apsw, "mc_version") or apsw.sqlite_lib_version() == _UNUSABLE:
        package = f"'apsw-sqlite3mc!={_UNUSABLE}.0'"
        raise HomeLocked(
            "encryption needs another build of SQLite: run `make encryption`, or "
            f"`{sys.executable} -m pip install --no-deps --target {ENCRYPTING_SQLITE} {package}`"
        )
