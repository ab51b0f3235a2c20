"""Files that take the place of others: written first, named by a row later, and nobody's after a crash.

A path is noted in ``media_pending`` before its file is written, and struck out in the transaction that makes
a row name it. One process at a time writes such files (`only_writer`), so what is noted while nobody does was
left by one that died: it goes to ``media_trash``, which `store.deletion.deletion` empties. Names are never
used twice, so that no late unlinking hits a new file.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import apsw

from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.paths import only_holder
from store.frames.media import Media, in_day, temporary_of

_LOCK_NAME = "media.lock"


@contextmanager
def only_writer(database: Database, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the place of the one that replaces files. Raises `StoreBusy` when it is taken for longer."""
    problem = "another program is working on the stored pictures"
    with only_holder(database.data_dir.spool / _LOCK_NAME, wait_s, problem):
        _discard(database)
        try:
            yield
        finally:
            _discard(database)


def discard(database: Database, wait_s: float = 0.0) -> bool:
    """Give up what a writer that died had noted; False where one is at work for longer: it does so itself."""
    try:
        with only_writer(database, wait_s):
            return True
    except StoreBusy:
        return False


def _discard(database: Database) -> None:
    paths = database.column("select path from media_pending")
    if paths:
        with database.write() as connection:
            connection.executemany(
                "insert or ignore into media_trash (path) values (?)",
                [(each,) for path in paths for each in (path, temporary_of(path))],
            )
            settle(connection, paths)


def new_path(captured_ms: int, suffix: str) -> str:
    """A path below ``media/`` that no file ever had, under the UTC day of a moment."""
    return in_day(captured_ms, f"{uuid.uuid4()}{suffix}")


def write(database: Database, media: Media, files: Iterable[tuple[str, bytes]]) -> None:
    """Note the paths, then durably write the files. Raises `OSError`; then they are nobody's."""
    files = list(files)
    if not files:
        return
    with database.write() as connection:
        connection.executemany("insert into media_pending (path) values (?)", [(path,) for path, _ in files])
    for path, content in files:
        media.write(path, content)


def settle(connection: apsw.Connection, paths: Iterable[str]) -> None:
    """Strike paths out: rows name them now. Call in the transaction that makes it so."""
    connection.executemany("delete from media_pending where path = ?", [(path,) for path in paths])
