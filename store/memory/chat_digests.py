"""Digests of many chat sessions: of the recent days, of the time before them, and of topics.

Each is a list of lines that know which sessions they rest on. Triggers of `chat_summaries` throw a digest
away when one of its summaries changes or goes, so what is stored is never out of date, only missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from store.core.database import Database, rows, scalar

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


@dataclass(frozen=True, slots=True)
class Month:
    """What the sessions of one month were about."""

    month: str  # 2026-08, in UTC
    sessions: int
    tags: tuple[str, ...]
    ids: tuple[int, ...]
    ended_ms: int


def get(database: Database, kind: Kind) -> Digest | None:
    """The digest as it is stored; None when it has to be made."""
    with database.read() as connection:
        row = connection.execute(
            "select lines, until_ms, built_ms from user_chat_summaries where kind = ?", (kind,)
        ).fetchone()
    return Digest(kind, _lines(row[0]), row[1], row[2]) if row else None


def put(database: Database, digest: Digest) -> None:
    """Keep a digest in place of the one before."""
    with database.write() as connection:
        connection.execute(
            """
            insert into user_chat_summaries (kind, lines, session_ids, until_ms, built_ms)
            values (?, ?, ?, ?, ?)
            on conflict (kind) do update set lines = excluded.lines, session_ids = excluded.session_ids,
                until_ms = excluded.until_ms, built_ms = excluded.built_ms
            """,
            (digest.kind, *_packed(digest.lines), digest.until_ms, digest.built_ms),
        )


def months(database: Database, until_ms: int, limit: int = 24, tags: int = 6) -> list[Month]:
    """Sessions that ended before `until_ms` by month, newest first, each with its commonest tags."""
    with database.read() as connection:
        found = rows(connection, _MONTHS, {"until": until_ms, "limit": limit, "tags": tags})
    return [
        Month(month, number, tuple(json.loads(names)), tuple(json.loads(ids)), ended)
        for month, number, names, ids, ended in found
    ]


# -- topics ---------------------------------------------------------------------------------


def topic(database: Database, name: str) -> Topic | None:
    """What is known of a topic, by its tag."""
    return next(iter(_topics(database, "where topic = ?", (name,))), None)


def topics(database: Database, limit: int = 200) -> list[Topic]:
    """Every topic, the one made last first."""
    return _topics(database, "order by built_ms desc, id desc limit ?", (limit,))


def topic_of_id(database: Database, topic_id: int) -> Topic | None:
    """One topic, or None."""
    return next(iter(_topics(database, "where id = ?", (topic_id,))), None)


def put_topic(
    database: Database,
    name: str,
    title: str,
    lines: Sequence[Line],
    score: float,
    now_ms: int,
    expires_ms: int,
) -> None:
    """Keep what is known of a topic; a title that a person gave stays, see `rename_topic`."""
    with database.write() as connection:
        connection.execute(
            """
            insert into user_topic_summaries (topic, title, lines, session_ids, score, built_ms, expires_ms)
            values (:topic, :title, :lines, :ids, :score, :now, :expires)
            on conflict (topic) do update set lines = :lines, session_ids = :ids, score = :score,
                built_ms = :now, expires_ms = :expires
            """,
            {
                "topic": name, "title": title, "score": score, "now": now_ms, "expires": expires_ms,
                **dict(zip(("lines", "ids"), _packed(lines), strict=True)),
            },
        )  # fmt: skip


def rename_topic(database: Database, topic_id: int, title: str) -> bool:
    """Call a topic as the person does; False when there is none."""
    with database.write() as connection:
        connection.execute("update user_topic_summaries set title = ? where id = ?", (title, topic_id))
        return connection.changes() > 0


def dismiss_topic(database: Database, topic_id: int, is_dismissed: bool) -> bool:
    """Never take this for a topic again, or do; False when there is none."""
    with database.write() as connection:
        connection.execute(
            "update user_topic_summaries set is_dismissed = ? where id = ?", (is_dismissed, topic_id)
        )
        return connection.changes() > 0


def dismissed(database: Database) -> set[str]:
    """Tags that are no topics to this person."""
    with database.read() as connection:
        found = rows(connection, "select topic from user_topic_summaries where is_dismissed = 1")
    return {name for (name,) in found}


def merge_topics(database: Database, topic_id: int, into_id: int) -> bool:
    """Let the sessions of one topic be of another; False when one of them is not there."""
    with database.write() as connection:
        names = [
            scalar(connection, "select topic from user_topic_summaries where id = ?", (number,))
            for number in (topic_id, into_id)
        ]
        if None in names or topic_id == into_id:
            return False
        source, target = names
        connection.execute(
            """
            insert into session_tags (session_id, tag, confidence)
            select session_id, :target, confidence from session_tags where tag = :source
            on conflict (session_id, tag) do update set confidence = max(confidence, excluded.confidence)
            """,
            {"source": source, "target": target},
        )
        connection.execute("delete from session_tags where tag = ?", (source,))
        connection.execute("delete from user_topic_summaries where id = ?", (topic_id,))
        connection.execute("update user_topic_summaries set expires_ms = 0 where id = ?", (into_id,))
        connection.execute("delete from user_chat_summaries where kind = 'history'")
    return True


def split_topic(database: Database, session_id: int, tag: str, new_tag: str) -> bool:
    """Say that a session is about `new_tag` and not about `tag`; False when it was not about that."""
    with database.write() as connection:
        confidence = scalar(
            connection,
            "delete from session_tags where session_id = ? and tag = ? returning confidence",
            (session_id, tag),
        )
        if confidence is None:
            return False
        connection.execute(
            "insert or replace into session_tags (session_id, tag, confidence) values (?, ?, ?)",
            (session_id, new_tag, confidence),
        )
        connection.execute(
            "update user_topic_summaries set expires_ms = 0 where topic in (?, ?)", (tag, new_tag)
        )
    return True


def delete_everything(database: Database) -> dict[str, int]:
    """Forget all memory of chats; the chats stay. Returns how much went, by kind.

    Packs go with the summaries they were made of, by triggers.
    """
    tables = ("chat_summaries", "session_tags", "user_chat_summaries", "user_topic_summaries")
    with database.write() as connection:
        counts = {}
        for table in (*tables, "context_packs", "context_samples"):
            connection.execute(f"delete from {table}")
            counts[table] = connection.changes()
        connection.execute(
            "update chat_sessions set metadata = '{}', summary_state = 'empty' where state = 'closed'"
        )
        connection.execute("update chat_sessions set metadata = '{}' where state = 'open'")
    database.checkpoint()
    return counts


# -- support --------------------------------------------------------------------------------


def _topics(database: Database, rest: str, values: tuple[Any, ...]) -> list[Topic]:
    sql = f"""
        select id, topic, title, lines, score, is_dismissed, built_ms, expires_ms
        from user_topic_summaries {rest}
        """
    with database.read() as connection:
        return [
            Topic(number, name, title, _lines(lines), score, bool(off), built, expires)
            for number, name, title, lines, score, off, built, expires in rows(connection, sql, values)
        ]


def _lines(text: str) -> tuple[Line, ...]:
    return tuple(Line(each["text"], tuple(each["sessions"]), each["at_ms"]) for each in json.loads(text))


def _packed(lines: Iterable[Line]) -> tuple[str, str]:
    """(lines, session ids) as JSON."""
    kept = list(lines)
    told = [{"text": each.text, "sessions": each.sessions, "at_ms": each.at_ms} for each in kept]
    ids = sorted({session for each in kept for session in each.sessions})
    return json.dumps(told, ensure_ascii=False), json.dumps(ids)


_MONTHS = """
with old as (
    select session_id, ended_ms, strftime('%Y-%m', ended_ms / 1000, 'unixepoch') as month
    from chat_summaries
    where ended_ms < :until and is_retracted = 0
),
of_month as (
    select month, count(*) as number, json_group_array(session_id) as ids, max(ended_ms) as ended_ms
    from old group by month order by month desc limit :limit
),
counted as (
    select old.month, t.tag, sum(t.confidence) as weight
    from old join session_tags t on t.session_id = old.session_id
    group by old.month, t.tag
),
ranked as (
    select month, tag, weight, row_number() over (partition by month order by weight desc, tag) as place
    from counted
)
select m.month, m.number,
    (select coalesce(json_group_array(r.tag), '[]') from (
        select tag from ranked r where r.month = m.month and r.place <= :tags order by r.place) r),
    m.ids, m.ended_ms
from of_month m
order by m.month desc
"""
