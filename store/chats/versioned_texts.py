"""Texts that are kept in every version: what a model is told first, and what a persona says.

The versions of an owner are counted from 1, and the last one is in force. To go back to an earlier one is to
write it again: history only grows, so whatever an old answer names can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, fields
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import apsw

from store.core.database import rows


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=Versioned)


class VersionTable(Generic[V]):
    """A table of versions. The fields of `kind`, a dataclass, are its columns; the first names the owner."""

    def __init__(self, name: str, kind: Callable[..., V]) -> None:
        self.name = name
        self.kind = kind

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.kind))  # type: ignore[arg-type]  # a dataclass

    def all(self, connection: apsw.Connection, owner: int | str) -> list[V]:
        """Every version that is kept, the newest first; empty for an unknown owner."""
        return self._select(connection, "order by version desc", owner)

    def latest(self, connection: apsw.Connection, owner: int | str) -> V | None:
        """The version in force; None where there never was one."""
        return next(iter(self._select(connection, "order by version desc limit 1", owner)), None)

    def get(self, connection: apsw.Connection, owner: int | str, version: int) -> V | None:
        """One version; None where it is not kept."""
        return next(iter(self._select(connection, "and version = ?", owner, version)), None)

    def put(self, connection: apsw.Connection, version: V) -> None:
        """Keep a version, in the place of the one of its number."""
        marks = ", ".join("?" * len(self._columns))
        sql = f"insert or replace into {self.name} ({', '.join(self._columns)}) values ({marks})"
        connection.execute(sql, astuple(version))  # type: ignore[call-overload]  # a dataclass

    def _select(self, connection: apsw.Connection, which: str, *values: Any) -> list[V]:
        owner, *_ = self._columns
        sql = f"select {', '.join(self._columns)} from {self.name} where {owner} = ? {which}"
        return [self.kind(*row) for row in rows(connection, sql, values)]


def compared(
    versions: Sequence[V], older: int | None = None, newer: int | None = None
) -> tuple[V | None, V | None]:
    """Two versions to be compared, of those that are given newest first: by default the last two."""
    by_number = {entry.version: entry for entry in versions}
    new = by_number.get(newer or 0) or next(iter(versions), None)
    before = (entry for entry in versions if new is not None and entry.version < new.version)
    return by_number.get(older or 0) or next(before, None), new
