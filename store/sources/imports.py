"""Which files were imported, what they brought, and how one of them is taken back."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal

import apsw

from store.core import preferences
from store.core.database import Database, rows, scalar
from store.core.upserts import BATCH, Upserted, clean_text
from store.sources import import_names, source_forgetting
from store.spool import residual_files

Kind = Literal["messages", "calendar", "location", "places"]
KINDS: tuple[Kind, ...] = ("messages", "calendar", "location", "places")

TABLES: dict[Kind, str] = {
    "messages": "text_messages",
    "calendar": "calendar_events",
    "location": "location_points",
    "places": "places",
}


_TIMES = {"messages": "sent_ms", "calendar": "start_ms", "location": "at_ms"}

PLACES_ENABLED = "places_enabled"
"""The preference that the first import of places switches on, and the last place that goes off."""


class ImportNotFound(LookupError):
    """There is no import with this id."""


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


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took: rows of the source, and entities that were known from it alone; of the `kept`
    ones it is only forgotten that it named them.
    """

    rows: int
    entities: int
    kept: int


def begin(connection: apsw.Connection, kind: Kind, name: str, form: str, now_ms: int) -> int:
    """Note that a file is imported; returns the id its rows carry. `name` is shown, never opened."""
    connection.execute(
        "insert into imports (kind, name, format, started_ms) values (?, ?, ?, ?)",
        (kind, clean_text(name)[:255], form, now_ms),
    )
    return connection.last_insert_rowid()


def count(connection: apsw.Connection, import_id: int, more: Upserted) -> None:
    """Add what became of some records; call in the transaction that stored them."""
    connection.execute(
        "update imports set added = added + ?, updated = updated + ?, skipped = skipped + ? where id = ?",
        (*astuple(more), import_id),
    )


def finish(connection: apsw.Connection, import_id: int, now_ms: int) -> None:
    """Note that a file was read to its end."""
    connection.execute("update imports set finished_ms = ? where id = ?", (now_ms, import_id))


def listed(database: Database, kind: Kind | None = None) -> list[Import]:
    """Imports of which something is left or that are the latest of a file, newest first."""
    found: list[Import] = []
    with database.read() as connection:
        for each in KINDS if kind is None else (kind,):
            for row in rows(connection, _LISTED.format(table=TABLES[each]), (each,)):
                number, name, form, started_ms, finished_ms, added, updated, skipped, left = row
                counts = Upserted(added, updated, skipped)
                found.append(Import(number, each, name, form, started_ms, finished_ms, counts, left))
    return sorted(found, key=lambda made: -made.id)


def get(database: Database, import_id: int) -> Import:
    """One import. Raises `ImportNotFound`."""
    found = next((each for each in listed(database) if each.id == import_id), None)
    if found is None:
        raise ImportNotFound(import_id)
    return found


def total(database: Database, kind: Kind) -> int:
    """How many rows a source has."""
    with database.read() as connection:
        return int(scalar(connection, f"select count(*) from {TABLES[kind]}"))


def span(database: Database, kind: Literal["messages", "calendar", "location"]) -> tuple[int, int] | None:
    """Times of the first and the last row of a source, None when it is empty."""
    column = _TIMES[kind]
    with database.read() as connection:
        first = scalar(connection, f"select min({column}) from {TABLES[kind]}")
        last = scalar(connection, f"select max({column}) from {TABLES[kind]}")
    return None if first is None else (int(first), int(last))


def delete(database: Database, kind: Kind, import_id: int | None = None) -> Deleted:
    """Delete a source as a whole, or what one import brought.

    What chats were shown of the source is forgotten with it (`store.sources.source_forgetting`), who was
    remembered
    from it alone, too (`store.sources.import_names`), and copies of the database that still hold it are
    dropped. Raises `ImportNotFound`.
    """
    with database.write() as connection:
        if import_id is not None and not _is_there(connection, kind, import_id):
            raise ImportNotFound(import_id)
        source_forgetting.forget_shown(connection, kind)
        forgotten = import_names.forget_names(connection, kind, import_id)
    gone = 0
    while some := _delete_some(database, kind, import_id):
        gone += some
    with database.write() as connection:
        chosen = "kind = :kind" if import_id is None else "id = :id"
        connection.execute(f"delete from imports where {chosen}", {"id": import_id, "kind": kind})
        if kind == "messages":
            connection.execute(_LOST_CONTACTS)
        if kind == "places" and not scalar(connection, "select 1 from places limit 1"):
            preferences.put_preference(connection, PLACES_ENABLED, False)
    residual_files.drop(residual_files.copies(database.data_dir))
    database.checkpoint()
    return Deleted(gone, forgotten.gone, forgotten.kept)


def _delete_some(database: Database, kind: Kind, import_id: int | None) -> int:
    """Delete a batch in a transaction of its own; returns how many rows went."""
    of_import = "" if import_id is None else "where import_id = :id"
    with database.write() as connection:
        connection.execute(
            f"delete from {TABLES[kind]} "
            f"where id in (select id from {TABLES[kind]} {of_import} limit {BATCH})",
            {"id": import_id},
        )
        return connection.changes()


def _is_there(connection: apsw.Connection, kind: Kind, import_id: int) -> bool:
    found = scalar(connection, "select 1 from imports where id = ? and kind = ?", (import_id, kind))
    return found is not None


_LISTED = """
select i.id, i.name, i.format, i.started_ms, i.finished_ms, i.added, i.updated, i.skipped,
    (select count(*) from {table} t where t.import_id = i.id)
from imports i
where i.kind = ?
"""

_LOST_CONTACTS = """
delete from contacts
where not exists (select 1 from text_messages m where m.contact_id = contacts.id)
"""
