"""What each turn told the model as background: the text, where each part is from, and what it took.

A pack goes with the summaries it was made of (triggers of `chat_summaries`); that there was one stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import apsw

from store.chats import conversations
from store.core.database import Database
from store.core.records import add_new, columns, insert
from store.core.records import put as put_row
from store.memory import chat_digests, chat_sessions, chat_summaries


@dataclass(frozen=True, slots=True)
class StoredPack:
    """A pack as it was sent; `text` and `record` are empty once what they told of was deleted.

    `record` is a JSON object that belongs to `assistant.context`.
    """

    turn_id: int
    session_id: int
    hash: str
    text: str
    record: Mapping[str, Any]
    session_ids: tuple[int, ...]
    tokens: int
    build_ms: float
    created_ms: int


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What sampled turns took, all of it numbers."""

    samples: int
    pack_tokens: float
    prompt_tokens: float
    build_ms: float
    helpfulness: float | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a turn told its model beside the screen: earlier chats as (id, title), and what is remembered as
    (id of the entity, what is said of it). What was deleted since is missing. `is_off`: the chat is told
    of no other from now on.
    """

    chats: tuple[tuple[int, str], ...] = ()
    facts: tuple[tuple[int, str], ...] = ()
    is_off: bool = False


def told(database: Database, chat_id: int, n: int) -> Told:
    """What a turn's background and its tools told of earlier chats, people and things."""
    values = {"chat": chat_id, "n": n}
    is_off = chat_sessions.is_without_context(database, chat_id)
    return Told(tuple(database.rows(_TOLD_CHATS, values)), tuple(database.rows(_TOLD_FACTS, values)), is_off)


_TOLD_CHATS = f"""
select distinct c.id, {conversations.TITLE}
from turns t
join chat_sessions s on s.id in (
    select session_id from context_pack_sources where turn_id = t.id
    union all
    select session_id from chat_uses where turn_id = t.id
)
join conversations c on c.id = s.conversation_id
where t.conversation_id = :chat and t.n = :n
order by c.id desc
"""
# Of whom a fact was told, the name alone is no more.
_TOLD_FACTS = f"""
with used as (
    select u.kind, u.thing_id
    from turns t join knowledge_uses u on u.turn_id = t.id
    where t.conversation_id = :chat and t.n = :n
)
select s.id, {chat_digests.FACT}
from used
join facts f on used.kind = 'fact' and f.id = used.thing_id
{chat_digests.OF_WHOM}
union all
select e.id, e.name || iif(e.description = '', '', ': ' || e.description)
from used
join entities e on used.kind = 'entity' and e.id = used.thing_id
where not exists (
    select 1 from used told join facts f on f.id = told.thing_id
    where told.kind = 'fact' and e.id in (f.subject_id, f.object_entity_id)
)
"""


def put(connection: apsw.Connection, pack: StoredPack) -> bool:
    """Note what a turn tells the model, inside `Database.write()`; False, and nothing is noted, where a chat
    that it tells of was deleted meanwhile.
    """
    if not chat_summaries.are_there(connection, pack.session_ids):
        return False
    values = asdict(pack) | {"record": json.dumps(pack.record, ensure_ascii=False)}
    told_of = ((pack.turn_id, number) for number in values.pop("session_ids"))
    insert(connection, "context_packs", **values)
    add_new(connection, "context_pack_sources", "turn_id, session_id", told_of)
    return True


def of_turn(database: Database, chat_id: int, n: int) -> StoredPack | None:
    """What a turn of a chat told the model; None when it had no session."""
    sql = f"{_SELECT} where t.conversation_id = ? and t.n = ?"
    return database.first(StoredPack, sql, (chat_id, n))


def by_hash(database: Database, session_id: int, wanted: str) -> StoredPack | None:
    """The last pack of a session with this hash; None when it was never sent or is forgotten."""
    which = "p.session_id = ? and p.hash = ? and p.text <> '' order by p.turn_id desc limit 1"
    return database.first(StoredPack, f"{_SELECT} where {which}", (session_id, wanted))


def sample(
    connection: apsw.Connection,
    turn_id: int,
    pack_tokens: int,
    prompt_tokens: int,
    build_ms: float,
    now_ms: int,
) -> None:
    """Note what a turn took, inside `Database.write()`."""
    put_row(
        connection, "context_samples", "turn_id",
        turn_id=turn_id, pack_tokens=pack_tokens, prompt_tokens=prompt_tokens, build_ms=build_ms,
        created_ms=now_ms,
    )  # fmt: skip


def judge(database: Database, helpfulness: Mapping[int, float]) -> None:
    """Note how much of their packs sampled turns made use of, 0 to 1, by turn."""
    with database.write() as connection:
        connection.executemany(
            "update context_samples set helpfulness = ? where turn_id = ?",
            [(value, turn_id) for turn_id, value in helpfulness.items()],
        )


def unjudged(database: Database, turn_ids: Iterable[int]) -> dict[int, str]:
    """Those of these turns that are sampled and not judged yet, with the text of their packs."""
    sql = """
        select c.turn_id, coalesce(p.text, '') from json_each(?) j
        cross join context_samples c on c.turn_id = j.value
        left join context_packs p on p.turn_id = c.turn_id
        where c.helpfulness is null
        """
    return dict(database.rows(sql, (json.dumps(list(turn_ids)),)))


def telemetry(database: Database) -> Telemetry:
    """Means over all sampled turns; the time over those whose background was made, and not given again."""
    sql = """
        select count(*), coalesce(avg(pack_tokens), 0), coalesce(avg(prompt_tokens), 0),
            coalesce(avg(nullif(build_ms, 0)), 0), avg(helpfulness)
        from context_samples
        """
    return Telemetry(*database.rows(sql)[0])


_SOURCES = "(select json_group_array(o.session_id) from context_pack_sources o where o.turn_id = p.turn_id)"
_COLUMNS = columns(StoredPack, "p", session_ids=_SOURCES)
_SELECT = f"select {_COLUMNS} from context_packs p join turns t on t.id = p.turn_id"
