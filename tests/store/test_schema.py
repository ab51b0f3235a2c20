"""Models and migrated tables agree, so that a column cannot exist in one of them only."""

from __future__ import annotations

from typing import Any

import pytest
from peewee import BlobField, FloatField, IntegerField, Model, TextField

from store.core.database import Database, rows
from store.core.schema import MODELS

TYPES = {IntegerField: "INTEGER", TextField: "TEXT", FloatField: "REAL", BlobField: "BLOB"}
WITHOUT_MODEL = {
    "migrations",
    "media_trash",
    "attachment_trash",
    "used_launch_codes",
    "window_names",
    "browser_urls",
}


def name_of(model: type[Model]) -> str:
    return str(model._meta.table_name)


def described(model: type[Model]) -> list[tuple[Any, ...]]:
    keys = {field.name for field in model._meta.get_primary_keys()}
    return [
        (field.column_name, TYPES[type(field)], bool(field.null), field.name in keys)
        for field in model._meta.sorted_fields
    ]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_model_describes_its_table(database: Database, model: type[Model]) -> None:
    with database.read() as connection:
        columns = rows(connection, f"pragma table_info({name_of(model)})")
    assert described(model) == [
        (name, kind.upper(), not (not_null or key), bool(key)) for _, name, kind, not_null, _, key in columns
    ]


def test_every_table_has_a_model_or_a_reason(database: Database) -> None:
    with database.read() as connection:
        tables = {
            name
            for (name,) in rows(connection, "select name from pragma_table_list where type = 'table'")
            if not name.startswith("sqlite_") and "_fts" not in name
        }
    assert tables == {name_of(model) for model in MODELS} | WITHOUT_MODEL
