"""What is said of a deletion: what would go, what went, what is left of it, and when that went, too.

A receipt is kept in English, with the tombstone of its deletion. It is verified once `settle` has done what
the deletion had to leave.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import apsw

from store.core import copies, times, tombstones
from store.core.database import Database, scalar
from store.core.translation import N_, translated
from store.core.translation import gettext as _
from store.deletion import memory_hooks, places
from store.deletion.request import OnlyFront, Request
from store.frames import pending, text_index
from store.frames.frames import id_range
from store.frames.media import Media
from store.frames.packing import empty_trash
from store.spool import residual_files

LOG_IS_READ = N_("The write-ahead log could not be truncated, because it is being read.")
PICTURES_LEFT = "pictures are still on the disk."
WORDS_LEFT = N_(
    "No search finds the words any more. The worker erases them from the index, which takes a while."
)
_CAPTURES_LEFT = "captures are still in the spool."
_FRAMES_LEFT = "frames are still stored."
_COUNTED = {
    PICTURES_LEFT: N_("Pictures still on the disk: %(number)s."),
    _CAPTURES_LEFT: N_("Captures still in the spool: %(number)s."),
    _FRAMES_LEFT: N_("Frames still stored: %(number)s."),
}
"""What is kept behind a number, and how it is said: right of one, too."""
UNDECIDED = N_("Frames stay if checking them against a rule takes too long.")
PACKING = N_("Pictures are being packed just now.")


@dataclass(frozen=True, slots=True)
class Counts:
    """How much goes, or went. `bytes` is of the pictures; files of the spool and copies come on top."""

    frames: int = 0
    bytes: int = 0
    pictures: int = 0
    index_rows: int = 0
    readings: int = 0
    vectors: int = 0  # of meaning
    embedding_queue: int = 0  # frames that waited for theirs
    urls: int = 0
    page_texts: int = 0  # what the browser told of frames that were not read yet
    segments: int = 0
    apps: int = 0
    quotes: int = 0  # cited in conversations
    looked_at: int = 0  # found for an answer that does not cite it
    answers: int = 0  # answers that rested on it
    insights: int = 0  # narratives of it, or made with it
    chat_summaries: int = 0  # what chats came to that may tell of it
    sent: int = 0  # texts of requests to a model
    measured: int = 0  # answers that lost the durations they were judged by
    tool_calls: int = 0  # calls of a chat whose result may show it
    memory: int = 0  # observations and session summaries made of it
    summaries: int = 0  # of days that may show it
    knowledge: int = 0  # facts and entities that were learned from it
    tags: int = 0
    pins: int = 0  # frames that had been kept from retention
    captures: int = 0  # capture ids that will not be stored again
    spool: int = 0
    copies: int = 0

    @property
    def entries(self) -> int:
        """What is told of it elsewhere: answers and what memory holds."""
        told = self.answers, self.insights, self.chat_summaries, self.memory, self.summaries, self.knowledge
        return sum(told)

    def plus(self, more: dict[str, int]) -> Counts:
        return replace(self, **{name: getattr(self, name) + number for name, number in more.items()})


MOST_NAMED = 2_000
"""Frames of which what goes with them is told by name: to find it takes as long as to delete them."""


class _TakenBack(Exception):
    """The transaction was only to look."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What `delete` would remove now, with the answers and memories among it as (kind, name)."""

    counts: Counts
    names: list[tuple[str, str]] | None
    only_front: OnlyFront


def preview(database: Database, request: Request) -> Preview:
    """What would go, and what stays though it may show it.

    It is found by deleting it in a transaction that is taken back. Of more frames than `MOST_NAMED` the
    answers are those that cite one, memory is counted roughly, and the names are None.
    """
    counts, names = _rehearsed(database, request) or (_counted(database, request), None)
    with database.read() as connection:
        only_front = request.only_front(connection)
    waiting = request.waiting(database.data_dir)
    also = {"spool": len(waiting), "copies": len(copies.copies(database.data_dir))}
    return Preview(counts.plus(also), names, only_front)


