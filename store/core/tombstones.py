"""What was deleted, as a number that only grows: a tombstone is a row of ``deletions``.

Whoever makes something of what is stored reads the number first, and asks in the transaction that keeps or
sends what was made: where it has grown, what was read may be gone, and nothing is made of it any more.
Each transaction of a deletion adds a tombstone, so one that had begun before counts, too.
"""

from __future__ import annotations

import apsw

from store.core.database import Database, scalar
from store.core.keys import app_digest

NEWEST = "(select coalesce(max(id), 0) from deletions)"
ON_ITS_WAY_MS = 60_000
_COVER = """
select 1 from deletions
where deleted_ms between :at and :at + :way and (
    start_ms <= :at and end_ms > :at and receipt -> '$.whole' = 'true'
    or receipt ->> '$.start_ms' <= :at and receipt ->> '$.end_ms' > :at and receipt ->> '$.app' = :app
)
"""

_COVER_SINCE = """
select 1 from deletions
where id > :since and receipt ->> '$.start_ms' <= :at and receipt ->> '$.end_ms' > :at
    and (receipt -> '$.whole' = 'true' or receipt ->> '$.app' = :app)
"""


def newest(connection: apsw.Connection) -> int:
    """The number of the last one; 0 for none."""
    return int(scalar(connection, f"select {NEWEST}"))


def cover(connection: apsw.Connection, captured_ms: int, app_name: str | None) -> bool:
    """Whether a screen captured at this moment was on its way here when all of that time was deleted, or all
    that is of this app.

    A clock that was set back passes the same times again: only what is just older than a deletion counts.
    """
    app = app_name and app_digest(app_name)
    return scalar(connection, _COVER, {"at": captured_ms, "way": ON_ITS_WAY_MS, "app": app}) is not None


def cover_since(
    connection: apsw.Connection, deletion_id: int, captured_ms: int, app_name: str | None
) -> bool:
    """Whether a later deletion than this one took that time, or the app in it: for what another machine kept
    and had not heard of it yet. No clock is asked, for its may be wrong.
    """
    bound = {"since": deletion_id, "at": captured_ms, "app": app_name and app_digest(app_name)}
    return scalar(connection, _COVER_SINCE, bound) is not None


def newest_now(database: Database) -> int:
    """The same outside of a transaction."""
    with database.read() as connection:
        return newest(connection)
