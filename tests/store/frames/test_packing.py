"""Packs: every picture comes back exact, and nothing that is deleted, damaged or cut off costs another's."""

from __future__ import annotations

import errno
import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from store.core.database import Database
from store.core.errors import MediaGone, StoreBusy
from store.core.paths import DataDir
from store.core.settings import RetentionSettings
from store.deletion import deletion, retention
from store.frames import frames, packing, pending
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.frames.packs import MAX_DEPTH, Pack, PackWriter
from store.spool.queue import Spool
from store.verify.verify import verify
from tests.factories import NOON_MS, picture, store_frame, webp
from tests.tables import for_each

LATER_MS = NOON_MS + 3_600_000
SIZE = (320, 200)


def screen(n: int, window: int = 0) -> Image.Image:
    """A window in which each frame has some more words than the one before."""
    image = Image.new("RGB", SIZE, (20 * window, 90, 200))
    draw = ImageDraw.Draw(image)
    for line in range(n + 1):
        draw.text((10 + line * 40 % 200, 12 * (line % 15)), f"{window}:{line}", fill=(line * 7 % 256, 0, 0))
    return image


@pytest.fixture
def media(data_dir: DataDir, database: Database) -> Media:
    return Media(data_dir.media, database)


@pytest.fixture
def stored(database: Database, data_dir: DataDir) -> list[FrameRow]:
    """As many frames of one screen as fit into a pack."""
    return [
        store_frame(database, data_dir, NOON_MS + n * 1000, image=screen(n, n // 7 % 2), batch_id="b")
        for n in range(packing.PER_PACK)
    ]


def pack(database: Database, media: Media) -> int:
    number = packing.pack_next(database, media, LATER_MS)
    deletion.empty_trash(database, media)
    return number


def now(database: Database, rows: list[FrameRow]) -> list[FrameRow]:
    found = frames.get_many(database, [row.id for row in rows])
    return [found[row.id] for row in rows if row.id in found]


def assert_exact(media: Media, rows: list[FrameRow]) -> None:
    for row in rows:
        n = (row.captured_ms - NOON_MS) // 1000
        assert media.image(row).tobytes() == screen(n, n // 7 % 2).tobytes()
        assert media.exact(row) == webp(screen(n, n // 7 % 2))


def problems(database: Database, media: Media) -> list[str]:
    found = verify(database, media, Spool(database.data_dir.spool)).problems
    return [problem for problem in found if "segments" not in problem and "without a reading" not in problem]


# -- the format ---------------------------------------------------------------------------


def sequences() -> dict[str, list[Image.Image]]:
    page = Image.effect_noise((240, 900), 90).convert("RGB")

    def at(by: int) -> Image.Image:
        image = Image.new("RGB", SIZE, "white")
        image.paste(page.crop((0, by, 240, by + 200)), (80, 0))
        return image

    return {
        "typing": [screen(n) for n in range(20)],
        "two windows in turns": [screen(n // 2 * 3, n % 2) for n in range(12)],
        "scrolling": [at(by) for by in (0, 24, 48, 40, 90, 400, 390)],
        "nothing changes": [screen(3)] * 4,
        "black on black": [Image.new("RGB", SIZE), picture(1, SIZE), Image.new("RGB", SIZE)],
        "another size": [screen(1), picture(2, (64, 48)), screen(2), picture(3, (65, 47)), screen(3)],
        "one pixel": [Image.new("RGB", (1, 1), colour) for colour in ("red", "green")],
    }


@for_each("name", sequences())
def test_every_picture_comes_back_in_any_order(name: str) -> None:
    writer, images = PackWriter(), sequences()[name]
    sizes = [writer.add(n, image) for n, image in enumerate(images, 1)]
    content = writer.content()
    assert len(content) == pytest.approx(sum(sizes), abs=64)
    one = Pack(content)
    assert one.ids() == list(range(1, len(images) + 1))
    for n in [*one.ids(), *reversed(one.ids())]:
        assert one.image(n).tobytes() == Pack(content).image(n).tobytes() == images[n - 1].tobytes()
    with pytest.raises(KeyError):
        one.image(99)


def packed(images: list[Image.Image]) -> bytes:
    writer = PackWriter()
    for n, image in enumerate(images, 1):
        writer.add(n, image)
    return writer.content()


def test_changes_and_what_was_scrolled_take_little() -> None:
    for name in ("typing", "scrolling"):
        images = sequences()[name]
        assert len(packed(images)) < 0.5 * sum(len(webp(image)) for image in images), name


def test_each_of_two_windows_is_kept_whole_once() -> None:
    content = packed(sequences()["two windows in turns"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [entry.filename for entry in archive.infolist() if not entry.comment] == ["1.webp", "2.webp"]


def test_no_picture_lies_on_more_than_some_others() -> None:
    writer = PackWriter()
    for n in range(1, 31):
        writer.add(n, screen(n))
    one = Pack(writer.content())
    for n in one.ids():
        reads: list[int] = []
        one._last = None
        stored = one._stored
        one._stored = lambda i, to=reads, look=stored: (to.append(i), look(i))[1]  # type: ignore[method-assign]
        one.image(n)
        one._stored = stored  # type: ignore[method-assign]
        assert len(reads) <= MAX_DEPTH + 1


# -- packing what is stored ---------------------------------------------------------------


def test_stills_become_one_pack_and_stay_exact(
    database: Database, media: Media, stored: list[FrameRow]
) -> None:
    before = retention.media_bytes(database)
    assert pack(database, media) == packing.PER_PACK
    rows = now(database, stored)
    assert media.files() == [rows[0].media_path] and {row.media_path for row in rows} == set(media.files())
    size = (media.folder / str(rows[0].media_path)).stat().st_size
    assert retention.media_bytes(database) == pytest.approx(size, abs=64) and size < before
    assert_exact(media, rows)
    assert_exact(media, stored)  # rows that were read before, as a question under way has them
    assert (pack(database, media), problems(database, media)) == (0, [])


def test_no_pixels_are_remembered_of_what_another_program_deletes(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(database, media)
    (shown, *_) = now(database, stored)
    monkeypatch.setattr("store.frames.media._REMEMBERED_S", 0.0)
    media.image(shown)
    deletion.delete_frames(database, Media(media.folder, database), [row.id for row in stored])
    media._forgetting.join(60)
    assert media._pack is None
    with pytest.raises(MediaGone):
        media.image(shown)


def test_only_what_a_daemon_captured_and_rests_is_packed(
    database: Database, data_dir: DataDir, media: Media, stored: list[FrameRow]
) -> None:
    upload = store_frame(database, data_dir, NOON_MS + 1, image=screen(1))
    fresh = store_frame(database, data_dir, LATER_MS, image=screen(1), batch_id="b")
    assert packing.pack_next(database, media, NOON_MS + 60_000) == 0
    other = store_frame(database, data_dir, NOON_MS + 1_800_000, image=screen(1), batch_id="b", monitor="2")
    assert pack(database, media) == packing.PER_PACK
    assert pack(database, media) == 0
    for row in (upload, fresh, other):
        assert frames.get(database, row.id).media_path == row.media_path
    assert packing.pack_next(database, media, LATER_MS + 3_700_000) == 1  # alone, and larger: it stays
    assert frames.get(database, other.id).media_path == other.media_path


def test_a_picture_that_would_not_come_back_leaves_all_stills(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Pack.image

    def wrong(self: Pack, frame_id: int) -> Image.Image:
        return screen(0) if frame_id == stored[20].id else right(self, frame_id)

    with monkeypatch.context() as patch:
        patch.setattr(Pack, "image", wrong)
        pack(database, media)
    assert now(database, stored) == stored
    assert_exact(media, stored)


def test_a_still_that_is_damaged_stays_out_of_the_pack(
    database: Database, media: Media, stored: list[FrameRow]
) -> None:
    (media.folder / str(stored[5].media_path)).write_bytes(webp(picture(5)))
    pack(database, media)
    rows = now(database, stored)
    with pytest.raises(MediaGone, match="altered"):
        media.image(rows[5])
    assert_exact(media, [row for row in rows if row.id != stored[5].id])
    assert problems(database, media) == [f"The picture of frame {stored[5].id} is altered."]


class Killed(BaseException):
    """As a process ends: nothing catches it."""


STEPS = {"write": (Path, "replace"), "settle": (pending, "settle"), "unlink": (Media, "remove")}


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_between_two_steps_leaves_every_picture(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(pending, "_discard", lambda *_: None)  # a process that died tidies nothing
        where, name = STEPS[step]
        patch.setattr(where, name, die)
        with pytest.raises(Killed):
            pack(database, media)
    assert_exact(media, now(database, stored))
    deletion.sweep(database, media)
    assert problems(database, media) == []
    pack(database, media)
    assert len(media.files()) == 1
    assert_exact(media, now(database, stored))


def test_what_is_deleted_while_it_is_packed_is_in_no_pack(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = pending.write

    def meanwhile(*given: object) -> None:
        deletion.delete_frames(database, media, [stored[3].id])
        write(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(pending, "write", meanwhile)
        patch.setattr(deletion, "_WAIT_S", 0.0)  # for the pictures' lock, which is held here
        with pytest.raises(StoreBusy, match="went while it was being packed"):
            packing.pack_next(database, media, LATER_MS)
    deletion.empty_trash(database, media)
    assert len(media.files()) == packing.PER_PACK - 1
    assert_exact(media, now(database, stored))
    assert problems(database, media) == []


# -- packs that lose frames ---------------------------------------------------------------


@pytest.mark.parametrize("gone", [[0], [31], [7, 8, 20], list(range(1, 32)), list(range(32))])
def test_a_deletion_rewrites_the_pack_without_it(
    database: Database, media: Media, stored: list[FrameRow], gone: list[int]
) -> None:
    pack(database, media)
    old = media.files()
    receipt = deletion.delete_frames(database, media, [stored[n].id for n in gone])
    assert receipt.verified
    left = now(database, stored)
    assert len(left) == packing.PER_PACK - len(gone)
    assert set(media.files()).isdisjoint(old) and len(media.files()) == bool(left)
    for path in media.files():
        assert Pack(media.content(path)).ids() == [row.id for row in left]
    assert_exact(media, left)
    assert problems(database, media) == []


def test_a_disk_too_full_to_rewrite_a_pack_is_told_and_made_good(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(database, media)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Media, "write", full)
        receipt = deletion.delete_frames(database, media, [stored[0].id])
    assert receipt.left == ("1 pictures are still on the disk.",)
    assert_exact(media, now(database, stored))
    deletion.sweep(database, media)
    assert_exact(media, now(database, stored))
    assert Pack(media.content(media.files()[0])).ids() == [row.id for row in stored[1:]]
    assert problems(database, media) == []


def test_a_pack_that_cannot_be_read_for_now_is_not_given_up(
    database: Database, media: Media, stored: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(database, media)

    def refuse(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Media, "content", refuse)
        assert not deletion.delete_frames(database, media, [stored[0].id]).verified
    deletion.sweep(database, media)
    assert_exact(media, now(database, stored))
    assert len(now(database, stored)) == packing.PER_PACK - 1 and problems(database, media) == []


def test_retention_takes_pictures_out_of_packs(
    database: Database, media: Media, stored: list[FrameRow]
) -> None:
    database.change("update frames set reading_state = 'read' where id <> ?", (stored[4].id,))
    pack(database, media)
    policy = RetentionSettings(days=1)
    done = retention.run(database, media, policy, NOON_MS + 2 * 86_400_000)
    assert done.pictures == 31
    kept, *others = sorted(now(database, stored), key=lambda row: row.media_path is None)
    assert kept.id == stored[4].id
    assert_exact(media, [kept])
    assert sum(row.preview_path is not None for row in others) == 1
    assert len(media.files()) == 2 and problems(database, media) == []


def test_verify_looks_into_packs(database: Database, media: Media, stored: list[FrameRow]) -> None:
    pack(database, media)
    path = media.folder / media.files()[0]
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "cannot be read" in problems(database, media)[0]
    path.write_bytes(content)
    database.change("update frames set media_path = null where id = ?", (stored[3].id,))
    assert problems(database, media) == [
        f"The pack {media.files()[0]} has a picture that belongs to no frame."
    ]
    at = content.index(b"VP8L", len(content) // 2) + 40
    path.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
    with pytest.raises(MediaGone, match="altered"):
        for row in now(database, stored):
            if row.media_path:
                media.image(row)
    path.unlink()
    with pytest.raises(MediaGone, match="missing"):
        media.image(stored[0])
