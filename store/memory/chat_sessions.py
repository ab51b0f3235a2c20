"""Context sessions: the life of one window of a chat, from its first question to its summary.

    open ──close──► closed ──summarised──► made, or empty where nothing was asked
      ▲               │
      └───resume──────┘   the same window comes back to the same chat

A session that was closed and not summarised is ``pending``: whatever went wrong, the next close or
the next look of the web process makes up for it. Metadata is a small JSON object: `topic` (what the
window is about), `last_context_hash` and when and at which question that pack was made.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core import preferences
from store.core.database import Database, scalar
from store.core.records import columns, insert

State = Literal["open", "closed"]
SummaryState = Literal["none", "pending", "made", "empty"]
ClosedBy = Literal["window", "stale", "new"]


@dataclass(frozen=True, slots=True)
class ChatSession:
    """One window. `chat_id` is None until it has asked something."""

    id: int
    chat_id: int | None
    state: State
    is_visible: bool
    created_ms: int
    seen_ms: int
    closed_ms: int | None
    closed_by: str
    summary_state: SummaryState
    metadata: Mapping[str, Any]


_SELECT = f"select {columns(ChatSession, chat_id='conversation_id')} from chat_sessions"


def create(database: Database, now_ms: int, chat_id: int | None = None) -> int:
    """A new open session; returns its id. Raises `apsw.ConstraintError` when the chat has gone."""
    return _found_or_made(database, "select null", chat_id, now_ms, 0, {})


def get(database: Database, session_id: int) -> ChatSession | None:
    return database.first(ChatSession, f"{_SELECT} where id = ?", (session_id,))


def latest_of_chat(database: Database, chat_id: int) -> ChatSession | None:
    """The session that a chat was last looked at in."""
    sql = f"{_SELECT} where conversation_id = ? order by id desc limit 1"
    return database.first(ChatSession, sql, (chat_id,))


def listed(database: Database, limit: int, before: int | None = None) -> list[ChatSession]:
    """Sessions in which something was asked, newest first; `before` is the id of the last of a page."""
    sql = f"{_SELECT} where conversation_id is not null and id < ? order by id desc limit ?"
    return database.records(ChatSession, sql, (before or 2**62, limit))


def heartbeat(database: Database, session_id: int, now_ms: int, is_visible: bool | None = None) -> bool:
    """The window is still there, and where that is told came to the front or went behind; False when its
    session is closed or gone.
    """
    sql = """
        update chat_sessions set seen_ms = :now, is_visible = coalesce(:is_visible, is_visible)
        where id = :id and state = 'open'
        """
    return _changed(database, sql, {"id": session_id, "now": now_ms, "is_visible": is_visible})


def resume(
    database: Database, session_id: int, chat_id: int | None, now_ms: int, stale_after_ms: int
) -> bool:
    """Let the same window go on with the same chat; False when it is another or too long ago."""
    sql = """
        update chat_sessions
        set state = 'open', closed_ms = null, closed_by = '', seen_ms = :now, is_visible = 1
        where id = :id and conversation_id is :chat and seen_ms >= :now - :stale
        """
    values = {"id": session_id, "chat": chat_id, "now": now_ms, "stale": stale_after_ms}
    return _changed(database, sql, values)


def of_window(database: Database, chat_id: int | None, now_ms: int, stale_after_ms: int) -> int:
    """The session of a window that just opened: the one of a question that was quicker, or a new one.

    In one transaction, as is `of_question`: whichever comes first, both get the same. Raises as `create`.
    """
    claim = "update chat_sessions set metadata = json_remove(metadata, '$.unclaimed'), seen_ms = :now"
    sql = f"{claim} where {_LAST_OF_CHAT} and metadata ->> 'unclaimed' returning id"
    return _found_or_made(database, sql, chat_id, now_ms, stale_after_ms, {})


def of_question(database: Database, chat_id: int | None, now_ms: int, stale_after_ms: int) -> int:
    """The session of a question that names none: the one its chat was last asked in, or a new one, which the
    window may take. Raises as `create`.
    """
    sql = f"select id from chat_sessions where {_LAST_OF_CHAT}"
    return _found_or_made(database, sql, chat_id, now_ms, stale_after_ms, {"unclaimed": True})


_LAST_OF_CHAT = """id = (select max(id) from chat_sessions where conversation_id = :chat)
    and state = 'open' and seen_ms >= :now - :stale"""


def _found_or_made(
    database: Database, sql: str, chat_id: int | None, now_ms: int, stale_ms: int, metadata: dict[str, Any]
) -> int:
    with database.write() as connection:
        found = scalar(connection, sql, {"chat": chat_id, "now": now_ms, "stale": stale_ms})
        if found is not None:
            return int(found)
        values = {"conversation_id": chat_id, "created_ms": now_ms, "seen_ms": now_ms}
        return insert(connection, "chat_sessions", **values, metadata=json.dumps(metadata))


def close(database: Database, session_id: int, by: ClosedBy, now_ms: int) -> bool:
    """Close an open session, which then waits for its summary; False when there is nothing to close."""
    sql = """
        update chat_sessions
        set state = 'closed', closed_ms = ?, closed_by = ?, summary_state = 'pending'
        where id = ? and state = 'open'
        """
    return _changed(database, sql, (now_ms, by, session_id))


def stale(database: Database, before_ms: int) -> list[int]:
    """Open sessions that nobody was heard of since `before_ms`."""
    sql = "select id from chat_sessions where state = 'open' and seen_ms < ? order by seen_ms"
    return database.column(sql, (before_ms,))


def pending(database: Database, limit: int = 100) -> list[int]:
    """Closed sessions that wait for their summary, oldest first."""
    sql = """
        select id from chat_sessions
        where summary_state = 'pending' and state = 'closed' order by id limit ?
        """
    return database.column(sql, (limit,))


def user_turns(database: Database, session_id: int) -> list[str]:
    """What the person asked in a session, in order."""
    sql = "select content from messages where session_id = ? and role = 'user' order by id"
    return database.column(sql, (session_id,))


def use(connection: apsw.Connection, session_id: int, now_ms: int) -> None:
    """Somebody asks in a window: it is open, whatever was thought of it; inside `Database.write()`."""
    connection.execute(
        """
        update chat_sessions
        set state = 'open', closed_ms = null, closed_by = '', seen_ms = max(seen_ms, ?)
        where id = ?
        """,
        (now_ms, session_id),
    )


def note(connection: apsw.Connection, session_id: int, changes: Mapping[str, Any]) -> None:
    """Change entries of a session's metadata, inside `Database.write()`; None takes one away."""
    merged = "json_patch(metadata, ?)"  # which takes away what is null
    text = json.dumps(changes, ensure_ascii=False)
    connection.execute(f"update chat_sessions set metadata = {merged} where id = ?", (text, session_id))


