"""Which hours of activity are still to be made into observations.

Triggers put an hour on the list when its frames or texts change; it leaves the list in the
transaction that stores what came of it.
"""

from __future__ import annotations

import apsw

from store.core.database import Database, rows, scalar
from store.memory.observations import HOUR_MS


def begun(database: Database, now_ms: int) -> list[int]:
    """The listed hours that have begun, newest first; an hour is its number since 1970 (UTC)."""
    with database.read() as connection:
        found = rows(
            connection,
            "select hour from memory_hours where hour * :size < :now order by hour desc",
            {"size": HOUR_MS, "now": now_ms},
        )
    return [hour for (hour,) in found]


def hour_changes(connection: apsw.Connection, hour: int) -> int | None:
    """How often a listed hour has changed; None when it is not listed."""
    found = scalar(connection, "select changes from memory_hours where hour = ?", (hour,))
    return None if found is None else int(found)


def last_deletion(connection: apsw.Connection) -> int | None:
    """The number of the newest deletion: it grows whenever something is deleted."""
    found = scalar(connection, "select max(id) from deletions")
    return None if found is None else int(found)


def now_deleted(database: Database) -> int | None:
    """`last_deletion` as it is now."""
    with database.read() as connection:
        return last_deletion(connection)


def finish_hour(connection: apsw.Connection, hour: int) -> None:
    """Take an hour off the list."""
    connection.execute("delete from memory_hours where hour = ?", (hour,))
