"""Which chat sessions there are to draw on: by time, by their vectors, by their tags.

What they came to is in `store.memory.chat_summaries`. What is chosen to be told is never a retracted one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from store.core.database import Database, rows, scalar
from store.memory.chat_summaries import BY_RULES

COUNTED = 50
MAX_LOADED = 1_000
"""Sessions of the recent days that a pack is chosen from, newest first: 35 chats a day for four weeks."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sessions a pack may draw on, newest first: ids, when they ended, and vectors of one model.

    `vectors` is int8[len(ids), dimension], zeros where a session has none; None without a model.
    """

    ids: tuple[int, ...]
    ended_ms: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8] | None

    @property
    def have_vectors(self) -> bool:
        """Whether every one of them has a vector."""
        return self.vectors is not None and bool(self.vectors.any(axis=1).all())


def candidates(
    database: Database, since_ms: int, model: str | None, without: int | None = None, limit: int = MAX_LOADED
) -> Candidates:
    """Sessions that ended at or after `since_ms`; not `without`, and none of its chat."""
    with database.read() as connection:
        found = rows(
            connection,
            _CANDIDATES,
            {"since": since_ms, "model": model or "", "without": without, "limit": limit},
        )
    ids = tuple(number for number, _, _ in found)
    ended = np.fromiter((at for _, at, _ in found), np.int64, len(found))
    size = max((len(vector) for _, _, vector in found if vector is not None), default=0)
    if not model or not size:
        return Candidates(ids, ended, None)
    none = bytes(size)
    packed = b"".join(vector if vector and len(vector) == size else none for _, _, vector in found)
    table = np.frombuffer(packed, np.int8).reshape(len(found), size)
    return Candidates(ids, ended, table)


def tagged(database: Database, tags: Sequence[str], since_ms: int) -> dict[int, float]:
    """How strongly sessions that ended since `since_ms` are about any of these tags."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select t.session_id, sum(t.confidence)
            from json_each(?) j
            cross join session_tags t on t.tag = j.value
            join chat_summaries s on s.session_id = t.session_id and s.is_retracted = 0
            where s.ended_ms >= ?
            group by t.session_id
            """,
            (json.dumps(list(tags)), since_ms),
        )
    return dict(found)


def inventory(
    database: Database, tags: Sequence[str], without: int | None = None
) -> dict[str, tuple[int, float]]:
    """For each of these tags that is known: how many other sessions have it, and how surely.

    No more than `COUNTED` are looked at: beyond that it makes no difference.
    """
    with database.read() as connection:
        found = rows(connection, _INVENTORY, {"tags": json.dumps(list(tags)), "without": without})
    return {tag: (number, confidence) for tag, number, confidence in found if number}


def about(database: Database, tag: str, limit: int, without: int | None = None) -> list[int]:
    """The sessions that are most about a tag, the newest first."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select t.session_id
            from session_tags t
            join chat_summaries s on s.session_id = t.session_id and s.is_retracted = 0
            where t.tag = ? and t.session_id is not ?
            order by s.ended_ms desc, t.session_id desc
            limit ?
            """,
            (tag, without, limit),
        )
    return [number for (number,) in found]


def recent(database: Database, since_ms: int, limit: int) -> list[int]:
    """Sessions that ended at or after `since_ms` and are not retracted, newest first."""
    sql = """
        select session_id from chat_summaries
        where ended_ms >= ? and is_retracted = 0 order by ended_ms desc, session_id desc limit ?
        """
    with database.read() as connection:
        return [number for (number,) in rows(connection, sql, (since_ms, limit))]


def unrefined(database: Database, closed_before_ms: int, closed_after_ms: int, limit: int) -> list[int]:
    """Closed sessions whose summary rules wrote and no model was asked for since, newest first."""
    sql = f"""
        select s.session_id
        from chat_sessions c
        join chat_summaries s on s.session_id = c.id
        where c.state = 'closed' and c.closed_ms < ? and c.closed_ms >= ?
            and s.made_by = '{BY_RULES}' and s.is_edited = 0
            and coalesce(json_extract(c.metadata, '$.refined_ms'), 0) < c.closed_ms
        order by c.id desc
        limit ?
        """
    with database.read() as connection:
        return [number for (number,) in rows(connection, sql, (closed_before_ms, closed_after_ms, limit))]


def everything(database: Database) -> list[int]:
    """Every session that has a summary, the oldest first."""
    with database.read() as connection:
        found = rows(connection, "select session_id from chat_summaries order by ended_ms, session_id")
    return [number for (number,) in found]


def are_any(database: Database) -> bool:
    """Whether there is a summary that may be told."""
    with database.read() as connection:
        return scalar(connection, "select 1 from chat_summaries where is_retracted = 0 limit 1") is not None


def ended_between(database: Database, start_ms: int, end_ms: int) -> bool:
    """Whether a session ended in ``[start_ms, end_ms)``."""
    sql = "select 1 from chat_summaries where ended_ms >= ? and ended_ms < ? limit 1"
    with database.read() as connection:
        return scalar(connection, sql, (start_ms, end_ms)) is not None


# -- support --------------------------------------------------------------------------------

_CANDIDATES = """
select s.session_id, s.ended_ms, case when s.vector_model = :model then s.vector end
from chat_summaries s
where s.ended_ms >= :since and s.is_retracted = 0 and s.session_id not in (
    select other.id from chat_sessions this
    join chat_sessions other on other.conversation_id = this.conversation_id
    where this.id = :without
)
order by s.ended_ms desc, s.session_id desc
limit :limit
"""
_INVENTORY = f"""
with counted as (
    select j.value as tag, (
        select json_array(count(*), avg(confidence))
        from (
            select t.confidence from session_tags t
            where t.tag = j.value and t.session_id is not :without
            limit {COUNTED}
        )
    ) as told
    from json_each(:tags) j
)
select tag, told ->> 0, told ->> 1 from counted
"""
