"""What is remembered of people, places, events and things, and where it was learned.

An entity is known by its kind and its name as the index of words sees it, so "Anna  Bauer" and "anna
bauer" are one; two that a person merged are recalled as one (`store.sources.fact_curation`). A fact says
something of a subject: of another entity, or as a value, never both; one that was taken back is not recalled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import apsw

from store.chats import conversations
from store.core import copies, preferences, tokenizer
from store.core.database import Database, change, clean_text, rows, scalar
from store.core.errors import existing
from store.core.records import columns, insert, insert_new
from store.core.translation import gettext as _

MAX_NAME_CHARS = 200
MAX_TEXT_CHARS = 2_000


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


# -- storing (inside `database.write()`) ----------------------------------------------------


def store_entity(
    connection: apsw.Connection, kind: EntityKind, name: str, learned: Provenance, description: str = ""
) -> tuple[int, bool]:
    """(id, whether it is new) of an entity. One that is known keeps its name; a description replaces the
    old one, but a chat's never that of a person. What an import brought and a chat or a person stores, too,
    is theirs from then on, and does not go with the import.

    Raises `ValueError` for a name without a word, or one that is too long.
    """
    name, key = _named(name)
    description = clean_text(description).strip()[:MAX_TEXT_CHARS]
    low, high = _shown(connection, learned.turn_id)
    known = scalar(connection, _KNOWN, (kind, key))
    if known is None:
        number = insert(
            connection, "entities", kind=kind, name=name, name_key=key, description=description,
            turn_id=learned.turn_id, shown_from_ms=low, shown_until_ms=high, created_ms=learned.at_ms,
            updated_ms=learned.at_ms, origin=learned.origin, described_by=learned.origin,
        )  # fmt: skip
    else:
        number = int(known)
        values = {
            "id": known, "description": description, "turn": learned.turn_id, "low": low, "high": high,
            "now": learned.at_ms, "origin": learned.origin,
        }  # fmt: skip
        if description:
            connection.execute(_DESCRIBE, values)
        if learned.import_id is None:
            connection.execute(_ADOPT, values)
    for source, source_id in (("import", learned.import_id), ("frame", learned.frame_id)):
        if source_id is not None:
            insert_new(connection, f"entity_{source}s", **{"entity_id": number, f"{source}_id": source_id})
    return number, known is None


def edit(connection: apsw.Connection, entity_id: int, name: str, description: str, now_ms: int) -> None:
    """Let a person's words be its name and description; what is left as it was stays whose it was.

    Raises `ValueError` as `store_entity`, and for a name that another of its kind has.
    """
    name, key = _named(name)
    if scalar(connection, _OTHER, (entity_id, key, entity_id)) is not None:
        raise ValueError("another one, or one that was merged into it, has that name")
    description = clean_text(description).strip()[:MAX_TEXT_CHARS]
    values = {"id": entity_id, "name": name, "key": key, "description": description, "now": now_ms}
    connection.execute(_EDIT, values)


def store_fact(
    connection: apsw.Connection,
    subject_id: int,
    predicate: str,
    learned: Provenance,
    *,
    object_entity_id: int | None = None,
    object_value: str | None = None,
) -> tuple[int, bool]:
    """(id, whether it is new) of a fact. Raises `NotFound`, and `ValueError` unless exactly one object
    is given and nothing is blank or too long.
    """
    predicate = " ".join(clean_text(predicate).split())
    value = None if object_value is None else clean_text(object_value).strip()
    if (object_entity_id is None) == (value is None):
        raise ValueError("give exactly one of object_entity_id and object_value")
    if not 0 < len(predicate) <= MAX_NAME_CHARS or (
        value is not None and not 0 < len(value) <= MAX_TEXT_CHARS
    ):
        raise ValueError("a predicate and a value have text, and not too much of it")
    for number in (subject_id, object_entity_id):
        if number is not None:
            existing(scalar(connection, "select 1 from entities where id = ?", (number,)), "entity", number)
    low, high = _shown(connection, learned.turn_id)
    statement = {
        "subject_id": subject_id, "predicate": predicate, "object_entity_id": object_entity_id,
        "object_value": value, "source_frame_id": learned.frame_id,
    }  # fmt: skip
    is_new = insert_new(
        connection, "facts", **statement, turn_id=learned.turn_id, shown_from_ms=low, shown_until_ms=high,
        created_ms=learned.at_ms, origin=learned.origin,
    )  # fmt: skip
    same = " and ".join(f"{name} is :{name}" for name in statement)
    if not is_new and learned.origin == "person":
        values = "origin = 'person', turn_id = null, shown_from_ms = null, retracted_ms = null"
        connection.execute(f"update facts set {values}, retract_reason = '' where {same}", statement)
    return int(scalar(connection, f"select id from facts where {same}", statement)), is_new


def delete_entity(connection: apsw.Connection, entity_id: int) -> bool:
    """Delete an entity with what was merged into it, and every fact about it; False when there is none."""
    return _delete(connection, "entities where id = :id or merged_root = :id", entity_id)


def delete_fact(connection: apsw.Connection, fact_id: int) -> bool:
    """Delete a fact; False when there is none."""
    return _delete(connection, "facts where id = :id", fact_id)


def _delete(connection: apsw.Connection, which: str, number: int) -> bool:
    is_gone = change(connection, f"delete from {which}", {"id": number}) > 0
    if is_gone:
        copies.outdate(connection)  # copies that still have it go
    return is_gone


def _named(name: str) -> tuple[str, str]:
    """A name as it is kept, and its key."""
    name = " ".join(clean_text(name).split())
    key = name_key(name)
    if not key or len(name) > MAX_NAME_CHARS:
        raise ValueError(_("a name has a word and at most %(number)s characters", number=MAX_NAME_CHARS))
    return name, key


def name_key(name: str) -> str:
    """A name as its tokens: by this two writings are one."""
    return " ".join(tokenizer.words(clean_text(name)))


def _shown(connection: apsw.Connection, turn_id: int | None) -> tuple[int | None, int | None]:
    """What the chat had been shown of the screen until this turn; it may be what is stored now."""
    if turn_id is None:
        return None, None
    conversations.require_current(connection, turn_id)
    [(low, high)] = rows(connection, _SHOWN, {"turn": turn_id})
    return low, high


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


def get(database: Database, entity_id: int) -> Entity:
    """One entity, or the one that it was merged into. Raises `NotFound`."""
    return existing(_itself(database, entity_id), "entity", entity_id)


def _itself(database: Database, entity_id: int) -> Entity | None:
    itself = "e.id = (select coalesce(merged_root, id) from entities where id = :id)"
    return next(iter(load_entities(database, itself, {"id": entity_id, "limit": 1})), None)


def find_entities(
    database: Database, name: str = "", kind: EntityKind | None = None, limit: int = 50, offset: int = 0
) -> list[Entity]:
    """Entities whose name or description holds every word of `name`, last changed first."""
    conditions, values = ["1"], dict[str, object]({"kind": kind, "limit": limit, "offset": offset})
    if kind is not None:
        conditions.append("e.kind = :kind")
    for n, token in enumerate(tokenizer.tokens(clean_text(name)[:MAX_NAME_CHARS])):
        conditions.append(f"instr({_NAMED}, :word{n}) > 0")
        values[f"word{n}"] = token.text
    return load_entities(database, " and ".join(conditions), values)


def on_frame(database: Database, frame_id: int | None, text: str) -> list[Entity]:
    """The subjects of a frame: entities found on it, and those whose name stands in `text`, its words. None
    of the first without a frame.
    """
    words = f" {name_key(text)} "
    condition = """exists (
        select 1 from entities a
        where (a.id = e.id or a.merged_root = e.id) and (
            exists (select 1 from entity_frames o where o.entity_id = a.id and o.frame_id = :frame)
            or exists (
                select 1 from facts f
                where f.source_frame_id = :frame and f.retracted_ms is null
                    and a.id in (f.subject_id, f.object_entity_id)
            )
            or (length(a.name_key) > 1 and instr(:words, ' ' || a.name_key || ' ') > 0)
        )
    )"""
    return load_entities(database, condition, {"frame": frame_id, "words": words, "limit": 100})


def stated_facts_about(database: Database, text: str, limit: int) -> list[Fact]:
    """What a person stated of those whom `text` names, latest first: nothing that was learned from a screen
    or from a file, so that no deletion of frames has to find who was told it.
    """
    among = f"f.subject_id in ({_MEANT}) and {_STATED}"
    ids = [entity.id for entity in on_frame(database, None, text)]
    return load_facts(database, among, {"ids": json.dumps(ids), "limit": limit}) if ids else []


def stated_facts(database: Database, limit: int) -> list[Fact]:
    """The same of everybody."""
    return load_facts(database, _STATED, {"limit": limit})


_STATED = """f.retracted_ms is null and f.origin = 'person' and f.object_value is not null
    and f.turn_id is null and f.source_frame_id is null and f.shown_from_ms is null"""


def of_frame(database: Database, frame_id: int) -> list[Fact]:
    """The facts that a frame shows, latest first."""
    among = "f.source_frame_id = :frame and f.retracted_ms is null"
    return load_facts(database, among, {"frame": frame_id, "limit": 100})


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


def facts_of(
    database: Database,
    entity_ids: Iterable[int] | None = None,
    limit: int = 100,
    offset: int = 0,
    *,
    retracted: bool = False,
) -> list[Fact]:
    """Facts that name one of these entities, or all facts; latest first. Those that were taken back only
    with `retracted`.
    """
    among = f"f.retracted_ms is {'not null' if retracted else 'null'}"
    if entity_ids is not None:
        among += f" and (f.subject_id in ({_MEANT}) or f.object_entity_id in ({_MEANT}))"
    values = {"ids": json.dumps(list(entity_ids or ())), "limit": limit, "offset": offset}
    return load_facts(database, among, values)


def facts(database: Database, fact_ids: Iterable[int]) -> list[Fact]:
    """These facts in their order, taken back or not, without those that are forgotten."""
    ids = list(fact_ids)
    among = "f.id in (select value from json_each(:ids))"
    found = load_facts(database, among, {"ids": json.dumps(ids), "limit": len(ids)})
    return sorted(found, key=lambda fact: ids.index(fact.id))


def fact(database: Database, fact_id: int) -> Fact:
    """One fact, taken back or not. Raises `NotFound`."""
    return existing(next(iter(facts(database, [fact_id])), None), "fact", fact_id)


_OWNER = "memory_owner"


def owner(database: Database) -> Entity | None:
    """Whose screen this is, as the person said; None where they did not, or it was forgotten."""
    return _itself(database, preferences.get_preference(database, _OWNER, 0))


def set_owner(database: Database, entity_id: int | None) -> None:
    """Let a person of memory be whose screen this is; None for nobody. Raises `NotFound`."""
    if entity_id:
        entity = get(database, entity_id)
        existing(entity if entity.kind == "person" else None, "person", entity_id)
    preferences.set_preference(database, _OWNER, entity_id or 0)


_NAMED = """(
    select group_concat(a.name_key || ' ' || recollect_normal(a.description), ' ')
    from entities a where a.id = e.id or a.merged_root = e.id
)"""

# Those that are asked for, and what was merged into them.
_MEANT = """
    select a.id from entities a
    where a.id in (select value from json_each(:ids)) or a.merged_root in (select value from json_each(:ids))
