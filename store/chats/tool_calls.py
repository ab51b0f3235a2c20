"""What a chat's tools were asked to do, who allowed it, and what they gave.

A call's life, each step one conditional update, so that no step can be taken twice or skipped::

    pending ──approve──► approved ──claim──► executing ──finish──► completed, failed, timed_out
       ├──deny──► denied
       ├──expire──► expired
       └──settle──► completed, denied   of a proposal, which never expires

`claim` is the only way to run a call: it wants the id of an approved call and the very arguments
that were approved. A result may show the screen; `shown_from_ms` and `shown_until_ms` say of
what time, and `forget` empties it when a frame of that time is deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import apsw

from store.chats import conversations, tool_permissions
from store.core.database import Database, change, rows, scalar
from store.core.errors import NotFound
from store.core.records import columns, insert
from store.core.translation import translate_stored

State = Literal["pending", "approved", "executing", "completed", "failed", "denied", "timed_out", "expired"]
ApprovalScope = Literal["once", "chat", "always"]


class NotPending(Exception):
    """The call was decided before, or its time is up; `state` is what became of it."""

    def __init__(self, state: str) -> None:
        super().__init__(f"the call is not waiting any more: {state}")
        self.state = state


class NotApproved(Exception):
    """This call with these arguments may not run."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as stored. `arguments` is JSON text, exactly what would run; `call_id` is the model's.

    `noted` is `notice`, what it does and where that goes, in no language yet; `scope` says in words what a
    standing approval covers.
    """

    id: int
    turn_id: int
    iteration: int
    call_id: str
    tool: str
    arguments: str
    state: State
    decided_by: str  # mode, chat or always (a rule), person, or ''
    output: str
    error: str
    is_forgotten: bool
    created_ms: int
    expires_ms: int | None
    started_ms: int | None
    finished_ms: int | None
    noted: str
    scope: str
    chat_id: int
    turn: int
    said: str  # by the model beside the calls of its round; with the first of them only

    @property
    def notice(self) -> str:
        """What it does and where that goes, in the language of who reads it."""
        return translate_stored(self.noted)

    @property
    def is_proposed(self) -> bool:
        """Whether it waits for as long as it takes, and its turn does not (`store.sources.proposals`)."""
        return self.state == "pending" and self.expires_ms is None

    @property
    def duration_ms(self) -> int | None:
        if self.started_ms is None or self.finished_ms is None:
            return None
        return self.finished_ms - self.started_ms


@dataclass(frozen=True, slots=True)
class NewToolCall:
    """A call as it enters. `approved_by` lets it run at once; `error` ends it at once."""

    iteration: int
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    approved_by: str = ""
    error: str = ""
    expires_ms: int | None = None
    said: str = ""
    notice: str = ""
    scope: str = ""
    shown_ms: tuple[int | None, int | None] = (None, None)  # of what the notice tells of the screen


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave. The span is of what its result may show of the screen, None for nothing."""

    state: Literal["completed", "failed", "timed_out"]
    output: str = ""
    error: str = ""
    shown_from_ms: int | None = None
    shown_until_ms: int | None = None


