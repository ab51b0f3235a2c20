"""What chat sessions came to: mini summaries with their tags and vectors (R1.28, R1.29, R1.32).

A summary is made of the session's questions and answers, so it goes when one of the frames these rest
on is deleted, and is made again of what is left (`store.context_forgetting`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from store.database import Database, rows, scalar
from store.documents import SUMMARY_FIELDS

BY_RULES = "rules"
BY_PERSON = "person"
MAX_LOADED = 5_000
"""Sessions of the recent days that a pack is chosen from, newest first."""


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """One question of a session with what came of it. `payload` belongs to `webapp.assistant.stored`."""

    turn_id: int
    n: int
    status: str
    model: str
    question: str
    answer_md: str
    payload: Mapping[str, Any]
    apps: tuple[str, ...]
    tools: tuple[str, ...]
    created_ms: int


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """What one session came to. `made_by` is rules, a model's name or person; `timezone` is the person's."""

    session_id: int
    chat_id: int
    ended_ms: int
    timezone: str
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    tokens: int
    made_by: str
    is_edited: bool
    is_retracted: bool
    tags: tuple[tuple[str, float], ...] = ()

    @property
    def fields(self) -> dict[str, str | None]:
        """The six fields by name."""
        return {name: getattr(self, name) for name in SUMMARY_FIELDS}


@dataclass(frozen=True, slots=True)
class Embedded:
    """A summary's vector: int8[dimension] of `model`."""

    model: str
    vector: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sessions a pack may draw on, newest first: ids, when they ended, and vectors of one model.

    `vectors` is int8[len(ids), dimension], zeros where a session has none; None without a model.
    """

    ids: tuple[int, ...]
    ended_ms: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8] | None


def material(database: Database, session_id: int) -> list[AskedTurn]:
    """The questions of a session, in order, with their answers, apps and tools."""
    with database.read() as connection:
        found = rows(connection, _MATERIAL, (session_id,))
    return [
        AskedTurn(
            turn_id, n, status, model, question, answer, json.loads(payload),
            tuple(json.loads(apps)), tuple(json.loads(tools)), created_ms,
        )
        for turn_id, n, status, model, question, answer, payload, apps, tools, created_ms in found
    ]  # fmt: skip


def put(
    database: Database,
    session_id: int,
    fields: Mapping[str, str | None],
    *,
    tags: Mapping[str, float],
    tokens: int,
    made_by: str,
    ended_ms: int,
    now_ms: int,
    embedded: Embedded | None = None,
    made_of: Sequence[AskedTurn],
) -> bool:
    """Keep a session's summary in place of the one before; False where it is out of date.

    `made_of` is what it was made of: when one of these answers changed since, as by a deletion, or the
    person wrote the summary, nothing is kept.
    """
    with database.write() as connection:
        is_edited = scalar(
            connection, "select is_edited from chat_summaries where session_id = ?", (session_id,)
        )
        if is_edited:
            connection.execute("update chat_sessions set summary_state = 'made' where id = ?", (session_id,))
            return False
        now = rows(connection, _ANSWERS, (session_id,))
        if now != [(each.turn_id, each.answer_md) for each in made_of]:
            return False
        connection.execute(
            _PUT,
            {
                "session": session_id, "ended": ended_ms, "tokens": tokens, "by": made_by, "now": now_ms,
                "vector": embedded.vector.tobytes() if embedded else None,
                "model": embedded.model if embedded else None,
                **{name: fields.get(name) for name in SUMMARY_FIELDS},
            },
        )  # fmt: skip
        # One that was made up for late belongs to a time that is folded already.
        connection.execute(
            "delete from user_chat_summaries where kind = 'history' and until_ms > ?", (ended_ms,)
        )
        connection.execute("delete from session_tags where session_id = ?", (session_id,))
        connection.executemany(
            "insert into session_tags (session_id, tag, confidence) values (?, ?, ?)",
            [(session_id, tag, confidence) for tag, confidence in tags.items()],
        )
        connection.execute("update chat_sessions set summary_state = 'made' where id = ?", (session_id,))
    return True


def put_empty(database: Database, session_id: int) -> None:
    """Nothing was asked in a session, or nothing is left of it: it has no summary."""
    with database.write() as connection:
        connection.execute("delete from chat_summaries where session_id = ?", (session_id,))
        connection.execute("delete from session_tags where session_id = ?", (session_id,))
        connection.execute("update chat_sessions set summary_state = 'empty' where id = ?", (session_id,))


def edit(database: Database, session_id: int, fields: Mapping[str, str | None], now_ms: int) -> bool:
    """Keep the person's words; what is made of the session later leaves them. False when there is none.

    The vector of the words before goes with them.
    """
    with database.write() as connection:
        connection.execute(
            f"""
            update chat_summaries
            set {", ".join(f"{name} = :{name}" for name in SUMMARY_FIELDS)},
                made_by = '{BY_PERSON}', is_edited = 1, vector = null, vector_model = null, updated_ms = :now
            where session_id = :session
            """,
            {"session": session_id, "now": now_ms, **{name: fields.get(name) for name in SUMMARY_FIELDS}},
        )
        return connection.changes() > 0


def put_vector(database: Database, session_id: int, embedded: Embedded) -> None:
    """Give a summary another vector."""
    with database.write() as connection:
        connection.execute(
            "update chat_summaries set vector = ?, vector_model = ? where session_id = ?",
            (embedded.vector.tobytes(), embedded.model, session_id),
        )


def drop_edits(database: Database, session_id: int) -> bool:
    """Let the summary be made of the session again; False when there is none."""
    with database.write() as connection:
        connection.execute(
            "update chat_summaries set is_edited = 0 where session_id = ? and is_edited = 1", (session_id,)
        )
        changed = connection.changes() > 0
        connection.execute("update chat_sessions set summary_state = 'pending' where id = ?", (session_id,))
        return changed


def retract(database: Database, session_id: int, is_retracted: bool, now_ms: int) -> bool:
    """Take a summary out of what is told to models, or bring it back; False when there is none."""
    with database.write() as connection:
        connection.execute(
            "update chat_summaries set is_retracted = ?, updated_ms = ? where session_id = ?",
            (is_retracted, now_ms, session_id),
        )
        return connection.changes() > 0


def get(database: Database, session_ids: Sequence[int]) -> dict[int, ChatSummary]:
    """The summaries that these sessions have, with their tags."""
    ids = json.dumps(list(session_ids))
    with database.read() as connection:
        found = rows(connection, _GET, (ids,))
    return {row[0]: _summary(row) for row in found}


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
    table = np.zeros((len(found), size), np.int8)
    for at, (_, _, vector) in enumerate(found):
        if vector is not None and len(vector) == size:
            table[at] = np.frombuffer(vector, np.int8)
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
    """For each of these tags that is known: how many other sessions have it, and how surely."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select t.tag, count(*), avg(t.confidence)
            from json_each(?) j
            cross join session_tags t on t.tag = j.value
            where t.session_id is not ?
            group by t.tag
            """,
            (json.dumps(list(tags)), without),
        )
    return {tag: (number, confidence) for tag, number, confidence in found}


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


def ended_between(database: Database, start_ms: int, end_ms: int) -> bool:
    """Whether a session ended in ``[start_ms, end_ms)``."""
    sql = "select 1 from chat_summaries where ended_ms >= ? and ended_ms < ? limit 1"
    with database.read() as connection:
        return scalar(connection, sql, (start_ms, end_ms)) is not None


# -- support --------------------------------------------------------------------------------


def _summary(row: tuple[Any, ...]) -> ChatSummary:
    session_id, chat_id, ended_ms, timezone, *fields, tokens, made_by, is_edited, is_retracted, tags = row
    return ChatSummary(
        session_id=session_id,
        chat_id=chat_id,
        ended_ms=ended_ms,
        timezone=timezone,
        **dict(zip(SUMMARY_FIELDS, fields, strict=True)),
        tokens=tokens,
        made_by=made_by,
        is_edited=bool(is_edited),
        is_retracted=bool(is_retracted),
        tags=tuple((tag, confidence) for tag, confidence in json.loads(tags)),
    )


_TURNS_OF = """
from messages m
join turns t on t.conversation_id = m.conversation_id and t.n = m.turn
where m.session_id = ? and m.role = 'user'
"""
_ANSWERS = f"select t.id, t.answer_md {_TURNS_OF} order by t.id"
_MATERIAL = f"""
select t.id, t.n, t.status, t.model, t.question, t.answer_md, t.payload,
    (select coalesce(json_group_array(distinct e.app_name), '[]')
        from evidence e where e.turn_id = t.id and e.n is not null and e.app_name is not null),
    (select coalesce(json_group_array(distinct c.tool), '[]') from tool_calls c where c.turn_id = t.id),
    t.created_ms
{_TURNS_OF} order by t.id
"""
_PUT = f"""
insert into chat_summaries (session_id, ended_ms, {", ".join(SUMMARY_FIELDS)}, tokens, made_by, vector,
    vector_model, updated_ms)
values (:session, :ended, {", ".join(f":{name}" for name in SUMMARY_FIELDS)}, :tokens, :by, :vector, :model,
    :now)
on conflict (session_id) do update
set ended_ms = :ended, {", ".join(f"{name} = :{name}" for name in SUMMARY_FIELDS)}, tokens = :tokens,
    made_by = :by, vector = :vector, vector_model = :model, updated_ms = :now
"""
_GET = f"""
select s.session_id, c.conversation_id, s.ended_ms,
    coalesce((select t.timezone from turns t
        where t.conversation_id = c.conversation_id order by t.n desc limit 1), 'UTC'),
    {", ".join(f"s.{name}" for name in SUMMARY_FIELDS)},
    s.tokens, s.made_by, s.is_edited, s.is_retracted,
    (select coalesce(json_group_array(json_array(g.tag, g.confidence)), '[]') from (
        select tag, confidence from session_tags g
        where g.session_id = s.session_id order by confidence desc, tag) g)
from json_each(?) j
cross join chat_summaries s on s.session_id = j.value
join chat_sessions c on c.id = s.session_id
order by j.key
"""
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
