"""What memory knows of the frames that are deleted: observations, insights, entities and facts.

Observations that were made from a deleted frame, or of its app in its hour, go with their facts,
terms and documents; so do the summaries of sessions it was on. Ingest derives the hour again from
the frames that are left. A person's own words stay, except a field that says something which only
the deleted frames said: in doubt it goes, as with answers.

Call everything here inside `Database.write()`, after the answers are forgotten and while the frames'
rows, the evidence and the tool calls are still there.
"""

from __future__ import annotations

import json

import apsw

from store.chats.conversations import DELETED_ANSWER
from store.core.database import rows, scalar
from store.deletion.chat_hooks import DeletedWords
from store.frames.activity_intervals import overlaps_deletion
from store.memory import observation_writer
from store.memory.insights import redacted
from store.sources import fact_curation

MEMORY_COUNT = """
select count(distinct o.observation_id)
from deletion_scope d
cross join observation_frames o on o.frame_id = d.id
"""


def forget_memory(connection: apsw.Connection) -> int:
    """Forget what memory made of the frames in ``deletion_scope``; returns how many entries that are."""
    affected = rows(connection, _OBSERVATIONS)
    words = DeletedWords(connection)
    for observation_id, edits in affected:
        if not scalar(connection, _FRAMES_LEFT, {"id": observation_id}):
            connection.execute("delete from observations where id = ?", (observation_id,))
            continue
        kept = {
            name: value
            for name, value in json.loads(edits).items()
            if not words.are_in("\n".join(value) if isinstance(value, list) else str(value or ""))
        }
        sql = "update observations set edits = ? where id = ?"
        connection.execute(sql, (json.dumps(kept, ensure_ascii=False, sort_keys=True), observation_id))
        observation_writer.blank(connection, observation_id)
        observation_writer.put_documents(connection, observation_id)
    connection.execute(_DELETE_SESSIONS)
    return len(affected) + connection.changes()


_OBSERVATIONS = """
select o.id, o.edits
from observations o
where o.id in (
    select m.observation_id from deletion_scope d cross join observation_frames m on m.frame_id = d.id
    union
    select t.id
    from deletion_scope d
    cross join frames f on f.id = d.id
    cross join observations t
        on t.hour between f.captured_ms / 3600000 and f.ended_ms / 3600000 and t.app_name is f.app_name
)
"""

# Without an edit to keep, or without a frame that is left of it, an observation goes as a whole.
_FRAMES_LEFT = observation_writer.STILL_SHOWN.format(but="and f.id not in (select id from deletion_scope)")

_DELETE_SESSIONS = """
delete from session_summaries
where id in (
    select s.id
    from deletion_scope d
    cross join frames f on f.id = d.id
    cross join session_summaries s on s.start_ms <= f.ended_ms and s.end_ms >= f.captured_ms
)
"""


# -- insights -----------------------------------------------------------------------------
# An insight of a deleted frame goes, with what its conversation knew of the frame. One of a moment, or one
# that looked at a deleted frame on the way, loses the messages that made it, which quote what was on the
# screen; its title and summary when its answer was forgotten; and its title alone when that says something
# that only the deleted frames said.

_TOUCHED = f"""
from insights i
join turns t on t.id = i.turn_id
where i.frame_id in (select id from deletion_scope) or (
    i.is_forgotten = 0 and (
        {overlaps_deletion("i.start_ms", "i.end_ms")}
        or exists (
            select 1
            from turns o
            join evidence e on e.turn_id = o.id
            where o.conversation_id = t.conversation_id and e.frame_id in (select id from deletion_scope)
        )
        or exists (
            select 1
            from turns o
            join tool_calls c on c.turn_id = o.id
            where o.conversation_id = t.conversation_id and c.shown_from_ms is not null
                and {overlaps_deletion("c.shown_from_ms", "c.shown_until_ms")}
        )
    )
)
"""

INSIGHTS_COUNT = f"select count(*) {_TOUCHED}"


