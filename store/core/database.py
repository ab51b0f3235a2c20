"""The one way to the SQLite database.

Peewee rides on apsw, so that there is one SQLite library in the process (two on one file can
corrupt it, https://www.sqlite.org/howtocorrupt.html). Each thread has its own connection; reads
see a snapshot, writes are immediate, and "busy" is translated in one place.

    store = open_database(data_dir)
    with store.read(deadline_s=5) as connection:
        rows = connection.execute("select ...", {"start": start}).fetchall()
    with store.write() as connection:
        connection.execute("insert ...")
    names = store.column("select name from apps where first_ms > ?", (start,))

No transaction is ever held across a model call: compute first, then write.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw
from peewee import DatabaseError, OperationalError
from playhouse.apsw_ext import APSWDatabase

from store.core import cipher, keys, records, tokenizer
from store.core.errors import Abandoned, DatabaseDamaged, DatabaseGone, DeadlineExceeded, StoreBusy
from store.core.migrations import migrate, transaction
from store.core.paths import FILE_MODE, DataDir

T = TypeVar("T")

BUSY_TIMEOUT_MS = 10_000
# SQLite begins the log anew at 4 MB as soon as nobody reads it.
_LONG_LOG_BYTES = 32_000_000
_ROOM_BYTES = 1_000_000
_FOLD_WITHIN_MS = 2_000
# How many virtual-machine steps SQLite runs between two looks at the clock: about 0.1 ms.
_STEPS_BETWEEN_CHECKS = 10_000
# Where others keep the machine busy the query is not to blame: what was begun is rather finished.
_WAIT_AT_MOST = 4
# All connections of a process share so much: there is one for each thread of a server.
_CACHED_BYTES = 32_000_000
# Asking the system about a socket costs more than looking at the clock.
_ASK_EVERY_S = 0.02


class _Peewee(APSWDatabase):  # type: ignore[misc]  # peewee is untyped
    """Peewee's APSW database with our tokenizer and pragmas on every connection."""

    def __init__(self, path: str, key: str | None, **options: Any) -> None:
        super().__init__(path, **options)
        self._key = key

    def _connect(self) -> apsw.Connection:
        connection: apsw.Connection = super()._connect()
        cipher.unlock(connection, self._key)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(
            """
            pragma journal_mode = wal;
            pragma synchronous = full;
            pragma foreign_keys = on;
            pragma recursive_triggers = on;
            pragma secure_delete = on;
            pragma cache_size = -8000;
            pragma temp_store = memory;
            """
        ).fetchall()
        # After a statement that reads the file: what is no database is then told as such.
        tokenizer.register(connection)
        return connection


class _Limit:
    """When a read of the calling thread must stop: both ends are on clocks of their own."""

    def __init__(
        self, seconds: float, has_left: Callable[[], bool] | None, around: _Limit | None = None
    ) -> None:
        self.end_s = time.monotonic() + seconds * _WAIT_AT_MOST
        self.cpu_end_s = time.thread_time() + seconds
        if around is not None:
            self.end_s, self.cpu_end_s = min(self.end_s, around.end_s), min(self.cpu_end_s, around.cpu_end_s)
        self.is_abandoned = False
        self._has_left = has_left
        self._ask_at_s = time.monotonic() + _ASK_EVERY_S

    def is_over(self) -> bool:
        """SQLite's progress handler."""
        now = time.monotonic()
        if self._has_left and now >= self._ask_at_s and not self.is_abandoned:
            self._ask_at_s = now + _ASK_EVERY_S
            self.is_abandoned = self._has_left()
        return self.is_abandoned or now > self.end_s or time.thread_time() > self.cpu_end_s


