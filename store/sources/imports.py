"""Which files were imported, what they brought, and how one of them is taken back.

An import remembers nobody by itself: `accept_names` runs when the person asked for it. The entity then knows
the import as one of those that name it; deleting the import takes that away again, and with it the
entities of which nothing else is known.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import apsw

from store.core.database import Database, change, clean_text, column, rows, scalar
from store.core.errors import existing
from store.core.records import columns, insert, load
from store.sources import entities
from store.sources.entities import MAX_NAME_CHARS, EntityKind, Provenance

# -- rows ---------------------------------------------------------------------------------
# Put by their natural key: a second import of a file changes nothing.
#
# A natural key is what makes two records the same thing, whatever file they come in. A record that is
# not there is added, one that says something else is updated, one that says the same is skipped. A row
# belongs to the import that brought it first, and goes with it.

BATCH = 1_000
"""Records to hand in at once: about 0.1 s, so that the other writers need not wait."""

Put = Literal["added", "updated", "skipped"]


@dataclass(frozen=True, slots=True)
class Upserted:
    """What became of some records. `skipped` were there already and said the same."""

    added: int = 0
    updated: int = 0
    skipped: int = 0

    def plus(self, more: Upserted) -> Upserted:
        return Upserted(self.added + more.added, self.updated + more.updated, self.skipped + more.skipped)


class UpsertTable:
    """How rows of one table are put; names of columns come from code, never from a file."""

    def __init__(self, name: str, key: Sequence[str], columns: Sequence[str]) -> None:
        where = " and ".join(f"{column} = :{column}" for column in key)
        self._key = tuple(key)
        self._columns = tuple(columns)
        self._find = f"select id, {', '.join(columns)} from {name} where {where}"
        self._name = name
        changes = ", ".join(f"{column} = :{column}" for column in columns)
        self._update = f"update {name} set {changes} where id = :id"

    def put(self, connection: apsw.Connection, import_id: int, record: object, **values: Any) -> Put:
        """Add, update or skip one row; columns without a value are fields of the record.

        Call inside `Database.write()`.
        """
        own = {name: getattr(record, name) for name in (*self._key, *self._columns) if name not in values}
        bound = {name: _storable(value) for name, value in (own | values).items()} | {"import_id": import_id}
        found = connection.execute(self._find, bound).fetchone()
        if found is None:
            insert(connection, self._name, **bound)
            return "added"
        if found[1:] == tuple(bound[column] for column in self._columns):
            return "skipped"
        connection.execute(self._update, {**bound, "id": found[0]})
        return "updated"


def _storable(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else int(value) if isinstance(value, bool) else value


def natural_key(*parts: str | int | None) -> str:
    """One short text for what makes a record itself; its parts cannot be read from it."""
    encoded = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(encoded.encode()).hexdigest()[:32]


# -- imports ------------------------------------------------------------------------------

Kind = Literal["messages", "calendar", "location", "places"]
Columns = Mapping[str, Any]
KINDS: tuple[Kind, ...] = ("messages", "calendar", "location", "places")

TABLES: dict[Kind, str] = {
    "messages": "text_messages", "calendar": "calendar_events", "location": "location_points",
    "places": "places",
}  # fmt: skip

_TIMES = {"messages": "sent_ms", "calendar": "start_ms", "location": "at_ms"}

PLACES_ENABLED = "places_enabled"
"""The preference that the first import of places switches on, and the last place that goes off."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import. `finished_ms` is None while it runs, or when it was cut short; `rows` are left of it."""

    id: int
    kind: Kind
    name: str
    format: str
    started_ms: int
    finished_ms: int | None
    counts: Upserted
    rows: int


def begin(connection: apsw.Connection, kind: Kind, name: str, form: str, now_ms: int) -> int:
    """Note that a file is imported; returns the id its rows carry. `name` is shown, never opened."""
    return insert(
        connection, "imports", kind=kind, name=clean_text(name)[:255], format=form, started_ms=now_ms
    )


def count(connection: apsw.Connection, import_id: int, more: Upserted) -> None:
    """Add what became of some records; call in the transaction that stored them. Raises `NotFound` where the
    import was deleted meanwhile.
    """
    sql = "update imports set added = added + ?, updated = updated + ?, skipped = skipped + ? where id = ?"
    _existing(change(connection, sql, (*astuple(more), import_id)), import_id)


