"""Frozen dataclasses as rows of a table, by the names and types of their fields.

SQLite has neither truth values nor lists: a field that is a ``bool`` is stored as 0 or 1, a tuple, a mapping
or another dataclass as JSON. Names of tables and columns come from code, never from data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import apsw

T = TypeVar("T")


@cache
def columns(kind: type, table: str = "", /, **others: str) -> str:
    """The fields of a dataclass as columns of the alias `table`; `others` are SQL by field."""
    prefix = f"{table}." if table else ""
    return ", ".join(others.get(field.name, f"{prefix}{field.name}") for field in fields(kind))


def narrowed(tests: Mapping[str, str], wanted: object, *always: str) -> tuple[str, dict[str, Any]]:
    """SQL conditions as one, and what they bind: a test for each field of `wanted` but for None and ""."""
    given = {name: value for name in tests if (value := getattr(wanted, name)) not in (None, "")}
    return " and ".join([*always, *(tests[name] for name in given)]) or "true", given


def load(kind: type[T], found: Iterable[tuple[Any, ...]]) -> list[T]:
    """Rows whose columns are the fields of a dataclass, in their order; the last fields may be missing."""
    readers = _readers(kind)  # type: ignore[arg-type]  # a class can be hashed
    if not any(readers):  # a day can have thousands of rows
        return [kind(*row) for row in found]
    return [
        kind(*(read(value) if read else value for read, value in zip(readers, row, strict=False)))
        for row in found
    ]


def insert(connection: apsw.Connection, table: str, /, **values: Any) -> int:
    """Add a row; returns its rowid. Raises `apsw.ConstraintError`. Inside `Database.write()`."""
    connection.execute(_insert(table, values), values)
    return connection.last_insert_rowid()


def insert_new(connection: apsw.Connection, table: str, /, **values: Any) -> bool:
    """Add a row unless it is there; whether it was added. Inside `Database.write()`."""
    connection.execute(f"{_insert(table, values)} on conflict do nothing", values)
    return connection.changes() > 0


def put(connection: apsw.Connection, table: str, key: str, /, **values: Any) -> None:
    """Add a row, or change the one with the same `key` (its columns). Inside `Database.write()`."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in values if name not in key.split(", "))
    connection.execute(f"{_insert(table, values)} on conflict ({key}) do update set {changed}", values)


def put_parts(
    connection: apsw.Connection, table: str, owner: Mapping[str, Any], names: str, parts: Iterable[Any]
) -> None:
    """Let the rows of an owner (its columns) be these of the columns `names`. Inside `Database.write()`."""
    which = " and ".join(f"{name} = :{name}" for name in owner)
    connection.execute(f"delete from {table} where {which}", owner)
    add_new(connection, table, f"{', '.join(owner)}, {names}", ((*owner.values(), *part) for part in parts))


def add_new(connection: apsw.Connection, table: str, names: str, found: Iterable[tuple[Any, ...]]) -> None:
    """Add rows of these columns, but for those that are there. Inside `Database.write()`."""
    marks = ", ".join("?" * len(names.split(", ")))
    connection.executemany(f"insert into {table} ({names}) values ({marks}) on conflict do nothing", found)


def _insert(table: str, values: Mapping[str, Any]) -> str:
    return f"insert into {table} ({', '.join(values)}) values ({', '.join(f':{name}' for name in values)})"


@cache
def _readers(kind: type) -> tuple[Callable[[Any], Any] | None, ...]:
    """What makes a field of each column; None where it is the same."""
    return tuple(map(_reader, _types(kind)))


@cache
def _types(kind: type) -> tuple[Any, ...]:
    hints = get_type_hints(kind)
    return tuple(hints[field.name] for field in fields(kind))


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    made = _maker(hint)
    kind = next((each for each in get_args(hint) if each is not NoneType), hint) if _is_union(hint) else hint
    if made is None or not (get_origin(kind) in (tuple, dict, Mapping) or is_dataclass(kind)):
        return made
    return lambda text: None if text is None else made(json.loads(text))


def _is_union(hint: Any) -> bool:
    return get_origin(hint) is UnionType


def _maker(hint: Any) -> Callable[[Any], Any] | None:
    """What makes a value of what JSON or SQLite has instead; None where it is the same."""
    if hint is bool:
        return bool
    if _is_union(hint):
        given = next(filter(None, map(_maker, get_args(hint))), None)
        return given and (lambda value: None if value is None else given(value))
    if is_dataclass(hint):
        parts = [_maker(each) for each in _types(hint)]  # type: ignore[arg-type]  # a class of them
        return lambda values: hint(*(_made(*part) for part in zip(parts, values, strict=False)))  # type: ignore[operator]
    if get_origin(hint) in (dict, Mapping):
        key, inner = get_args(hint)
        made, name = _maker(inner), int if key is int else str
        return lambda value: {name(each): _made(made, what) for each, what in value.items()}
    if get_origin(hint) is tuple:
        inner, *rest = get_args(hint)
        made = _maker(inner) if rest == [...] else None
        return lambda value: tuple(_made(made, each) for each in value)
    return None


def _made(made: Callable[[Any], Any] | None, value: Any) -> Any:
    return made(value) if made else value