class Database:
    """Read and write access to one home folder's database; safe to share between threads."""

    def __init__(self, data_dir: DataDir) -> None:
        self.data_dir = data_dir
        key = keys.box_of(data_dir.home).database_key
        apsw.soft_heap_limit(_CACHED_BYTES)
        only = apsw.SQLITE_OPEN_READWRITE  # one that is gone is not made anew, empty
        self.peewee = _Peewee(
            str(data_dir.database), key, lock_type="IMMEDIATE", thread_safe=True, flags=only
        )
        # Writers of this process queue here instead of spinning on SQLite's lock.
        self._writing = threading.Lock()
        self._local = threading.local()

    def connection(self) -> apsw.Connection:
        """This thread's raw connection. Raises `DatabaseGone` where the file is not there any more: what is
        shown would be what somebody removed, what is written would go with the last who has it open.
        """
        try:
            with _translated():
                self.peewee.connect(reuse_if_open=True)
        except OSError as error:
            if self.data_dir.database.exists():
                raise
            raise self._gone() from error
        connection: apsw.Connection = self.peewee.connection()
        if _has_moved(connection):
            raise self._gone()
        return connection

    def _gone(self) -> DatabaseGone:
        return DatabaseGone(f"{self.data_dir.database.name} was moved or removed while it was open")

    @contextmanager
    def read(self, deadline_s: float | None = None) -> Iterator[apsw.Connection]:
        """A consistent view of the database for as long as the block lasts.

        Raises `DeadlineExceeded` when the block takes more than `deadline_s` seconds of the processor, or
        `_WAIT_AT_MOST` times as long: SQLite itself stops, and the connection stays usable. So it is with
        `Abandoned` when who asked has left (`while_wanted`); a read without a deadline is finished.
        """
        connection = self.connection()
        nested = connection.in_transaction
        with self._deadline(connection, deadline_s):
            try:
                with _translated():
                    if not nested:
                        connection.execute("begin deferred")
                    yield connection
            finally:
                if not nested and connection.in_transaction:
                    connection.execute("rollback")

    @contextmanager
    def while_wanted(self, has_left: Callable[[], bool]) -> Iterator[None]:
        """Reads of this thread that have a deadline stop early when `has_left` says so, in this block.

        It is asked while SQLite works, every `_ASK_EVERY_S` or less often.
        """
        self._local.has_left = has_left
        try:
            yield
        finally:
            self._local.has_left = None

    @contextmanager
    def _deadline(self, connection: apsw.Connection, seconds: float | None) -> Iterator[None]:
        """Stop statements of this block after `seconds`, or earlier when a block around it says so."""
        around: _Limit | None = getattr(self._local, "limit", None)
        if seconds is None:
            yield
            return
        limit = _Limit(seconds, getattr(self._local, "has_left", None), around)
        self._stop_at(connection, limit)
        try:
            yield
        except Abandoned:
            raise
        except DeadlineExceeded as error:
            if limit.is_abandoned:
                raise Abandoned("who asked has left") from error
            raise
        finally:
            self._stop_at(connection, around)

    def _stop_at(self, connection: apsw.Connection, limit: _Limit | None) -> None:
        self._local.limit = limit
        if limit is None:
            connection.set_progress_handler(None)
        else:
            connection.set_progress_handler(limit.is_over, _STEPS_BETWEEN_CHECKS)

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """One immediate transaction: committed when the block ends, undone when it raises.

        Raises `StoreBusy` when another process keeps the write lock for `BUSY_TIMEOUT_MS`.
        """
        with self._writing, self._transaction() as connection:
            yield connection

    @contextmanager
    def write_at_once(self) -> Iterator[apsw.Connection]:
        """The same for what can be written later as well: raises `StoreBusy` while anybody else writes."""
        connection = self.connection()
        if not self._writing.acquire(blocking=False):
            raise StoreBusy("another thread writes")
        try:
            connection.set_busy_timeout(0)
            with self._transaction():
                yield connection
        finally:
            self._writing.release()  # first: nothing that fails here may keep others from writing
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        connection = self.connection()
        with _translated(), transaction(connection):
            yield connection

    def rows(self, sql: str, values: Any = (), deadline_s: float | None = None) -> list[tuple[Any, ...]]:
        """Every row of one query's answer that is known to be small; raises as `read` does."""
        with self.read(deadline_s) as connection:
            return rows(connection, sql, values)

    def column(self, sql: str, values: Any = (), deadline_s: float | None = None) -> list[Any]:
        """The same where rows have one column."""
        return [value for (value,) in self.rows(sql, values, deadline_s)]

    def records(self, kind: type[T], sql: str, values: Any = (), deadline_s: float | None = None) -> list[T]:
        """The same as dataclasses, whose fields are the columns (`store.core.records`)."""
        return records.load(kind, self.rows(sql, values, deadline_s))

    def first(self, kind: type[T], sql: str, values: Any = ()) -> T | None:
        """The first row as such a dataclass, or None."""
        return next(iter(self.records(kind, sql, values)), None)

    def scalar(self, sql: str, values: Any = (), deadline_s: float | None = None) -> Any:
        """The first column of the first row of one query's answer, or None; raises as `read` does."""
        with self.read(deadline_s) as connection:
            return scalar(connection, sql, values)

    def change(self, sql: str, values: Any = ()) -> int:
        """One statement in a transaction of its own; how many rows it changed. Raises as `write` does."""
        with self.write() as connection:
            return change(connection, sql, values)

    def copy_to(self, path: Path, has_left: Callable[[], bool]) -> None:
        """Write what is stored at this moment into a new file, without the room that was freed.

        Raises `Abandoned` as soon as `has_left` says so, and `OSError` when the disk is full.
        """
        connection = self.connection()
        with self.while_wanted(has_left), self._deadline(connection, math.inf), _translated():
            connection.execute("vacuum into ?", (str(path),)).fetchall()

    def checkpoint(self, wait_ms: int = BUSY_TIMEOUT_MS) -> bool:
        """Fold the write-ahead log into the database file and truncate it; while it waits nobody can write.

        False when a reader or writer of any process kept it in use for `wait_ms`.
        """
        connection = self.connection()
        connection.set_busy_timeout(wait_ms)
        try:
            with _translated():
                return bool(rows(connection, "pragma wal_checkpoint(truncate)")[0][0] == 0)
        finally:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def fold_long_log(self) -> None:
        """Where always one read begins before another ends, the log would grow for as long as that lasts."""
        log = self.data_dir.database.with_name(f"{self.data_dir.database.name}-wal")
        if log.exists() and log.stat().st_size > _LONG_LOG_BYTES:
            self.checkpoint(_FOLD_WITHIN_MS)

    def close_thread(self) -> None:
        """Close the calling thread's connection."""
        if not self.peewee.is_closed():
            self.peewee.close()


