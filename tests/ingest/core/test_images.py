from __future__ import annotations

import hashlib
import io
import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ingest.core import validation
from store.core.errors import SpoolEntryInvalid
from tests.factories import picture, webp
from tests.tables import for_each


def encoded(kind: str, image: Image.Image | None = None) -> bytes:
    buffer = io.BytesIO()
    (image or picture(1)).save(buffer, kind)
    return buffer.getvalue()


def png_header_of(width: int, height: int) -> bytes:
    """A PNG that says how large it is and has no more to say."""
    body = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(body)) + b"IHDR" + body + struct.pack(">I", zlib.crc32(b"IHDR" + body))
    idat = zlib.compress(b"\0" * 64)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", len(idat)) + b"IDAT" + idat
        + struct.pack(">I", zlib.crc32(b"IDAT" + idat))
    )  # fmt: skip


GOOD = {"image/webp": webp(picture(1)), "image/png": encoded("PNG"), "image/jpeg": encoded("JPEG")}


@pytest.mark.parametrize("media_type", GOOD)
def test_a_good_picture_passes_with_its_very_bytes(media_type: str, tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(GOOD[media_type])
    digest = hashlib.sha256(GOOD[media_type]).hexdigest()
    content = validation.read_checked(path, media_type, digest)
    assert content == GOOD[media_type]
    assert validation.decode(content, media_type).size == (64, 48)


@pytest.mark.parametrize(
    ("content", "media_type", "code"),
    [
        (b"", "image/png", "empty"),
        (b"hello, I am text", "image/png", "wrong_type"),
        (GOOD["image/png"], "image/webp", "wrong_type"),
        (GOOD["image/jpeg"], "image/png", "wrong_type"),
        (b"GIF89a" + bytes(40), "image/png", "wrong_type"),
        (GOOD["image/png"][:20], "image/png", "bad_picture"),
        (GOOD["image/webp"][:20], "image/webp", "bad_picture"),
        (GOOD["image/jpeg"][:4], "image/jpeg", "bad_picture"),
        (png_header_of(16_385, 10), "image/png", "too_large"),
        (png_header_of(9_000, 9_000), "image/png", "too_large"),
        (png_header_of(60_000, 60_000), "image/png", "too_large"),
        (b"\x89PNG\r\n\x1a\n" + bytes(25 * 1024 * 1024), "image/png", "too_large"),
    ],
)
def test_a_misfit_is_refused_before_it_is_decoded(
    content: bytes, media_type: str, code: str, tmp_path: Path
) -> None:
    """Truncated, huge, mislabelled, unfolding."""
    path = tmp_path / "image"
    path.write_bytes(content)
    with pytest.raises(SpoolEntryInvalid) as refused:
        validation.read_checked(path, media_type)
    assert refused.value.code == code


@for_each("media_type", GOOD)
def test_a_picture_cut_short_is_refused(media_type: str) -> None:
    content = GOOD[media_type]
    with pytest.raises(SpoolEntryInvalid) as refused:
        validation.decode(content[: len(content) * 3 // 4], media_type)
    assert refused.value.code == "bad_picture"


def test_another_picture_than_the_captured_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(GOOD["image/png"])
    with pytest.raises(SpoolEntryInvalid) as refused:
        validation.read_checked(path, "image/png", hashlib.sha256(b"another").hexdigest())
    assert refused.value.code == "wrong_checksum"


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target.png"
    target.write_bytes(GOOD["image/png"])
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        with pytest.raises(SpoolEntryInvalid) as refused:
            validation.read_checked(tmp_path / name, "image/png")
        assert refused.value.code == "not_a_file"


def test_another_users_picture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "image"
    path.write_bytes(GOOD["image/png"])
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(SpoolEntryInvalid) as refused:
        validation.read_checked(path, "image/png")
    assert refused.value.code == "not_ours"


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_damage_anywhere_is_refused_or_decodes_and_nothing_else(
    media_type: str, at: int, damage: bytes
) -> None:
    content = bytearray(GOOD[media_type])
    at %= len(content)
    content[at : at + len(damage)] = damage
    try:
        validation.check(bytes(content), media_type)
        validation.decode(bytes(content), media_type)
    except SpoolEntryInvalid:
        pass
