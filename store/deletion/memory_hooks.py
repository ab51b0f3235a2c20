"""What has to be forgotten of memory when frames are deleted.

Observations that were made from a doomed frame, or of its app in its hour, go with their facts,
terms and documents; so do the summaries of sessions it was on. Ingest derives the hour again from
the frames that are left. A person's own words stay, except a field that says something which only
the deleted frames said: in doubt it goes, as with answers.
"""

from __future__ import annotations

import json
from typing import Any

import apsw

from store.chats.conversations import DELETED_ANSWER
from store.core.database import rows, scalar
from store.deletion import chat_hooks
from store.frames.activity_intervals import shown_in
from store.memory import observation_writer
from store.memory.insights import redacted
from store.sources import fact_curation

MEMORY_COUNT = """
select count(distinct o.observation_id)
from doomed d
cross join observation_frames o on o.frame_id = d.id
"""


def forget_memory(connection: apsw.Connection) -> int:
    """Forget what memory made of the frames in ``doomed``; returns how many entries that are.

    Call when the index has lost these frames and their rows are still there.
    """
    affected = rows(connection, _OBSERVATIONS)
    gone: set[str] | None = None
    for observation_id, edits in affected:
        if not scalar(connection, _FRAMES_LEFT, {"id": observation_id}):
            connection.execute("delete from observations where id = ?", (observation_id,))
            continue
        gone = _said(connection) if gone is None and edits != "{}" else gone
        kept = {
            name: value
            for name, value in json.loads(edits).items()
            if not _tells(connection, value, gone or set())
        }
        connection.execute(
            "update observations set edits = ? where id = ?",
            (json.dumps(kept, ensure_ascii=False, sort_keys=True), observation_id),
        )
        observation_writer.blank(connection, observation_id)
        observation_writer.put_documents(connection, observation_id)
    connection.execute(_DELETE_SESSIONS)
    return len(affected) + connection.changes()


def _said(connection: apsw.Connection) -> set[str]:
    return {
        phrase for texts in rows(connection, _TEXTS) for text in texts for phrase in chat_hooks.trigrams(text)
    }


def _tells(connection: apsw.Connection, value: Any, gone: set[str]) -> bool:
    """Whether an edit says something that stood on the deleted frames and stands on no other."""
    text = "\n".join(value) if isinstance(value, list) else str(value or "")
    suspects = chat_hooks.trigrams(text) & gone
    return any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects))


_OBSERVATIONS = """
select o.id, o.edits
from observations o
where o.id in (
    select m.observation_id from doomed d cross join observation_frames m on m.frame_id = d.id
    union
    select t.id
    from doomed d
    cross join frames f on f.id = d.id
    cross join observations t
        on t.hour between f.captured_ms / 3600000 and f.ended_ms / 3600000 and t.app_name is f.app_name
)
"""

# Without an edit to keep, or without a frame that is left of it, an observation goes as a whole.
_FRAMES_LEFT = """
select 1
from observations o
where o.id = :id and (o.edits <> '{}' or o.is_hidden = 1) and exists (
    select 1 from frames f
    where f.id >= o.start_ms * 1024 and f.id < o.end_ms * 1024 + 1024 and f.app_name is o.app_name
        and f.id not in (select id from doomed)
)
"""

_TEXTS = """
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
"""

_DELETE_SESSIONS = """
delete from session_summaries
where id in (
    select s.id
    from doomed d
    cross join frames f on f.id = d.id
    cross join session_summaries s on s.start_ms <= f.ended_ms and s.end_ms >= f.captured_ms
)
"""


# ---- insight forgetting
# What has to be forgotten of insights when frames are deleted.
#
# An insight of a deleted frame goes, with what its conversation knew of the frame
# (`store.deletion.chat_hooks` sees to
# its answers). One of a moment, or one that looked at a deleted frame on the way, loses the messages that
# made it, which quote what was on the screen; its title and summary when its answer was forgotten; and its
# title alone when that says something that only the deleted frames said.
#
# Call inside `Database.write()`, after the answers and before the evidence and the tool calls.

_TOUCHED = f"""
from insights i
join turns t on t.id = i.turn_id
where i.frame_id in (select id from doomed) or (
    i.is_forgotten = 0 and (
        {shown_in("i.start_ms", "i.end_ms")}
        or exists (
            select 1
            from turns o
            join evidence e on e.turn_id = o.id
            where o.conversation_id = t.conversation_id and e.frame_id in (select id from doomed)
        )
        or exists (
            select 1
            from turns o
            join tool_calls c on c.turn_id = o.id
            where o.conversation_id = t.conversation_id and c.shown_from_ms is not null
                and {shown_in("c.shown_from_ms", "c.shown_until_ms")}
        )
    )
)
"""