def canonical(arguments: Mapping[str, Any]) -> str:
    """Arguments as one JSON text: equal arguments give equal texts."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True)


def add(database: Database, turn_id: int, asked: Sequence[NewToolCall], now_ms: int) -> list[ToolCall]:
    """Enter the calls of one generation. Raises `Outdated` where something was deleted since it was asked."""
    ids = []
    with database.write() as connection:
        conversations.require_current(connection, turn_id)
        for each in asked:
            values = asdict(each) | {"arguments": canonical(each.arguments)}
            values["shown_from_ms"], values["shown_until_ms"] = values.pop("shown_ms")
            values["decided_by"] = values.pop("approved_by")
            number = insert(
                connection, "tool_calls", **values, turn_id=turn_id, created_ms=now_ms,
                state="failed" if each.error else "approved" if each.approved_by else "pending",
                arguments_sha256=_sha256(values["arguments"]), finished_ms=now_ms if each.error else None,
            )  # fmt: skip
            ids.append(number)
    return _calls(database, f"c.id in ({', '.join('?' * len(ids))}) order by c.id", ids)


def get(database: Database, number: int) -> ToolCall | None:
    return next(iter(_calls(database, "c.id = ?", [number])), None)


def of_turn(database: Database, chat_id: int, n: int) -> list[ToolCall]:
    return _calls(database, "t.conversation_id = ? and t.n = ? order by c.id", [chat_id, n])


def of_chat(database: Database, chat_id: int) -> list[ToolCall]:
    return _calls(database, "t.conversation_id = ? order by t.n, c.id", [chat_id])


def pending(database: Database, chat_id: int, n: int, now_ms: int) -> list[ToolCall]:
    """The calls of a turn that wait for a person."""
    return [
        call
        for call in of_turn(database, chat_id, n)
        if call.state == "pending" and call.expires_ms is not None and call.expires_ms > now_ms
    ]


# -- decisions ------------------------------------------------------------------------------


def approve(database: Database, number: int, scope: ApprovalScope, now_ms: int) -> ToolCall:
    """Let a waiting call run: this once, or what it reaches also later, in its chat or in every one.

    Raises `NotFound`, and `NotPending` when it was decided or has expired; that is put on record.
    """
    return _decide(database, number, scope, now_ms)


def deny(database: Database, number: int, now_ms: int) -> ToolCall:
    """Never run a waiting call. Raises as `approve` does."""
    return _decide(database, number, None, now_ms)


def expire(database: Database, now_ms: int, turn_id: int | None = None) -> int:
    """Close waiting calls whose time is up; with `turn_id` every open call of that turn, which is over."""
    if turn_id is not None:
        return expire_all(database, now_ms, turn_id)
    with database.write() as connection:
        return _expire(connection, "expires_ms <= :now", {"now": now_ms})


def expire_all(database: Database, now_ms: int, turn_id: int | None = None) -> int:
    """At the start of the web app: no decision is awaited any more, and nothing runs, be it of one turn.
    Counts what waited.
    """
    condition, values = "(:turn is null or turn_id = :turn)", {"now": now_ms, "turn": turn_id}
    with database.write() as connection:
        sql = "update tool_calls set state = 'failed', error = 'interrupted', finished_ms = :now"
        connection.execute(f"{sql} where state in ('approved', 'executing') and {condition}", values)
        return _expire(connection, condition, values)


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """`event`: a decision (approved, allowed_in_chat, always_allowed, denied, refused, expired) or how a
    run ended (completed, failed, timed_out), which also has a `duration_ms`.
    """

    at_ms: int
    tool: str
    event: str
    duration_ms: int | None = None


def _expire(connection: apsw.Connection, condition: str, values: Mapping[str, Any]) -> int:
    which = f"state = 'pending' and expires_ms is not null and {condition}"
    found = rows(connection, f"select id, tool from tool_calls where {which}", values)
    for number, tool in found:
        lapse(connection, number, tool, values["now"])
    return len(found)


def lapse(connection: apsw.Connection, number: int, tool: str, now_ms: int) -> None:
    """Close a waiting call that nobody can decide any more, inside `database.write()`."""
    sql = "update tool_calls set state = 'expired', finished_ms = ? where id = ?"
    connection.execute(sql, (now_ms, number))
    record_event(connection, ToolEvent(now_ms, tool, "expired"))


_EVENTS = {None: "denied", "once": "approved", "chat": "allowed_in_chat", "always": "always_allowed"}


def _decide(database: Database, number: int, scope: ApprovalScope | None, now_ms: int) -> ToolCall:
    """Settle a call that was waiting until now: denied without a scope."""
    state: State = "approved" if scope else "denied"
    with database.write() as connection:
        sql = """
            update tool_calls
            set state = :state, decided_by = 'person', finished_ms = iif(:state = 'denied', :now, null)
            where id = :id and state = 'pending' and (expires_ms is null or expires_ms > :now)
            """
        is_decided = change(connection, sql, {"id": number, "state": state, "now": now_ms}) == 1
        call = get(database, number)
        if call and is_decided:
            _note_decision(connection, call, scope, now_ms)
        elif call:
            record_event(connection, ToolEvent(now_ms, call.tool, "refused"))
    if call is None:
        raise NotFound("tool call", number)
    if not is_decided:
        raise NotPending("expired" if call.state == "pending" else call.state)
    return call


def settle(
    connection: apsw.Connection,
    call: ToolCall,
    output: str,
    scope: ApprovalScope | None,
    now_ms: int,
    error: str = "",
) -> None:
    """Note what became of a proposal, inside `database.write()`: what it gave, or with no scope that it was
    refused, by the person or for an `error`.
    """
    connection.execute(
        """
        update tool_calls set state = ?, decided_by = 'person', output = ?, error = ?, finished_ms = ?
        where id = ?
        """,
        ("completed" if scope else "denied", output, error, now_ms, call.id),
    )
    _note_decision(connection, call, scope, now_ms)


def _note_decision(
    connection: apsw.Connection, call: ToolCall, scope: ApprovalScope | None, now_ms: int
) -> None:
    """Put a person's word on record, and keep it where it is for more than this call."""
    record_event(connection, ToolEvent(now_ms, call.tool, _EVENTS[scope]))
    if scope in ("chat", "always"):
        chat_id = call.chat_id if scope == "chat" else None
        tool_permissions.allow(connection, call.tool, chat_id, call.scope, now_ms)


