"""Frames that stay whatever retention says: pinned by the person, cited by an answer, or told as an insight.

Only a deletion that the person asks for takes them (`store.deletion.registry`). `KEPT` is the one place that
says which they are; whoever thins out pictures leaves out what it selects.
"""

from __future__ import annotations

from dataclasses import dataclass

from peewee import IntegrityError

from store.core.database import Database, rows, scalar
from store.core.errors import FrameNotFound
from store.core.schema import Pin

KEPT = """
select frame_id from pins
union
select frame_id from evidence where n is not null and frame_id is not null
union
select frame_id from insights where frame_id is not null
"""
"""SQL for the ids of every kept frame."""


@dataclass(frozen=True, slots=True)
class RetentionReason:
    """Why one frame is kept: since when it is pinned (None: it is not), by how many citations, and by how
    many versions of an insight.
    """

    pinned_ms: int | None
    citations: int
    insights: int = 0

    @property
    def is_kept(self) -> bool:
        return self.pinned_ms is not None or self.citations > 0 or self.insights > 0


@dataclass(frozen=True, slots=True)
class PinnedUsage:
    """What keeping costs. A frame that is pinned and cited counts in both, its bytes once."""

    pinned: int
    cited: int
    frames: int
    picture_bytes: int


def pin(database: Database, frame_id: int, now_ms: int) -> None:
    """Keep a frame; a pin that is there stays as it is. Raises `FrameNotFound`."""
    try:
        with database.write():
            Pin.insert(frame_id=frame_id, pinned_ms=now_ms).on_conflict_ignore().execute(database.peewee)
    except IntegrityError as error:
        raise FrameNotFound(frame_id) from error


def unpin(database: Database, frame_id: int) -> bool:
    """Let go of a frame; False when it was not pinned. A citation keeps it all the same."""
    with database.write():
        return bool(Pin.delete().where(Pin.frame_id == frame_id).execute(database.peewee))


def retention_reason(database: Database, frame_id: int) -> RetentionReason:
    """Why this frame is kept, if it is."""
    with database.read() as connection:
        pinned_ms = scalar(connection, "select pinned_ms from pins where frame_id = ?", (frame_id,))
        citations = scalar(
            connection, "select count(*) from evidence where frame_id = ? and n is not null", (frame_id,)
        )
        told = scalar(connection, "select count(*) from insights where frame_id = ?", (frame_id,))
    return RetentionReason(pinned_ms, int(citations), int(told))


def pinned_usage(database: Database) -> PinnedUsage:
    """How much is kept; walks the kept frames only."""
    with database.read() as connection:
        ((pinned, cited, frames, size),) = rows(
            connection,
            f"""
            select (select count(*) from pins),
                (select count(distinct frame_id) from evidence where n is not null and frame_id is not null),
                count(*), coalesce(sum(f.size_bytes) filter (where f.media_path is not null), 0)
            from ({KEPT}) k
            cross join frames f on f.id = k.frame_id
            """,
        )
    return PinnedUsage(pinned, cited, frames, size)
