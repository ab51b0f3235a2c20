"""A backup takes the place of a home whole or not at all, and what was there is kept."""

from __future__ import annotations

import errno
import json
import zipfile
from pathlib import Path
from typing import Any

import apsw
import pytest

from store.backup import backup, restore
from store.core import copies, tombstones
from store.core.database import Database, open_database, rows
from store.core.errors import DatabaseDamaged, DatabaseTooNew, StoreBusy
from store.core.keys import app_digest
from store.core.paths import DataDir, file_lock
from store.deletion import deletion, receipts, sources
from store.egress import access_keys
from store.egress.access_keys import AccessKey
from store.frames import frames
from store.frames.frames import id_range
from store.frames.media import Media
from store.sources import hosts, imports
from store.sources.calendars import EventRecord
from store.sources.locations import PlaceRecord
from tests.factories import NOON_MS, store_frame
from tests.sources import message, put_events, put_messages, put_places
from tests.store.backup.test_backup import Killed, holds, put

SECRET = "xylophonequark"
HOUR_MS = 3_600_000


@pytest.fixture
def damaged(database: Database, data_dir: DataDir) -> Path:
    """A home with a backup of three frames, in which a fourth came and then the database was lost."""
    put(database)
    path, _ = backup.make(database, NOON_MS)
    store_frame(database, data_dir, NOON_MS + HOUR_MS, "newer words")
    database.close_thread()
    data_dir.database.write_bytes(b"no database " * 1_000)
    return path


def texts(data_dir: DataDir) -> list[str]:
    database = open_database(data_dir)
    try:
        for frame in database.column("select id from frames"):
            Media(data_dir.media).exact(frames.get(database, frame))
        return sorted(text for (text,) in rows(database.connection(), "select text from readings"))
    finally:
        database.close_thread()


def files(data_dir: DataDir) -> list[Path]:
    return sorted(path for path in data_dir.home.rglob("*") if path.suffix != ".lock")


def test_a_damaged_home_gets_its_backup_and_is_kept_aside(damaged: Path, data_dir: DataDir) -> None:
    data_dir.privacy_rules.write_text("{}")
    done = restore.restore(data_dir, restore.find(data_dir, "newest"))
    assert texts(data_dir) == ["ordinary words"] * 3
    assert (done.made_ms, done.is_outdated, done.is_blind) == (NOON_MS, True, True)
    assert (done.replaced / "recollect.db").read_bytes().startswith(b"no database")
    assert len(list((done.replaced / "media").rglob("*.webp"))) == 4
    assert data_dir.privacy_rules.read_text() == "{}"
    assert not data_dir.restoring.exists()
    database = open_database(data_dir)
    assert copies.drop_outdated(database) == (0, 0)  # the backup stays good, and what was put aside stays
    assert {path for path, _ in backup.listed(data_dir)} == {damaged}
    deletion.delete_range(database, Media(data_dir.media), NOON_MS, NOON_MS + 2 * HOUR_MS)
    assert copies.copies(data_dir) == []
    assert [path for path in data_dir.home.rglob("*.webp")] == []


