"""Forgetting: one function that deletes, and a receipt that can be checked.

Frames *captured* in the range go. A frame captured earlier that was still on the screen when the
range began keeps its picture, which is older than the range, and loses the time: its end moves to
just before the range. A tombstone keeps the time range and counts, never content, also where
there was nothing to delete.

The order survives a crash anywhere: one transaction removes the rows and notes the files
to go, then the files go, then the log is truncated. The first transaction notes what was asked, too:
`sweep`, at every start, does what a crash left undone. Large deletions take several transactions, so that
capture is never kept waiting, and erase their words by merging the index instead of one by one. A large index
is merged afterwards by `receipts.settle`, for that takes minutes: until then no search finds the words, but
they are in the file, and the receipt says so.

What is deleted is erased, not marked: SQLite's and FTS5's secure delete are on, the write-ahead
log is truncated at the end, and copies below ``backups/`` go, because they hold what was deleted. What
retention takes goes from them with the next day's backup (`store.backup`).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import apsw

from store.core import copies, times
from store.core.database import Database, rows, scalar
from store.core.errors import StoreBusy
from store.core.paths import only_holder
from store.core.records import insert
from store.core.times import now_ms as wall_clock_ms
from store.core.translation import N_
from store.core.translation import gettext as _
from store.deletion import places, receipts, reserve
from store.deletion.receipts import Counts, Receipt
from store.deletion.request import DeletionScope, Request
from store.frames import pending, text_index
from store.frames.activity_intervals import CONTINUOUS_MS
from store.frames.frames import MAX_CAPTURED_MS, captured_ms_of
from store.frames.media import Media, possible_paths
from store.frames.packing import empty_trash
from store.ocr import sent
from store.spool import residual_files, window_hints
from store.spool.residual_files import Waiting
from store.timeline import ledger
from store.timeline.gaps import Interval

log = logging.getLogger(__name__)

_ROUNDS = 10
_ROUND_S = 0.2
"""A worker that has claimed a capture of the range gets these rounds to finish it."""
_WAIT_S = 60.0
_LOCK_NAME = "deletion.lock"


def delete(database: Database, media: Media, request: Request, *, now_ms: int | None = None) -> Receipt:
    """Delete what was asked for; ids that do not exist (any more) are passed over."""
    reserve.use(database.data_dir)
    erasure = Erasure(database, media, request, now_ms)
    with only_one(database):
        erasure.begin()
        return erasure.run()


def delete_range(
    database: Database,
    media: Media,
    start_ms: int,
    end_ms: int,
    app_name: str | None = None,
    *,
    now_ms: int | None = None,
) -> Receipt:
    """Delete every frame captured in ``[start_ms, end_ms)``, of one app where one is named."""
    return delete(database, media, Request(start_ms, end_ms, app_name), now_ms=now_ms)


def delete_frames(
    database: Database, media: Media, frame_ids: Iterable[int], *, now_ms: int | None = None
) -> Receipt:
    """Delete these frames."""
    ids = sorted(set(frame_ids))
    start_ms, end_ms = (captured_ms_of(ids[0]), captured_ms_of(ids[-1]) + 1) if ids else (0, 0)
    return delete(database, media, Request(start_ms, end_ms, frame_ids=tuple(ids)), now_ms=now_ms)


def only_one(database: Database, wait_s: float = _WAIT_S) -> AbstractContextManager[None]:
    """One deletion at a time: one under way while nobody holds this was broken off. Raises `StoreBusy`."""
    return only_holder(database.data_dir.spool / _LOCK_NAME, wait_s, "something else is being deleted")


def sweep(database: Database, media: Media) -> int:
    """Finish what a crash left of earlier deletions; returns how many files went.

    Meant for every start of a program: pictures in the trash, those that no row came to name, captures of
    the spool whose id was deleted, and copies that are older than the latest deletion.
    """
    data_dir = database.data_dir
    pending.discard(database)
    with database.read() as connection:
        waiting = [
            entry
            for entry in residual_files.captures(data_dir, 0, 2**62)
            if not entry.is_taken and scalar(connection, _OUTCOME, (entry.capture_id,)) == "deleted"
        ]
        trash = rows(connection, "select path from media_trash")
    window_hints.drop_silent(data_dir.spool, times.now_ms())
    residual_files.discard(data_dir, waiting)
    outdated = copies.sweep(database)
    empty_trash(database, media)
    resume(database, media)
    database.checkpoint()
    return len(waiting) + outdated + len(trash)


def resume(database: Database, media: Media) -> None:
    """Finish the deletions whose program is gone."""
    if not database.rows(receipts.UNDER_WAY):
        return
    try:
        with only_one(database, wait_s=0.0):
            for tombstone, deleted_ms, noted in database.rows(receipts.UNDER_WAY):
                Erasure.resume(database, media, tombstone, deleted_ms, json.loads(noted))
    except StoreBusy as error:
        log.info("what was deleted is looked at later: %s", error)


# -- one deletion under way ---------------------------------------------------------------

_MERGE_WORTH = 200
"""Erasing one frame's words from the index takes as long as merging the rows of 200 (measured)."""
_ERASED_AT_ONCE = 250
"""Frames of 150 words, in about five seconds. Of more, nobody waits for it."""


