"""Rows of a table as frozen dataclasses, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from store.core.database import Database
from store.core.records import columns, insert, insert_new, put


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    id: int
    is_old: bool
    is_known: bool | None
    parts: tuple[Part, ...]
    notes: Mapping[str, Any]
    size: int = 0


@pytest.fixture
def things(database: Database) -> Database:
    database.change(
        "create table things (id integer primary key, is_old integer, is_known integer, parts text,"
        " notes text, bytes integer not null default 7)"
    )
    return database


def test_truth_values_lists_and_mappings_come_back_as_their_fields_say(things: Database) -> None:
    with things.write() as connection:
        number = insert(
            connection, "things", is_old=True, is_known=None, parts='[["a", [1, 2]]]', notes='{"b": [3]}'
        )
    found = things.first(Thing, f"select {columns(Thing, 't', size='t.bytes')} from things t")
    assert found == Thing(number, True, None, (Part("a", (1, 2)),), {"b": [3]}, 7)
    assert found is not None and found.is_old is True


def test_a_row_is_put_in_the_place_of_the_one_with_its_key(things: Database) -> None:
    first = {"id": 1, "is_old": False, "is_known": True, "parts": "[]", "notes": "{}"}
    with things.write() as connection:
        put(connection, "things", "id", **first)
        put(connection, "things", "id", **{**first, "is_known": False})
        assert not insert_new(connection, "things", **first)
        assert insert_new(connection, "things", **{**first, "id": 2})
    known = things.records(Thing, "select id, is_old, is_known, parts, notes from things order by id")
    assert [(thing.id, thing.is_known) for thing in known] == [(1, False), (2, True)]
    assert asdict(known[0])["size"] == 0  # fields at the end may be missing