def _rehearsed(database: Database, request: Request) -> tuple[Counts, list[tuple[str, str]]] | None:
    found: tuple[Counts, list[tuple[str, str]]] | None = Counts(), []
    with suppress(_TakenBack), database.write() as connection:
        request.scope.select_all(connection)
        number = places.select_frames(connection, "select id from deletion_request", {})
        if number > MOST_NAMED:
            found = None
        elif number:
            size = picture_bytes(connection)
            memory_hooks.note_named(connection)
            counts = places.purge(connection, merge_later=number > 1)
            found = Counts().plus({**counts, "bytes": size}), memory_hooks.lost(connection)
        raise _TakenBack
    return found


def _counted(database: Database, request: Request) -> Counts:
    counts = Counts()
    with database.read() as connection:
        request.scope.select_all(connection)
        last = -1
        while (found := request.scope.select(connection, last)) is not None:
            last = found
            counts = counts.plus({**places.count(connection), "bytes": picture_bytes(connection)})
    return counts


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was deleted. `left` says, in sentences, what the search afterwards still found; `elsewhere` are
    backup files outside the home that were made before and are the person's to erase, and a cluster that was
    reading a picture of it: it is told to forget, and may have it until its workers end.
    """

    start_ms: int
    end_ms: int
    deleted_ms: int
    counts: Counts
    bytes_freed: int
    verified: bool
    left: tuple[str, ...] = field(default=())
    elsewhere: tuple[str, ...] = ()
    deletion_id: int = 0  # by which hosts say that they carried it out (`store.sources.hosts`)
    only_front: OnlyFront = field(default_factory=OnlyFront)

    @property
    def frames(self) -> int:
        return self.counts.frames

    @property
    def left_in_words(self) -> list[str]:
        """`left` in the person's language."""
        return [_in_words(sentence) for sentence in self.left]

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is left, as far as anything can be known."""
        return self.verified and not self.only_front.frames

    @property
    def is_being_finished(self) -> bool:
        """Whether all that is left goes by itself, as `settle` comes to it."""
        return not self.verified and set(self.left) <= {WORDS_LEFT, PACKING}


def _in_words(left: str) -> str:
    """A sentence of `Receipt.left`, which is kept English, in the person's language."""
    number, __, rest = left.partition(" ")
    return _(_COUNTED[rest], number=number) if rest in _COUNTED else translated(left)


def latest(database: Database, limit: int) -> list[Receipt]:
    """Receipts of deletions that are over, the newest first; none where there was nothing to delete,
    here or on another machine. What a later version added is left out.
    """
    return [_receipt_of(json.loads(text)) for text in database.column(_LATEST, (limit,))]


def _receipt_of(noted: dict[str, Any]) -> Receipt:
    known = {each.name: noted[each.name] for each in fields(Receipt) if each.name in noted}
    known["only_front"] = OnlyFront(**noted.get("only_front", {}))
    counts = {each.name: noted["counts"].get(each.name, 0) for each in fields(Counts)}
    return Receipt(**known | {"counts": Counts(**counts)})