class Erasure:
    """One deletion under way: what went so far, and its tombstones.

    Until it has come to its end, the receipt of its first tombstone holds the request and the counts so far.
    """

    def __init__(
        self,
        database: Database,
        media: Media,
        request: Request,
        now_ms: int | None,
        scope: DeletionScope | None = None,
    ) -> None:
        """`scope` narrows the request; after a crash whoever narrowed it has to ask for the rest again."""
        self._database = database
        self._media = media
        self._data_dir = database.data_dir
        self._request = request
        self._scope = scope or request.scope
        self._is_narrowed = scope is not None
        self._deleted_ms = wall_clock_ms() if now_ms is None else now_ms
        self._tombstone: int | None = None
        self._counts = Counts()
        self._freed = 0
        self._places: set[str] = set()  # in which something was left
        self._ids: list[int] = []
        self._paths: list[str] = []
        self._sent_to: set[str] = set()  # where its pictures were being read
        self._are_words_left = False

    @classmethod
    def resume(
        cls, database: Database, media: Media, tombstone: int, deleted_ms: int, noted: dict[str, Any]
    ) -> None:
        """Do the rest of one that a crash broke off, from what its first tombstone holds."""
        request = Request.read(noted["under_way"])
        erasure = cls(database, media, request, deleted_ms, _NOTHING if noted["narrowed"] else None)
        erasure._tombstone = tombstone
        erasure._counts = Counts(**noted["counts"])
        erasure._sent_to = set(noted.get("sent_to", ()))
        erasure._erase_words()  # it may have gone before the words of what it removed did
        if noted["narrowed"]:
            erasure.finish()
        else:
            erasure.run()

    @property
    def _is_whole(self) -> bool:
        """Whether nothing of its time is left."""
        return self._request.is_whole_range and not self._is_narrowed

    def run(self) -> Receipt:
        """Delete, and say what was deleted. Doing it again after a crash deletes the rest."""
        request = self._request
        self._drop_copies()  # one that is being made would keep pictures and the log from going
        for last_round in (*(False,) * _ROUNDS, True):
            waiting = request.waiting(self._data_dir)
            claimed = [entry for entry in waiting if entry.is_taken]
            self.refuse_captures([entry for entry in waiting if last_round or not entry.is_unfinished])
            self.remove()
            free = [entry for entry in waiting if last_round or not entry.is_taken]
            self._freed += residual_files.discard(self._data_dir, free)
            self._counts = self._counts.plus({"spool": len(free)})
            if not claimed:
                break
            time.sleep(_ROUND_S)
        if not request.frame_ids:
            window_hints.drop_silent(self._data_dir.spool, times.now_ms())
        return self.finish()

    @cached_property
    def _until_now(self) -> Request:
        request = self._request
        latest = self._database.scalar("select max(id) from frames")
        # Not before the last frame: the clock may have been set back, or another machine's be fast.
        now_ms = max(self._deleted_ms, captured_ms_of(latest) + 1 if latest else 0)
        return replace(request, end_ms=max(request.start_ms, min(request.end_ms, now_ms)))

    def _under_way(self) -> str:
        """What `resume` needs. Nothing of the time after the request was asked to be deleted."""
        asked = self._until_now
        noted = {
            "under_way": asked.note(), "narrowed": self._is_narrowed, "counts": asdict(self._counts),
            "start_ms": asked.start_ms, "end_ms": asked.end_ms, **self._covered,
            "sent_to": sorted(self._sent_to),
        }  # fmt: skip
        return json.dumps(noted)

    @property
    def _covered(self) -> dict[str, Any]:
        """What of its time is gone, for `tombstones.cover`."""
        return {"whole": self._is_whole, "app": self._request.app_digest}

    def begin(self) -> None:
        """Cut the time off that reaches into a range, and mark it as deleted; where something of it stays, no
        time at all.
        """
        request = self._request
        if request.frame_ids:
            return
        with self._database.write() as connection:
            request.truncate_frames(connection)
            past_ms = max(request.start_ms, min(request.end_ms, self._deleted_ms))
            end_ms = past_ms if request.is_whole_range else request.start_ms
            self.add_tombstones(connection, [(request.start_ms, end_ms)])

    def add_tombstones(self, connection: apsw.Connection, intervals: Iterable[Interval]) -> None:
        """Mark intervals as deleted."""
        for start_ms, end_ms in intervals:
            receipt = (
                self._under_way() if self._tombstone is None else json.dumps({"part_of": self._tombstone})
            )
            number = insert(
                connection, "deletions",
                start_ms=start_ms, end_ms=end_ms, deleted_ms=self._deleted_ms, receipt=receipt,
            )  # fmt: skip
            self._tombstone = self._tombstone or number

    def refuse_captures(self, waiting: Iterable[Waiting]) -> None:
        """Say of captures that no frame has come of yet that none ever will."""
        with self._database.write() as connection:
            for entry in waiting:
                known = scalar(connection, _OUTCOME, (entry.capture_id,))
                if entry.capture_id is None or known not in (None, "failed"):
                    continue
                # Whoever fails to write one tells so himself.
                at = entry.captured_ms, entry.monitor, None if entry.is_unfinished else entry.batch_id
                ledger.record_deleted(connection, entry.capture_id, *at)
                if entry.captured_ms < MAX_CAPTURED_MS:  # no worker takes others
                    paths = possible_paths(entry.captured_ms, entry.capture_id)
                    connection.executemany(_TRASH, [(path,) for path in paths])
                self._counts = self._counts.plus({"captures": 1})

    def remove(self) -> None:
        """Remove the frames from the database, then their pictures."""
        number = self._find()
        is_waited_for = number > _ERASED_AT_ONCE and not self._is_narrowed
        merge_later = number > 1 and (is_waited_for or number * _MERGE_WORTH > self._in_index())
        for __ in range(_ROUNDS):
            # What is recorded meanwhile, up to an end that is to come, may go on for ever.
            if not number:
                break
            last: int | None = -1
            while last is not None:
                last = self._remove_some(last, merge_later)
                self._freed += empty_trash(self._database, self._media)
            number = self._find()  # what was stored meanwhile
        if merge_later:
            self._erase_words()

    def _find(self) -> int:
        """Look through the frames once, and keep nobody from writing; returns how many go."""
        with self._database.read() as connection:
            number = self._scope.select_all(connection)
            connection.execute("commit")  # a table of this connection's own goes with a read that is undone
        return number

    def _erase_words(self) -> None:
        """Merge the index, or leave that to `receipts.settle`."""
        self._are_words_left = self._in_index() > _ERASED_AT_ONCE * _MERGE_WORTH
        if not self._are_words_left:
            text_index.merge(self._database)

    def _in_index(self) -> int:
        return int(self._database.scalar("select count(*) from frames_fts_docsize"))

    def _remove_some(self, after_id: int, merge_later: bool) -> int | None:
        """One transaction; returns the last id that it looked at, None when there was nothing left to do."""
        with self._database.write() as connection:
            last = self._scope.select(connection, after_id)
            if last is None:
                return None
            # Each gets a number: what was read before it, though after the first, is out of date, too.
            shown = places.intervals(connection, CONTINUOUS_MS)
            if self._is_whole:  # what is past is marked
                none = self._request.start_ms
                shown = [part for part in shown if part[1] > self._deleted_ms] or [(none, none)]
            self.add_tombstones(connection, shown)
            selected = rows(connection, _SELECTED)
            self._sent_to |= sent.places(connection, {frame_id for frame_id, *__ in selected})
            for frame_id, *paths in selected:
                self._ids.append(frame_id)
                self._paths += filter(None, paths)
            size = receipts.picture_bytes(connection)
            counts = places.purge(connection, merge_later=merge_later)
            self._counts = self._counts.plus({**counts, "bytes": size})
            self._places.update(places.leftovers(connection))
            self._keep(connection, self._under_way())
        return last

    def _keep(self, connection: apsw.Connection, receipt: str) -> None:
        connection.execute(receipts.KEEP, (receipt, self._tombstone))

    def finish(self) -> Receipt:
        """Drop what copies hold, truncate the log, look for what is left, and keep the receipt."""
        self._drop_copies()  # before the wait: one that is being made holds the pictures' lock
        is_quiet = pending.discard(self._database, _WAIT_S)  # a pack in the making may hold what goes
        self._freed += empty_trash(self._database, self._media)
        left = self._left() + [receipts.PACKING] * (not is_quiet)
        left += [receipts.WORDS_LEFT] * self._are_words_left
        left += [receipts.UNDECIDED] * bool(self._request.undecided)
        if not self._database.checkpoint():
            left.append(receipts.LOG_IS_READ)
        with self._database.read() as connection:
            only_front = self._request.only_front(connection)
        start_ms, end_ms = self._request.start_ms, self._request.end_ms
        counts, span = self._counts, (start_ms, end_ms)
        # What never was is in no file elsewhere.
        was_anything = counts.frames or counts.spool or self._database.rows(_RECORDED, span)
        elsewhere = copies.elsewhere(self._database) if was_anything else ()
        receipt = Receipt(
            start_ms, end_ms, self._deleted_ms, counts, self._freed, not left, tuple(left),
            (*elsewhere, *sorted(self._sent_to)), self._tombstone or 0, only_front,
        )  # fmt: skip
        noted = {**asdict(receipt), **self._covered}
        if receipts.has_counted(left):
            noted["asked"] = self._until_now.note()  # while `settle` has to count anew
        with self._database.write() as connection:
            self._keep(connection, json.dumps(noted))
        log.info("deleted %d frames, verified: %s", receipt.frames, receipt.verified)
        # Which rules it were is told and not kept: their words are the person's.
        rules = sorted(self._request.undecided)
        undecided = [_("Could not be checked in time: %(rule)s.", rule=rule) for rule in rules]
        return replace(receipt, left=(*left, *undecided))

    def _drop_copies(self) -> None:
        """Copies go, but that what retention takes stays in finished ones until the next day's backup."""
        if not self._is_narrowed:
            with self._database.write() as connection:
                copies.outdate(connection)
        number, freed = copies.drop_outdated(self._database)
        self._freed += freed
        self._counts = self._counts.plus({"copies": number})

    def _left(self) -> list[str]:
        """Search for what should be gone, place by place."""
        # What retention finds later it takes later.
        found = [] if self._is_narrowed else receipts.still_there(self._database, self._until_now)
        with self._database.read() as connection:
            places.select_frames(
                connection, "select value from json_each(:ids)", {"ids": json.dumps(self._ids)}
            )
            self._places.update(places.leftovers(connection, by_id=True))
        found += [N_(f"Something is still in {place}.") for place in sorted(self._places)]
        pictures = sum((self._media.folder / path).exists() for path in self._paths)
        if pictures:
            found.append(f"{pictures} {receipts.PICTURES_LEFT}")
        return found


_NOTHING = DeletionScope("from frames f where false", {})
_OUTCOME = "select outcome from ingest_records where capture_id = ?"
_RECORDED = """
select 1 from ingest_records
where captured_ms >= ? and captured_ms < ? and outcome in ('stored', 'deduplicated', 'deleted') limit 1
"""
_TRASH = "insert or ignore into media_trash (path) values (?)"
_SELECTED = (
    "select f.id, f.media_path, f.preview_path from deletion_scope d cross join frames f on f.id = d.id"
)
