"""Words that frames are marked with: by rules as they come in, and by a person.

Rules mark a frame once, when it is stored, so that a tag which a person took off stays off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import apsw

from store.core.database import Database, clean_text
from store.core.errors import NotFound
from store.core.records import insert_new
from store.core.translation import gettext as _

MAX_TAG_CHARS = 64

Source = Literal["rule", "person"]


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of a frame, and who gave it."""

    tag: str
    source: Source


def add(connection: apsw.Connection, frame_id: int, tag: str, now_ms: int, source: Source = "person") -> bool:
    """Mark a frame; False when it has the tag already. Case does not matter, the first writing stays.

    Raises `ValueError` for a blank or overlong tag. Call inside `Database.write()`.
    """
    tag = " ".join(clean_text(tag).split())
    if not 0 < len(tag) <= MAX_TAG_CHARS:
        raise ValueError(_("a tag has 1 to %(most)s characters", most=MAX_TAG_CHARS))
    return insert_new(connection, "frame_tags", frame_id=frame_id, tag=tag, created_ms=now_ms, source=source)


def add_by_rule(connection: apsw.Connection, frame_id: int, tags: Iterable[str], now_ms: int) -> None:
    """Mark a frame that is being stored; what is blank or too long to be a tag is none."""
    for tag in tags:
        if 0 < len(" ".join(tag.split())) <= MAX_TAG_CHARS:
            add(connection, frame_id, tag, now_ms, "rule")


def remove(connection: apsw.Connection, frame_id: int, tag: str) -> bool:
    """Take a tag off a frame; False when it had none such. Call inside `Database.write()`."""
    connection.execute("delete from frame_tags where frame_id = ? and tag = ?", (frame_id, tag))
    return connection.changes() > 0


def listed(database: Database, frame_id: int) -> list[Tag]:
    """The tags of a frame with who gave them, in alphabetical order."""
    sql = "select tag, source from frame_tags where frame_id = ? order by tag"
    return database.records(Tag, sql, (frame_id,))


def of_frame(database: Database, frame_id: int) -> list[str]:
    """The tags of a frame, in alphabetical order."""
    return [each.tag for each in listed(database, frame_id)]


# -- frames that are kept -----------------------------------------------------------------
# Frames that stay whatever retention says: pinned by the person, cited by an answer, or told as an insight.
#
# Only a deletion that the person asks for takes them (`store.deletion.places`). `KEPT` is the one place
# that says which they are; whoever thins out pictures leaves out what it selects.

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
    """Keep a frame; a pin that is there stays as it is. Raises `NotFound`."""
    try:
        with database.write() as connection:
            insert_new(connection, "pins", frame_id=frame_id, pinned_ms=now_ms)
    except apsw.ConstraintError as error:
        raise NotFound("frame", frame_id) from error


def unpin(database: Database, frame_id: int) -> bool:
    """Let go of a frame; False when it was not pinned. A citation keeps it all the same."""
    return database.change("delete from pins where frame_id = ?", (frame_id,)) > 0


def retention_reason(database: Database, frame_id: int) -> RetentionReason:
    """Why this frame is kept, if it is."""
    found = database.rows(
        """
        select (select pinned_ms from pins where frame_id = :id),
            (select count(*) from evidence where frame_id = :id and n is not null),
            (select count(*) from insights where frame_id = :id)
        """,
        {"id": frame_id},
    )
    return RetentionReason(*found[0])


def pinned_usage(database: Database) -> PinnedUsage:
    """How much is kept; walks the kept frames only."""
    ((pinned, cited, frames, size),) = database.rows(
        f"""
        select (select count(*) from pins),
            (select count(distinct frame_id) from evidence where n is not null and frame_id is not null),
            count(*), coalesce(sum(f.size_bytes) filter (where f.media_path is not null), 0)
        from ({KEPT}) k cross join frames f on f.id = k.frame_id
        """,
    )
    return PinnedUsage(pinned, cited, frames, size)
