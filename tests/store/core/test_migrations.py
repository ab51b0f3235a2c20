"""Migrations: a home of version 0.1.0 and a blank one have the same schema, and the way back is kept.

``cases/home-0.1.0.tar.gz`` is a home folder of the last program that had 39 steps in place of `001_initial`:
a row in every table, written by its own functions, with pictures and an attached file. Some things wait in
it, as after a crash: two files to be removed, an index half made anew, vectors, hours to be written.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import apsw
import pytest

from store.chats import attachments
from store.core import migrations, tokenizer
from store.core.database import Database, open_database, rows, scalar
from store.core.errors import DatabaseTooNew, DatabaseUnusable
from store.core.migrations import check_version, migrate
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.media import Media
from store.spool.queue import Spool
from store.verify.verify import verify

HOME_0_1_0 = Path(__file__).parents[2] / "cases" / "home-0.1.0.tar.gz"
_TOKEN = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|\w+|[^\w\s]""")
_INDEXES = ("daily_summaries_fts", "frames_fts", "frames_fts_next", "memory_fts", "text_messages_fts")


@pytest.fixture
def older(tmp_path: Path) -> DataDir:
    """The home folder of version 0.1.0."""
    with tarfile.open(HOME_0_1_0) as archive:
        archive.extractall(tmp_path / "older", filter="data")
    return DataDir(tmp_path / "older" / "home")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's migrations are: the first, and what it adds."""
    copy = tmp_path / "migrations"
    copy.mkdir()
    shutil.copy(migrations.FOLDER / "001_initial.sql", copy)
    monkeypatch.setattr(migrations, "FOLDER", copy)
    return copy


def raw(data_dir: DataDir) -> apsw.Connection:
    """The database as it is, without migrating it."""
    connection = apsw.Connection(str(data_dir.database))
    tokenizer.register(connection)
    return connection


def record(data_dir: DataDir, sql: str) -> None:
    connection = raw(data_dir)
    connection.execute(sql)
    connection.close()


def words(sql: str | None) -> list[str]:
    """A statement without comments, white space and quotes around names; strings as they are."""
    named = re.sub(r"^CREATE TABLE '(\w+)'", r"create table \1", sql or "")  # as FTS5 writes its own
    found = (word for word in _TOKEN.findall(named) if not word.startswith("--"))
    return [word if word.startswith("'") else word.strip('"').lower() for word in found]


def schema(connection: apsw.Connection) -> dict[tuple[str, str], tuple[str, list[str]]]:
    found = rows(connection, "select type, name, tbl_name, sql from sqlite_schema")
    return {(kind, name): (table, words(sql)) for kind, name, table, sql in found}


def indexes(connection: apsw.Connection) -> list[tuple[str, ...]]:
    """In the order they were made: of two that serve a query equally well, the planner takes by it."""
    sql = "select tbl_name, name from sqlite_schema where type = 'index' order by tbl_name, rowid"
    return rows(connection, sql)


def tables(connection: apsw.Connection) -> list[str]:
    sql = """
        select name from pragma_table_list
        where schema = 'main' and type in ('table', 'shadow') and name not like 'sqlite_schema'
        order by name
    """
    return [name for (name,) in rows(connection, sql)]