def _existing(found: object, import_id: int) -> None:
    existing(found or None, "import", import_id)


def put(
    connection: apsw.Connection, import_id: int, table: UpsertTable, found: Iterable[tuple[object, Columns]]
) -> Upserted:
    """Put records, each with the columns that are no fields of it; at most `BATCH` at once. Raises as `count`
    does.
    """
    _existing(scalar(connection, "select 1 from imports where id = ?", (import_id,)), import_id)
    became = Counter(table.put(connection, import_id, record, **values) for record, values in found)
    done = Upserted(became["added"], became["updated"], became["skipped"])
    count(connection, import_id, done)
    return done


def finish(connection: apsw.Connection, import_id: int, now_ms: int) -> None:
    """Note that a file was read to its end. Raises as `count` does."""
    sql = "update imports set finished_ms = ? where id = ?"
    _existing(change(connection, sql, (now_ms, import_id)), import_id)


def listed(database: Database, kind: Kind | None = None) -> list[Import]:
    """Imports of which something is left or that are the latest of a file, newest first."""
    found: list[Import] = []
    with database.read() as connection:
        for each in KINDS if kind is None else (kind,):
            found += load(Import, rows(connection, _LISTED.format(table=TABLES[each]), (each,)))
    return sorted(found, key=lambda made: -made.id)


def get(database: Database, import_id: int) -> Import:
    """One import. Raises `NotFound`."""
    return existing(
        next((each for each in listed(database) if each.id == import_id), None), "import", import_id
    )


def total(database: Database, kind: Kind) -> int:
    return int(database.scalar(f"select count(*) from {TABLES[kind]}"))


def span(database: Database, kind: Literal["messages", "calendar", "location"]) -> tuple[int, int] | None:
    """Times of the first and the last row of a source, None when it is empty."""
    column = _TIMES[kind]
    among = f"from {TABLES[kind]}"
    [(first, last)] = database.rows(f"select (select min({column}) {among}), (select max({column}) {among})")
    return None if first is None else (int(first), int(last))


_OF_IT = {
    "counts": "json_array(i.added, i.updated, i.skipped)",
    "rows": "(select count(*) from {table} t where t.import_id = i.id)",
}
_LISTED = f"select {columns(Import, 'i', **_OF_IT)} from imports i where i.kind = ?"

# -- the names of an import ---------------------------------------------------------------

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
    by_key: dict[str, Name] = {}
    for raw, count in found:
        name, key = " ".join(raw.split()), entities.name_key(raw)
        if key in by_key:
            by_key[key] = replace(by_key[key], count=by_key[key].count + count)
        elif key and len(name) <= MAX_NAME_CHARS and "@" not in name and any(map(str.isalpha, name)):
            by_key[key] = Name(name, count, *known.get(key, (None, False)))
    return sorted(by_key.values(), key=lambda each: -each.count)


def accept_names(
    database: Database, source: Import, chosen: Collection[str] | None, now_ms: int
) -> AcceptedNames:
    """Remember the names of an import that are `chosen`, None for all; again changes nothing.

    Raises `LookupError` with the first that the import does not bring, and `NotFound` where the import was
    deleted meanwhile.
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
            _existing(scalar(connection, "select 1 from imports where id = ?", (source.id,)), source.id)
            for name in missing[first : first + _AT_ONCE]:
                _, is_new = entities.store_entity(connection, NAMED_KINDS[source.kind], name, learned)
                added += is_new
    return AcceptedNames(added, len(missing) - added, len(wanted) - len(missing))


def forget_names(connection: apsw.Connection, kind: Kind, import_id: int | None) -> Forgotten:
    """Take imports away from the entities they name, all of a kind for None, and the entities that nothing
    else is known of. Call inside `Database.write()`, before the imports go.
    """
    values = {"kind": kind, "id": import_id}
    named = column(connection, _NAMED, values)
    connection.execute(_DETACH, values)
    gone = sum(change(connection, _DELETE_UNKNOWN, {"id": number}) for number in named)
    return Forgotten(gone, len(named) - gone)


def would_go(database: Database, source: Import) -> Forgotten:
    """What `forget_names` of one import would come to."""
    with database.read() as connection:
        total = scalar(connection, "select count(*) from entity_imports where import_id = ?", (source.id,))
        gone = scalar(connection, _WOULD_GO, {"id": source.id})
    return Forgotten(gone, total - gone)


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
