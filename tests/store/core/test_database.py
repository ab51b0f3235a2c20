"""The one way to SQLite: own connections, immediate writes, one place where busy is understood."""

from __future__ import annotations

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import apsw
import pytest

from store.chats import conversations
from store.chats.records import Conversation
from store.core import database as store_database
from store.core.database import Database, open_database, rows, scalar
from store.core.errors import DatabaseDamaged, DatabaseGone, DeadlineExceeded, SettingsError, StoreBusy
from store.core.paths import DataDir

NUMBERS = "with recursive n (i) as (select 1 union all select i + 1 from n)"
ENDLESS = f"{NUMBERS} select max(i) from n"


def put(connection: apsw.Connection, key: str) -> None:
    connection.execute("insert into preferences (key, value) values (?, '1')", (key,))


def keys(database: Database) -> list[str]:
    with database.read() as connection:
        return [key for (key,) in rows(connection, "select key from preferences order by key")]


def test_file_is_the_owners_alone(database: Database, data_dir: DataDir) -> None:
    assert data_dir.database.stat().st_mode & 0o777 == 0o600
    assert data_dir.home.stat().st_mode & 0o777 == 0o700


def test_a_home_of_another_user_is_refused(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: data_dir.home.stat().st_uid + 1)
    with pytest.raises(SettingsError, match="another user"):
        data_dir.create()


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("recursive_triggers", 1),
        ("secure_delete", 1),
        ("temp_store", 2),
    ],
)
def test_every_connection_is_prepared(database: Database, pragma: str, value: object) -> None:
    found: list[object] = []

    def look() -> None:
        found.append(scalar(database.connection(), f"pragma {pragma}"))
        database.close_thread()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert [*found, scalar(database.connection(), f"pragma {pragma}")] == [value, value]


# -- writing ------------------------------------------------------------------------------


def test_write_that_raises_changes_nothing(database: Database) -> None:
    with pytest.raises(KeyError), database.write() as connection:
        put(connection, "a")
        raise KeyError
    assert keys(database) == []
    with database.write() as connection:
        put(connection, "b")
    assert keys(database) == ["b"]


def test_write_is_seen_by_others_when_it_is_over(database: Database) -> None:
    with database.write() as connection:
        put(connection, "a")
        assert seen_elsewhere(database) == []
    assert seen_elsewhere(database) == ["a"]


def seen_elsewhere(database: Database) -> list[str]:
    found: list[str] = []

    def look() -> None:
        found.extend(keys(database))
        database.close_thread()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found


def test_writers_of_one_process_take_turns(database: Database) -> None:
    def work(n: int) -> None:
        for k in range(5):
            with database.write() as connection:
                put(connection, f"{n}-{k}")
        database.close_thread()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys(database)) == 30


def test_a_write_at_once_without_a_connection_keeps_nobody_from_writing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_files() -> None:
        raise OSError(errno.EMFILE, "too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", no_more_files)
        with pytest.raises(OSError, match="too many"), database.write_at_once():
            pass
    with database.write_at_once():  # raises `StoreBusy` while anybody else writes
        pass


def test_peewee_joins_the_transaction_it_finds(database: Database) -> None:
    with pytest.raises(KeyError), database.write():
        Conversation.insert(title="a", created_ms=1, updated_ms=1).execute(database.peewee)
        raise KeyError
    assert scalar(database.connection(), "select count(*) from conversations") == 0


def test_lock_held_by_another_process_is_store_busy(
    database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "BUSY_TIMEOUT_MS", 50)
    impatient = Database(data_dir)
    other = apsw.Connection(str(data_dir.database))
    other.execute("begin immediate")
    with pytest.raises(StoreBusy), impatient.write():
        pass
    other.execute("rollback")
    with impatient.write() as connection:
        put(connection, "a")
    other.close()
    impatient.close_thread()


def test_full_disk_is_an_os_error(database: Database) -> None:
    connection = database.connection()
    pages = scalar(connection, "pragma page_count")
    connection.execute(f"pragma max_page_count = {pages}").fetchall()
    with pytest.raises(OSError) as caught, database.write() as connection:
        connection.execute("insert into preferences (key, value) values ('a', zeroblob(1000000))")
    assert caught.value.errno == errno.ENOSPC
    assert keys(database) == []


# -- reading ------------------------------------------------------------------------------


def test_read_sees_one_moment(database: Database) -> None:
    with database.read() as connection:
        assert rows(connection, "select key from preferences") == []

        def write() -> None:
            with database.write() as other:
                put(other, "meanwhile")
            database.close_thread()

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert rows(connection, "select key from preferences") == []
    assert keys(database) == ["meanwhile"]


