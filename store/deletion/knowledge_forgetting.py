"""What has to be forgotten of entities, facts and tags when frames are deleted.

A fact that names a deleted frame as its source goes. So does a fact or an entity that a chat stored
after it had been shown such a frame, when it says something that only the deleted frames said
(`store.deletion.chat_hooks`). An entity that was found only on deleted frames goes with its facts, unless
facts from elsewhere are left about it, or an imported file names it.
"""

from __future__ import annotations

import apsw

from store.core.database import rows, scalar
from store.deletion import chat_hooks
from store.frames.doomed import shown_in
from store.sources import fact_curation

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
        if _tells(connection, said, gone):
            connection.execute("delete from facts where id = ?", (number,))
    for number, *said in entities:
        if _tells(connection, said, gone):
            connection.execute("delete from entities where id = ?", (number,))


def _tells(connection: apsw.Connection, said: list[str | None], gone: set[str]) -> bool:
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

_TEXTS = """
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
"""
