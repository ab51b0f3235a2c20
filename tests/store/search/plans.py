"""What SQLite plans for the statements that a call runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from store.core.database import Database, rows

_PLANNED = ("select", "with", "insert", "update", "delete")


def plans(database: Database, call: Callable[[], object]) -> list[str]:
    """The plan lines of every query and change that `call` runs on this thread's connection."""
    ran: list[tuple[str, Any]] = []

    def note(_: object, sql: str, bindings: Any) -> bool:
        ran.append((sql, bindings))
        return True

    connection = database.connection()
    connection.exec_trace = note
    try:
        call()
    finally:
        connection.exec_trace = None
    return [
        detail
        for sql, bindings in ran
        if sql.lstrip().lower().startswith(_PLANNED)
        for *_, detail in rows(connection, f"explain query plan {sql}", bindings or ())
    ]