# -- a chat without memory ------------------------------------------------------------------


def is_without_context(database: Database, chat_id: int) -> bool:
    """Whether the person switched memory off for a chat."""
    return bool(database.scalar("select without_context from conversations where id = ?", (chat_id,)))


def set_without_context(database: Database, chat_id: int, is_off: bool) -> bool:
    """Switch memory off or on for a chat; False when there is none."""
    return _changed(database, "update conversations set without_context = ? where id = ?", (is_off, chat_id))


def _changed(database: Database, sql: str, values: Any) -> bool:
    return database.change(sql, values) > 0


# -- preferences --------------------------------------------------------------------------
# What a person chose about the memory of chats: whether a model is told of it, and how much is logged.

SummarisedBy = Literal["local", "any", "off"]
OFF = "context_off"
SUMMARIES = "context_summaries"
VERBOSE = "context_verbose_logging"
VERBOSE_FOR_MS = 24 * 3_600_000
"""What is meant for a moment's look does not stay on unnoticed."""


def is_off(database: Database) -> bool:
    """Whether the person wants no model to be told of earlier chats."""
    return bool(preferences.get_preference(database, OFF, False))


def summarised_by(database: Database, in_settings: SummarisedBy) -> SummarisedBy:
    """Which models may put closed chats into better words: what the person chose in the app, else what the
    settings say. ``any`` lets questions and answers leave, to `summary_hosts`: no file says yes to that.
    """
    chosen = preferences.get_preference(database, SUMMARIES)
    if isinstance(chosen, list):
        return "any"
    who = chosen if chosen in ("local", "off") else in_settings
    return "local" if who == "any" else who


def summary_hosts(database: Database) -> frozenset[str]:
    """The hosts that the person said yes to for summaries."""
    chosen = preferences.get_preference(database, SUMMARIES)
    return frozenset(chosen if isinstance(chosen, list) else ())


def set_summarised_by(database: Database, who: SummarisedBy, hosts: Collection[str] = ()) -> None:
    """Keep the choice; with ``any`` the hosts that the person said yes to."""
    preferences.set_preference(database, SUMMARIES, sorted(hosts) if who == "any" else who)


def verbose_until_ms(database: Database, now_ms: int) -> int | None:
    """Until when what is told is logged; None when it is not."""
    until_ms = preferences.get_preference(database, VERBOSE)
    return until_ms if isinstance(until_ms, int) and now_ms < until_ms else None


def set_verbose(database: Database, is_on: bool, now_ms: int) -> None:
    """From now on, for a day at most."""
    preferences.set_preference(database, VERBOSE, now_ms + VERBOSE_FOR_MS if is_on else None)


CHARS = "context_chars"


def pack_chars(database: Database, in_settings: int) -> int:
    """How much of earlier chats a question is told at most, in characters, as the person chose."""
    chosen = preferences.get_preference(database, CHARS)
    return chosen if isinstance(chosen, int) and chosen > 0 else in_settings
