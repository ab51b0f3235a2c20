"""Rows of imported sources, put by their natural key: a second import of a file changes nothing.

A natural key is what makes two records the same thing, whatever file they come in. A record that is
not there is added, one that says something else is updated, one that says the same is skipped. A row
belongs to the import that brought it first, and goes with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core.database import clean_text
from store.core.records import insert

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

    def and_one(self, put: Put) -> Upserted:
        return self.plus(Upserted(**{put: 1}))


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
    told = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()[:32]
