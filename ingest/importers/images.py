"""Import a folder of pictures, each at the time its file says. Their bytes are kept as they are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path

from ingest.core.validation import InvalidImage, check, media_type_of
from ingest.importers.items import CannotImport, Item, Skipped, item
from ingest.importers.times import taken_ms
from store.spool.queue import MAX_IMAGE_BYTES

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp"}


def find(folder: Path, zone: tzinfo) -> list[tuple[int, Path]]:
    """(captured_ms, path) of every picture in a folder and those below it, in order of time.

    Links are not followed. Raises `CannotImport` when there is none.
    """
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    found = [(taken_ms(path, zone), path) for path in paths if path.is_file() and not path.is_symlink()]
    if not found:
        raise CannotImport(f"there are no pictures ({', '.join(sorted(SUFFIXES))}) in {folder.name!r}")
    return sorted(found)


def read(found: list[tuple[int, Path]], zone: tzinfo) -> Iterator[Item | Skipped]:
    """One `Item` or `Skipped` for each picture that `find` found."""
    for captured_ms, path in found:
        try:
            yield _item(path, captured_ms, zone)
        except (InvalidImage, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            yield Skipped(path.name, reason or str(error))


def _item(path: Path, captured_ms: int, zone: tzinfo) -> Item:
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise InvalidImage("too_large", f"more than {MAX_IMAGE_BYTES} bytes")
    content = path.read_bytes()
    media_type = media_type_of(content)
    if media_type is None:
        raise InvalidImage(
            "wrong_type", "not a PNG, JPEG or WebP picture" if content else "the file has 0 bytes"
        )
    check(content, media_type)
    return item(content, media_type, captured_ms, offset_min(captured_ms, zone))


def offset_min(at_ms: int, zone: tzinfo) -> int | None:
    """Minutes east of UTC that a zone has at a moment."""
    offset = datetime.fromtimestamp(at_ms / 1000, zone).utcoffset()
    return None if offset is None else round(offset.total_seconds() / 60)
