"""Encrypted homes for tests."""

from __future__ import annotations

import shutil

import apsw
import pytest

from store.chats import attachments
from store.core import keys
from store.core.database import open_database
from store.core.keys import Lock
from store.core.paths import DataDir
from store.encryption import migration
from store.frames.media import Media
from store.search import search
from store.search.filters import Filters
from store.spool import window_hints
from store.spool.queue import Spool
from store.spool.window_hints import ExtensionReport, OrdinaryWindow
from tests import factories

PASSPHRASE = "correct horse battery"


@pytest.fixture
def quick_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passphrase that is quick to try; and none that this machine has set."""
    monkeypatch.setattr(keys, "_SCRYPT", {"n": 2, "r": 8, "p": 1})
    monkeypatch.delenv(keys.PASSPHRASE, raising=False)


def encrypted(data_dir: DataDir, *, in_keyring: bool = False) -> Lock:
    """Let a home without files be encrypted."""
    lock = keys.new_lock(bytes(range(32)), PASSPHRASE, in_keyring=in_keyring, stage="encrypted")
    keys.write(data_dir.home, lock)
    return lock


def forget() -> None:
    """Let this process know no key."""
    keys._known.clear()


NEEDS_ENCRYPTING_SQLITE = pytest.mark.skipif(
    not hasattr(apsw, "mc_version"), reason="in this process SQLite was built without encryption"
)
PLANTED = "quarterly zanzibar"
IN_THE_CLEAR = (b"zanzibar", b"WEBPVP8", b"\x89PNG\r\n\x1a\n", b"SQLite format 3")
"""Words of the home, and how files of content begin or go on: too long to be met by chance."""


def fill(data_dir: DataDir) -> None:
    """Let a home have something of every kind; `PLANTED` is in each."""
    database = open_database(data_dir)
    for second in range(3):
        factories.store_frame(
            database, data_dir, factories.NOON_MS + second * 1000, f"{PLANTED} report {second}"
        )
    staged = attachments.stage(data_dir, PLANTED.encode())
    attachments.add(
        database, staged, "notes.txt", attachments.Contents("text", "text/plain", PLANTED), factories.NOON_MS
    )
    database.close_thread()
    Media(data_dir.media).write("2026/11/20/pack.zip", b"PK\x03\x04" + PLANTED.encode())
    spool, image = Spool(data_dir.spool), factories.webp(factories.picture(9))
    for second in range(2):
        record = factories.capture(factories.NOON_MS + 60_000 + second, window_name=PLANTED)
        spool.put(record, image, PLANTED.encode())
    name = spool.waiting()[0]
    spool.take(name)
    spool.fail(name, "it was not to be")
    report = ExtensionReport("Chromium", 1, (OrdinaryWindow(PLANTED),))
    window_hints.save_report(data_dir.spool, "one", report)


def leave(data_dir: DataDir) -> None:
    """Let there be backups, and what crashes leave."""
    shutil.copy(data_dir.database, data_dir.backups / "before-002_more-1.db")
    folder = data_dir.backups / "2026-11-20T120000-000Z"
    folder.mkdir()
    picture = next(data_dir.media.rglob("*.webp"))
    (folder / "linked.webp").hardlink_to(picture)
    for path in (
        picture.with_name(f".{picture.name}.tmp"),
        data_dir.attachments / f"0{attachments.STAGED}",
        data_dir.spool / "tmp" / "import-1",
    ):
        path.write_text(PLANTED)


def contents(data_dir: DataDir) -> dict[str, bytes]:
    """What every file of content says, by its path."""
    box = keys.box_of(data_dir.home)
    return {
        path.relative_to(data_dir.home).as_posix(): box.open(name, path.read_bytes())
        for path, name in migration._files(data_dir)
    }


def frames_found(data_dir: DataDir) -> int:
    """How many frames a search finds."""
    database = open_database(data_dir)
    page = search.search(database, PLANTED, Filters(0, factories.NOON_MS * 2), mode="fts", limit=10)
    database.close_thread()
    return page.total


def in_the_clear(data_dir: DataDir) -> list[str]:
    """Files of a home with anything in them that must not be there."""
    return [
        f"{path.relative_to(data_dir.home)}: {word!r}"
        for path in data_dir.home.rglob("*")
        if path.is_file()
        for word in IN_THE_CLEAR
        if word in path.read_bytes()
    ]
