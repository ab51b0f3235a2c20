"""What is sealed opens with the home's key under its own name only, and without the key nothing passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from store.chats import attachments
from store.core import keys
from store.core.errors import AttachmentGone, HomeLocked, MediaGone, SpoolEntryInvalid
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.spool import window_hints
from store.spool.queue import Spool, read_file
from store.spool.window_hints import ExtensionReport, OrdinaryWindow
from tests import factories
from tests.store.encryption.homes import PASSPHRASE, encrypted, forget, quick_scrypt

__all__ = ["quick_scrypt"]


@pytest.fixture
def locked(data_dir: DataDir, quick_scrypt: None) -> DataDir:
    """An encrypted home without a database, whose key this process does not know."""
    encrypted(data_dir)
    forget()
    return data_dir


def unlock(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> keys.Box:
    monkeypatch.setenv(keys.PASSPHRASE, PASSPHRASE)
    return keys.box_of(data_dir.home)


def test_a_home_that_is_not_encrypted_lets_bytes_pass(data_dir: DataDir) -> None:
    box = keys.box_of(data_dir.home)
    assert box.seal("media/a", b"bytes") == b"bytes" == box.open("media/b", b"bytes")
    assert (box.key, box.database_key) == (None, None)


def test_what_was_sealed_opens_under_its_name_only(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    box = unlock(locked, monkeypatch)
    sealed = box.seal("media/a", b"planted words")
    assert box.open("media/a", sealed) == b"planted words"
    assert b"planted" not in sealed and len(sealed) == len(b"planted words") + keys.OVERHEAD_BYTES
    assert box.seal("media/a", b"planted words") != sealed
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for name, content in (
        ("media/b", sealed),
        ("media/a", sealed[:-1]),
        ("media/a", changed),
        ("media/a", b"planted words"),
        ("media/a", b""),
    ):
        with pytest.raises(ValueError, match=name):
            box.open(name, content)


def test_a_wrong_passphrase_or_none_opens_nothing(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HomeLocked, match="start Recollect in a terminal"):
        Spool(locked.spool)
    monkeypatch.setenv(keys.PASSPHRASE, "another passphrase")
    with pytest.raises(HomeLocked, match="the passphrase is wrong"):
        Media(locked.media)
    assert unlock(locked, monkeypatch).key is not None


def test_neither_key_nor_passphrase_is_on_the_disk(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    key = unlock(locked, monkeypatch).key
    assert key is not None
    for path in (p for p in locked.home.rglob("*") if p.is_file()):
        content = path.read_bytes()
        assert key not in content and key.hex().encode() not in content
        assert PASSPHRASE.encode() not in content


def test_a_damaged_lock_is_said_to_be(locked: DataDir) -> None:
    locked.encryption.write_text("{}")
    with pytest.raises(HomeLocked, match="cannot be used"):
        keys.box_of(locked.home)


def test_a_program_that_opened_a_plain_home_writes_nothing_plain_into_an_encrypted_one(
    data_dir: DataDir, quick_scrypt: None
) -> None:
    spool, media = Spool(data_dir.spool), Media(data_dir.media)
    encrypted(data_dir)
    with pytest.raises(HomeLocked):
        spool.put(factories.capture(), factories.webp(factories.picture()))
    with pytest.raises(HomeLocked):
        media.write("2026/11/20/a.webp", b"bytes")
    assert [*(data_dir.spool / "new").iterdir(), *(data_dir.spool / "tmp").iterdir()] == []


def test_a_program_is_handed_the_key_once(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    key = unlock(locked, monkeypatch).key
    monkeypatch.delenv(keys.PASSPHRASE)
    environment, given = keys.handing(key)
    code = (
        "import os, sys; from pathlib import Path; from store.core import keys\n"
        f"box = keys.box_of(Path(sys.argv[1])); assert {keys.HANDED!r} not in os.environ\n"
        "assert keys.box_of(Path(sys.argv[1])).key == box.key; print(box.key.hex())"
    )
    command = [sys.executable, "-c", code, str(locked.home)]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, check=True)
    assert key is not None and done.stdout.decode().strip() == key.hex()


class Keyring:
    """The system's keyring."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, name: str, value: str) -> None:
        self.kept[service, name] = value

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_the_keyring_opens_a_home_without_asking(
    data_dir: DataDir, quick_scrypt: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip("keyring")
    ring = Keyring()
    for name in ("set_password", "get_password", "delete_password"):
        monkeypatch.setattr(library, name, getattr(ring, name))
    lock = encrypted(data_dir, in_keyring=True)
    key = keys.box_of(data_dir.home).key
    forget()
    assert keys.box_of(data_dir.home).key == key
    assert key is not None and key.hex() not in ring.kept.values()
    keys.forget(lock)
    assert ring.kept == {}
    with pytest.raises(HomeLocked):
        keys.box_of(data_dir.home)


# -- every kind of file -----------------------------------------------------------------------------


def altered(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_an_entry_of_the_spool(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unlock(locked, monkeypatch)
    spool, image = Spool(locked.spool), factories.webp(factories.picture())
    name = spool.put(factories.capture(window_name="planted words"), image, b"planted too")
    raw = b"".join(path.read_bytes() for path in (locked.spool / "new" / name).iterdir())
    assert b"planted" not in raw and b"WEBP" not in raw
    entry = spool.take(name)
    assert entry is not None and entry.image is not None and entry.text is not None
    assert read_file(entry.image, len(image)) == image
    assert read_file(entry.text, 100) == b"planted too"
    altered(entry.image)
    with pytest.raises(SpoolEntryInvalid, match="was altered"):
        read_file(entry.image, len(image))
    spool.give_back(name)
    plain = json.dumps({"kind": "capture"}).encode()
    (locked.spool / "new" / name / "entry.json").write_bytes(plain)
    with pytest.raises(SpoolEntryInvalid, match="not encrypted"):
        spool.take(name)


def frame_of(path: str, sha256: str) -> FrameRow:
    values = dict.fromkeys(FrameRow.__dataclass_fields__)
    return FrameRow(**{**values, "id": 1, "media_path": path, "media_type": "image/webp", "sha256": sha256})  # type: ignore[arg-type]


def test_a_picture(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unlock(locked, monkeypatch)
    media, image = Media(locked.media), factories.webp(factories.picture())
    still = media.keep(image, "image/webp", factories.NOON_MS, factories.capture().capture_id)
    frame, path = frame_of(still.media_path, still.sha256), locked.media / still.media_path
    assert (media.exact(frame), still.size_bytes) == (image, len(image))
    assert b"WEBP" not in path.read_bytes()
    for damage in (altered, lambda path: path.write_bytes(path.read_bytes()[:-5])):
        damage(path)
        with pytest.raises(MediaGone, match="altered"):
            media.exact(frame)


def test_an_attached_file(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unlock(locked, monkeypatch)
    staged = attachments.stage(locked, b"planted words")
    attachments.keep(locked, staged)
    path = attachments.path_of(locked, staged.sha256)
    assert b"planted" not in path.read_bytes()
    assert attachments.exact(locked, staged.sha256) == b"planted words"
    altered(path)
    with pytest.raises(AttachmentGone, match="altered"):
        attachments.exact(locked, staged.sha256)


def test_the_titles_that_the_browser_tells(locked: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    unlock(locked, monkeypatch)
    report = ExtensionReport("Chromium", 1, (OrdinaryWindow("planted words"),))
    window_hints.save_report(locked.spool, "one", report)
    assert b"planted" not in window_hints.extension_path(locked.spool).read_bytes()
    assert window_hints.read_reports(locked.spool) == [report]