def forget_insights(connection: apsw.Connection) -> int:
    """Forget what insights tell of the frames in ``deletion_scope``; returns how many are touched."""
    touched = rows(connection, f"select i.id, i.training_messages, i.title {_TOUCHED}")
    words = DeletedWords(connection)
    connection.execute("delete from insights where frame_id in (select id from deletion_scope)")
    connection.execute("delete from anchors where frame_id in (select id from deletion_scope)")
    for number, messages, title in touched:
        sql = "update insights set training_messages = ?, title = ?, is_forgotten = 1 where id = ?"
        connection.execute(sql, (redacted(messages), "" if words.are_in(title) else title, number))
    connection.execute(_FORGET_SUMMARIES, {"removed": DELETED_ANSWER})
    # Whoever amended a forgotten insight was told its summary: those messages go too, to the last one.
    while found := rows(connection, _AMENDED):
        for number, messages in found:
            connection.execute(
                "update insights set training_messages = ?, is_forgotten = 1 where id = ?",
                (redacted(messages), number),
            )
    return len(touched)


_FORGET_SUMMARIES = """
update insights
set title = '', summary = :removed
where summary <> :removed and exists (
    select 1 from turns t where t.id = insights.turn_id and t.answer_md = :removed
)
"""

_AMENDED = """
select i.id, i.training_messages
from insights i
join turns t on t.id = i.turn_id
join anchors a on a.conversation_id = t.conversation_id
join insights base on base.id = a.amends_id
where base.is_forgotten = 1 and i.is_forgotten = 0
"""


# -- entities and facts -------------------------------------------------------------------
# A fact that names a deleted frame as its source goes. So does a fact or an entity that a chat stored after
# it had been shown such a frame, when it says something that only the deleted frames said. An entity that
# was found only on deleted frames goes with its facts, unless facts from elsewhere are left about it, or an
# imported file names it.

KNOWLEDGE_COUNT = """
select
    (select count(*) from deletion_scope d cross join facts f on f.source_frame_id = d.id)
    + (select count(*) from deletion_scope d cross join entity_frames o on o.frame_id = d.id)
"""


def forget_knowledge(connection: apsw.Connection) -> int:
    """Forget what was learned from the frames in ``deletion_scope``; returns how much went."""
    before = _total(connection)
    connection.execute("delete from facts where source_frame_id in (select id from deletion_scope)")
    on_deleted = rows(
        connection,
        "select distinct o.entity_id from deletion_scope d cross join entity_frames o on o.frame_id = d.id",
    )
    connection.execute("delete from entity_frames where frame_id in (select id from deletion_scope)")
    for (entity_id,) in on_deleted:
        connection.execute(_DELETE_UNKNOWN, {"id": entity_id})
    _forget_said(connection)
    fact_curation.find_roots(connection)
    return before - _total(connection)


def _forget_said(connection: apsw.Connection) -> None:
    """Delete what chats stored that says what only the deleted frames said."""
    words = DeletedWords(connection)
    for table, said in (("facts", "predicate, object_value"), ("entities", "name, description")):
        for number, *texts in rows(connection, _SAID.format(table=table, texts=said)):
            if words.are_in("\n".join(text or "" for text in texts)):
                connection.execute(f"delete from {table} where id = ?", (number,))


def _total(connection: apsw.Connection) -> int:
    return int(scalar(connection, "select (select count(*) from facts) + (select count(*) from entities)"))


_DELETE_UNKNOWN = """
delete from entities
where id = :id and not exists (select 1 from entity_frames o where o.entity_id = :id)
    and not exists (select 1 from entity_imports i where i.entity_id = :id)
    and not exists (select 1 from facts f where f.subject_id = :id or f.object_entity_id = :id)
"""

_SAID = f"""
select thing.id, {{texts}}
from {{table}} thing
where thing.shown_from_ms is not null and {overlaps_deletion("thing.shown_from_ms", "thing.shown_until_ms")}
"""
