"""What chat sessions came to: mini summaries with their tags and vectors.

A summary is made of the session's questions and answers, so it goes when one of the frames these rest
on is deleted, and is made again of what is left (`store.deletion.chat_hooks`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, change, rows, scalar
from store.core.errors import Outdated
from store.core.records import add_new, columns, put_parts
from store.core.translation import N_
from store.memory.documents import SUMMARY_FIELDS, Summary

BY_RULES = "rules"
BY_PERSON = "person"
UNSOURCED = N_("Answered without a source:")
"""The line above those sentences of a summary that rest on nothing."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """One question of a session with what came of it. `payload` belongs to `assistant.turns.stored_turns`.

    `quotes` are what stands on what it cites, by the numbers of its citations.
    `insight` is the title of the insight that it told without a word of the person.
    """

    turn_id: int
    n: int
    status: str
    model: str
    question: str
    answer_md: str
    payload: Mapping[str, Any]
    apps: tuple[str, ...]
    created_ms: int
    quotes: Mapping[int, str] = field(default_factory=dict)
    insight: str | None = None


@dataclass(frozen=True, slots=True)
class ChatSummary(Summary):
    """What one session came to. `made_by` is rules or person; `timezone` is the person's.

    `untyped` names the fields that a person left as they were when they wrote in it.
    """

    session_id: int
    chat_id: int
    started_ms: int
    ended_ms: int
    timezone: str
    tokens: int
    made_by: str
    is_edited: bool
    is_retracted: bool
    tags: tuple[tuple[str, float], ...] = ()
    untyped: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Another one where it says something else."""
        return hashlib.sha256(json.dumps(self.fields).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Embedded:
    """A summary's vector: int8[dimension] of `model`."""

    model: str
    vector: npt.NDArray[np.int8]


def summary_input(database: Database, session_id: int) -> list[SessionTurn]:
    """The questions of a session, in order, with their answers and apps."""
    return database.records(SessionTurn, _MATERIAL, (session_id,))


def put(
    database: Database,
    session_id: int,
    fields: Mapping[str, str | None],
    *,
    tags: Mapping[str, float],
    tokens: int,
    ended_ms: int,
    now_ms: int,
    embedded: Embedded | None = None,
    terms: Mapping[str, int],
    made_of: Sequence[SessionTurn],
) -> bool:
    """Keep a session's summary in place of the one before; False where it is out of date. By its `terms` it
    is found again.

    `made_of` is what it was made of: when one of these answers changed since, as by a deletion, or the
    person wrote the summary, nothing is kept.
    """
    with database.write() as connection:
        if scalar(connection, "select is_edited from chat_summaries where session_id = ?", (session_id,)):
            connection.execute("update chat_sessions set summary_state = 'made' where id = ?", (session_id,))
            return False
        if not are_current(connection, session_id, made_of):
            return False
        values = {
            "session": session_id, "ended": ended_ms, "tokens": tokens, "by": BY_RULES, "now": now_ms,
            "vector": embedded.vector.tobytes() if embedded else None,
            "model": embedded.model if embedded else None,
            **{name: fields.get(name) for name in SUMMARY_FIELDS},
        }  # fmt: skip
        if not change(connection, _UPDATE, values):
            connection.execute(_INSERT, values)
        # The digests lack it: the recent one, and where it was made up for late that of the time before.
        sql = "delete from user_chat_summaries where kind = 'recent' or until_ms > ?"
        connection.execute(sql, (ended_ms,))
        of_session = {"session_id": session_id}
        put_parts(connection, "session_tags", of_session, "tag, confidence", tags.items())
        sql = "update user_topic_summaries set expires_ms = 0 where topic in (select value from json_each(?))"
        connection.execute(sql, (json.dumps(list(tags)),))
        put_parts(connection, "chat_terms", of_session, "term, number", terms.items())
        connection.execute("update chat_sessions set summary_state = 'made' where id = ?", (session_id,))
    return True


def are_current(connection: apsw.Connection, session_id: int, made_of: Sequence[SessionTurn]) -> bool:
    """Whether these are still the questions of a session with their answers."""
    answers = [(each.turn_id, each.answer_md) for each in made_of]
    return rows(connection, _ANSWERS, (session_id,)) == answers


def put_empty(database: Database, session_id: int) -> None:
    """Nothing was asked in a session, or nothing is left of it: it has no summary."""
    with database.write() as connection:
        connection.execute("delete from chat_summaries where session_id = ?", (session_id,))
        connection.execute("delete from session_tags where session_id = ?", (session_id,))
        connection.execute("update chat_sessions set summary_state = 'empty' where id = ?", (session_id,))


def edit(
    database: Database,
    session_id: int,
    fields: Mapping[str, str | None],
    now_ms: int,
    *,
    version: str | None = None,
) -> bool:
    """Keep the person's words; what is made of the session later leaves them. False when there is none.

    Fields that are left as they were are noted: they are not the person's. The vector goes. Raises
    `Outdated` where it is not the `version` that the person saw: what was deleted since would come back as
    their own words.
    """
    with database.write() as connection:
        known = get(database, [session_id]).get(session_id)
        if known is None:
            return False
        if version not in (None, known.version):
            raise Outdated("the summary was made again while it was edited")
        was = {
            name: text
            for name, text in known.fields.items()
            if text and (not known.is_edited or name in known.untyped)
            and " ".join(text.split()) == " ".join((fields.get(name) or "").split())
        }  # fmt: skip
        typed = {name: fields.get(name) for name in SUMMARY_FIELDS} | was
        untyped = json.dumps(dict.fromkeys(was, ()))
        connection.execute(_EDIT, {"session": session_id, "now": now_ms, "untyped": untyped, **typed})
    return True


_EDIT = f"""
update chat_summaries
set {", ".join(f"{name} = :{name}" for name in SUMMARY_FIELDS)}, made_by = '{BY_PERSON}', is_edited = 1,
    vector = null, vector_model = null, traces = :untyped, updated_ms = :now
where session_id = :session
"""


def put_found_by(
    database: Database, session_id: int, terms: Mapping[str, int], embedded: Embedded | None
) -> None:
    """By what a summary that a person wrote is found again."""
    with database.write() as connection:
        if not scalar(connection, "select 1 from chat_summaries where session_id = ?", (session_id,)):
            return
        put_parts(connection, "chat_terms", {"session_id": session_id}, "term, number", terms.items())
        if embedded:
            sql = "update chat_summaries set vector = ?, vector_model = ? where session_id = ?"
            connection.execute(sql, (embedded.vector.tobytes(), embedded.model, session_id))


def drop_edits(database: Database, session_id: int) -> bool:
    """Let the summary be made of the session again; False when there is none."""
    with database.write() as connection:
        sql = "update chat_summaries set is_edited = 0 where session_id = ? and is_edited = 1"
        changed = change(connection, sql, (session_id,)) > 0
        connection.execute("update chat_sessions set summary_state = 'pending' where id = ?", (session_id,))
        return changed


def retract(database: Database, session_id: int, is_retracted: bool, now_ms: int) -> bool:
    """Take a summary out of what is told to models, or bring it back; False when there is none."""
    sql = "update chat_summaries set is_retracted = ?, updated_ms = ? where session_id = ?"
    return database.change(sql, (is_retracted, now_ms, session_id)) > 0


def get(database: Database, session_ids: Sequence[int]) -> dict[int, ChatSummary]:
    """The summaries that these sessions have, with their tags."""
    found = database.records(ChatSummary, _GET, (str(list(session_ids)),))
    return {summary.session_id: summary for summary in found}


def are_there(connection: apsw.Connection, session_ids: Collection[int]) -> bool:
    """Whether all of these sessions have a summary still."""
    sql = "select count(*) from json_each(?) j cross join chat_summaries s on s.session_id = j.value"
    number = scalar(connection, sql, (json.dumps(sorted(set(session_ids))),))
    return bool(number == len(set(session_ids)))


def use(connection: apsw.Connection, turn_id: int, session_ids: Collection[int]) -> None:
    """Note that a tool gives these summaries to the model in a turn, inside `Database.write()`.

    Raises `Outdated` where one of them was deleted meanwhile.
    """
    if not are_there(connection, session_ids):
        raise Outdated("an earlier chat was deleted while it was looked up")
    add_new(connection, "chat_uses", "turn_id, session_id", ((turn_id, number) for number in session_ids))


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
    t.created_ms,
    (select json_group_object(e.n, e.quote)
        from evidence e where e.turn_id = t.id and e.n is not null and e.state = 'found' and e.quote <> ''),
    (select nullif(i.title, '') from insights i
        join anchors a on a.conversation_id = t.conversation_id
        where i.turn_id = t.id and t.n = 1 and a.amends_id is null)
{_TURNS_OF} order by t.id
"""
_SET = f"""
set ended_ms = :ended, {", ".join(f"{name} = :{name}" for name in SUMMARY_FIELDS)}, tokens = :tokens,
    made_by = :by, vector = :vector, vector_model = :model, updated_ms = :now
"""
# Two statements: an upsert's way with conflicts holds for what its triggers insert, too (a queue of vectors).
_UPDATE = f"update chat_summaries {_SET} where session_id = :session"
_INSERT = f"""
insert into chat_summaries (session_id, ended_ms, {", ".join(SUMMARY_FIELDS)}, tokens, made_by, vector,
    vector_model, updated_ms)
values (:session, :ended, {", ".join(f":{name}" for name in SUMMARY_FIELDS)}, :tokens, :by, :vector, :model,
    :now)
"""
_ELSEWHERE = {
    "chat_id": "c.conversation_id",
    "started_ms": "c.created_ms",
    "timezone": """coalesce((
        select t.timezone from turns t where t.conversation_id = c.conversation_id order by t.n desc limit 1
    ), 'UTC')""",
    # The column has its name from what it was an object of; its keys are the fields.
    "untyped": "(select json_group_array(key) from json_each(coalesce(s.traces, '{}')))",
    "tags": """(
        select json_group_array(json_array(g.tag, g.confidence) order by g.confidence desc, g.tag)
        from session_tags g where g.session_id = s.session_id
    )""",
}
_GET = f"""
select {columns(ChatSummary, "s", **_ELSEWHERE)}
from json_each(?) j
cross join chat_summaries s on s.session_id = j.value
join chat_sessions c on c.id = s.session_id
order by j.key
"""
