"""Which tools ran and what was decided about them: one row per event, without arguments or results."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from store.core.database import Database, rows

MAX_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """`event`: a decision (approved, allowed_in_chat, always_allowed, denied, refused, expired) or how a
    run ended (completed, failed, timed_out), which also has a `duration_ms`.
    """

    at_ms: int
    tool: str
    event: str
    duration_ms: int | None = None


def latest_events(database: Database, limit: int = 50) -> list[ToolEvent]:
    """The newest events, newest first."""
    sql = "select at_ms, tool, event, duration_ms from tool_log order by id desc limit ?"
    with database.read() as connection:
        return [ToolEvent(*row) for row in rows(connection, sql, (limit,))]


def last_used_tools(database: Database) -> dict[str, int]:
    """When each tool last ran, in epoch milliseconds."""
    sql = "select tool, max(at_ms) from tool_log where duration_ms is not null group by tool"
    with database.read() as connection:
        return dict(rows(connection, sql))


# -- writing (inside `database.write()`) --------------------------------------------------


def record_event(connection: apsw.Connection, event: ToolEvent) -> None:
    """Add an event; the oldest rows beyond `MAX_ROWS` go."""
    connection.execute(
        "insert into tool_log (at_ms, tool, event, duration_ms) values (?, ?, ?, ?)",
        (event.at_ms, event.tool, event.event, event.duration_ms),
    )
    connection.execute("delete from tool_log where id <= ?", (connection.last_insert_rowid() - MAX_ROWS,))
