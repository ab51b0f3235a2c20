"""The only door to pixels.

A frame's picture is kept as the very bytes that were captured (a lossless still, or what an upload sent), or
in a pack with others of its screen (`store.frames.packs`), of which the same bytes are made again. It is
served only while the SHA-256 of its file, or in a pack of its pixels, is the one stored with the frame.
Anything else is `MediaGone`: never a neighbour, never a best effort.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, UnidentifiedImageError

from store.core.database import Database
from store.core.errors import MediaGone
from store.core.keys import box_of
from store.core.paths import DIRECTORY_MODE, sync_directory, write_file
from store.frames import packs
from store.frames.frames import FrameRow, Still, get_many
from store.spool.queue import WEBP_OF_CAPTURE

SUFFIXES = {"image/webp": ".webp", "image/png": ".png", "image/jpeg": ".jpg"}
PREVIEW_TYPE = "image/webp"
Area = tuple[int, int, int, int]
"""x, y, width, height."""


class Media:
    """Pictures below one folder, filed by UTC day: ``YYYY/MM/DD/NAME.webp``.

    With a `database`, rows may be a while old: a picture that moved into a pack since is found there.
    """

    def __init__(self, folder: Path, database: Database | None = None) -> None:
        self.folder = folder
        self._box = box_of(folder.parent)
        self._database = database
        self._decoded: dict[str, Image.Image] = {}  # the last one kept, until it is asked for
        self._pack: packs.Pack | None = None  # the last one read: what is shown next lies on what was shown
        self._forgetting = threading.Timer(0, _forget, (self,))

    def keep(
        self, image: bytes, media_type: str, captured_ms: int, name: str, decoded: Image.Image | None = None
    ) -> Still:
        """Durably file a picture, byte for byte. Doing it twice gives the same file.

        `name` is the capture's UUID, `decoded` the picture where that is known. Raises `ValueError` when the
        name is none, or when the bytes are not a picture of that type.
        """
        relative = path_of(media_type, captured_ms, name)
        try:
            decoded = decoded or decode(image, media_type)
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
            raise ValueError(f"not a readable {media_type}: {error}") from error
        self.write(relative, image)
        sha256 = hashlib.sha256(image).hexdigest()
        is_small = decoded.width * decoded.height <= _KEPT_PIXELS
        self._decoded = {sha256: decoded} if is_small else {}  # who reads it need not decode it again
        return Still(
            media_path=relative,
            media_type=media_type,
            size_bytes=len(image),
            sha256=sha256,
            pixels_sha256=pixels_sha256(decoded),
            width_px=decoded.width,
            height_px=decoded.height,
        )

    def write(self, relative: str, content: bytes) -> None:
        """Durably write a file below the folder, whole or not at all."""
        path = self.folder / relative
        missing = [parent for parent in path.parents if not parent.exists()]
        for parent in reversed(missing):
            parent.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            sync_directory(parent.parent)
        temporary = Path(temporary_of(str(path)))
        write_file(temporary, self._box.seal(sealed_name(relative), content), os.O_TRUNC)
        temporary.replace(path)
        sync_directory(path.parent)

    def exact(self, frame: FrameRow) -> bytes:
        """The frame's own picture, byte for byte as captured.

        Out of a pack these are the captured bytes as long as the WebP library writes them as it did, and in
        any case the captured pixels. Raises `MediaGone` when it was deleted, is missing on disk, or is no
        longer the picture whose SHA-256 was stored (truncated, swapped, edited).
        """
        found = self._found(frame)
        return found if isinstance(found, bytes) else _encoded(found, "WEBP", **WEBP_OF_CAPTURE)

    def portable(self, frame: FrameRow) -> tuple[bytes, str]:
        """The frame's pixels and their media type: its file, or what is soon made. Raises `MediaGone`."""
        found = self._found(frame)
        if isinstance(found, bytes):
            return found, frame.media_type
        return _encoded(found, "PNG", compress_level=1), "image/png"

    def image(self, frame: FrameRow) -> Image.Image:
        """The frame's pixels, RGB. Raises `MediaGone`."""
        found = self._found(frame)
        if not isinstance(found, bytes):
            return found
        return self._decoded.pop(frame.sha256 or "", None) or decode(found, frame.media_type)

    def check(self, frame: FrameRow) -> None:
        """Raise `MediaGone` as `exact` does."""
        self._found(frame)

    def _found(self, frame: FrameRow) -> bytes | Image.Image:
        """The file, or what a pack holds; looked for once more where it moved since the row was read."""
        try:
            return self._stored(frame)
        except MediaGone as error:
            if error.reason != "missing" or self._database is None:
                raise
            now = get_many(self._database, [frame.id]).get(frame.id)
            if now is None or now.media_path == frame.media_path:
                raise
            return self._stored(now)

    def _stored(self, frame: FrameRow) -> bytes | Image.Image:
        if frame.media_path is None:
            raise MediaGone(frame.id, frame.media_gone_reason or "deleted")
        if not frame.media_path.endswith(packs.SUFFIX):
            return self._checked(frame.id, frame.media_path, frame.sha256)
        content = self._read(frame.id, frame.media_path)
        try:
            pack = self._pack
            if pack is None or pack.content != content:
                pack = self._remembered(packs.Pack(content))
            return self.unpacked(pack, frame)
        except ValueError as error:
            raise MediaGone(frame.id, "altered") from error

    def _remembered(self, pack: packs.Pack) -> packs.Pack:
        """For a moment: another program may delete what is in it, and nobody would ask for it again."""
        timer = threading.Timer(_REMEMBERED_S, _forget, (self,))
        timer.name, timer.daemon = "pack is forgotten", True
        self._forgetting.cancel()
        self._pack, self._forgetting = pack, timer
        timer.start()
        return pack

    def unpacked(self, pack: packs.Pack, frame: FrameRow) -> Image.Image:
        """A frame's pixels out of its pack, RGB. Raises `MediaGone`."""
        try:
            image = pack.image(frame.id)
        except (ValueError, KeyError, OSError) as error:
            raise MediaGone(frame.id, "altered") from error
        if pixels_sha256(image) != frame.pixels_sha256:
            raise MediaGone(frame.id, "altered")
        return image

    def content(self, relative: str) -> bytes:
        """What was written into a file. Raises `OSError`, also for a link, and `ValueError` when it was
        encrypted and is not what was written.
        """
        path = self.folder / relative
        if path.is_symlink():
            raise OSError(f"{relative} is a link")
        return self._box.open(sealed_name(relative), path.read_bytes())

    def _read(self, frame_id: int, relative: str) -> bytes:
        try:
            return self.content(relative)
        except FileNotFoundError as error:
            raise MediaGone(frame_id, "missing") from error
        except (OSError, ValueError) as error:
            raise MediaGone(frame_id, "altered") from error

    def _checked(self, frame_id: int, relative: str, sha256: str | None) -> bytes:
        content = self._read(frame_id, relative)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise MediaGone(frame_id, "altered")
        return content

    def preview(self, frame: FrameRow, width_px: int) -> bytes:
        """A smaller copy as WebP, at most `width_px` wide: of the picture, or of the small one that
        retention left in its place. Raises `MediaGone`.
        """
        return preview_of(self._shown(frame), width_px)

    def _shown(self, frame: FrameRow | None) -> Image.Image:
        if frame is None:
            raise MediaGone(0, "deleted")
        left = frame.preview_path is not None
        return decode(self.exact_preview(frame), PREVIEW_TYPE) if left else self.image(frame)

    def contact_sheet(
        self, pieces: Sequence[tuple[FrameRow | None, Area | None]], width_px: int, height_px: int
    ) -> bytes:
        """Pieces of frames, or whole ones, below one another as WebP: what of each fills these pixels.

        The place of a picture that is gone, or of a rectangle that lies outside, is crossed out.
        """
        sheet = Image.new("RGBA", (width_px, height_px * len(pieces)))
        pen = ImageDraw.Draw(sheet)
        # By time: pictures that lie on one another in a pack are then read in a row.
        for n in sorted(range(len(pieces)), key=lambda n: getattr(pieces[n][0], "captured_ms", 0)):
            frame, area = pieces[n]
            top = n * height_px
            try:
                sheet.paste(_filling(self._shown(frame), area, width_px, height_px), (0, top))
            except (MediaGone, ValueError):
                pen.line((0, top, width_px, top + height_px), "gray", 2)
                pen.line((0, top + height_px, width_px, top), "gray", 2)
        return preview_of(sheet, width_px)

    def exact_preview(self, frame: FrameRow) -> bytes:
        """The small picture that retention left. Raises `MediaGone`."""
        if frame.preview_path is None:
            raise MediaGone(frame.id, frame.media_gone_reason or "deleted")
        return self._checked(frame.id, frame.preview_path, frame.preview_sha256)

    def copy_for_model(self, frame: FrameRow, longest_px: int) -> tuple[bytes, int, int]:
        """(JPEG, width, height) of the whole frame, its longer side at most `longest_px`.

        JPEG is what every vision model reads; colours are kept at full size for small text. The same
        frame gives the same bytes. Raises `MediaGone`.
        """
        image = self.image(frame)
        image.thumbnail((longest_px, longest_px), Image.Resampling.LANCZOS)
        return _encoded(image, "JPEG", quality=85, subsampling=0), image.width, image.height

    def crop(self, frame: FrameRow, x: int, y: int, width: int, height: int) -> bytes:
        """A rectangle of the frame as lossless WebP, clipped to the frame. Raises `MediaGone`.

        Raises `ValueError` when the rectangle lies outside the frame.
        """
        image = self.image(frame)
        left, top = max(0, x), max(0, y)
        right, bottom = min(image.width, x + width), min(image.height, y + height)
        if left >= right or top >= bottom:
            raise ValueError(f"the rectangle lies outside the {image.width}x{image.height} frame")
        return _encoded(image.crop((left, top, right, bottom)), "WEBP", **WEBP_OF_CAPTURE)

    def remove(self, relative_paths: list[str]) -> int:
        """Unlink pictures and the day folders that become empty; returns the bytes freed."""
        freed = 0
        for relative in relative_paths:
            path = self.folder / relative
            try:
                size = path.lstat().st_size
                path.unlink()
            except FileNotFoundError:
                continue
            freed += size
            _remove_empty_parents(path, self.folder)
        _forget(self)  # now that nobody can read it again
        return freed

    def files(self) -> list[str]:
        """Relative paths of every file below the folder, sorted; leavings of a crash included."""
        return sorted(
            path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()
        )


