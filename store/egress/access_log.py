"""The audit of what other programs read: one row per call, without content.

A row says when, through which door, with which tool, and how many records were returned and
withheld. Never a query, a title, a text or a frame's id: the log of what was read must not
become a second copy of it, and nothing in it has to be deleted with a frame.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import apsw

from store.core.database import Database
from store.core.records import columns, insert, insert_new

MAX_ROWS = 10_000
"""The oldest rows go first: some weeks of a busy assistant."""

Outcome = Literal["answered", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Access:
    """One call. `withheld` counts records that today's exclusion rules kept back."""

    at_ms: int
    door: str  # mcp, mcp_http, screenpipe, chat, or api with a token for one purpose
    tool: str
    outcome: Outcome
    returned: int
    withheld: int
    caller: str = ""  # the name of the token that was shown, where it has one


@dataclass(frozen=True, slots=True)
class DoorUse:
    """What came through one door."""

    door: str
    calls: int
    returned: int
    withheld: int
    last_ms: int


def latest(database: Database, limit: int = 50) -> list[Access]:
    """The newest calls, newest first."""
    sql = f"select {columns(Access)} from access_log order by id desc limit ?"
    return database.records(Access, sql, (limit,))


def use_since(database: Database, start_ms: int) -> list[DoorUse]:
    """What each door gave since a moment, the busiest first; doors without a call are not listed."""
    return database.records(
        DoorUse,
        """
        select door, count(*), sum(returned), sum(withheld), max(at_ms) from access_log
        where at_ms >= ? group by door order by count(*) desc, door
        """,
        (start_ms,),
    )


# -- writing (inside `database.write()`) --------------------------------------------------


def record(connection: apsw.Connection, access: Access) -> None:
    """Add one call; the oldest rows beyond `MAX_ROWS` go."""
    newest = insert(connection, "access_log", **asdict(access))
    # The newest row always stays, so ids never start again and are a count of calls.
    connection.execute("delete from access_log where id <= ?", (newest - MAX_ROWS,))


# -- login codes --------------------------------------------------------------------------
# Launch codes: a link that opens the door once.
#
# The code itself is made and checked in the web room; only its hash is kept here, until the moment
# at which it would have run out anyway.


def use_login_code(connection: apsw.Connection, code_hash: str, expires_ms: int, now_ms: int) -> bool:
    """Whether this code may open the door now: it has not run out, and nobody used it before.

    Call inside `Database.write()`: of two browsers with the same link one gets True.
    """
    connection.execute("delete from used_launch_codes where expires_ms <= ?", (now_ms,))
    if expires_ms <= now_ms:
        return False
    return insert_new(connection, "used_launch_codes", code_hash=code_hash, expires_ms=expires_ms)
