"""What memory knows of the frames that are deleted: observations, insights, entities and facts.

Observations that were made from a deleted frame, or of its app in its hour, go with their facts,
terms and documents; so do the summaries of sessions it was on. Ingest derives the hour again from
the frames that are left. What a person wrote stays, whatever it says: `origin` and the like decide.

Call everything here inside `Database.write()`, after the answers are forgotten and while the frames'
rows, the evidence and the tool calls are still there.
"""

from __future__ import annotations

import json

import apsw

from store.chats.conversations import DELETED_ANSWER
from store.core.database import rows, scalar
from store.core.translation import N_, translate_stored
from store.deletion.chat_hooks import SHOWN_TURNS, DeletedWords
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
    for observation_id, edits in affected:
        if not scalar(connection, _STAYS, {"id": observation_id}):
            connection.execute("delete from observations where id = ?", (observation_id,))
            continue
        kept = json.loads(edits)
        if "facts" in kept:  # lines that the person left as they were are the frame's
            learned = {line for (line,) in rows(connection, _LINES, (observation_id,))}
            kept["facts"] = [line for line in kept["facts"] if line not in learned]
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

_STAYS = observation_writer.STAYS.format(but="and f.id not in (select id from deletion_scope)")
_LINES = """
select f.text
from observation_facts f
where f.observation_id = ? and f.frame_id in (select id from deletion_scope)
"""

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
        or t.conversation_id in (select conversation_id from turns where id in ({SHOWN_TURNS}))
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
    _forget_what_was_said(connection)
    return len(touched)


def forget_insights_of(connection: apsw.Connection, turns: str) -> None:
    """Forget what was said in the insights of these turns (SQL), whose answers are forgotten."""
    of_them = f"select id, training_messages from insights where turn_id in ({turns})"
    for number, messages in rows(connection, of_them):
        sql = "update insights set training_messages = ?, is_forgotten = 1 where id = ?"
        connection.execute(sql, (redacted(messages), number))
    _forget_what_was_said(connection)


def _forget_what_was_said(connection: apsw.Connection) -> None:
    """Let insights go the way of their answers, and what was told of them."""
    connection.execute(_FORGET_SUMMARIES, {"removed": DELETED_ANSWER})
    # Whoever amended a forgotten insight was told its summary: those messages go too, to the last one.
    while found := rows(connection, _AMENDED):
        for number, messages in found:
            connection.execute(
                "update insights set training_messages = ?, is_forgotten = 1 where id = ?",
                (redacted(messages), number),
            )


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
# it had been shown such a frame, or told of a chat that had been, when it says something that only the
# deleted frames said. An entity that was found only on deleted frames goes with its facts, unless facts
# from elsewhere are left about it. What a person stated stays and no longer names the frame; so does whom
# or what it is about, without the description that a chat gave, and whom an imported file names.

KNOWLEDGE_COUNT = """
select
    (select count(*) from deletion_scope d cross join facts f on f.source_frame_id = d.id)
    + (select count(*) from deletion_scope d cross join entity_frames o on o.frame_id = d.id)
"""


def forget_knowledge(connection: apsw.Connection) -> int:
    """Forget what was learned from the frames in ``deletion_scope``; returns how much went."""
    before = _total(connection)
    connection.execute(
        """
        update or replace facts set source_frame_id = null
        where origin = 'person' and source_frame_id in (select id from deletion_scope)
        """
    )
    connection.execute("delete from facts where source_frame_id in (select id from deletion_scope)")
    on_deleted = rows(
        connection,
        "select distinct o.entity_id from deletion_scope d cross join entity_frames o on o.frame_id = d.id",
    )
    connection.execute("delete from entity_frames where frame_id in (select id from deletion_scope)")
    for (entity_id,) in on_deleted:
        connection.execute(_DELETE_UNKNOWN, {"id": entity_id})
        connection.execute(_FORGET_DESCRIPTION, {"id": entity_id})
    _forget_said(connection)
    fact_curation.find_roots(connection)
    return before - _total(connection)


