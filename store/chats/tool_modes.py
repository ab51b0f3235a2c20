"""How each tool may run: ``auto``, ``ask`` or ``off``, as a person chose (C15).

Without a choice the tool's own default holds, which the caller knows. What runs although it asks
is in `store.chats.tool_permissions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast

from store.chats import tool_permissions
from store.core.database import Database, rows

Mode = Literal["auto", "ask", "off"]


def chosen(database: Database) -> dict[str, Mode]:
    """The modes a person chose, by tool."""
    with database.read() as connection:
        found = rows(connection, "select tool, mode from tool_modes")
    return {tool: cast(Mode, mode) for tool, mode in found}


def hosts(database: Database) -> dict[str, frozenset[str]]:
    """The hosts that each choice was made for, by tool."""
    with database.read() as connection:
        found = rows(connection, "select tool, hosts from tool_modes")
    return {tool: frozenset(names.split()) for tool, names in found}


def choose(database: Database, tool: str, mode: Mode | None, now_ms: int, hosts: Iterable[str] = ()) -> None:
    """Keep a choice; None goes back to the tool's default. Turning a tool down ends its rules.

    `hosts` are those that the tool would send to now.
    """
    with database.write() as connection:
        connection.execute("delete from tool_modes where tool = ?", (tool,))
        if mode is not None:
            connection.execute(
                "insert into tool_modes (tool, mode, changed_ms, hosts) values (?, ?, ?, ?)",
                (tool, mode, now_ms, " ".join(sorted(hosts))),
            )
        if mode != "auto":
            tool_permissions.end(connection, tool)
