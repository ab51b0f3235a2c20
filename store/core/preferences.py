"""Preferences: what a person chose in the app, as JSON values by key.

`store.core.settings` says where and how; this says what somebody likes. A value of False or None is a
choice like any other and is kept (ActivityWatch lost such a setting once).
"""

from __future__ import annotations

import json
from typing import Any

import apsw

from store.core.database import Database
from store.core.schema import Preference


def get_preference(database: Database, key: str, default: Any = None) -> Any:
    """What was chosen, or `default` when nothing was."""
    with database.read():
        row = Preference.select().where(Preference.key == key).first(database.peewee)
    return default if row is None else json.loads(row.value)


def all_preferences(database: Database) -> dict[str, Any]:
    """All choices by key."""
    with database.read():
        rows = list(Preference.select().order_by(Preference.key).execute(database.peewee))
    return {row.key: json.loads(row.value) for row in rows}


def set_preference(database: Database, key: str, value: Any) -> None:
    """Keep a choice. Raises `TypeError` when JSON cannot hold it."""
    encoded = json.dumps(value, ensure_ascii=False, sort_keys=True)
    chosen = Preference.insert(key=key, value=encoded).on_conflict(
        conflict_target=[Preference.key], update={Preference.value: encoded}
    )
    with database.write():
        chosen.execute(database.peewee)


def put_preference(connection: apsw.Connection, key: str, value: Any) -> None:
    """Keep a choice in a transaction that is under way (`Database.write`)."""
    connection.execute(
        "insert into preferences (key, value) values (?, ?) "
        "on conflict (key) do update set value = excluded.value",
        (key, json.dumps(value, ensure_ascii=False, sort_keys=True)),
    )


def delete_preference(database: Database, key: str) -> None:
    """Go back to the default."""
    with database.write():
        Preference.delete().where(Preference.key == key).execute(database.peewee)
