"""Retention: what is let go of by itself, once the person has said so. Without their word nothing ever is.

The ladder: the picture, a small one for each minute, the text alone, nothing. Days set each step; a number of
gigabytes takes the oldest pictures, then the oldest small ones, and never the text. Frames that are pinned,
cited or told as an insight (`store.frames.tags.KEPT`) stay whole, and a picture stays until it was read.

Pictures go as in every deletion: the rows first, with the files noted in ``media_trash``, then the files.
Small pictures are written before a row names them (`store.frames.pending`). Frames that go whole go through
`store.deletion.deletion`, receipt and tombstone included. Nothing goes while a question is being answered,
which may come to cite it. Each run is noted with what it took, or why it failed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import apsw

from store.core import preferences
from store.core.database import Database, rows, scalar
from store.core.errors import MediaGone, StoreBusy
from store.core.records import columns, insert
from store.core.settings import RetentionSettings
from store.core.translation import N_
from store.deletion import places
from store.deletion.deletion import Erasure, only_one
from store.deletion.request import DeletionScope, Request
from store.frames import frames, pending
from store.frames.frames import ID_STEP, FrameRow, captured_ms_of
from store.frames.media import Media, preview_of
from store.frames.packing import empty_trash
from store.frames.tags import KEPT

PREVIEW_PX = 320
_PREVIEW_QUALITY = 50
_AT_ONCE = 200
_MINUTE_MS = 60_000
_DAY_MS = 86_400_000
_LONGEST_TURN_MS = 3_600_000
"""A question that has run for longer was left behind by a program that died."""
_WAIT_S = 10.0
_PREFERENCE = "retention"


@dataclass(frozen=True, slots=True)
class Run:
    """What one run took, or would take: pictures, small pictures, and frames with their text.

    `bytes_freed` of a run that is only planned is what these take; the small pictures that come in the
    place of others are not yet taken off.
    """

    run_ms: int
    pictures: int = 0
    previews: int = 0
    frames: int = 0
    bytes_freed: int = 0
    problem: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.pictures or self.previews or self.frames)


# -- what the person chose ----------------------------------------------------------------


def chosen(database: Database, settings: RetentionSettings) -> RetentionSettings:
    """What was chosen in the app, else what the settings say."""
    return RetentionSettings(**preferences.get_preference(database, _PREFERENCE, asdict(settings)))


def choose(database: Database, policy: RetentionSettings, settings: RetentionSettings) -> None:
    preferences.choose(database, _PREFERENCE, asdict(policy), asdict(settings))


def is_off(policy: RetentionSettings) -> bool:
    """Whether everything is kept for ever."""
    return not any(asdict(policy).values())


# -- what would go ------------------------------------------------------------------------

_PICTURES = f"""
from frames f indexed by frames_with_picture
where f.media_path is not null and f.reading_state <> 'pending' and f.id not in ({KEPT})
"""
_PREVIEWS = f"""
from frames f indexed by frames_with_preview
where f.preview_path is not null and f.id not in ({KEPT})
"""
_WHOLE = f"from frames f where f.id < :before and f.id not in ({KEPT})"
_BYTES = "select sum(picture_bytes + preview_bytes) from frame_totals"


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes: frames, pictures and small pictures with ids below these. `run` says how much that is."""

    run: Run
    frames_before: int
    pictures_before: int
    previews_before: int


def media_bytes(database: Database) -> int:
    """What all pictures take, the small ones included."""
    return int(database.scalar(_BYTES))


def plan(database: Database, policy: RetentionSettings, now_ms: int) -> Plan:
    """What `run` would take now."""
    whole = _id_before(policy.text_days, now_ms)
    with database.read() as connection:
        number = scalar(connection, f"select count(*) {_WHOLE}", {"before": whole})
        over = scalar(connection, _BYTES) - round(policy.max_gb * 1e9) if policy.max_gb else 0
        aged = max(whole, _id_before(policy.days, now_ms))
        pictures, size, before = _oldest(connection, f"select f.id, f.size_bytes {_PICTURES}", aged, over)
        aged = max(whole, _id_before(policy.preview_days, now_ms))
        small, small_size, small_before = _oldest(
            connection, f"select f.id, f.preview_bytes {_PREVIEWS}", aged, over - size
        )
    return Plan(Run(now_ms, pictures, small, number, size + small_size), whole, before, small_before)


