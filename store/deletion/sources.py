"""Taking back a source that was imported, as a whole or what one file brought.

Its rows go, and what chats were shown of it: nobody can tell for how long an answer rests on it. So the turns
that looked at it are forgotten with all that follow them in their chats, and those that were told what came
of them, be it in another chat. Their summaries go, and what they had remembered, unless the person had said
so in a question. Questions stay; they are the person's own.

An import that is under way meanwhile goes with the others, and says so. Copies of the home that still hold
the source go; files that were written elsewhere are named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from store.chats.conversations import DELETED_ANSWER, redact_answer
from store.core import copies, preferences, times, tokenizer
from store.core.database import Database, change, column, rows, scalar
from store.core.errors import NotFound
from store.core.records import insert
from store.deletion import chat_hooks, memory_hooks, reserve
from store.sources import fact_curation, imports
from store.sources.imports import BATCH, PLACES_ENABLED, TABLES, Kind


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took: rows of the source, and entities that were known from it alone; of the `kept`
    ones it is only forgotten that it named them. `elsewhere` are files outside the home that may hold it.
    """

    rows: int
    entities: int
    kept: int
    elsewhere: tuple[str, ...] = ()


def delete(database: Database, kind: Kind, import_id: int | None = None) -> Deleted:
    """Delete a source as a whole, or what one import brought. Raises `NotFound`."""
    reserve.use(database.data_dir)
    with database.write() as connection:
        there = "select 1 from imports where id = ? and kind = ?"
        if import_id is not None and not scalar(connection, there, (import_id, kind)):
            raise NotFound("import", import_id)
        _forget_shown(connection, kind, import_id)
        forgotten = imports.forget_names(connection, kind, import_id)
    one, bound = "" if import_id is None else "where import_id = :id", {"id": import_id}
    some = f"select id from {TABLES[kind]} {one} limit {BATCH}"
    gone = 0
    while batch := database.change(f"delete from {TABLES[kind]} where id in ({some})", bound):
        gone += batch  # each in a transaction of its own
    with database.write() as connection:
        # What an import or a tool came to meanwhile. An import whose row is gone adds no more.
        gone += change(connection, f"delete from {TABLES[kind]} {one}", bound)
        imports.forget_names(connection, kind, import_id)
        _forget_shown(connection, kind, import_id)
        chosen = "kind = :kind" if import_id is None else "id = :id"
        connection.execute(f"delete from imports where {chosen}", {"id": import_id, "kind": kind})
        if kind == "messages":
            connection.execute(_LOST_CONTACTS)
        if kind == "places" and not scalar(connection, "select 1 from places limit 1"):
            preferences.put_preference(connection, PLACES_ENABLED, False)
        copies.outdate(connection)
    copies.drop_outdated(database)
    database.checkpoint()
    return Deleted(gone, forgotten.gone, forgotten.kept, copies.elsewhere(database))


_LOST_CONTACTS = """
delete from contacts
where not exists (select 1 from text_messages m where m.contact_id = contacts.id)
"""

SHOWN_BY: dict[Kind, tuple[str, ...]] = {
    "messages": ("get_sms_messages", "search_messages"),
    "calendar": ("get_calendar_events",),
    "location": ("get_location_history",),
    "places": ("get_place_at", "reverse_geocode"),
}
"""Which tools show which source."""


def delete_again(database: Database, kind: Kind, started_ms: int | None) -> None:
    """Delete from a copy what its tombstone says: a source, or what the import brought that began then."""
    if started_ms is None:
        delete(database, kind)
    sql = "select id from imports where kind = ? and started_ms = ?"
    for import_id in database.column(sql, (kind, started_ms)):
        delete(database, kind, import_id)


def _forget_shown(connection: apsw.Connection, kind: Kind, import_id: int | None) -> None:
    """Forget what may tell of the source. What is made of it just now is not kept: a tombstone of no time
    says that something was deleted.
    """
    started_ms = scalar(connection, "select started_ms from imports where id = ?", (import_id,))
    receipt = json.dumps({"source": kind, "started_ms": started_ms})
    insert(connection, "deletions", start_ms=0, end_ms=0, deleted_ms=times.now_ms(), receipt=receipt)
    tools = SHOWN_BY[kind]
    telling = chat_hooks.telling(_LOOKED.format(", ".join("?" * len(tools))))
    connection.execute("create temp table if not exists told_turns (id integer primary key)")
    connection.execute("delete from told_turns")
    turns = f"{telling} select distinct turn from telling where turn is not null"
    connection.execute(f"insert into told_turns (id) {turns}", (*tools, kind))
    chat_hooks.empty_calls(connection, f"select id from tool_calls where turn_id in ({_TOLD})")
    connection.execute(f"update sent_requests set body = null where turn_id in ({_TOLD})")
    said = f"select id from turns where id in ({_TOLD}) and answer_md not in ('', ?)"
    for turn_id in column(connection, said, (DELETED_ANSWER,)):
        redact_answer(connection, turn_id)
    chat_hooks.forget_summaries_of(connection, _SESSIONS)
    memory_hooks.forget_insights_of(connection, _TOLD)
    _forget_knowledge(connection)


_LOOKED = """
exists (
    select 1 from tool_calls c
    where c.turn_id = t.id and c.tool in ({}) and (c.output <> '' or c.state = 'executing')
)
or exists (select 1 from json_each(t.payload, '$.sources') s where s.value = ?)
"""
_TOLD = "select id from told_turns"
_SESSIONS = f"""
select id from chat_sessions
where conversation_id in (select conversation_id from turns where id in ({_TOLD}))
"""


def _forget_knowledge(connection: apsw.Connection) -> None:
    """Delete what those turns stored and the person had not said in a question of that chat."""
    for table, said in (("facts", "predicate, object_value"), ("entities", "name, description")):
        sql = f"select id, turn_id, {said} from {table} where turn_id in ({_TOLD}) and origin = 'chat'"
        for number, turn_id, *texts in rows(connection, sql):
            asked = " ".join(column(connection, _ASKED, (turn_id,)))
            own = set(tokenizer.words(asked))
            if not own.issuperset(tokenizer.words(" ".join(filter(None, texts)))):
                connection.execute(f"delete from {table} where id = ?", (number,))
    fact_curation.find_roots(connection)


_ASKED = """
select before.question
from turns t join turns before on before.conversation_id = t.conversation_id and before.n <= t.n
where t.id = ?
"""