# -- running --------------------------------------------------------------------------------


def claim(database: Database, number: int, arguments: Mapping[str, Any], now_ms: int) -> None:
    """Take an approved call to run it, once. Raises `NotApproved`; that is put on record."""
    with database.write() as connection:
        sql = """
            update tool_calls set state = 'executing', started_ms = ?
            where id = ? and state = 'approved' and arguments_sha256 = ?
            """
        is_taken = change(connection, sql, (now_ms, number, _sha256(canonical(arguments)))) == 1
        if not is_taken:
            tool = scalar(connection, "select tool from tool_calls where id = ?", (number,)) or ""
            record_event(connection, ToolEvent(now_ms, tool, "refused"))
    if not is_taken:
        raise NotApproved(f"call {number} is not approved with these arguments")


def finish(database: Database, turn_id: int, number: int, outcome: Outcome, now_ms: int) -> None:
    """Note what a run gave, and that its turn may now show that time. Raises as `add` does."""
    with database.write() as connection:
        conversations.require_current(connection, turn_id)
        connection.execute(
            """
            update tool_calls
            set state = :state, output = :output, error = :error, finished_ms = :now,
                shown_from_ms = coalesce(:shown_from_ms, shown_from_ms),
                shown_until_ms = coalesce(:shown_until_ms, shown_until_ms)
            where id = :id and state = 'executing'
            """,
            {**asdict(outcome), "id": number, "now": now_ms},
        )
        [(tool, started_ms)] = rows(
            connection, "select tool, started_ms from tool_calls where id = ?", (number,)
        )
        record_event(connection, ToolEvent(now_ms, tool, outcome.state, now_ms - (started_ms or now_ms)))
        if outcome.shown_from_ms is not None:
            # What was sent of a turn is forgotten by its range (`store.egress.egress_log`).
            connection.execute(
                """
                update turns
                set start_ms = min(coalesce(start_ms, :low), :low),
                    end_ms = max(coalesce(end_ms, :high), :high)
                where id = :turn
                """,
                {"turn": turn_id, "low": outcome.shown_from_ms, "high": outcome.shown_until_ms},
            )


def _sha256(arguments: str) -> str:
    return hashlib.sha256(arguments.encode("utf-8", "surrogatepass")).hexdigest()


def _calls(database: Database, condition: str, values: Sequence[int]) -> list[ToolCall]:
    own = columns(ToolCall, "c", chat_id="t.conversation_id", turn="t.n", noted="c.notice")
    sql = f"select {own} from tool_calls c join turns t on t.id = c.turn_id where {condition}"
    return database.records(ToolCall, sql, values)


# -- the log ------------------------------------------------------------------------------
# Which tools ran and what was decided about them: one row per event, without arguments or results.

MAX_ROWS = 10_000


def latest_events(database: Database, limit: int = 50) -> list[ToolEvent]:
    """The newest events, newest first."""
    sql = f"select {columns(ToolEvent)} from tool_log order by id desc limit ?"
    return database.records(ToolEvent, sql, (limit,))


def last_used_tools(database: Database) -> dict[str, int]:
    """When each tool last ran, in epoch milliseconds."""
    sql = "select tool, max(at_ms) from tool_log where duration_ms is not null group by tool"
    return dict(database.rows(sql))


# -- writing (inside `database.write()`) --------------------------------------------------


def record_event(connection: apsw.Connection, event: ToolEvent) -> None:
    """Add an event; the oldest rows beyond `MAX_ROWS` go."""
    newest = insert(connection, "tool_log", **asdict(event))
    connection.execute("delete from tool_log where id <= ?", (newest - MAX_ROWS,))
