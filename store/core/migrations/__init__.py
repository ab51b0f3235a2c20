"""Ordered SQL files from an empty database to today's schema.

``001_initial.sql`` is the first; what changes the schema later becomes ``002_what_it_does.sql`` and so on.
Each file runs in one immediate transaction and is recorded by its name. One that was released is never
edited. Before the first that is missing on a database that already holds data, a copy goes to ``backups/``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from store.core import cipher
from store.core.errors import DatabaseTooNew, DatabaseUnusable
from store.core.paths import FILE_MODE, DataDir
from store.core.times import now_ms

log = logging.getLogger(__name__)

FOLDER = Path(__file__).parent
_INITIAL = "001_initial"
# Before the first release there were 39 steps, from ``m001_frames`` to ``m039_chat_memory``. What they led
# to is exactly what `_INITIAL` makes.
_STEP_BEFORE = re.compile(r"m0[0-3]\d_\w+")
_STEPS_BEFORE = 39


def names() -> list[str]:
    """The names of all migrations, in the order in which they run."""
    return sorted(path.stem for path in FOLDER.glob("[0-9][0-9][0-9]_*.sql"))


def migrate(connection: apsw.Connection, data_dir: DataDir) -> list[str]:
    """Bring the database up to date; returns the names of the migrations that ran.

    Raises `DatabaseUnusable` when a later version wrote it, or it stopped before 0.1.0; it is not changed.
    """
    connection.execute(
        "create table if not exists migrations (name text primary key, applied_ms integer not null)"
    )
    recorded = _recorded(connection)
    applied = _recognised(recorded)
    if recorded - applied:
        _adopt(connection)
    missing = [name for name in names() if name not in applied]
    copy = data_dir.backups / f"before-{missing[0]}-{now_ms()}.db" if missing and applied else None
    try:
        if copy:
            connection.execute("vacuum into ?", (str(copy),))
            copy.chmod(FILE_MODE)
        for name in missing:
            _run(connection, name)
    except BaseException:
        # Tried again and again on a full disk, copies of what was not changed would take what is left.
        if copy and missing[0] not in _recorded(connection):
            copy.unlink(missing_ok=True)
        raise
    return missing


def check_version(data_dir: DataDir) -> None:
    """Raise `DatabaseUnusable` where `migrate` would; only reads.

    For who starts programs that open the database. One that is not there yet or cannot be read is theirs.
    """
    with suppress(apsw.Error), closing(cipher.connect(data_dir, apsw.SQLITE_OPEN_READONLY)) as connection:
        _recognised(_recorded(connection))


def _recorded(connection: apsw.Connection) -> set[str]:
    return {name for (name,) in connection.execute("select name from migrations")}


def _recognised(recorded: set[str]) -> set[str]:
    """The migrations that a database has; the steps of before the first release count as `_INITIAL`."""
    steps = {name for name in recorded if _STEP_BEFORE.fullmatch(name)}
    unknown = recorded - steps - set(names())
    if unknown:
        raise DatabaseTooNew(
            f"this database was made by a newer Recollect (it has {', '.join(sorted(unknown))}); "
            "update Recollect to open it"
        )
    if 0 < len(steps) < _STEPS_BEFORE:
        raise DatabaseUnusable(
            f"this database stopped at {max(steps)}, in a version of Recollect that was never released; open "
            "it once with Recollect 0.1.0, which completes it, or move recollect.db away to begin anew"
        )
    return recorded - steps | {_INITIAL} if steps else recorded


def _adopt(connection: apsw.Connection) -> None:
    """Record the 39 steps as what they led to, with the time of the last; nothing else is touched."""
    with transaction(connection):
        connection.execute(
            "insert or ignore into migrations (name, applied_ms) select ?, max(applied_ms) from migrations",
            (_INITIAL,),
        )
        connection.execute("delete from migrations where name glob 'm0[0-3][0-9]_*'")
    log.info("the database of 0.1.0 is recorded as migration %s", _INITIAL)


def _run(connection: apsw.Connection, name: str) -> None:
    script = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    with transaction(connection):
        # Another process may have been first while we waited for the lock.
        if connection.execute("select 1 from migrations where name = ?", (name,)).fetchone():
            return
        connection.execute(script).fetchall()  # a statement that answers with rows must not end it early
        connection.execute("insert into migrations (name, applied_ms) values (?, ?)", (name, now_ms()))
    log.info("migration %s applied", name)


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """One immediate transaction, undone when the block raises."""
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:  # a commit on a full disk may have ended it already
            connection.execute("rollback")
        raise
