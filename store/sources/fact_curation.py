"""Care of what is remembered: taken back, merged, seen when, used where, and said in two ways.

A fact that is taken back stays as a row with its reason, so that it is not learned again, and can be given
back. Two entities that are one are merged by pointing one at the other: facts and frames stay with the
entity they were stored for and are recalled with the other one, so undoing it needs nothing to be moved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import apsw

from store.core import tokenizer
from store.core.database import Database, change, clean_text, rows, scalar
from store.core.errors import NotFound
from store.core.records import add_new
from store.core.translation import gettext
from store.frames.frames import ID_STEP
from store.sources.entities import Entity, Fact

MAX_REASON_CHARS = 300
MOST_MOMENTS = 50_000


class CannotMerge(ValueError):
    """These two cannot be one; the message says why."""


@dataclass(frozen=True, slots=True)
class FactUse:
    """An answer for which this was recalled."""

    chat_id: int
    turn: int
    question: str
    at_ms: int


# -- changing (inside `Database.write()`) -------------------------------------------------


def retract(connection: apsw.Connection, fact_id: int, reason: str, now_ms: int) -> bool:
    """Take a fact back; False when there is none that was not taken back yet."""
    reason = " ".join(clean_text(reason).split())[:MAX_REASON_CHARS]
    sql = "update facts set retracted_ms = ?, retract_reason = ? where id = ? and retracted_ms is null"
    return change(connection, sql, (now_ms, reason, fact_id)) > 0


def restore_fact(connection: apsw.Connection, fact_id: int) -> bool:
    """Recall a fact again that was taken back; False when there is none such."""
    values = "retracted_ms = null, retract_reason = ''"
    sql = f"update facts set {values} where id = ? and retracted_ms is not null"
    return change(connection, sql, (fact_id,)) > 0


def merge(connection: apsw.Connection, entity_id: int, into_id: int, now_ms: int) -> None:
    """Let `entity_id` be recalled as `into_id`. Raises `NotFound`, `CannotMerge`."""
    for number in (entity_id, into_id):
        found = rows(connection, "select merged_root from entities where id = ?", (number,))
        if not found:
            raise NotFound("entity", number)
        if found[0][0] is not None:
            raise CannotMerge(gettext("one of them was merged already; merge what it was merged into"))
    if entity_id == into_id:
        raise CannotMerge(gettext("these are one already"))
    connection.execute("update entities set merged_into = ? where id = ?", (into_id, entity_id))
    connection.execute("update entities set updated_ms = ? where id = ?", (now_ms, into_id))
    find_roots(connection)


def unmerge(connection: apsw.Connection, entity_id: int) -> bool:
    """Undo the merge of an entity into another; False when there is none."""
    sql = "update entities set merged_into = null where id = ? and merged_into is not null"
    is_undone = change(connection, sql, (entity_id,)) > 0
    find_roots(connection)
    return is_undone


def find_roots(connection: apsw.Connection) -> None:
    """Work out where each merge ends, after a pointer was changed or what it points to has gone."""
    connection.execute(_FIND_ROOTS)


def use(connection: apsw.Connection, turn_id: int, entities: Iterable[int], facts: Iterable[int]) -> None:
    """Note that a tool or the background gave these to the model in a turn."""
    for kind, numbers in (("entity", entities), ("fact", facts)):
        used = ((turn_id, kind, number) for number in numbers)
        add_new(connection, "knowledge_uses", "turn_id, kind, thing_id", used)


def uses(database: Database, kind: Literal["entity", "fact"], number: int) -> list[FactUse]:
    """Answers for which a fact was recalled, or an entity or what was merged into it; latest first."""
    merged = "or u.kind = 'entity' and u.thing_id in (select id from entities where merged_root = :id)"
    sql = f"""
        select distinct t.conversation_id, t.n, t.question, t.created_ms
        from knowledge_uses u
        join turns t on t.id = u.turn_id
        where u.kind = :kind and (u.thing_id = :id {merged})
        order by t.created_ms desc, t.id desc
        limit 20
        """
    return database.records(FactUse, sql, {"kind": kind, "id": number})


def use_counts(database: Database, fact_ids: Iterable[int]) -> dict[int, int]:
    """In how many turns each of these facts was recalled; without those never."""
    found = database.rows(
        """
        select thing_id, count(*) from knowledge_uses
        where kind = 'fact' and thing_id in (select value from json_each(?))
        group by thing_id
        """,
        (json.dumps(list(fact_ids)),),
    )
    return dict(found)


def seen(database: Database, entity: Entity) -> tuple[int, int] | None:
    """The first and the last frame, by id, on which an entity was seen: by a name of it, or stored for it."""
    match = _named(entity)
    ends: list[int] = list(entity.frames)
    with database.read(deadline_s=5) as connection:
        for order in ("asc", "desc") if match else ():
            sql = f"select rowid from frames_fts where frames_fts match ? order by rowid {order} limit 1"
            number = scalar(connection, sql, (match,))
            ends += [] if number is None else [int(number)]
    return (min(ends), max(ends)) if ends else None


def moments_since(database: Database, entity: Entity, since_ms: int) -> list[int]:
    """When an entity was seen since a moment, frame by frame: by its name or an alias, or stored for it.

    Of a name on more than `MOST_MOMENTS` frames the latest.
    """
    match = _named(entity)
    found = {number for number in entity.frames if number >= since_ms * ID_STEP}
    if match:
        sql = """
            select rowid from frames_fts
            where frames_fts match ? and rowid >= ?
            order by rowid desc
            limit ?
        """
        found |= set(database.column(sql, (match, since_ms * ID_STEP, MOST_MOMENTS), deadline_s=5))
    return [number // ID_STEP for number in sorted(found)]


def _named(entity: Entity) -> str:
    """A query of the index for the names of an entity, "" for names without a word."""
    names = [entity.name, *(name for _, name in entity.aliases)]
    phrases = [" ".join(tokenizer.words(name)) for name in names]
    return " OR ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases if phrase)


def conflicts(facts: Iterable[Fact]) -> list[list[Fact]]:
    """Facts that give one subject several different objects for the same predicate, group by group.

    That need not be wrong, as with what somebody likes: a person looks at them side by side. A predicate is
    the same however its words are joined (``works_at``, ``Works at``, ``worksAt``); what means the same in
    other words is not known to be.
    """
    groups: dict[tuple[int, str], list[Fact]] = {}
    for fact in facts:
        words = tokenizer.words(_HUMP.sub(" ", clean_text(fact.predicate)).replace("_", " "))
        groups.setdefault((fact.subject_id, " ".join(words)), []).append(fact)
    return [group for group in groups.values() if len({_object(fact) for fact in group}) > 1]


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _object(fact: Fact) -> str:
    if fact.object_entity_id is not None:
        return f"entity {fact.object_entity_id}"
    return " ".join(tokenizer.words(fact.object_value or ""))


_FIND_ROOTS = """
update entities
set merged_root = (
    with recursive up (id, next) as (
        select entities.id, entities.merged_into
        union
        select e.id, e.merged_into from up join entities e on e.id = up.next
    )
    select up.id from up where up.next is null and up.id <> entities.id
)
where merged_into is not null or merged_root is not null
"""