def _has_moved(connection: apsw.Connection) -> bool:
    """Whether the file is not where it was opened.

    https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlhasmoved
    """
    flag = ctypes.c_int(0)
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(flag))
    return bool(flag.value)


@contextmanager
def _translated() -> Iterator[None]:
    """Busy, interrupted and damaged have two faces, peewee's and apsw's; callers see ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(str(error)) from error
    except (apsw.FullError, apsw.ReadOnlyError, apsw.IOError, apsw.CantOpenError) as error:
        number = {apsw.FullError: errno.ENOSPC, apsw.ReadOnlyError: errno.EROFS}.get(type(error), errno.EIO)
        raise OSError(number, str(error)) from error
    except apsw.InterruptError as error:
        raise DeadlineExceeded("the read ran into its deadline") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DatabaseDamaged(str(error)) from error
    except OperationalError as error:
        if "locked" in str(error):
            raise StoreBusy(str(error)) from error
        if "interrupt" in str(error):
            raise DeadlineExceeded("the read ran into its deadline") from error
        if "unable to open" in str(error) or "disk I/O" in str(error):
            raise OSError(errno.EIO, str(error)) from error
        raise
    except DatabaseError as error:
        if "not a database" in str(error) or "malformed" in str(error):
            raise DatabaseDamaged(str(error)) from error
        raise


def open_database(data_dir: DataDir) -> Database:
    """The database of a home folder, made and migrated when needed.

    Raises `DatabaseDamaged` when the file is not a usable database, and `DatabaseUnusable` when another
    version wrote it; the file is left as it is. On a full disk the reserve is given up
    (`store.deletion.reserve`).
    """
    data_dir.create()
    if data_dir.restoring.exists():
        raise DatabaseDamaged("a restore was broken off")
    try:
        return _opened(data_dir)
    except OSError as error:
        # Where a disk has no room for the index of a log, SQLite tells of an I/O error.
        is_full = error.errno == errno.EIO and shutil.disk_usage(data_dir.home).free < _ROOM_BYTES
        if not is_full and error.errno != errno.ENOSPC:
            raise
        if not data_dir.reserve.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    data_dir.reserve.unlink(missing_ok=True)  # whoever deletes to make room has to open it first
    return _opened(data_dir)


def _opened(data_dir: DataDir) -> Database:
    if not data_dir.database.exists():
        data_dir.database.touch(mode=FILE_MODE)
    database = Database(data_dir)
    try:
        with _translated():
            migrate(database.connection(), data_dir)
    except DatabaseDamaged as error:
        raise DatabaseDamaged(f"{data_dir.database.name} is damaged: {error}") from error
    return database


def scalar(connection: apsw.Connection, sql: str, parameters: Any = ()) -> Any:
    """The first column of the first row, or None."""
    row = connection.execute(sql, parameters).fetchone()
    return row[0] if row else None


def change(connection: apsw.Connection, sql: str, parameters: Any = ()) -> int:
    """How many rows a statement changed, in a transaction that is under way."""
    connection.execute(sql, parameters)
    return connection.changes()


def rows(connection: apsw.Connection, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
    """Every row of an answer that is known to be small."""
    return connection.execute(sql, parameters).fetchall()


def column(connection: apsw.Connection, sql: str, parameters: Any = ()) -> list[Any]:
    """The same where rows have one column."""
    return [value for (value,) in connection.execute(sql, parameters)]


_UNCLEAN = re.compile("[\0\u202a-\u202e\u2066-\u2069]")


def clean_text(text: str) -> str:
    """Text as SQLite can hold and compare it: no NUL, no lone surrogate, and no sign that turns the direction
    of the text that is drawn behind it.
    """
    return _UNCLEAN.sub("", text).encode("utf-8", "replace").decode()
