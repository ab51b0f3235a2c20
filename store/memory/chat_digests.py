"""Digests of many chat sessions: of the recent days, of the time before them, and of topics.

Each is a list of lines that know which sessions they rest on. Triggers of `chat_summaries` throw a digest
away when one of its summaries changes or goes, so what is stored is never out of date, only missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import apsw
import numpy as np
import numpy.typing as npt

from store.chats import conversations
from store.core import copies, preferences
from store.core.database import Database, change
from store.core.records import columns
from store.core.records import put as put_row
from store.core.translation import N_
from store.memory.chat_summaries import BY_RULES

Kind = Literal["recent", "history"]


@dataclass(frozen=True, slots=True)
class Line:
    """One bullet of a digest. `at_ms` is when the last of its sessions ended."""

    text: str
    sessions: tuple[int, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class Digest:
    """``recent`` reaches from `until_ms` on, ``history`` up to it."""

    kind: Kind
    lines: tuple[Line, ...]
    until_ms: int
    built_ms: int


@dataclass(frozen=True, slots=True)
class Topic:
    """What is known of one topic. `topic` is the tag it goes by; it is to be made again at `expires_ms`."""

    id: int
    topic: str
    title: str
    lines: tuple[Line, ...]
    score: float
    is_dismissed: bool
    built_ms: int
    expires_ms: int


def get(database: Database, kind: Kind) -> Digest | None:
    """The digest as it is stored; None when it has to be made."""
    sql = f"select {columns(Digest, lines=_LINES)} from user_chat_summaries where kind = ?"
    return database.first(Digest, sql, (kind,))


def put(connection: apsw.Connection, digest: Digest) -> None:
    """Keep a digest in place of the one before, in the transaction that read what it is made of."""
    put_row(
        connection, "user_chat_summaries", "kind", kind=digest.kind, **_packed(digest.lines),
        until_ms=digest.until_ms, built_ms=digest.built_ms,
    )  # fmt: skip


# -- topics ---------------------------------------------------------------------------------


def topic(database: Database, name: str) -> Topic | None:
    """What is known of a topic, by its tag."""
    return database.first(Topic, f"{_TOPICS} where topic = ?", (name,))


def topics(database: Database) -> list[Topic]:
    """The newest 200 topics, the one made last first."""
    return database.records(Topic, f"{_TOPICS} order by built_ms desc, id desc limit 200")


def put_topic(
    connection: apsw.Connection,
    name: str,
    title: str,
    lines: Sequence[Line],
    score: float,
    now_ms: int,
    expires_ms: int,
) -> None:
    """Keep what is known of a topic, as `put` does; a title that a person gave stays, see `rename_topic`."""
    connection.execute(
        """
        insert into user_topic_summaries (topic, title, lines, session_ids, score, built_ms, expires_ms)
        values (:topic, :title, :lines, :session_ids, :score, :now, :expires)
        on conflict (topic) do update set lines = :lines, session_ids = :session_ids, score = :score,
            built_ms = :now, expires_ms = :expires
        """,
        {
            "topic": name, "title": title, "score": score, "now": now_ms, "expires": expires_ms,
            **_packed(lines),
        },
    )  # fmt: skip


def rename_topic(database: Database, topic_id: int, title: str) -> bool:
    """Call a topic as the person does; False when there is none."""
    return database.change("update user_topic_summaries set title = ? where id = ?", (title, topic_id)) > 0


def dismiss_topic(database: Database, topic_id: int, is_dismissed: bool) -> bool:
    """Never take this for a topic again, or do; False when there is none."""
    sql = "update user_topic_summaries set is_dismissed = ? where id = ?"
    return database.change(sql, (is_dismissed, topic_id)) > 0


def dismissed(database: Database) -> set[str]:
    """Tags that are no topics to this person."""
    return set(database.column("select topic from user_topic_summaries where is_dismissed = 1"))


def delete_everything(database: Database, now_ms: int) -> dict[str, int]:
    """Forget all memory of chats, with people, things and facts; the chats stay. Returns how much went, by
    kind, which is kept as a receipt.

    Packs go with the summaries they were made of, by triggers; the empty ones of questions that are being
    answered say that those are out of date.
    """
    of_chats = "chat_summaries", "session_tags", "user_chat_summaries", "user_topic_summaries"
    with database.write() as connection:
        counts = {}
        answered = " where turn_id not in (select id from turns where status = 'running')"
        for table in (*of_chats, "facts", "entities", "context_packs", "context_samples"):
            which = answered * table.startswith("context_")
            counts[table] = change(connection, f"delete from {table}{which}")
        connection.execute(
            "update chat_sessions set metadata = '{}', summary_state = 'empty' where state = 'closed'"
        )
        connection.execute("update chat_sessions set metadata = '{}' where state = 'open'")
        # No session comes to what was asked until now: a summary under way and an open window begin anew.
        connection.execute("update messages set session_id = null where session_id is not null")
        preferences.put_preference(connection, FORGOTTEN, {"at_ms": now_ms, **counts})
        copies.outdate(connection)
    database.checkpoint()
    return counts


FORGOTTEN = "memory_forgotten"


def forgotten(database: Database) -> dict[str, int]:
    """The receipt of the last time that everything was forgotten: when, and how much; {} for never."""
    return dict(preferences.get_preference(database, FORGOTTEN, {}))


def by_name(database: Database) -> dict[str, list[str]]:
    """What `delete_everything` would take, by kind and name."""
    return {
        N_("Chats"): database.column(_SUMMARISED),
        N_("Topics"): database.column("select title from user_topic_summaries order by title"),
        N_("People and things"): database.column("select name from entities order by name"),
        N_("Facts"): database.column(f"select {FACT} from facts f {OF_WHOM} order by 1"),
    }


FACT = "s.name || ' ' || replace(f.predicate, '_', ' ') || ' ' || coalesce(o.name, f.object_value)"
OF_WHOM = """
join entities s on s.id = f.subject_id
left join entities o on o.id = f.object_entity_id
"""
"""SQL: what a fact ``f`` says, and whom it names."""

_SUMMARISED = f"""
select distinct {conversations.TITLE}
from chat_summaries m
join chat_sessions s on s.id = m.session_id
join conversations c on c.id = s.conversation_id
order by 1
"""


_LINES = """(
    select json_group_array(json_array(value ->> 'text', value -> 'sessions', value ->> 'at_ms') order by key)
    from json_each(lines)
)"""
_TOPICS = f"select {columns(Topic, lines=_LINES)} from user_topic_summaries"


def _packed(lines: Sequence[Line]) -> dict[str, str]:
    """The columns for some lines, as JSON."""
    ids = sorted({session for line in lines for session in line.sessions})
    told = json.dumps([asdict(line) for line in lines], ensure_ascii=False)
    return {"lines": told, "session_ids": json.dumps(ids)}


# -- which sessions there are -------------------------------------------------------------
# Which chat sessions there are to draw on: by time, by their vectors, by their tags.
#
# What they came to is in `store.memory.chat_summaries`. What is chosen to be told is never a retracted one.

COUNTED = 50
MAX_LOADED = 5_000
"""Sessions that a pack is chosen from, newest first: a year of 14 chats a day."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sessions a pack may draw on, newest first: ids, and vectors of one model. `stated` is how many
    characters the person's own statements in each have.

    `vectors` is int8[len(ids), dimension], zeros where a session has none; None without a model.
    """

    ids: tuple[int, ...]
    stated: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8] | None

    def cosines(self, query: npt.NDArray[np.floating] | None) -> npt.NDArray[np.float64]:
        """float64[n]: how near each is to a question; 0 where one of both has no vector."""
        if query is None or self.vectors is None or self.vectors.shape[1] != len(query):
            return np.zeros(len(self.ids))
        table = self.vectors.astype(np.float32)
        lengths = np.linalg.norm(table, axis=1)
        return np.asarray(table @ query.astype(np.float32) / np.where(lengths > 0, lengths, 1.0), np.float64)


def candidates(database: Database, model: str | None, without: int | None = None) -> Candidates:
    """Every session but `without` and those of its chat, the newest where they are too many."""
    found = database.rows(_CANDIDATES, {"model": model or "", "without": without, "limit": MAX_LOADED})
    ids, stated = tuple(row[0] for row in found), np.array([row[2] for row in found], np.int64)
    size = max((len(vector) for _, vector, _ in found if vector is not None), default=0)
    if not model or not size:
        return Candidates(ids, stated, None)
    none = bytes(size)
    packed = b"".join(vector if vector and len(vector) == size else none for _, vector, _ in found)
    table = np.frombuffer(packed, np.int8).reshape(len(found), size)
    return Candidates(ids, stated, table)


def with_terms(database: Database, terms: Iterable[str]) -> dict[str, set[int]]:
    """The sessions that have each of some terms, as far as any does."""
    found: dict[str, set[int]] = {}
    sql = "select t.term, t.session_id from json_each(?) j cross join chat_terms t on t.term = j.value"
    for term, session_id in database.rows(sql, (json.dumps(list(terms)),)):
        found.setdefault(term, set()).add(session_id)
    return found


def terms_of(database: Database, session_ids: Sequence[int]) -> list[tuple[int, str, int]]:
    """(session, term, how often it has it) of each term of some sessions."""
    sql = """
        select t.session_id, t.term, t.number
        from json_each(?) j cross join chat_terms t on t.session_id = j.value
        """
    return database.rows(sql, (json.dumps(list(session_ids)),))


def inventory(
    database: Database, tags: Sequence[str], without: int | None = None
) -> dict[str, tuple[int, float]]:
    """For each of these tags that is known: how many other sessions have it, and how surely.

    No more than `COUNTED` are looked at: beyond that it makes no difference.
    """
    found = database.rows(_INVENTORY, {"tags": json.dumps(list(tags)), "without": without})
    return {tag: (number, confidence) for tag, number, confidence in found if number}


def about(database: Database, tag: str, limit: int) -> list[int]:
    """The sessions that are most about a tag, the newest first."""
    return database.column(
        """
        select t.session_id
        from session_tags t
        join chat_summaries s on s.session_id = t.session_id and s.is_retracted = 0
        where t.tag = ?
        order by s.ended_ms desc, t.session_id desc
        limit ?
        """,
        (tag, limit),
    )


def ended_between(database: Database, start_ms: int, end_ms: int, limit: int) -> list[int]:
    """Sessions that ended in ``[start_ms, end_ms)`` and are not retracted, newest first."""
    sql = """
        select session_id from chat_summaries
        where ended_ms >= ? and ended_ms < ? and is_retracted = 0
        order by ended_ms desc, session_id desc limit ?
        """
    return database.column(sql, (start_ms, end_ms, limit))


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
    return database.column(sql, (closed_before_ms, closed_after_ms, limit))


def everything(database: Database) -> list[int]:
    """Every session that has a summary, the oldest first."""
    return database.column("select session_id from chat_summaries order by ended_ms, session_id")


_CANDIDATES = """
select s.session_id, case when s.vector_model = :model then s.vector end, length(coalesce(s.completed, ''))
from chat_summaries s
where s.is_retracted = 0 and s.session_id not in (
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
