"""Moving pictures into packs, and those that stay out of packs that lose some.

A picture waits for ten minutes, until it was most likely read and looked at; then as many of one screen as
fit go into a pack (`store.frames.packs`). A still goes only after its picture was read out of the pack with
the same SHA-256 over its pixels; where one is not, all stay as they are. A pack that is to go
(``media_trash``) because one of its frames was deleted is written anew without it first.

The file is written before rows name it (`store.frames.pending`), and rows change all together, each only
while it is what was read. So a crash, or a deletion meanwhile, leaves the pictures where they were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from PIL import Image

from store.core.database import Database, column
from store.core.errors import MediaGone, StoreBusy
from store.frames import frames, pending
from store.frames.frames import ID_STEP, FrameRow
from store.frames.media import Media, pixels_sha256
from store.frames.packs import SUFFIX, Pack, PackWriter

log = logging.getLogger(__name__)

PER_PACK = 32
_RESTS_MS = 10 * 60_000
_LONGEST_MS = 60 * 60_000
"""A picture waits for so long at most; then its pack is made of what there is."""
_WAIT_S = 60.0


def pack_next(database: Database, media: Media, now_ms: int) -> int:
    """Pack pictures of one screen; returns how many were looked at, 0 when none are due.

    Raises `OSError` when the file cannot be written, and `StoreBusy` when something went meanwhile or another
    program works on pictures; then all is as it was.
    """
    due = _due(database, now_ms)
    if not due:
        return 0
    try:
        content, sizes = _packed(due, media.image)
    except ValueError:
        log.exception("the pictures stay as they are")
        content, sizes = b"", {}
    if len(content) < sum(frame.size_bytes for frame in due if frame.id in sizes):
        _replace(database, media, [frame for frame in due if frame.id in sizes], content, sizes)
    # What is left over, be it damaged or smaller on its own, is not tried again.
    with database.write() as connection:
        sql = "update frames set is_packable = 0 where id = ?"
        connection.executemany(sql, [(frame.id,) for frame in due])
    return len(due)


def rewrite(database: Database, media: Media, path: str) -> int:
    """Write a pack that is to go anew with the frames that stay; returns how many bytes the new one has.

    Raises what `pack_next` raises. The old file stays where it is.
    """
    try:
        pack = Pack(media.content(path))
    except FileNotFoundError:
        return 0
    except ValueError:
        log.exception("the pack %s is damaged: its pictures are lost", path)
        return 0
    staying = [row for row in frames.get_many(database, pack.ids()).values() if row.media_path == path]
    if not staying:
        return 0
    staying.sort(key=lambda row: row.id)
    content, sizes = _packed(staying, lambda row: media.unpacked(pack, row), pack)
    _replace(database, media, staying, content, sizes)
    return len(content)


def empty_trash(database: Database, media: Media) -> int:
    """Unlink what deletions noted in ``media_trash``, packs once those that stay have another; returns the
    bytes freed.
    """
    paths = database.column("select path from media_trash")
    if not paths:
        return 0
    alone = [path for path in paths if not path.endswith(SUFFIX)]
    freed = media.remove(alone)
    done = alone
    for path in sorted(set(paths) - set(alone)):
        try:
            freed -= rewrite(database, media, path)
        except (StoreBusy, OSError, ValueError) as error:
            # It stays in the trash, and on the receipt as a picture that is left.
            log.warning("the pack %s cannot be written without what was deleted: %s", path, error)
            continue
        freed += media.remove([path])
        done.append(path)
    with database.write() as connection:
        connection.executemany("delete from media_trash where path = ?", [(path,) for path in done])
    return freed


def _due(database: Database, now_ms: int) -> list[FrameRow]:
    """The oldest pictures of a screen that wait, where they fill a pack or have waited long enough."""
    waiting = "where is_packable = 1 and media_path is not null"
    with database.read() as connection:
        for monitor in column(connection, f"select distinct monitor from frames {waiting}"):
            found = frames.select_rows(
                connection,
                f"{waiting} and monitor = :monitor and id < :before order by id limit :limit",
                {"monitor": monitor, "before": (now_ms - _RESTS_MS) * ID_STEP, "limit": PER_PACK},
            )
            if found and (len(found) == PER_PACK or found[0].captured_ms < now_ms - _LONGEST_MS):
                return found
    return []


def _packed(
    found: Sequence[FrameRow], look: Callable[[FrameRow], Image.Image], source: Pack | None = None
) -> tuple[bytes, dict[int, int]]:
    """A pack of pictures in the order of their ids, and the bytes of each; those that are gone are left out.

    Raises `ValueError` when it does not give back the very pixels.
    """
    writer, sizes = PackWriter(), {}
    for frame in found:
        try:
            sizes[frame.id] = writer.add(frame.id, look(frame), source)
        except MediaGone as error:
            log.warning("the picture of frame %d is not packed: %s", frame.id, error.reason)
    content = writer.content()
    written = Pack(content)
    for frame in found:
        if frame.id in sizes and pixels_sha256(written.image(frame.id)) != frame.pixels_sha256:
            raise ValueError(f"frame {frame.id} is not the same in a pack")
    return content, sizes


def _replace(
    database: Database, media: Media, found: Sequence[FrameRow], content: bytes, sizes: dict[int, int]
) -> None:
    """Let these frames have their pictures in a new pack, and note the files they had as to go."""
    path = pending.new_path(found[0].captured_ms, SUFFIX)
    with pending.only_writer(database, _WAIT_S):
        pending.write(database, media, [(path, content)])
        if media.content(path) != content:
            raise OSError(f"{path} was not written as it should be")
        with database.write() as connection:
            for frame in found:
                if frame.id in sizes:
                    connection.execute(
                        "update frames set media_path = ?, size_bytes = ?, is_packable = 0"
                        " where id = ? and media_path = ?",
                        (path, sizes[frame.id], frame.id, frame.media_path),
                    )
                else:
                    connection.execute(
                        "update frames set media_path = null, media_gone_reason = 'altered'"
                        " where id = ? and media_path = ?",
                        (frame.id, frame.media_path),
                    )
                if not connection.changes():
                    raise StoreBusy("a picture went while it was being packed")
            connection.executemany(
                "insert or ignore into media_trash (path) values (?)", {(f.media_path,) for f in found}
            )
            pending.settle(connection, [path])
