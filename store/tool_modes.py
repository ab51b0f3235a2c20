"""How each tool may run: what a person chose for it, and what they allowed in one chat.

A choice is ``auto``, ``ask`` or ``off`` (C15). Without one the tool's own default holds, which the
caller knows. A tool allowed in a chat runs there without asking until that is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import apsw

from store.database import Database, rows, scalar

Mode = Literal["auto", "ask", "off"]


@dataclass(frozen=True, slots=True)
class Allowance:
    """A tool that runs in one chat without asking."""

    chat_id: int
    title: str
    tool: str
    allowed_ms: int


def chosen(database: Database) -> dict[str, Mode]:
    """The modes a person chose, by tool."""
    with database.read() as connection:
        found = rows(connection, "select tool, mode from tool_modes")
    return {tool: cast(Mode, mode) for tool, mode in found}


def choose(database: Database, tool: str, mode: Mode | None, now_ms: int) -> None:
    """Keep a choice; None goes back to the tool's default. Turning a tool down ends its allowances."""
    with database.write() as connection:
        set_mode(connection, tool, mode, now_ms)
        if mode != "auto":
            connection.execute("delete from tool_allowances where tool = ?", (tool,))


def is_allowed(database: Database, chat_id: int, tool: str) -> bool:
    """Whether a tool runs in a chat without asking."""
    sql = "select 1 from tool_allowances where conversation_id = ? and tool = ?"
    with database.read() as connection:
        return scalar(connection, sql, (chat_id, tool)) is not None


def allowances(database: Database) -> list[Allowance]:
    """Every tool that is allowed in a chat, the newest first."""
    sql = """
        select a.conversation_id, c.title, a.tool, a.allowed_ms
        from tool_allowances a
        join conversations c on c.id = a.conversation_id
        order by a.allowed_ms desc, a.conversation_id, a.tool
        """
    with database.read() as connection:
        return [Allowance(*row) for row in rows(connection, sql)]


def revoke(database: Database, chat_id: int, tool: str) -> bool:
    """Ask again for a tool in a chat; False when it was not allowed there."""
    with database.write() as connection:
        connection.execute(
            "delete from tool_allowances where conversation_id = ? and tool = ?", (chat_id, tool)
        )
        return connection.changes() > 0


# -- writing (inside `database.write()`) --------------------------------------------------


def set_mode(connection: apsw.Connection, tool: str, mode: Mode | None, now_ms: int) -> None:
    connection.execute("delete from tool_modes where tool = ?", (tool,))
    if mode is not None:
        connection.execute(
            "insert into tool_modes (tool, mode, changed_ms) values (?, ?, ?)", (tool, mode, now_ms)
        )


def allow(connection: apsw.Connection, chat_id: int, tool: str, now_ms: int) -> None:
    connection.execute(
        "insert or replace into tool_allowances (conversation_id, tool, allowed_ms) values (?, ?, ?)",
        (chat_id, tool, now_ms),
    )