"""

_OTHER = """
select 1 from entities where kind = (select kind from entities where id = ?) and name_key = ? and id <> ?
"""

_EDIT = """
update entities
set origin = iif(name = :name, origin, 'person'),
    described_by = iif(description = :description, described_by, 'person'),
    name = :name, name_key = :key, description = :description, updated_ms = :now
where id = :id
"""

_KNOWN = "select coalesce(merged_root, id) from entities where kind = ? and name_key = ?"

_SHOWN = """
select min(t.start_ms), max(t.end_ms)
from turns asked
join turns t on t.conversation_id = asked.conversation_id and t.n <= asked.n
where asked.id = :turn
"""

# What it now says may come from what this chat was shown, or from what the other one was.
_DESCRIBE = """
update entities
set description = :description, described_by = :origin, updated_ms = :now, turn_id = coalesce(:turn, turn_id),
    shown_from_ms = min(coalesce(shown_from_ms, :low), coalesce(:low, shown_from_ms)),
    shown_until_ms = max(coalesce(shown_until_ms, :high), coalesce(:high, shown_until_ms))
where id = :id and (:origin = 'person' or described_by <> 'person' or description = '')
"""

# What a chat had learned of it stays known as that: a description may have to go.
_ADOPT = """
update entities
set origin = :origin, turn_id = coalesce(:turn, turn_id), shown_from_ms = coalesce(:low, shown_from_ms),
    shown_until_ms = coalesce(:high, shown_until_ms)