def contents(connection: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table but of `migrations`, the tables inside the indexes of words included."""
    return {
        name: rows(connection, f"select * from {name}") for name in tables(connection) if name != "migrations"
    }


def pragmas(connection: apsw.Connection) -> dict[str, object]:
    names = """
        application_id auto_vacuum cache_size encoding foreign_keys journal_mode page_size recursive_triggers
        secure_delete synchronous temp_store user_version
    """
    return {name: scalar(connection, f"pragma {name}") for name in names.split()}


# -- a home of version 0.1.0 ----------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_the_first_migration_makes_what_39_steps_made(older: DataDir, data_dir: DataDir) -> None:
    before, now = raw(older), open_database(data_dir).connection()
    assert schema(now) == schema(before)
    assert indexes(now) == indexes(before)
    for index in _INDEXES:
        setting = f"select v from {index}_config where k = 'secure-delete'"
        assert scalar(now, setting) == scalar(before, setting) == 1
    before.close()
    opened = open_database(older)
    assert pragmas(now) == pragmas(opened.connection())
    opened.close_thread()


def test_a_blank_database_holds_nothing_but_zeros_and_how_its_indexes_work(database: Database) -> None:
    found = {name for name, held in contents(database.connection()).items() if held}
    assert found == {
        "frame_totals",
        *(f"{index}_{part}" for index in _INDEXES for part in ("config", "data")),
    }
    totals = database.column("select frames + picture_bytes + preview_bytes from frame_totals")
    assert set(totals) == {0}


@pytest.mark.usefixtures("folder")
def test_a_home_of_0_1_0_opens_with_every_row(older: DataDir) -> None:
    connection = raw(older)
    before = contents(connection)
    [(count, last_ms)] = rows(connection, "select count(*), max(applied_ms) from migrations")
    connection.close()
    assert count == 39
    assert [name for name, found in before.items() if not found] == []  # every table has a row to lose
    database = open_database(older)
    assert contents(database.connection()) == before
    assert rows(database.connection(), "select * from migrations") == [("001_initial", last_ms)]
    assert list(older.backups.iterdir()) == []  # nothing of it was changed
    assert migrate(database.connection(), older) == []
    database.close_thread()


def test_a_home_of_0_1_0_verifies(older: DataDir) -> None:
    database, media = open_database(older), Media(older.media)
    assert sorted(verify(database, media, Spool(older.spool)).problems) == [
        "Files of deleted chats that wait to be removed: 1.",
        "Pictures of deleted frames that wait to be removed: 1.",
    ]
    deletion.sweep(database, media)  # as the program does when it starts
    attachments.empty_trash(database)
    report = verify(database, media, Spool(older.spool))
    assert report.problems == ()
    assert (report.counts["frames read"], report.counts["attached files"]) == (3, 1)
    database.close_thread()


@pytest.mark.usefixtures("folder")
def test_two_programs_may_adopt_it_at_once(older: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has read what is recorded before the first was done."""
    adopt = migrations._adopt

    def late(connection: apsw.Connection) -> None:
        monkeypatch.setattr(migrations, "_adopt", adopt)
        open_database(older).close_thread()
        adopt(connection)

    monkeypatch.setattr(migrations, "_adopt", late)
    database = open_database(older)
    assert rows(database.connection(), "select name from migrations") == [("001_initial",)]
    database.close_thread()


@pytest.mark.parametrize("last", ["m001_frames", "m017_sent_everything", "m038_frame_tag_backfill"])
def test_a_database_between_two_steps_is_refused(older: DataDir, last: str) -> None:
    record(older, f"delete from migrations where name > '{last}'")
    sentence = f"stopped at {last}.* open it once with Recollect 0.1.0"
    with pytest.raises(DatabaseUnusable, match=sentence):
        check_version(older)
    with pytest.raises(DatabaseUnusable, match=sentence):
        open_database(older)
    connection = raw(older)
    assert scalar(connection, "select max(name) from migrations") == last
    connection.close()


# -- later versions -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["002_future", "m040_future", "anything"])
def test_a_database_of_a_later_version_is_refused_by_name(
    database: Database, data_dir: DataDir, name: str
) -> None:
    record(data_dir, f"insert into migrations (name, applied_ms) values ('{name}', 1)")
    with pytest.raises(
        DatabaseTooNew, match=rf"made by a newer Recollect \(it has {name}\); update Recollect"
    ):
        open_database(data_dir)


def test_a_home_of_0_1_0_with_a_later_migration_is_refused(older: DataDir) -> None:
    record(older, "insert into migrations (name, applied_ms) values ('m040_future', 1)")
    with pytest.raises(DatabaseTooNew, match="m040_future"):
        open_database(older)


def test_other_databases_pass_the_check_of_the_version(older: DataDir, data_dir: DataDir) -> None:
    """It only reads: what is of 0.1.0 stays so, what is missing is not made, what is none is found later."""
    check_version(older)
    connection = raw(older)
    assert scalar(connection, "select count(*) from migrations") == 39
    connection.close()
    check_version(data_dir)
    assert not data_dir.database.exists()
    data_dir.database.write_bytes(b"not a database " * 100)
    check_version(data_dir)


# -- the next migration ---------------------------------------------------------------------


def test_a_blank_database_gets_all_in_order(data_dir: DataDir, folder: Path) -> None:
    (folder / "002_more.sql").write_text("create table more (id integer primary key); select 1; select 2;")
    (folder / "003_most.sql").write_text("alter table more rename to most;")
    database = open_database(data_dir)
    names = [name for (name,) in rows(database.connection(), "select name from migrations order by rowid")]
    assert names == migrations.names() == ["001_initial", "002_more", "003_most"]
    assert rows(database.connection(), "select * from most") == []
    assert list(data_dir.backups.iterdir()) == []
    assert migrate(database.connection(), data_dir) == []
    database.close_thread()


def test_before_a_later_migration_the_database_is_copied_as_it_was(older: DataDir, folder: Path) -> None:
    connection = raw(older)
    before = contents(connection), schema(connection)
    connection.close()
    (folder / "002_less.sql").write_text("drop table apps;")
    database = open_database(older)
    assert "apps" not in tables(database.connection())
    [path] = older.backups.iterdir()
    assert path.name.startswith("before-002_less-") and path.stat().st_mode & 0o777 == 0o600
    copy = DataDir(older.home.parent / "copy").create()
    shutil.copy(path, copy.database)
    connection = raw(copy)
    assert (contents(connection), schema(connection)) == before
    assert rows(connection, "select name from migrations") == [("001_initial",)]
    connection.close()
    database.close_thread()


def test_a_migration_that_fails_is_undone_and_tried_again(data_dir: DataDir, folder: Path) -> None:
    table = "create table half (id integer primary key);"
    (folder / "002_half.sql").write_text(f"{table} insert into half values ('x');")
    with pytest.raises(apsw.MismatchError):
        open_database(data_dir)
    (folder / "002_half.sql").write_text(table)
    again = open_database(data_dir)
    assert rows(again.connection(), "select * from half") == []
    again.close_thread()


def test_a_migration_that_fails_leaves_no_copy_behind(older: DataDir, folder: Path) -> None:
    """On a full disk it is tried with each start of a program."""
    (folder / "002_broken.sql").write_text("create table more (id integer); select * from nothing;")
    for _ in range(3):
        with pytest.raises(apsw.SQLError):
            open_database(older)
        assert list(older.backups.iterdir()) == []