def _forget(media: Media) -> None:
    media._pack = None


def path_of(media_type: str, captured_ms: int, name: str) -> str:
    """Where `Media.keep` files a picture, relative to ``media/``.

    Raises `ValueError` when `name` is no UUID: it becomes a path.
    """
    return in_day(captured_ms, f"{uuid.UUID(name)}{SUFFIXES[media_type]}")


def in_day(captured_ms: int, name: str) -> str:
    """A file below the folder of its UTC day."""
    return f"{datetime.fromtimestamp(captured_ms / 1000, UTC):%Y/%m/%d}/{name}"


def preview_of(image: Image.Image, width_px: int, quality: int = 70) -> bytes:
    """WebP of a picture, at most `width_px` wide."""
    if image.width > width_px:
        height = max(1, round(image.height * width_px / image.width))
        image = image.resize((width_px, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return _encoded(image, "WEBP", quality=quality, method=2)


def _encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _filling(image: Image.Image, area: Area | None, width_px: int, height_px: int) -> Image.Image:
    x, y, w, h = area or (0, 0, *image.size)
    box = x, y, x + min(w, h * width_px / height_px), y + min(h, w * height_px / width_px)
    return image.resize((width_px, height_px), box=box, reducing_gap=2.0)


def sealed_name(relative: str) -> str:
    """The name under which a picture is encrypted."""
    return f"media/{relative}"


def possible_paths(captured_ms: int, name: str) -> list[str]:
    """Where `Media.keep`, also a broken-off one, may have left a capture's picture. Raises `ValueError`."""
    kept = [path_of(kind, captured_ms, name) for kind in SUFFIXES]
    return [*kept, *map(temporary_of, kept)]


def temporary_of(path: str) -> str:
    """Where a picture stands while it is written; left behind only by a crash."""
    final = Path(path)
    return str(final.with_name(f".{final.name}.tmp"))


_LARGE_PIXELS = 10_000_000
"""Above a 4K screen (8.3 million). A few hundred kilobytes can unfold into 80 million pixels of 4 bytes."""
_KEPT_PIXELS = 4_000_000
"""12 MB at three bytes each."""
_REMEMBERED_S = 30.0
_one_large_at_a_time = threading.Lock()


def decode(content: bytes, media_type: str) -> Image.Image:
    """RGB pixels of an image whose bytes must be of the type they claim.

    Raises `UnidentifiedImageError` or `OSError` (truncated, corrupt).
    """
    kind = media_type.removeprefix("image/").upper()
    with Image.open(io.BytesIO(content), formats=[kind]) as image:
        is_large = image.width * image.height > _LARGE_PIXELS
        with _one_large_at_a_time if is_large else nullcontext():
            image.load()
            return image if image.mode == "RGB" else image.convert("RGB")


def pixels_sha256(image: Image.Image) -> str:
    """SHA-256 over width, height (ASCII, ``1920x1080\\n``) and the bytes of an RGB picture, row by row."""
    digest = hashlib.sha256(f"{image.width}x{image.height}\n".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def _remove_empty_parents(path: Path, stop: Path) -> None:
    for parent in path.parents:
        if parent == stop:
            return
        try:
            parent.rmdir()
        except OSError:  # not empty: this is where the climb ends
            return