INSIGHTS_COUNT = f"select count(*) {_TOUCHED}"


def forget_insights(connection: apsw.Connection) -> int:
    """Forget what insights tell of the frames in ``doomed``; returns how many are touched."""
    touched = rows(connection, f"select i.id, i.training_messages, i.title {_TOUCHED}")
    gone = {
        phrase for said in rows(connection, _TEXTS) for text in said for phrase in chat_hooks.trigrams(text)
    }
    connection.execute("delete from insights where frame_id in (select id from doomed)")
    connection.execute("delete from anchors where frame_id in (select id from doomed)")
    for number, messages, title in touched:
        suspects = chat_hooks.trigrams(title) & gone
        is_told = any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects))
        connection.execute(
            "update insights set training_messages = ?, title = ?, is_forgotten = 1 where id = ?",
            (redacted(messages), "" if is_told else title, number),
        )
    connection.execute(_FORGET_SUMMARIES, {"removed": DELETED_ANSWER})
    _forget_amended(connection)
    return len(touched)


def _forget_amended(connection: apsw.Connection) -> None:
    """Whoever amended a forgotten insight was told its summary: those messages go too, to the last one."""
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


# ---- knowledge forgetting
# What has to be forgotten of entities, facts and tags when frames are deleted.
#
# A fact that names a deleted frame as its source goes. So does a fact or an entity that a chat stored
# after it had been shown such a frame, when it says something that only the deleted frames said
# (`store.deletion.chat_hooks`). An entity that was found only on deleted frames goes with its facts, unless
# facts from elsewhere are left about it, or an imported file names it.

KNOWLEDGE_COUNT = """
select
    (select count(*) from doomed d cross join facts f on f.source_frame_id = d.id)
    + (select count(*) from doomed d cross join entity_frames o on o.frame_id = d.id)
"""

TAGS_COUNT = "select count(*) from doomed d cross join frame_tags t on t.frame_id = d.id"


def forget_tags(connection: apsw.Connection) -> None:
    """Remove the tags of the frames in ``doomed``."""
    connection.execute("delete from frame_tags where frame_id in (select id from doomed)")


def forget_knowledge(connection: apsw.Connection) -> int:
    """Forget what was learned from the frames in ``doomed``; returns how many facts and entities went.

    Call when the index has lost these frames and their texts are still there.
    """
    before = _total(connection)
    connection.execute("delete from facts where source_frame_id in (select id from doomed)")
    on_doomed = rows(
        connection,
        "select distinct o.entity_id from doomed d cross join entity_frames o on o.frame_id = d.id",
    )
    connection.execute("delete from entity_frames where frame_id in (select id from doomed)")
    for (entity_id,) in on_doomed:
        connection.execute(_DELETE_UNKNOWN, {"id": entity_id})
    _forget_said(connection)
    fact_curation.find_roots(connection)
    return before - _total(connection)


def _forget_said(connection: apsw.Connection) -> None:
    """Delete what chats stored that says what only the doomed frames said."""
    facts, entities = rows(connection, _FACTS), rows(connection, _ENTITIES)
    if not facts and not entities:
        return
    gone = {
        phrase for said in rows(connection, _TEXTS) for text in said for phrase in chat_hooks.trigrams(text)
    }
    for number, *said in facts:
        if _knowledge_forgetting_tells(connection, said, gone):
            connection.execute("delete from facts where id = ?", (number,))
    for number, *said in entities:
        if _knowledge_forgetting_tells(connection, said, gone):
            connection.execute("delete from entities where id = ?", (number,))


def _knowledge_forgetting_tells(connection: apsw.Connection, said: list[str | None], gone: set[str]) -> bool:
    suspects = chat_hooks.trigrams("\n".join(each or "" for each in said)) & gone
    return any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects))


def _total(connection: apsw.Connection) -> int:
    return int(scalar(connection, "select (select count(*) from facts) + (select count(*) from entities)"))


_DELETE_UNKNOWN = """
delete from entities
where id = :id and not exists (select 1 from entity_frames o where o.entity_id = :id)
    and not exists (select 1 from entity_imports i where i.entity_id = :id)
    and not exists (select 1 from facts f where f.subject_id = :id or f.object_entity_id = :id)
"""

_FACTS = f"""
select fact.id, fact.predicate, fact.object_value
from facts fact
where fact.shown_from_ms is not null and {shown_in("fact.shown_from_ms", "fact.shown_until_ms")}
"""

_ENTITIES = f"""
select entity.id, entity.name, entity.description
from entities entity
where entity.shown_from_ms is not null and {shown_in("entity.shown_from_ms", "entity.shown_until_ms")}
"""
