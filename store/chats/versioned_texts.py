"""Texts that are kept in every version: what a model is told first, and what a persona says.

The versions of an owner are counted from 1, and the last one is in force. To go back to an earlier one is to
write it again: history only grows, so whatever an old answer names can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Generic, Protocol, TypeVar

import apsw

from store.core import records
from store.core.database import Database


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=Versioned)


class VersionTable(Generic[V]):
    """A table of versions. The fields of `kind`, a dataclass, are its columns; `owner` is one of them."""

    def __init__(self, name: str, owner: str, kind: type[V]) -> None:
        self.name = name
        self.owner = owner
        self.kind = kind

    def all(self, database: Database, owner: int | str) -> list[V]:
        """Every version that is kept, the newest first; empty for an unknown owner."""
        return self._select(database, "order by version desc", owner)

    def latest(self, database: Database, owner: int | str) -> V | None:
        """The version in force; None where there never was one."""
        return next(iter(self._select(database, "order by version desc limit 1", owner)), None)

    def get(self, database: Database, owner: int | str, version: int) -> V | None:
        """One version; None where it is not kept."""
        return next(iter(self._select(database, "and version = ?", owner, version)), None)

    def put(self, connection: apsw.Connection, version: V) -> None:
        """Keep a version, in the place of the one of its number. Inside `Database.write()`."""
        records.put(connection, self.name, f"{self.owner}, version", **asdict(version))  # type: ignore[call-overload]  # a dataclass

    def _select(self, database: Database, which: str, *values: Any) -> list[V]:
        sql = f"select {records.columns(self.kind)} from {self.name} where {self.owner} = ? {which}"
        return database.records(self.kind, sql, values)


def compared(
    versions: Sequence[V], older: int | None = None, newer: int | None = None
) -> tuple[V | None, V | None]:
    """Two versions to be compared, of those that are given newest first: by default the last two."""
    by_number = {entry.version: entry for entry in versions}
    new = by_number.get(newer or 0) or next(iter(versions), None)
    before = (entry for entry in versions if new is not None and entry.version < new.version)
    return by_number.get(older or 0) or next(before, None), new