def _id_before(days: int, now_ms: int) -> int:
    """The id that everything older than so many days lies below; 0 days are no limit."""
    return max(0, now_ms - days * _DAY_MS) * ID_STEP if days else 0


def _oldest(connection: apsw.Connection, select: str, before: int, over: int) -> tuple[int, int, int]:
    """(how many, their bytes, the id they lie below): all that lie below `before`, and the next oldest
    until `over` bytes are reached.
    """
    number = size = 0
    for frame_id, size_bytes in connection.execute(f"{select} order by f.id"):
        if frame_id >= before and size >= over:
            break
        number, size, before = number + 1, size + size_bytes, max(before, frame_id + 1)
    return number, size, before


# -- taking it ----------------------------------------------------------------------------


def run(
    database: Database,
    media: Media,
    policy: RetentionSettings,
    now_ms: int,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Run:
    """Take what the policy lets go of, and note it. Raises `StoreBusy` when another program works on pictures
    or a question is being answered, and `OSError`; what was taken until then is noted.
    """
    taken = _Taking(database, media, now_ms)
    try:
        taken.take(plan(database, policy, now_ms), is_stopped)
    except (StoreBusy, OSError) as error:
        taken.run = replace(taken.run, problem=str(error) or type(error).__name__)
        raise
    finally:
        _note(database, taken.run)
        empty_trash(database, media)
    database.checkpoint()
    return taken.run


def runs(database: Database, limit: int) -> list[Run]:
    """The latest runs, newest first. Of those that took nothing only the last is known."""
    sql = f"select {columns(Run)} from retention_runs order by id desc limit ?"
    return database.records(Run, sql, (limit,))


def _note(database: Database, done: Run) -> None:
    with database.write() as connection:
        connection.execute("delete from retention_runs where pictures + previews + frames = 0")
        insert(connection, "retention_runs", **asdict(done))


class _Taking:
    """One run under way, with what it took so far."""

    def __init__(self, database: Database, media: Media, now_ms: int) -> None:
        self._database = database
        self._media = media
        self._now_ms = now_ms
        self.run = Run(now_ms)

    def take(self, planned: Plan, is_stopped: Callable[[], bool]) -> None:
        if planned.run.frames:
            self._take_frames(planned.frames_before)
        for select, before, take in (
            (_PICTURES, planned.pictures_before, self._take_pictures),
            (_PREVIEWS, planned.previews_before, self._take_previews),
        ):
            after = -1
            while not is_stopped():
                found = self._next(select, after, before)
                if not found:
                    break
                take(found, planned.previews_before)
                self._count(bytes_freed=empty_trash(self._database, self._media))
                after = found[-1].id

    def _next(self, source: str, after: int, before: int) -> list[FrameRow]:
        chosen = f"select f.id {source} and f.id > :after and f.id < :before order by f.id limit :limit"
        parameters = {"after": after, "before": before, "limit": _AT_ONCE}
        with self._database.read() as connection:
            return frames.select_rows(connection, f"where id in ({chosen}) order by id", parameters)

    def _take_frames(self, before: int) -> None:
        with self._database.read() as connection:
            _refuse_while_asked(connection, self._now_ms)
            oldest = scalar(connection, f"select min(f.id) {_WHOLE}", {"before": before})
        since = self._now_ms - _LONGEST_TURN_MS
        erasure = Erasure(
            self._database,
            self._media,
            Request(captured_ms_of(oldest), captured_ms_of(before)),
            self._now_ms,
            # Also where the question comes while they go: then the rest goes later.
            DeletionScope(f"{_WHOLE} and not exists ({_ASKED})", {"before": before, "since": since}),
        )
        with only_one(self._database):
            erasure.remove()
            gone = erasure.finish()
        self._count(frames=gone.frames, pictures=gone.counts.pictures, bytes_freed=gone.bytes_freed)

    def _take_pictures(self, found: list[FrameRow], previews_before: int) -> None:
        """Let pictures go, and small ones take the place of some."""
        small = self._small_pictures([frame for frame in found if frame.id >= previews_before])
        with pending.only_writer(self._database, _WAIT_S):
            pending.write(self._database, self._media, small.values())
            with self._database.write() as connection:
                gone = self._select(connection, found, "media_path")
                connection.execute(
                    "update frames set media_path = null, media_gone_reason = 'retention', media_gone_ms = ?"
                    " where id in (select id from deletion_scope)",
                    (self._now_ms,),
                )
                for frame_id in gone & small.keys():
                    path, content = small[frame_id]
                    connection.execute(
                        "update frames set preview_path = ?, preview_sha256 = ?, preview_bytes = ?"
                        " where id = ?",
                        (path, hashlib.sha256(content).hexdigest(), len(content), frame_id),
                    )
                    pending.settle(connection, [path])
        self._count(pictures=len(gone))

    def _take_previews(self, found: list[FrameRow], _: int) -> None:
        with self._database.write() as connection:
            gone = self._select(connection, found, "preview_path")
            connection.execute(
                "update frames set preview_path = null, preview_sha256 = null, preview_bytes = null"
                " where id in (select id from deletion_scope)"
            )
        self._count(previews=len(gone))

    def _select(self, connection: apsw.Connection, found: list[FrameRow], path: str) -> set[int]:
        """Put those into ``deletion_scope`` that are there still and were not kept meanwhile, and what `path`
        names into the trash; returns their ids.
        """
        _refuse_while_asked(connection, self._now_ms)
        places.select_frames(
            connection,
            f"select f.id from json_each(:ids) j cross join frames f on f.id = j.value"
            f" where f.{path} is not null and f.id not in ({KEPT})",
            {"ids": json.dumps([frame.id for frame in found])},
        )
        connection.execute(
            f"insert or ignore into media_trash (path) select f.{path}"
            " from deletion_scope d cross join frames f on f.id = d.id"
        )
        return {frame_id for (frame_id,) in rows(connection, "select id from deletion_scope")}

    def _small_pictures(self, found: list[FrameRow]) -> dict[int, tuple[str, bytes]]:
        """(path, content) by frame: of the first of each minute and monitor that can still be read."""
        if not found:
            return {}
        first, last = (frame.captured_ms // _MINUTE_MS for frame in (found[0], found[-1]))
        minutes = set(
            self._database.rows(
                f"select monitor, captured_ms / {_MINUTE_MS} from frames indexed by frames_with_preview"
                " where preview_path is not null and id >= ? and id < ?",
                frames.id_range(first * _MINUTE_MS, (last + 1) * _MINUTE_MS),
            )
        )
        small = {}
        for frame in found:
            minute = (frame.monitor, frame.captured_ms // _MINUTE_MS)
            if minute in minutes:
                continue
            try:
                content = preview_of(self._media.image(frame), PREVIEW_PX, _PREVIEW_QUALITY)
            except MediaGone:
                continue
            minutes.add(minute)
            small[frame.id] = pending.new_path(frame.captured_ms, ".webp"), content
        return small

    def _count(self, **more: int) -> None:
        self.run = replace(self.run, **{name: getattr(self.run, name) + n for name, n in more.items()})


_ASKED = "select 1 from turns where status = 'running' and created_ms > :since"


def _refuse_while_asked(connection: apsw.Connection, now_ms: int) -> None:
    """Raise `StoreBusy` while a question is being answered."""
    if scalar(connection, _ASKED, {"since": now_ms - _LONGEST_TURN_MS}):
        raise StoreBusy(
            N_("an answer that is being written may cite these frames; they are deleted afterwards")
        )


# -- how long it lasts --------------------------------------------------------------------

_RATE_MS = 14 * _DAY_MS
_MONTH_DAYS = 30.44


@dataclass(frozen=True, slots=True)
class Growth:
    """What a month adds at the pace of the last two weeks, and for how many there is room."""

    month_bytes: float
    months: float


def growth(database: Database, room_bytes: float, now_ms: int) -> Growth | None:
    """None while there is less than a day to tell it by."""
    first, after = frames.id_range(now_ms - _RATE_MS, now_ms)
    number, size, oldest = database.rows(
        "select count(*), sum(size_bytes), min(captured_ms) from frames where id >= ? and id < ?",
        (first, after),
    )[0]
    if not number or now_ms - oldest < _DAY_MS:
        return None
    # Totals may be wrong until they are mended: there are at least those just counted.
    in_all = max(number, database.scalar("select sum(frames) from frame_totals"))
    stored = database.data_dir.database.stat().st_size / in_all
    month_bytes = (size + number * stored) * _MONTH_DAYS * _DAY_MS / (now_ms - oldest)
    return Growth(month_bytes, max(0.0, room_bytes) / month_bytes)