where id = :id and (origin = 'import' or :origin = 'person')
"""


# -- rows ---------------------------------------------------------------------------------
# Rows of entities and facts as everybody sees them: with names, and what was merged as one.

EntityKind = Literal["person", "place", "event", "thing"]
Origin = Literal["chat", "person", "import"]


@dataclass(frozen=True, slots=True)
class NamedBy:
    """An imported file that names an entity."""

    import_id: int
    kind: Literal["messages", "places"]
    name: str


def load_entities(database: Database, condition: str, values: dict[str, object]) -> list[Entity]:
    """Entities ``e`` that fit a condition on them, what was merged into another left out."""
    return database.records(Entity, _ENTITIES.format(condition=condition), {"offset": 0, **values})


def load_facts(database: Database, condition: str, values: dict[str, object]) -> list[Fact]:
    """Facts ``f`` that fit a condition on them, latest first."""
    return database.records(Fact, _FACTS.format(among=condition), {"offset": 0, **values})


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

_NAMES = {"subject_id": "s.id", "subject": "s.name", "object_entity_id": "o.id", "object_entity": "o.name"}
_FACTS = f"""
select {columns(Fact, "f", **_NAMES)}
from facts f
join entities told on told.id = f.subject_id
join entities s on s.id = coalesce(told.merged_root, told.id)
left join entities named on named.id = f.object_entity_id
left join entities o on o.id = coalesce(named.merged_root, named.id)
where {{among}}
order by f.created_ms desc, f.id desc
limit :limit offset :offset
"""