def test_deadline_stops_the_statement_itself_and_leaves_the_connection_usable(database: Database) -> None:
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded), database.read(deadline_s=0.05) as connection:
        rows(connection, ENDLESS)
    assert time.monotonic() - began < 60
    assert keys(database) == []


def test_a_busy_machine_gives_a_read_more_time_but_not_for_ever(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = [0.0]
    clocks = SimpleNamespace(monotonic=lambda: passed_s[0], thread_time=lambda: 0.0)
    monkeypatch.setattr("store.core.database.time", clocks)
    with pytest.raises(DeadlineExceeded), database.read(deadline_s=10) as connection:
        passed_s[0] = 39
        assert scalar(connection, f"{NUMBERS} select count(*) from (select i from n limit 100000)")
        passed_s[0] = 41
        rows(connection, ENDLESS)


def test_all_connections_share_one_bound_of_what_they_keep_in_memory(database: Database) -> None:
    with database.write() as connection:
        connection.execute(
            f"create table filling as {NUMBERS} select randomblob(4000) as bytes from n limit 3000"
        )
    is_read, is_over = threading.Barrier(21), threading.Event()

    def read() -> None:
        database.scalar("select sum(length(bytes)) from filling")
        is_read.wait(60)
        is_over.wait(60)
        database.close_thread()

    threads = [threading.Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    is_read.wait(60)
    used = apsw.memory_used()
    is_over.set()
    for thread in threads:
        thread.join()
    assert used < 100_000_000  # 160 MB are what twenty keep by themselves


def test_read_inside_a_write_sees_what_was_written(database: Database) -> None:
    with database.write() as connection:
        put(connection, "a")
        assert keys(database) == ["a"]
        put(connection, "b")
    assert keys(database) == ["a", "b"]


# -- the log ------------------------------------------------------------------------------


def test_checkpoint_empties_the_log(database: Database, data_dir: DataDir) -> None:
    conversations.create(database, "title", 1)
    log = data_dir.database.with_name("recollect.db-wal")
    assert log.stat().st_size > 0
    assert database.checkpoint() is True
    assert log.stat().st_size == 0


def test_checkpoint_says_when_a_reader_keeps_the_log_in_use(database: Database, data_dir: DataDir) -> None:
    reader = Database(data_dir)
    begun, done = threading.Event(), threading.Event()

    def read() -> None:
        with reader.read() as connection:
            rows(connection, "select * from preferences")
            begun.set()
            done.wait(60)
        reader.close_thread()

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait(60)
    conversations.create(database, "title", 1)
    assert database.checkpoint(50) is False
    done.set()
    thread.join()


# -- files that are none ------------------------------------------------------------------


def test_file_that_is_no_database_is_left_alone(data_dir: DataDir) -> None:
    content = b"this is not a database, and somebody may want it back" * 100
    data_dir.database.write_bytes(content)
    with pytest.raises(DatabaseDamaged):
        open_database(data_dir)
    assert data_dir.database.read_bytes() == content


def test_a_read_inside_a_read_does_not_lift_the_deadline_around_it(database: Database) -> None:
    with pytest.raises(DeadlineExceeded), database.read(deadline_s=0.2) as connection:
        with database.read(deadline_s=30) as inner:
            inner.execute("select 1").fetchall()
        connection.execute(ENDLESS).fetchall()
    with database.read() as connection:
        assert connection.execute("select 1").fetchall() == [(1,)]


def test_a_commit_that_fails_leaves_no_transaction_open(database: Database) -> None:
    with pytest.raises(apsw.ConstraintError), database.write() as connection:
        connection.execute("pragma defer_foreign_keys = on")
        connection.execute(
            "insert into readings (frame_id, engine, language, text, layout, words, duration_ms, read_ms,"
            " is_current) values (1, '', '', '', '', 0, 0, 0, 1)"
        )
    with database.write() as connection:
        connection.execute("insert into preferences (key, value) values ('still', '1')")


def test_nothing_is_written_to_a_file_that_is_not_there_any_more(database: Database) -> None:
    """It would be gone with the last program that has it open, and what the spool had with it."""
    database.change("insert into preferences (key, value) values ('a', '1')")
    aside = database.data_dir.database.with_suffix(".aside")
    database.data_dir.database.rename(aside)
    for asked in ("insert into preferences (key, value) values ('b', '1')", "select key from preferences"):
        with pytest.raises(DatabaseGone, match="moved or removed"):
            database.change(asked)
    with ThreadPoolExecutor() as pool, pytest.raises(DatabaseGone):  # nor where it was not open yet
        pool.submit(database.column, "select key from preferences").result()
    aside.rename(database.data_dir.database)
    database.change("insert into preferences (key, value) values ('b', '1')")
    assert database.column("select key from preferences where key in ('a', 'b')") == ["a", "b"]