def settle(database: Database, media: Media, is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Do what deletions had to leave, where a pack was in use, a log was read or the index is large; their
    receipts say so. What they know apps by goes, too.
    """
    _forget_digests(database)
    unsettled = [(tombstone, json.loads(noted)) for tombstone, noted in database.rows(_UNVERIFIED)]
    if not unsettled and not database.column("select 1 from media_trash limit 1"):
        return
    left = {sentence for __, receipt in unsettled for sentence in receipt["left"]}
    is_quiet = PACKING in left and pending.discard(database)
    empty_trash(database, media)
    has_pictures = bool(database.scalar("select count(*) from media_trash"))
    is_merged = WORDS_LEFT in left and text_index.merge(database, is_stopped)
    # What was merged is in the file until the log is folded into it.
    is_short = (is_merged or LOG_IS_READ in left) and database.checkpoint(_SETTLE_MS)
    settled = {
        PICTURES_LEFT: not has_pictures,
        PACKING: is_quiet and not has_pictures,
        WORDS_LEFT: is_merged and is_short,
        LOG_IS_READ: is_short,
    }
    done = tuple(sentence for sentence, is_done in settled.items() if is_done)
    for tombstone, receipt in unsettled:
        now = [each for each in receipt["left"] if not each.endswith(done)]
        others = [each for each in now if not each.endswith((_FRAMES_LEFT, _CAPTURES_LEFT))]
        if asked := receipt.get("asked"):
            now = still_there(database, Request.read(asked)) + others
        elif others != now and _is_empty(database, receipt["start_ms"], receipt["end_ms"]):
            now = others  # receipts of before do not say what was asked
        if now != receipt["left"]:
            asked = asked if has_counted(now) else None
            kept = {**receipt, "left": now, "verified": not now, "asked": asked}
            database.change(KEEP, (json.dumps(kept), tombstone))


def _forget_digests(database: Database) -> None:
    """Drop what receipts know an app by, once nothing of it can be on its way and every host was told, also
    one that has a token and never spoke: a list of apps tells whose it is.
    """
    until_ms = times.now_ms() - tombstones.ON_ITS_WAY_MS
    for tombstone, deleted_ms in database.rows(_WITH_DIGEST, (until_ms,)):
        oldest_ms = deleted_ms - tombstones.ON_ITS_WAY_MS
        if not any(residual_files.captures(database.data_dir, oldest_ms, deleted_ms + 1)):
            database.change(_FORGET_DIGEST, (tombstone,))


def is_unfinished(database: Database) -> bool:
    """Whether a deletion is under way or was broken off, or left words in the file for `settle` to erase."""
    left = (json.loads(noted)["left"] for __, noted in database.rows(_UNVERIFIED))
    return bool(database.rows(UNDER_WAY)) or any(WORDS_LEFT in sentences for sentences in left)


def _is_empty(database: Database, start_ms: int, end_ms: int) -> bool:
    """Whether nothing at all is there of a time, whatever was asked of it."""
    stored = "select 1 from frames where id >= ? and id < ? limit 1"
    is_waiting = bool(Request(start_ms, end_ms).waiting(database.data_dir))
    return not is_waiting and not database.column(stored, id_range(start_ms, end_ms))


def has_counted(left: Iterable[str]) -> bool:
    """Whether frames or captures are left that `settle` has to count anew."""
    return any(each.endswith((_FRAMES_LEFT, _CAPTURES_LEFT)) for each in left)


def still_there(database: Database, request: Request) -> list[str]:
    """What is there of what was asked to be deleted, in sentences."""
    waiting = len(request.waiting(database.data_dir))
    with database.read() as connection:  # afterwards: what waited may have been stored meanwhile
        stored = request.scope.count(connection)
    counted = (stored, _FRAMES_LEFT), (waiting, _CAPTURES_LEFT)
    return [f"{number} {sentence}" for number, sentence in counted if number]


_LATEST = """
select receipt from deletions d
where receipt ->> 'verified' is not null and (
    receipt ->> 'verified' = 0
    or exists (select 1 from json_each(receipt, '$.counts') where key <> 'copies' and value > 0)
    or exists (select 1 from hosts)
)
order by id desc limit ?
"""
UNDER_WAY = (
    "select id, deleted_ms, receipt from deletions where json_extract(receipt, '$.under_way') is not null"
)
_UNVERIFIED = "select id, receipt from deletions where json_extract(receipt, '$.verified') = 0"
_WITH_DIGEST = """
select id, deleted_ms from deletions
where deleted_ms < ? and receipt ->> '$.app' is not null and receipt -> '$.under_way' is null
    and not exists (
        select 1 from access_keys k left join hosts h on h.key_id = k.id
        where k.scope = 'ingest' and coalesce(h.deletion_id, 0) < deletions.id
    )
"""
_FORGET_DIGEST = "update deletions set receipt = json_remove(receipt, '$.app') where id = ?"
KEEP = "update deletions set receipt = ? where id = ?"
_SETTLE_MS = 100
_BYTES = """
select coalesce(sum(iif(f.media_path is null, 0, f.size_bytes) + coalesce(f.preview_bytes, 0)), 0)
from deletion_scope d cross join frames f on f.id = d.id
"""


def picture_bytes(connection: apsw.Connection) -> int:
    """What the pictures of the frames to delete take."""
    return int(scalar(connection, _BYTES))
