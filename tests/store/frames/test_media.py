"""Pixels: exactly the captured bytes, or an explicit "gone"."""

from __future__ import annotations

import hashlib
import io
import threading
from pathlib import Path

import pytest
from PIL import Image

from store.core.database import Database
from store.core.errors import MediaGone
from store.core.paths import DataDir
from store.frames import media
from tests.factories import NOON_MS, capture, picture, store_frame, webp
from tests.tables import for_each


def shelf(data_dir: DataDir) -> media.Media:
    return media.Media(data_dir.media)


def test_a_picture_is_served_byte_for_byte(data_dir: DataDir, database: Database) -> None:
    image = picture(1, (320, 200))
    frame = store_frame(database, data_dir, image=image)
    content = shelf(data_dir).exact(frame)
    assert content == webp(image)
    assert hashlib.sha256(content).hexdigest() == frame.sha256
    assert shelf(data_dir).image(frame).tobytes() == image.tobytes()


def test_keeping_twice_gives_one_file(data_dir: DataDir) -> None:
    record = capture()
    stills = [
        shelf(data_dir).keep(webp(picture()), "image/webp", NOON_MS, record.capture_id) for _ in range(2)
    ]
    assert stills[0] == stills[1]
    assert shelf(data_dir).files() == [stills[0].media_path]


def damage_missing(path: Path) -> None:
    path.unlink()


def damage_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def damage_swapped(path: Path) -> None:
    path.write_bytes(webp(picture(99)))


def damage_link(path: Path) -> None:
    other = path.with_name("other.webp")
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_missing, "missing"),
        (damage_truncated, "altered"),
        (damage_swapped, "altered"),
        (damage_link, "altered"),
    ],
)
def test_a_damaged_picture_is_gone_and_never_another(
    data_dir: DataDir, database: Database, damage: object, reason: str
) -> None:
    """Neighbours stand beside it, and none of them is served."""
    store_frame(database, data_dir, NOON_MS - 1000)
    frame = store_frame(database, data_dir, NOON_MS)
    store_frame(database, data_dir, NOON_MS + 1000)
    assert callable(damage)
    assert frame.media_path is not None
    damage(data_dir.media / frame.media_path)
    for ask in (shelf(data_dir).exact, shelf(data_dir).image):
        with pytest.raises(MediaGone) as gone:
            ask(frame)
        assert (gone.value.frame_id, gone.value.reason) == (frame.id, reason)


@for_each(
    ("content", "media_type"),
    [
        (b"", "image/webp"),
        (b"not a picture", "image/png"),
        (webp(picture())[:-8], "image/webp"),
        (webp(picture()), "image/png"),
    ],
    ids=["empty", "text", "truncated", "of another type"],
)
def test_what_is_no_picture_is_refused_and_leaves_no_file(
    data_dir: DataDir, content: bytes, media_type: str
) -> None:
    with pytest.raises(ValueError, match="not a readable"):
        shelf(data_dir).keep(content, media_type, NOON_MS, capture().capture_id)
    assert shelf(data_dir).files() == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "x" * 300])
def test_only_a_uuid_becomes_a_file_name(data_dir: DataDir, name: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        shelf(data_dir).keep(webp(picture()), "image/webp", NOON_MS, name)


def test_files_and_folders_are_for_their_owner_only(data_dir: DataDir, database: Database) -> None:
    frame = store_frame(database, data_dir)
    assert frame.media_path is not None
    path = data_dir.media / frame.media_path
    assert path.stat().st_mode & 0o777 == 0o600
    assert {parent.stat().st_mode & 0o777 for parent in list(path.parents)[:3]} == {0o700}


def test_a_preview_is_smaller_and_keeps_its_ratio(data_dir: DataDir, database: Database) -> None:
    frame = store_frame(database, data_dir, image=picture(1, (1600, 900)))
    with Image.open(io.BytesIO(shelf(data_dir).preview(frame, 320))) as preview:
        assert preview.size == (320, 180)


def test_a_crop_is_the_frames_own_pixels(data_dir: DataDir, database: Database) -> None:
    image = Image.effect_noise((200, 100), 80).convert("RGB")
    frame = store_frame(database, data_dir, image=image)
    with Image.open(io.BytesIO(shelf(data_dir).crop(frame, 150, 60, 100, 100))) as crop:
        assert crop.convert("RGB").tobytes() == image.crop((150, 60, 200, 100)).tobytes()
    with pytest.raises(ValueError, match="outside"):
        shelf(data_dir).crop(frame, 200, 0, 10, 10)


def test_removing_frees_bytes_and_empties_folders(data_dir: DataDir, database: Database) -> None:
    frame = store_frame(database, data_dir)
    assert frame.media_path is not None
    assert shelf(data_dir).remove([frame.media_path, frame.media_path]) == frame.size_bytes
    assert list(data_dir.media.iterdir()) == []


def test_the_pixel_hash_depends_on_shape() -> None:
    assert media.pixels_sha256(Image.new("RGB", (2, 8))) != media.pixels_sha256(Image.new("RGB", (8, 2)))


def test_large_pictures_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six of 64 million pixels at once took the web process to 3 GB."""
    monkeypatch.setattr(media, "_LARGE_PIXELS", 100 * 100)
    small, large = webp(picture(size=(100, 100))), webp(picture(size=(101, 100)))
    decoding = threading.Thread(target=media.decode, args=(large, "image/webp"))
    with media._one_large_at_a_time:
        media.decode(small, "image/webp")
        decoding.start()
        decoding.join(0.2)
        assert decoding.is_alive()
    decoding.join()
