"""Attached files: each once on the disk, found by what they are, and gone with their chat."""

from __future__ import annotations

import os
import time

import pytest

from store.chats import attachments, conversations
from store.core.database import Database, scalar
from store.core.errors import AttachmentGone, AttachmentSent, NotFound
from store.core.paths import DataDir
from store.frames.media import Media
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.attaching import ask, attach
from tests.factories import NOON_MS
from tests.meanwhile import meanwhile

SECRET = "the launch code is zebra-4711"


def test_a_file_is_kept_under_its_hash_and_served_byte_for_byte(database: Database) -> None:
    found = attach(database, b"\x00bytes", "some words")
    path = attachments.path_of(database.data_dir, found.sha256)
    assert path.read_bytes() == b"\x00bytes" == attachments.exact(database.data_dir, found.sha256)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (found.characters, found.size_bytes, found.chat_id, found.turn) == (10, 6, None, None)
    assert attachments.text_of(database, found.id, 5, 3) == "wor"
    assert attachments.text_of(database, found.id, 10, 3) == ""


def test_the_same_file_twice_is_one_on_the_disk_until_both_are_gone(database: Database) -> None:
    one, two = attach(database), attach(database)
    assert attachments.usage(database) == (1, 4)
    attachments.remove(database, one.id)
    assert attachments.exact(database.data_dir, two.sha256) == b"plan"
    attachments.remove(database, two.id)
    assert attachments.files(database.data_dir) == []
    assert attachments.usage(database) == (0, 0)
    with pytest.raises(NotFound):
        attachments.get(database, two.id)


def test_a_question_takes_its_files_and_a_later_one_of_the_chat_takes_them_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = attach(database), attach(database, b"2", "2", "b.txt")
    chat_id, n = ask(database, other.id, first.id, first.id)
    assert [each.name for each in attachments.of_turn(database, chat_id, n)] == ["a.txt", "b.txt"]
    _, again = ask(database, first.id, chat_id=chat_id)
    assert [each.name for each in attachments.of_turn(database, chat_id, again)] == ["a.txt"]
    assert len(attachments.of_chat(database, chat_id)) == 3
    with pytest.raises(AttachmentSent):
        attachments.remove(database, first.id)
    late = attach(database, b"3", "3", "c.txt")
    meanwhile(monkeypatch, Database, "write", lambda: ask(database, late.id), is_before=True)
    with pytest.raises(AttachmentSent):
        attachments.remove(database, late.id)


def test_a_question_cannot_take_the_file_of_another_chat(database: Database) -> None:
    theirs = attach(database)
    ask(database, theirs.id)
    with pytest.raises(NotFound):
        ask(database, theirs.id)
    with pytest.raises(NotFound):
        attachments.usable(database, [theirs.id], 99)
    with database.read() as connection:
        assert scalar(connection, "select count(*) from turns") == 1


def test_deleting_the_chat_leaves_nothing_on_the_disk(database: Database, data_dir: DataDir) -> None:
    chat_id, _ = ask(database, attach(database, SECRET.encode(), SECRET).id)
    copy = data_dir.backups / "before-m999-1.db"
    copy.write_bytes(SECRET.encode())
    assert conversations.delete(database, chat_id)
    database.close_thread()
    left = [path for path in data_dir.home.rglob("*") if path.is_file() and b"zebra" in path.read_bytes()]
    assert left == []


def test_a_chat_that_goes_leaves_a_file_that_another_has(database: Database) -> None:
    mine, _ = ask(database, attach(database).id)
    theirs = attach(database)
    ask(database, theirs.id)
    conversations.delete(database, mine)
    assert attachments.exact(database.data_dir, attachments.get(database, theirs.id).sha256) == b"plan"


def test_what_nobody_asked_about_goes_after_a_day(database: Database, data_dir: DataDir) -> None:
    kept, forgotten = attach(database), attach(database, b"other")
    chat_id, _ = ask(database, kept.id)
    abandoned = attachments.stage(data_dir, b"half").path
    under_way = attachments.stage(data_dir, b"now").path
    os.utime(abandoned, (time.time() - 7200,) * 2)
    assert attachments.sweep(database, NOON_MS + attachments.UNSENT_MS) == 0
    assert attachments.sweep(database, NOON_MS + attachments.UNSENT_MS + 1) == 1
    assert [each.id for each in attachments.of_chat(database, chat_id)] == [kept.id]
    assert not attachments.path_of(data_dir, forgotten.sha256).exists()
    assert (abandoned.exists(), under_way.exists()) == (False, True)


def test_a_crash_before_the_file_went_is_finished_by_the_next_start(database: Database) -> None:
    chat_id, _ = ask(database, attach(database).id)
    with database.write() as connection:  # the rows are gone, and the process dies
        connection.execute("delete from conversations where id = ?", (chat_id,))
    assert len(attachments.files(database.data_dir)) == 1
    attachments.sweep(database, NOON_MS)
    assert attachments.files(database.data_dir) == []


def test_a_file_entered_again_is_taken_out_of_the_trash(database: Database) -> None:
    first = attach(database)
    with database.write() as connection:
        connection.execute("delete from attachments where id = ?", (first.id,))
    again = attach(database)
    attachments.empty_trash(database)
    assert attachments.exact(database.data_dir, again.sha256) == b"plan"


@pytest.mark.parametrize("harm", ["missing", "altered", "link", "orphan"])
def test_verify_finds_every_difference(database: Database, data_dir: DataDir, harm: str) -> None:
    found = attach(database)
    ask(database, found.id)
    report = verify(database, Media(data_dir.media), Spool(data_dir.spool))
    assert (report.problems, report.counts["attached files"]) == ((), 1)
    path = attachments.path_of(data_dir, found.sha256)
    if harm == "missing":
        path.unlink()
    elif harm == "altered":
        path.write_bytes(b"plot")
    elif harm == "link":
        path.rename(data_dir.home / "elsewhere")
        path.symlink_to(data_dir.home / "elsewhere")
    else:
        stray = attachments.path_of(data_dir, "0" * 64)
        stray.parent.mkdir()
        stray.write_bytes(b"stray")
        os.utime(stray, (time.time() - 120,) * 2)
    if harm != "orphan":
        with pytest.raises(AttachmentGone):
            attachments.exact(database.data_dir, found.sha256)
    assert len(verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems) == 1


def test_ids_are_never_given_twice(database: Database) -> None:
    first = attach(database)
    attachments.remove(database, first.id)
    assert attach(database).id > first.id


def test_only_a_hash_becomes_a_path(data_dir: DataDir) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        attachments.path_of(data_dir, "../../etc/passwd")
