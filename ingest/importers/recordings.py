"""Import what OpenRecall or screenpipe recorded: their pictures, each at its time and with its app and title.

Text is read again here, so that every word has its place on its picture. Rules of privacy hold as for what
is captured: what they leave out is not taken in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import groupby
from pathlib import Path

import apsw
import av
import av.error

from ingest.importers import images, video
from ingest.importers.items import CannotImport, Item, Skipped, item
from store.core.errors import SpoolEntryInvalid
from store.core.preferences import utc_offset_min
from store.core.translation import N_
from store.frames.media import pixels_sha256
from store.sources import recorders
from store.sources.recorders import Look

_GONE = N_("its picture is not there any more")
_NO_TIME = N_("its time cannot be read")


def find(folder: Path) -> list[Look]:
    """What a recorder's folder holds. Raises `CannotImport` where there is no database of one."""
    database = next((path for name in recorders.DATABASES if (path := folder / name).is_file()), None)
    if database is None:
        raise CannotImport(f"{folder.name!r} has no recall.db (OpenRecall) and no db.sqlite (screenpipe)")
    try:
        return list(recorders.looks(database))
    except apsw.Error as error:
        raise CannotImport(f"{database.name!r} cannot be read: {error}") from error


def read(looks: list[Look], zone: tzinfo) -> Iterator[Item | Skipped]:
    """One `Item` or `Skipped` for each."""
    for file, of_file in groupby(looks, key=lambda look: look.file):
        try:
            yield from _of_file(file, list(of_file), zone)
        except (SpoolEntryInvalid, OSError, av.error.FFmpegError) as error:
            yield Skipped(
                file.name, error.strerror or str(error) if isinstance(error, OSError) else str(error)
            )


def _of_file(file: Path, looks: list[Look], zone: tzinfo) -> Iterator[Item | Skipped]:
    if not file.is_file():
        yield from (Skipped(file.name, _GONE) for _ in looks)
        return
    wanted = {look.at: look for look in looks if look.captured_ms is not None}
    yield from (Skipped(file.name, _NO_TIME) for look in looks if look.captured_ms is None)
    if None in wanted:
        yield _named(images.item_of(file, wanted[None].captured_ms or 0, zone), wanted.pop(None))
    if wanted:
        with av.open(str(file), metadata_errors="ignore") as container:
            for at, frame in enumerate(container.decode(video=0)):
                if look := wanted.pop(at, None):
                    image, captured_ms = video.upright(frame), look.captured_ms or 0
                    offset_min = utc_offset_min(captured_ms, zone)
                    picture, digest = video.webp(image), pixels_sha256(image)
                    yield _named(item(picture, "image/webp", captured_ms, offset_min, "video", digest), look)
    yield from (Skipped(file.name, _GONE) for _ in wanted)


def _named(taken: Item, look: Look) -> Item:
    """Of a recording, with what its recorder knew."""
    known = replace(
        taken.capture, source="video", app_name=look.app_name, window_name=look.window_name,
        browser_url=look.browser_url, monitor=look.monitor,
    )  # fmt: skip
    return replace(taken, capture=known)
