"""What a model proposed to remember in a turn: asked about when the answer stands, all of it at once.

A proposal is a call of ``store_entity`` or ``store_fact`` that waits without an end. The entity that one
would store is known by a number of its own until then (`provisional_id`), so that facts about it can be
proposed, too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import apsw

from store.chats import conversations, tool_calls, tool_permissions
from store.chats.tool_calls import ApprovalScope, NotPending, ToolCall
from store.core.database import Database
from store.core.errors import NotFound
from store.core.translation import N_
from store.sources import entities
from store.sources.entities import Provenance

_PROVISIONAL = 1_000_000_000
_NAMED = ("subject_id", "object_entity_id")
_TOOLS = ("store_entity", "store_fact")
LOST = N_("What this is about is not remembered any more.")
Arguments = dict[str, Any]


def provisional_id(call: ToolCall) -> int:
    """What the entity that a call proposes goes by until it is stored."""
    return _PROVISIONAL + call.id


def proposed_entity(database: Database, entity_id: int) -> ToolCall | None:
    """The call that proposed an entity by its provisional id, decided or not; None where there is none."""
    call = tool_calls.get(database, entity_id - _PROVISIONAL) if entity_id > _PROVISIONAL else None
    return call if call and call.tool == "store_entity" and call.state not in ("denied", "failed") else None


def of_turn(database: Database, chat_id: int, n: int) -> list[ToolCall]:
    """What waits for the person's word, in the order in which it was proposed."""
    return [call for call in tool_calls.of_turn(database, chat_id, n) if call.is_proposed]


def decide(
    database: Database,
    chat_id: int,
    n: int,
    chosen: Collection[int],
    now_ms: int,
    *,
    among: Collection[int] | None = None,
    scope: ApprovalScope = "once",
) -> None:
    """Remember the proposals of a turn with these ids, and the entities that they are about; refuse the
    others of it, or of those `among`.

    With a `scope` other than once what these tools propose is remembered unasked from now on. Raises
    `NotPending` where all was decided before, or forgotten with what it was learned from.
    """
    with database.write() as connection:
        waiting = of_turn(database, chat_id, n)
        if not waiting:
            raise NotPending("decided")
        kept = [call for call in waiting if call.id in chosen]
        kept += _subjects(database, kept)
        stale = set()
        for turn_id in {call.turn_id for call in kept}:
            # What was deleted since the question was asked took what it had shown along, in its transaction.
            conversations.renew(connection, turn_id)
            if not conversations.is_current(connection, turn_id):
                stale.add(turn_id)  # an earlier chat that it was told of has gone
        for call in sorted({*waiting, *kept}, key=lambda call: call.id):
            if call.turn_id in stale:
                tool_calls.lapse(connection, call.id, call.tool, now_ms)
            elif call in kept:
                try:
                    output = json.dumps(_store(connection, database, call, now_ms))
                    tool_calls.settle(connection, call, output, scope, now_ms)
                except NotFound:  # whom it is about was refused, or forgotten since
                    tool_calls.settle(connection, call, "", None, now_ms, LOST)
            elif among is None or call.id in among:
                tool_calls.settle(connection, call, "", None, now_ms)
    if waiting[0].turn_id in stale:
        raise NotPending("expired")


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a turn's proposals. `calls`: those by which something is remembered, each with the
    entity that shows it; `is_lasting` where more is remembered unasked since the same press; `lost`: what
    could not be remembered, as what it is about is not.
    """

    calls: tuple[tuple[ToolCall, int], ...] = ()
    is_lasting: bool = False
    lost: tuple[ToolCall, ...] = ()


def remembered(database: Database, calls: Iterable[ToolCall]) -> Remembered:
    """What became of the proposals among a turn's calls."""
    own = [call for call in calls if call.tool in _TOOLS]
    if not own:
        return Remembered()
    pressed = {call.finished_ms for call in own if call.decided_by == "person"}
    shown_by = dict(database.rows(_REMEMBERED, (own[0].turn_id,)))
    rules = tool_permissions.rules(database) if pressed else ()
    return Remembered(
        tuple((call, shown_by[call.id]) for call in own if call.id in shown_by),
        any(rule.tool in _TOOLS and rule.chat_id in (own[0].chat_id, None) and rule.allowed_ms in pressed
            for rule in rules),
        tuple(call for call in own if call.error == LOST),
    )  # fmt: skip


def _subjects(database: Database, facts: Collection[ToolCall]) -> list[ToolCall]:
    """Whom and what these are about, as far as it waits too: also from an earlier question of the chat."""
    given = [json.loads(call.arguments).get(name) or 0 for call in facts for name in _NAMED]
    found = (proposed_entity(database, number) for number in given)
    chats = {call.chat_id for call in facts}
    return [call for call in found if call and call.is_proposed and call.chat_id in chats]


def _store(connection: apsw.Connection, database: Database, call: ToolCall, now_ms: int) -> dict[str, object]:
    given: Arguments = json.loads(call.arguments)
    if call.tool == "store_entity":
        learned = Provenance(now_ms, call.turn_id, given.get("frame_id"))
        number, is_new = entities.store_entity(
            connection, given["kind"], given["name"], learned, given.get("description", "")
        )
        return {"entity_id": number, "is_new": is_new}
    subject, object_id = (_real_id(database, given.get(name)) for name in _NAMED)
    learned = Provenance(now_ms, call.turn_id, given.get("source_frame_id"))
    number, is_new = entities.store_fact(
        connection, subject or 0, given["predicate"], learned,
        object_entity_id=object_id, object_value=given.get("object_value"),
    )  # fmt: skip
    return {"fact_id": number, "is_new": is_new}


def _real_id(database: Database, entity_id: int | None) -> int | None:
    call = proposed_entity(database, entity_id or 0)
    if call is None:
        return entity_id
    stored: int = json.loads(call.output or "{}").get("entity_id", 0)
    return stored


def real_id(database: Database, entity_id: int) -> int:
    """The entity itself where it was stored meanwhile, else the id as it is."""
    return _real_id(database, entity_id) or entity_id


# An id may be that of another row by now, which another turn stored.
_REMEMBERED = """
select c.id, coalesce(f.subject_id, e.id)
from tool_calls c
left join facts f on c.tool = 'store_fact' and f.id = c.output ->> 'fact_id' and f.turn_id = c.turn_id
    and f.origin = 'chat' and f.retracted_ms is null
left join entities e on c.tool = 'store_entity' and e.id = c.output ->> 'entity_id' and e.turn_id = c.turn_id
where c.turn_id = ? and c.state = 'completed' and c.output <> '' and coalesce(f.id, e.id) is not null
"""
