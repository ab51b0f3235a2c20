"""Forgetting: one function that deletes, and a receipt that can be checked.

Frames *captured* in the range go. A frame captured earlier that was still on the screen when the
range began keeps its picture, which is older than the range, and loses the time: its end moves to
just before the range. A tombstone keeps the time range and counts, never content, also where
there was nothing to delete.

The order survives a crash anywhere (DEL-2): one transaction removes the rows and notes the files
to go, then the files go, then the log is truncated. `sweep`, at every start, does what a crash
left undone. Large deletions take several transactions, so that capture is never kept
waiting, and erase their words by merging the index instead of one by one.

What is deleted is erased, not marked: SQLite's and FTS5's secure delete are on, the write-ahead
log is truncated at the end (DEL-5), and database copies made before a migration are dropped,
because they hold what was deleted.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable

from store.core import times
from store.core.database import Database, rows, scalar
from store.deletion import registry
from store.deletion.erasure import (
    UNDER_WAY,
    Counts,
    Erasure,
    Receipt,
    empty_trash,
    is_refused,
    list_scope,
    picture_bytes,
    range_scope,
    truncate_frames,
)
from store.frames import text_index
from store.frames.frames import captured_ms_of, record_outcome
from store.frames.media import Media
from store.spool import residual_files, window_hints
from store.timeline import outcomes

__all__ = ["Counts", "Receipt", "delete_frames", "delete_range", "delete_skipped", "preview", "sweep"]

log = logging.getLogger(__name__)

_FINISHED_LATER = '{"finished": "at the next start"}'
_ROUNDS = 10
_ROUND_S = 0.2
"""A worker that has claimed a capture of the range gets these rounds to finish it."""


def preview(database: Database, start_ms: int, end_ms: int, app_name: str | None = None) -> Counts:
    """What `delete_range` would remove now."""
    counts = Counts()
    scope = range_scope(start_ms, end_ms, app_name)
    with database.read() as connection:
        last = -1
        while scope.doom(connection, last):
            last = int(scalar(connection, "select max(id) from doomed"))
            counts = counts.plus({**registry.count(connection), "bytes": picture_bytes(connection)})
    waiting = residual_files.captures(database.data_dir, start_ms, end_ms, app_name)
    copies = residual_files.copies(database.data_dir)
    return counts.plus({"spool": sum(1 for _ in waiting), "copies": len(copies)})


def delete_range(
    database: Database,
    media: Media,
    start_ms: int,
    end_ms: int,
    app_name: str | None = None,
    *,
    now_ms: int | None = None,
) -> Receipt:
    """Delete every frame captured in ``[start_ms, end_ms)``, of one app where one is named.

    `app_name` is compared as a whole, without regard to case.
    """
    erasure = Erasure(database, media, start_ms, end_ms, now_ms)
    scope = range_scope(start_ms, end_ms, app_name)
    with database.write() as connection:
        truncate_frames(connection, start_ms, app_name)
        if app_name is None:
            erasure.bury(connection, [(start_ms, end_ms)])
    for last_round in (*(False,) * _ROUNDS, True):
        waiting = list(residual_files.captures(database.data_dir, start_ms, end_ms, app_name))
        claimed = [entry for entry in waiting if entry.is_taken]
        erasure.refuse(waiting)
        erasure.remove(scope, with_tombstones=app_name is not None)
        erasure.entries([entry for entry in waiting if last_round or not entry.is_taken])
        if not claimed:
            break
        time.sleep(_ROUND_S)
    window_hints.drop_silent(database.data_dir.spool, times.now_ms())
    return erasure.finish(scope)


def delete_frames(
    database: Database, media: Media, frame_ids: Iterable[int], *, now_ms: int | None = None
) -> Receipt:
    """Delete these frames; ids that do not exist (any more) are passed over."""
    ids = sorted(set(frame_ids))
    start_ms, end_ms = (captured_ms_of(ids[0]), captured_ms_of(ids[-1]) + 1) if ids else (0, 0)
    erasure = Erasure(database, media, start_ms, end_ms, now_ms)
    erasure.remove(list_scope(ids), with_tombstones=True)
    return erasure.finish(list_scope(ids))


def delete_skipped(database: Database, media: Media, frame_ids: Iterable[int], reason: str) -> int:
    """Take frames back that should never have been stored; returns how many there were.

    Nobody deleted them: the ledger says that their looks were excluded, for `reason`, and there is no
    tombstone and no receipt. The order is that of every deletion, so that `sweep` ends it after a crash.
    """
    ids = json.dumps(list(frame_ids))
    with database.write() as connection:
        registry.select_frames(connection, "select value from json_each(:ids)", {"ids": ids})
        captures = rows(
            connection,
            "select f.capture_id, f.captured_ms from doomed d cross join frames f on f.id = d.id",
        )
        registry.purge(connection, left_out=f"{outcomes.PREFIX}{reason}")
        for capture_id, captured_ms in captures:
            record_outcome(connection, capture_id, "excluded", captured_ms, reason=reason)
    empty_trash(database, media)
    if not database.checkpoint():
        log.info("the write-ahead log is being read; the next checkpoint erases what was left out from it")
    return len(captures)


def sweep(database: Database, media: Media) -> int:
    """Finish what a crash left of earlier deletions; returns how many files went.

    Meant for every start of a program: pictures in the trash, captures of the spool whose id was
    deleted, and copies of the database that are older than the latest deletion.
    """
    data_dir = database.data_dir
    with database.read() as connection:
        latest_ms = scalar(connection, "select max(deleted_ms) from deletions")
        unfinished = rows(connection, "select id from deletions where receipt = ?", (UNDER_WAY,))
        waiting = [
            entry
            for entry in residual_files.captures(data_dir, 0, 2**62)
            if not entry.is_taken and is_refused(connection, entry.capture_id)
        ]
        trash = rows(connection, "select path from media_trash")
    copies = [] if latest_ms is None else residual_files.copies(data_dir, made_before_ms=latest_ms)
    window_hints.drop_silent(data_dir.spool, times.now_ms())
    residual_files.discard(data_dir, waiting)
    residual_files.drop(copies)
    empty_trash(database, media)
    if unfinished:
        text_index.merge(database)
        with database.write() as connection:
            connection.executemany(
                "update deletions set receipt = ? where id = ?",
                [(_FINISHED_LATER, deletion_id) for (deletion_id,) in unfinished],
            )
    database.checkpoint()
    return len(waiting) + len(copies) + len(trash)