def _forget_said(connection: apsw.Connection) -> None:
    """Delete what chats stored that says what only the deleted frames said."""
    words = DeletedWords(connection)
    facts = _SAID.format(table="facts", values="predicate, object_value")
    for number, predicate, value in rows(connection, f"{facts} and thing.origin <> 'person'"):
        if words.are_in(f"{predicate}\n{value or ''}"):
            connection.execute("delete from facts where id = ?", (number,))
    known = _SAID.format(table="entities", values=f"name, description, described_by = 'person', {_OWN}")
    for number, name, description, is_described, is_own in rows(connection, known):
        if is_own and not is_described and words.are_in(description):
            connection.execute("update entities set description = '' where id = ?", (number,))
        elif not is_own and words.are_in(f"{name}\n{description}"):
            connection.execute("delete from entities where id = ?", (number,))


def _total(connection: apsw.Connection) -> int:
    return int(scalar(connection, "select (select count(*) from facts) + (select count(*) from entities)"))


_OWN = """(
    thing.origin = 'person' or (thing.described_by = 'person' and thing.description <> '')
    or exists (select 1 from entity_imports i where i.entity_id = thing.id)
    or exists (select 1 from facts s where s.subject_id = thing.id and s.origin = 'person')
    or exists (select 1 from facts o where o.object_entity_id = thing.id and o.origin = 'person')
)"""
"""SQL: a person's words rest on the entity ``thing``."""

_DELETE_UNKNOWN = f"""
delete from entities as thing
where id = :id and not {_OWN}
    and not exists (select 1 from entity_frames o where o.entity_id = :id)
    and not exists (select 1 from facts f where f.subject_id = :id or f.object_entity_id = :id)
"""

_FORGET_DESCRIPTION = """
update entities
set description = ''
where id = :id and described_by = 'chat'
    and not exists (select 1 from entity_frames o where o.entity_id = :id)
    and not exists (
        select 1 from facts f where :id in (f.subject_id, f.object_entity_id) and f.origin <> 'person'
    )
"""
"""SQL: what a person's words keep loses what a chat said of it, once no frame and no other fact is left."""

_SAID = f"""
select thing.id, {{values}}
from {{table}} thing
where (
    thing.shown_from_ms is not null and {overlaps_deletion("thing.shown_from_ms", "thing.shown_until_ms")}
    or thing.turn_id in (select turn_id from tool_calls where is_forgotten)
)
"""


# -- by name ------------------------------------------------------------------------------

KINDS = (
    N_("Answer"),
    N_("Insight"),
    N_("Chat summary"),
    N_("What was done"),
    N_("Proposal"),
    N_("Fact"),
    N_("Person or thing"),
    N_("Description"),
)
"""What `lost` may name."""
_NAMED = """
select 'Answer' as what, t.id, t.question as name, t.answer_md as said from turns t where t.answer_md <> ''
union all
select 'Insight', id, title, summary || is_forgotten from insights
union all
select 'Chat summary', s.session_id, coalesce(nullif(trim(s.request), ''), t.title, ''),
    concat_ws(' ', s.investigated, s.learned, s.notes)
from chat_summaries s
join chat_sessions c on c.id = s.session_id
left join conversations t on t.id = c.conversation_id
union all
select 'What was done', o.id, o.title, o.fingerprint || o.edits from observations o
where not exists (
    select 1 from observation_frames f
    where f.observation_id = o.id and f.frame_id not in (select id from deletion_request)
)
union all
select 'Proposal', id, notice, '' from tool_calls where state = 'pending' and expires_ms is null
union all
select 'Fact', f.id,
    s.name || ' ' || replace(f.predicate, '_', ' ') || ' ' || coalesce(o.name, f.object_value), ''
from facts f join entities s on s.id = f.subject_id left join entities o on o.id = f.object_entity_id
union all
select 'Person or thing', id, name, '' from entities
union all
select 'Description', id, name, description from entities where description <> ''
"""


def note_named(connection: apsw.Connection) -> None:
    """Remember what answers and memory hold, for `lost`."""
    connection.execute(f"create temp table named_before as {_NAMED}")


def lost(connection: apsw.Connection) -> list[tuple[str, str]]:
    """What has gone since `note_named`, or no longer says what it said, as (kind, name)."""
    gone = f"select * from named_before except select * from ({_NAMED})"
    # With a person or thing its description goes, too, unsaid.
    is_told = "what <> 'Description' or id in (select id from entities)"
    found = rows(connection, f"select what, name from ({gone}) where {is_told} order by what, id")
    return [(what, translate_stored(name) if what == "Proposal" else name) for what, name in found]
