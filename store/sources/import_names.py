"""The people and places that an imported file names, and what of them a person has remembered.

An import remembers nobody by itself: `remember` runs when the person asked for it. The entity then knows the
import as one of those that name it, beside what else it was learned from. Deleting the import takes that away
again, and with it the entities of which nothing else is known.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import apsw

from store.core.database import Database, rows, scalar
from store.sources import entities
from store.sources.entities import MAX_NAME_CHARS, EntityKind, Provenance

if TYPE_CHECKING:
    from store.sources.imports import Import, Kind

NAMED_KINDS: dict[Kind, EntityKind] = {"messages": "person", "places": "place"}
"""What the names in a kind of source are names of; a source of another kind names nobody."""

_AT_ONCE = 500
"""Names stored in one transaction: about 50 ms."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that an import brought, and in how many of its rows it stands.

    `entity_id` is who is remembered by it, None for nobody; `is_noted` when this import is known there.
    """

    name: str
    count: int
    entity_id: int | None
    is_noted: bool


@dataclass(frozen=True, slots=True)
class AcceptedNames:
    """What came of the names that were asked for: new entities, known ones that are named by the import from
    now on, and those of which it was known already.
    """

    added: int = 0
    noted: int = 0
    known: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What became of the entities that deleted imports named: `gone`, or `kept` for what else is known."""

    gone: int
    kept: int


def names(database: Database, source: Import) -> list[Name]:
    """The names in what is left of an import, those of most rows first. Two writings of one are the first.

    A number or an address is no name, and neither is one that is too long to be stored.
    """
    kind = NAMED_KINDS.get(source.kind)
    if kind is None:
        return []
    with database.read() as connection:
        found = rows(connection, _NAMES[source.kind], {"id": source.id})
        known = {key: (number, bool(noted)) for key, number, noted in
                 rows(connection, _KNOWN, {"kind": kind, "id": source.id})}  # fmt: skip
    told: dict[str, Name] = {}
    for raw, count in found:
        name, key = " ".join(raw.split()), entities.name_key(raw)
        if key in told:
            told[key] = replace(told[key], count=told[key].count + count)
        elif key and len(name) <= MAX_NAME_CHARS and _is_name(name):
            told[key] = Name(name, count, *known.get(key, (None, False)))
    return sorted(told.values(), key=lambda each: -each.count)


def accept_names(
    database: Database, source: Import, chosen: Collection[str] | None, now_ms: int
) -> AcceptedNames:
    """Remember the names of an import that are `chosen`, None for all; again changes nothing.

    Raises `LookupError` with the first that the import does not bring.
    """
    brought = {each.name: each for each in names(database, source)}
    for name in chosen or ():
        if name not in brought:
            raise LookupError(name)
    wanted = [each for name, each in brought.items() if chosen is None or name in chosen]
    learned = Provenance(now_ms, import_id=source.id)
    added = 0
    missing = [each.name for each in wanted if not each.is_noted]
    for first in range(0, len(missing), _AT_ONCE):
        with database.write() as connection:
            for name in missing[first : first + _AT_ONCE]:
                _, is_new = entities.store_entity(connection, NAMED_KINDS[source.kind], name, learned)
                added += is_new
    return AcceptedNames(added, len(missing) - added, len(wanted) - len(missing))


def forget_names(connection: apsw.Connection, kind: Kind, import_id: int | None) -> Forgotten:
    """Take imports away from the entities they name, all of a kind for None, and the entities that nothing
    else is known of. Call inside `Database.write()`, before the imports go.
    """
    values = {"kind": kind, "id": import_id}
    named = [number for (number,) in rows(connection, _NAMED, values)]
    connection.execute(_DETACH, values)
    gone = 0
    for number in named:
        connection.execute(_DELETE_UNKNOWN, {"id": number})
        gone += connection.changes()
    return Forgotten(gone, len(named) - gone)


def would_go(database: Database, source: Import) -> Forgotten:
    """What `forget` of one import would come to."""
    with database.read() as connection:
        total = scalar(connection, "select count(*) from entity_imports where import_id = ?", (source.id,))
        gone = scalar(connection, _WOULD_GO, {"id": source.id})
    return Forgotten(gone, total - gone)


def _is_name(text: str) -> bool:
    return "@" not in text and any(letter.isalpha() for letter in text)


_NAMES: dict[Kind, str] = {
    "messages": """
        select c.name, count(*) as messages
        from text_messages m
        join contacts c on c.id = m.contact_id
        where m.import_id = :id and c.name <> ''
        group by c.id
        order by messages desc, c.id
    """,
    "places": """
        select name, count(*) as places
        from places
        where import_id = :id and name <> ''
        group by name
        order by min(id)
    """,
}

_KNOWN = """
select e.name_key, coalesce(e.merged_root, e.id), exists (
    select 1 from entity_imports n
    where n.import_id = :id and n.entity_id in (e.id, e.merged_root)
)
from entities e
where e.kind = :kind
"""

_OF_THEM = "select id from imports where kind = :kind and (:id is null or id = :id)"

_NAMED = f"select distinct entity_id from entity_imports where import_id in ({_OF_THEM})"

_DETACH = f"delete from entity_imports where import_id in ({_OF_THEM})"

# A decision that two are one is the person's own, like a description: neither goes with a file.
_NOTHING_ELSE = """
    e.origin = 'import' and (e.description = '' or e.described_by = 'import') and e.merged_into is null
    and not exists (select 1 from entity_frames o where o.entity_id = e.id)
    and not exists (select 1 from facts f where f.subject_id = e.id or f.object_entity_id = e.id)
    and not exists (select 1 from entities a where a.merged_into = e.id)
    and not exists (select 1 from entity_imports n where n.entity_id = e.id{but})
"""

_DELETE_UNKNOWN = f"""
delete from entities as e
where e.id = :id and {_NOTHING_ELSE.format(but="")}
"""

_WOULD_GO = f"""
select count(*)
from entity_imports named
join entities e on e.id = named.entity_id
where named.import_id = :id and {_NOTHING_ELSE.format(but=" and n.import_id <> :id")}
"""
