"""Migrations: every way leads to the same schema, and the way back is kept."""

from __future__ import annotations

import apsw
import pytest

from store import migrations, sent
from store.database import Database, open_database, rows, scalar
from store.errors import DatabaseTooNew
from store.migrations import STEPS, migrate
from store.paths import DataDir


def schema(connection: apsw.Connection) -> list[tuple[object, ...]]:
    return rows(connection, "select type, name, tbl_name, sql from sqlite_schema order by type, name")


def add_frame(connection: apsw.Connection) -> None:
    connection.execute(
        """
        insert into frames (id, capture_id, captured_ms, ended_ms, width_px, height_px, source, media_type,
            size_bytes, sha256, pixels_sha256, stored_ms, app_name)
        values (1024, 'c', 1, 1, 1, 1, 'screen', 'image/webp', 1, '', '', 1, 'Code')
        """
    )


@pytest.mark.parametrize("known", range(1, len(STEPS)))
def test_older_database_ends_with_the_schema_of_a_blank_one(
    data_dir: DataDir, database: Database, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """STO-7: whatever step it stopped at, and with as many index rows as frames."""
    older_dir = DataDir(data_dir.home / "older")
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", STEPS[:known])
        older = open_database(older_dir)
        if known == 1:
            with older.write() as connection:
                add_frame(connection)
        older.close_thread()
    newer = open_database(older_dir)
    assert schema(newer.connection()) == schema(database.connection())
    frames, indexed = (
        scalar(newer.connection(), f"select count(*) from {table}")
        for table in ("frames", "frames_fts_docsize")
    )
    assert frames == indexed
    [copy] = older_dir.backups.iterdir()
    assert copy.name.startswith(f"before-{STEPS[known].__name__}-")
    assert copy.stat().st_mode & 0o777 == 0o600
    newer.close_thread()


def test_copy_is_the_database_as_it_was(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """STO-6: there is a way back."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", STEPS[:-1])
        older = open_database(data_dir)
        with older.write() as connection:
            add_frame(connection)
        before = schema(older.connection())
        older.close_thread()
    open_database(data_dir).close_thread()
    [path] = data_dir.backups.iterdir()
    copy = Database(DataDir(data_dir.home / "copy").create())
    copy.data_dir.database.write_bytes(path.read_bytes())
    assert schema(copy.connection()) == before
    assert scalar(copy.connection(), "select capture_id from frames") == "c"
    copy.close_thread()


def test_what_was_sent_before_is_kept_with_its_number(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [step.__name__ for step in STEPS].index("m017_sent_everything")
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", STEPS[:known])
        older = open_database(data_dir)
        with older.write() as connection:
            connection.execute(
                """
                insert into sent_requests (id, purpose, at_ms, provider, model, url, is_local, size_bytes,
                    body, outcome, input_tokens, cost, currency)
                values (7, 'test', 1, 'work', 'big', 'https://x/v1', 0, 2, '{}', 'answered', 3, 0.5, 'EUR')
                """
            )
        older.close_thread()
    newer = open_database(data_dir)
    kept = sent.get(newer, 7)
    assert kept == sent.SentRequest(
        7, "test", 1, "work", "big", "https://x/v1", False, 2, "{}", "answered", 3, None, False, 0.5, "EUR",
        0, None, None, 0, "", "", None, None,
    )  # fmt: skip
    leaving = sent.Leaving("search", 2, "openai", "m", "https://x/v1", False, "{}", 2)
    assert sent.record(newer, leaving) == 8
    newer.close_thread()


def test_vectors_stay_and_may_belong_to_messages(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of `vectors` is changed in place; another connection sees it at once."""
    known = [step.__name__ for step in STEPS].index("m021_sources")
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", STEPS[:known])
        older = open_database(data_dir)
        add_model = "insert into embedding_models (id, name, dimension, is_active) values (1, 'm', 2, 1)"
        add = (
            "insert into vectors (kind, thing_id, model_id, chunk_start, chunk_end, vector) "
            "values (?, 7, 1, 0, 1, x'0102')"
        )
        with older.write() as connection:
            connection.execute(add_model)
            connection.execute(add, ("frame",))
        with pytest.raises(apsw.ConstraintError), older.write() as connection:
            connection.execute(add, ("message",))
    newer = open_database(data_dir)
    for database in (older, newer):
        with database.write() as connection:
            connection.execute(add, ("message",))
        with pytest.raises(apsw.ConstraintError), database.write() as connection:
            connection.execute(add, ("else",))
    assert rows(newer.connection(), "select id, kind, thing_id from vectors") == [
        (1, "frame", 7), (2, "message", 7), (3, "message", 7),
    ]  # fmt: skip
    assert rows(newer.connection(), "pragma integrity_check") == [("ok",)]
    older.close_thread()
    newer.close_thread()


def test_second_opening_does_nothing(database: Database, data_dir: DataDir) -> None:
    assert migrate(database.connection(), data_dir) == []
    assert list(data_dir.backups.iterdir()) == []


def test_steps_are_recorded_by_name(database: Database) -> None:
    with database.read() as connection:
        names = [name for (name,) in rows(connection, "select name from migrations order by name")]
    assert names == sorted(step.__name__ for step in STEPS)


def test_step_that_fails_is_undone_and_tried_again(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def m999_half(connection: apsw.Connection) -> None:
        connection.execute("create table half_done (id integer primary key)")
        raise ValueError("no further")

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", (*STEPS, m999_half))
        with pytest.raises(ValueError, match="no further"):
            open_database(data_dir)
    again = open_database(data_dir)
    assert scalar(again.connection(), "select count(*) from sqlite_schema where name = 'half_done'") == 0
    again.close_thread()


def test_database_of_a_later_version_is_refused_by_name(database: Database, data_dir: DataDir) -> None:
    with database.write() as connection:
        connection.execute("insert into migrations (name, applied_ms) values ('m999_future', 1)")
    with pytest.raises(DatabaseTooNew, match="m999_future"):
        open_database(data_dir)
