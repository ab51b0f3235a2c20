"""Rows of entities and facts as everybody sees them: with names, and what was merged as one."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from store.core.database import Database, rows

EntityKind = Literal["person", "place", "event", "thing"]
Origin = Literal["chat", "person", "import"]


class EntityNotFound(LookupError):
    """There is no entity with this id."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where something was learned: in which turn of a chat, on which frame, in which import, and when."""

    at_ms: int
    turn_id: int | None = None
    frame_id: int | None = None
    import_id: int | None = None

    @property
    def origin(self) -> Origin:
        if self.import_id is not None:
            return "import"
        return "person" if self.turn_id is None else "chat"


@dataclass(frozen=True, slots=True)
class NamedBy:
    """An imported file that names an entity."""

    import_id: int
    kind: Literal["messages", "places"]
    name: str


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity; `frames` are those it was found on, `facts` counts what is known of it, `imports` name it.

    `aliases` are (id, name) of what was merged into it. Until it was stored its chat had been shown screens
    of ``[shown_from_ms, shown_until_ms)``, None for none.
    """

    id: int
    kind: EntityKind
    name: str
    description: str
    created_ms: int
    updated_ms: int
    frames: tuple[int, ...]
    facts: int
    shown_from_ms: int | None
    shown_until_ms: int | None
    origin: Origin
    aliases: tuple[tuple[int, str], ...]
    imports: tuple[NamedBy, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, with names. One of the two objects is None; the span is that of `Entity`.

    One that was taken back has `retracted_ms`, and perhaps a reason.
    """

    id: int
    subject_id: int
    subject: str
    predicate: str
    object_entity_id: int | None
    object_entity: str | None
    object_value: str | None
    source_frame_id: int | None
    created_ms: int
    shown_from_ms: int | None
    shown_until_ms: int | None
    origin: Origin
    turn_id: int | None
    retracted_ms: int | None
    retract_reason: str


def load_entities(database: Database, condition: str, values: dict[str, object]) -> list[Entity]:
    """Entities ``e`` that fit a condition on them, what was merged into another left out."""
    with database.read() as connection:
        found = rows(connection, _ENTITIES.format(condition=condition), {"offset": 0, **values})
    return [_entity(*row) for row in found]


def _entity(*values: Any) -> Entity:
    found = Entity(*values)
    aliases = tuple((number, name) for number, name in json.loads(values[11]))
    imports = tuple(NamedBy(*each) for each in json.loads(values[12]))
    return replace(found, frames=tuple(json.loads(values[6])), aliases=aliases, imports=imports)


def load_facts(database: Database, condition: str, values: dict[str, object]) -> list[Fact]:
    """Facts ``f`` that fit a condition on them, latest first."""
    with database.read() as connection:
        found = rows(connection, _FACTS.format(among=condition), {"offset": 0, **values})
    return [Fact(*row) for row in found]


_SAME = "select a.id from entities a where a.id = e.id or a.merged_root = e.id"

_ENTITIES = f"""
select e.id, e.kind, e.name, e.description, e.created_ms, e.updated_ms,
    (select json_group_array(distinct o.frame_id) from entity_frames o where o.entity_id in ({_SAME})),
    (select count(*) from facts f
        where f.retracted_ms is null and (f.subject_id in ({_SAME}) or f.object_entity_id in ({_SAME}))),
    e.shown_from_ms, e.shown_until_ms, e.origin,
    (select json_group_array(json_array(a.id, a.name)) from entities a where a.merged_root = e.id),
    (select json_group_array(json_array(i.id, i.kind, i.name) order by i.id) from imports i
        where i.id in (select n.import_id from entity_imports n where n.entity_id in ({_SAME})))
from entities e
where e.merged_root is null and {{condition}}
order by e.updated_ms desc, e.id desc
limit :limit offset :offset
"""

_FACTS = """
select f.id, s.id, s.name, f.predicate, o.id, o.name, f.object_value,
    f.source_frame_id, f.created_ms, f.shown_from_ms, f.shown_until_ms, f.origin, f.turn_id, f.retracted_ms,
    f.retract_reason
from facts f
join entities told on told.id = f.subject_id
join entities s on s.id = coalesce(told.merged_root, told.id)
left join entities named on named.id = f.object_entity_id
left join entities o on o.id = coalesce(named.merged_root, named.id)
where {among}
order by f.created_ms desc, f.id desc
limit :limit offset :offset
"""