def test_one_file_from_elsewhere_brings_back_nothing_that_was_deleted_since(
    database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    put(database, 2)
    store_frame(database, data_dir, NOON_MS + HOUR_MS, SECRET)
    outside = tmp_path / "out.zip"
    backup.archive(database, outside, NOON_MS)
    deletion.delete_range(database, Media(data_dir.media), NOON_MS + HOUR_MS, NOON_MS + 2 * HOUR_MS)
    inside, _ = backup.make(database, NOON_MS + 3 * HOUR_MS)
    database.close_thread()
    done = restore.restore(data_dir, outside)
    assert done.is_outdated and not done.is_blind
    assert texts(data_dir) == ["ordinary words"] * 2
    assert holds(data_dir) == []
    database = open_database(data_dir)
    assert copies.drop_outdated(database) == (0, 0) and inside.exists()


def test_imported_sources_that_were_deleted_since_stay_deleted(
    database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    put_messages(database, [message(f"about the {SECRET}")])
    put_events(database, [EventRecord(f"the {SECRET}", NOON_MS, NOON_MS, uid="a")])
    put_places(database, [PlaceRecord("Home", *(48.0, 11.0))])
    outside = tmp_path / "out.zip"
    backup.archive(database, outside, NOON_MS)
    sources.delete(database, "messages")
    [calendar] = imports.listed(database, "calendar")
    assert sources.delete(database, "calendar", calendar.id).elsewhere == (str(outside),)
    database.close_thread()
    restore.restore(data_dir, outside)
    database = open_database(data_dir)
    assert [each.kind for each in imports.listed(database)] == ["places"]
    assert holds(data_dir) == []
    database.close_thread()


def test_what_one_app_lost_takes_nothing_of_others_along(
    database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    for n, app in enumerate(("Mail", "Code", "Mail", "Code")):
        store_frame(database, data_dir, NOON_MS + n * 1_000, app, app_name=app)
    other, outside = tmp_path / "other.zip", tmp_path / "out.zip"
    backup.archive(database, outside, NOON_MS)
    backup.archive(database, other, NOON_MS)
    media = Media(data_dir.media)
    deletion.delete_range(database, media, NOON_MS, NOON_MS + HOUR_MS, "Mail")
    deletion.delete_frames(database, media, [id_range(NOON_MS + 3_000, 0)[0]])
    kept = frames_left(database)
    database.close_thread()
    restore.restore(data_dir, outside)
    assert texts(data_dir) == ["Code"]
    database = open_database(data_dir)
    assert frames_left(database) == kept
    with database.read() as connection:
        still = [tombstones.cover_since(connection, 0, NOON_MS + 5_000, app) for app in ("Mail", "Code")]
        told, _ = hosts.orders(connection, 0)
    assert (still, [order.app_sha256 for order in told]) == ([True, False], [app_digest("Mail")])
    assert {each.deletion_id for each in receipts.latest(database, 9)} >= {order.id for order in told}
    assert copies.elsewhere(database) == (str(other), str(outside))
    database.close_thread()


def frames_left(database: Database) -> list[int]:
    return database.column("select id from frames order by id")


def test_a_key_that_was_revoked_since_opens_nothing_again(database: Database, data_dir: DataDir) -> None:
    def key(name: str) -> AccessKey:
        return AccessKey(0, "read", name, 0, NOON_MS, None)

    put(database)
    with database.write() as connection:
        revoked = access_keys.add(connection, b"1", key("revoked"))
        access_keys.add(connection, b"2", key("kept"))
    path, _ = backup.make(database, NOON_MS)
    with database.write() as connection:
        access_keys.revoke(connection, revoked)
    database.close_thread()
    restore.restore(data_dir, path)
    database = open_database(data_dir)
    assert [each.name for each in access_keys.listed(database)] == ["kept"]
    database.close_thread()


def test_an_empty_home_elsewhere_takes_everything_along(
    database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    put(database)
    data_dir.config.write_text("[web]\nport = 1\n")
    backup.archive(database, tmp_path / "out.zip", NOON_MS)
    other = DataDir(tmp_path / "other").create()
    restore.restore(other, tmp_path / "out.zip")
    assert texts(other) == ["ordinary words"] * 3
    assert other.config.read_text() == "[web]\nport = 1\n"


@pytest.mark.parametrize("lock", ["up.lock", "web.lock", "spool/ingest.lock", "backups/.lock"])
def test_it_refuses_while_a_program_runs(damaged: Path, data_dir: DataDir, lock: str) -> None:
    data_dir.spool.mkdir(exist_ok=True)
    with file_lock(data_dir.home / lock), pytest.raises(StoreBusy):
        restore.restore(data_dir, damaged)
    assert data_dir.database.read_bytes().startswith(b"no database")


def test_it_refuses_while_another_program_has_the_database_open(
    database: Database, data_dir: DataDir
) -> None:
    path, _ = backup.make(database, NOON_MS)
    with pytest.raises(StoreBusy, match="database open"):
        restore.restore(data_dir, path)
    database.close_thread()
    restore.restore(data_dir, path)


def test_what_is_no_whole_backup_changes_nothing(damaged: Path, data_dir: DataDir, tmp_path: Path) -> None:
    before = files(data_dir)
    whole = tmp_path / "whole.zip"
    database_name = data_dir.database.name

    def bundle(name: str, manifest: dict[str, Any], **members: bytes) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as file:
            for member, content in members.items():
                file.writestr(member, content)
            file.writestr("manifest.json", json.dumps(manifest))
        return path

    said = {"made_ms": 1, "generation": "", "pictures": 0, "missing": 0, "format": backup.FORMAT}
    whole.write_bytes(b"PK no zip")
    cases = [
        whole,
        tmp_path,
        bundle("a.zip", {}),
        bundle("b.zip", {**said, "sha256": {}}),
        bundle("c.zip", {**said, "sha256": {"../evil": "0"}}, **{"../evil": b""}),
        bundle("d.zip", {**said, "sha256": {"media/../../evil": "0"}}, **{"media/../../evil": b""}),
        bundle("e.zip", {**said, "sha256": {"token": "0"}}, token=b""),
        bundle("f.zip", {**said, "sha256": {database_name: "0"}}, **{database_name: b""}),
        bundle("g.zip", {**said, "sha256": {database_name: "0"}}),
        bundle("h.zip", {**said, "sha256": [], "format": "recollect-backup/9"}),
    ]
    for source in cases:
        with pytest.raises(restore.NoBackup):
            restore.restore(data_dir, source)
    (damaged / database_name).write_bytes(b"x")
    with pytest.raises(restore.NoBackup, match="damaged"):
        restore.restore(data_dir, damaged)
    for name in ("none", "/nowhere"):
        with pytest.raises(restore.NoBackup):
            restore.find(data_dir, name)
    assert files(data_dir) == before


def test_a_backup_of_a_newer_version_says_to_update(database: Database, data_dir: DataDir) -> None:
    database.change("insert into migrations (name, applied_ms) values ('999_future', 1)")
    path, _ = backup.make(database, NOON_MS)
    database.close_thread()
    with pytest.raises(DatabaseTooNew, match="update Recollect"):
        restore.restore(data_dir, path)
    assert not data_dir.restoring.exists()


# -- kills and full disks -----------------------------------------------------------------

_OWNERS: dict[str, Any] = {"rename": Path, "mkdir": Path, "unlink": Path}


@pytest.mark.parametrize("name", ["rename", "mkdir", "unlink", "replace_file", "sync_directory", "link"])
@pytest.mark.parametrize("is_after", [False, True])
def test_wherever_it_is_killed_the_home_is_the_old_one_or_the_next_call_makes_it_the_new(
    damaged: Path, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch, name: str, is_after: bool
) -> None:
    owner = _OWNERS.get(name, restore)
    real = getattr(owner, name)
    for number in range(100):
        left = [number]

        def die(*args: Any, left: list[int] = left, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == -1 and not is_after:
                raise Killed
            result = real(*args, **named)
            if left[0] == -1:
                raise Killed
            return result

        was_killed = False
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, die)
            patch.setattr(restore.shutil, "rmtree", lambda *_, **__: None)  # a kill tidies up nothing
            try:
                restore.restore(data_dir, damaged)
            except Killed:
                was_killed = True
        if data_dir.restoring.exists():
            with pytest.raises(DatabaseDamaged, match="broken off"):
                open_database(data_dir)
            assert restore.finish(data_dir)
        if data_dir.database.read_bytes().startswith(b"no database"):
            restore.restore(data_dir, damaged)  # nothing had been changed
        assert texts(data_dir) == ["ordinary words"] * 3
        aside = [path for path in data_dir.backups.glob("replaced-*") if (path / "recollect.db").exists()]
        assert len(aside) == number + 1
        database = open_database(data_dir)
        copies.sweep(database)
        database.close_thread()
        assert copies.leavings(data_dir) == []
        if not was_killed:
            assert number > 0
            return
        data_dir.database.write_bytes(b"no database " * 1_000)
    raise AssertionError("it never came to its end")


def test_a_full_disk_leaves_the_home_as_it_was(
    damaged: Path, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = files(data_dir)
    for name in ("link", "open_database", "replace_file"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
            patch.setattr(restore, name, full)
            restore.restore(data_dir, damaged)
        assert files(data_dir) == before


def test_the_newest_words_of_the_log_go_aside_with_their_database(
    database: Database, data_dir: DataDir, tmp_path: Path
) -> None:
    """A log that stayed would be written into the backup's database."""
    put(database, 1)
    path, _ = backup.make(database, NOON_MS)
    store_frame(database, data_dir, NOON_MS + HOUR_MS, "newer words")
    beside = [data_dir.home / f"recollect.db{end}" for end in ("-wal", "-shm")]
    kept = [each.read_bytes() for each in beside]
    database.close_thread()
    for each, content in zip(beside, kept, strict=True):
        each.write_bytes(content)
    with data_dir.database.open("r+b") as file:
        file.write(b"\0" * 100)
    done = restore.restore(data_dir, path)
    assert [(done.replaced / each.name).exists() for each in beside] == [True, True]
    assert texts(data_dir) == ["ordinary words"]
    with apsw.Connection(str(data_dir.database)) as connection:
        assert connection.execute("pragma quick_check").fetchall() == [("ok",)]
