"""Standing approvals: a tool that runs without asking, in one chat or in all of them.

A rule holds for exactly what its `scope` says in words, such as the folders a tool reads and the
machine its results go to. Where a call would reach anything else, the person is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import apsw

from store.core.database import Database, scalar
from store.core.records import columns, insert, insert_new


@dataclass(frozen=True, slots=True)
class Rule:
    """A standing approval; `chat_id` is None for every chat. `uses` counts the calls it let run."""

    id: int
    tool: str
    chat_id: int | None
    title: str  # of that chat, '' for every chat
    scope: str
    allowed_ms: int
    uses: int


def rules(database: Database) -> list[Rule]:
    """Every standing approval, the newest first."""
    own = columns(Rule, "r", chat_id="r.conversation_id", title="coalesce(c.title, '')")
    sql = f"""
        select {own}
        from tool_rules r
        left join conversations c on c.id = r.conversation_id
        order by r.allowed_ms desc, r.id desc
        """
    return database.records(Rule, sql)


def use(database: Database, chat_id: int, tool: str, scope: str) -> str:
    """Let one call run by a rule and count it: ``chat``, ``always``, or '' where no rule covers it."""
    sql = """
        update tool_rules set uses = uses + 1
        where id = (
            select id from tool_rules
            where tool = :tool and scope = :scope and (conversation_id is null or conversation_id = :chat)
            order by conversation_id is null
            limit 1
        )
        returning iif(conversation_id is null, 'always', 'chat')
        """
    with database.write() as connection:
        return scalar(connection, sql, {"tool": tool, "scope": scope, "chat": chat_id}) or ""


def revoke(database: Database, rule_id: int) -> bool:
    """Ask again; False when there is no such rule."""
    return database.change("delete from tool_rules where id = ?", (rule_id,)) > 0


# -- writing (inside `database.write()`) --------------------------------------------------


def allow(connection: apsw.Connection, tool: str, chat_id: int | None, scope: str, now_ms: int) -> None:
    """Add a rule; one that is there already stays as it is."""
    insert_new(connection, "tool_rules", tool=tool, conversation_id=chat_id, scope=scope, allowed_ms=now_ms)


# -- modes --------------------------------------------------------------------------------
# How each tool may run: ``auto``, ``ask`` or ``off``, as a person chose.
#
# Without a choice the tool's own default holds, which the caller knows. What runs although it asks
# is granted above.

Mode = Literal["auto", "ask", "off"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The mode that a person chose for a tool, and the hosts that it would have sent to then."""

    mode: Mode
    hosts: frozenset[str]


def chosen(database: Database) -> dict[str, Choice]:
    """What a person chose, by tool."""
    found = database.rows("select tool, mode, hosts from tool_modes")
    return {tool: Choice(mode, frozenset(hosts.split())) for tool, mode, hosts in found}


def choose(database: Database, tool: str, mode: Mode | None, now_ms: int, hosts: Iterable[str] = ()) -> None:
    """Keep a choice; None goes back to the tool's default. Turning a tool down ends its rules.

    `hosts` are those that the tool would send to now.
    """
    with database.write() as connection:
        connection.execute("delete from tool_modes where tool = ?", (tool,))
        if mode is not None:
            names = " ".join(sorted(hosts))
            insert(connection, "tool_modes", tool=tool, mode=mode, changed_ms=now_ms, hosts=names)
        if mode != "auto":
            connection.execute("delete from tool_rules where tool = ?", (tool,))
