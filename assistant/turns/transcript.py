"""A conversation as messages: what was asked, called, returned and answered, in the protocol's order.

The order is the one that strict providers want (R2.28, R2.29, R2.64): a question, then for each round
of calls the message that makes them and one ``tool`` message for each, then the answer. Made from what
the store has, so it is the same however the conversation was held, and what was deleted is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from assistant.turns.tool_execution import WHY_NOT
from store.chats import conversations, tool_calls
from store.chats.tool_calls import ToolCall
from store.core.database import Database

OPEN = ("pending", "approved", "executing")
"""States of a call that has no result yet."""


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """One message. `calls` are those that an ``assistant`` message makes, `answers` the one whose
    result a ``tool`` message is; the content of that is JSON. An answer that was stopped or broke off
    `is_cut_off`.
    """

    turn: int
    role: str
    content: str
    created_ms: int
    calls: tuple[ToolCall, ...] = ()
    answers: ToolCall | None = None
    is_cut_off: bool = False


def transcript(database: Database, chat_id: int) -> list[TranscriptMessage]:
    """All messages of a chat, in order."""
    called: dict[int, list[ToolCall]] = {}
    for call in tool_calls.of_chat(database, chat_id):
        called.setdefault(call.turn, []).append(call)
    cut_off = {turn.n for turn in conversations.turns(database, chat_id) if turn.payload.get("is_cut_off")}
    found: list[TranscriptMessage] = []
    for message in conversations.messages(database, chat_id):
        is_cut_off = message.role == "assistant" and message.turn in cut_off
        found.append(
            TranscriptMessage(
                message.turn, message.role, message.content, message.created_ms, is_cut_off=is_cut_off
            )
        )
        if message.role == "user":
            found += _rounds(called.get(message.turn, ()))
    return found


def result_of(call: ToolCall) -> str:
    """What a call that is over gave, as JSON: its output, or why there is none."""
    if call.output:
        return call.output
    why = "deleted" if call.is_forgotten else call.error or WHY_NOT.get(call.state, call.state)
    return json.dumps({"error": why}, ensure_ascii=False)


def _rounds(calls: Sequence[ToolCall]) -> Iterator[TranscriptMessage]:
    for _, each in groupby(calls, lambda call: call.iteration):
        made = tuple(each)
        first = made[0]
        yield TranscriptMessage(first.turn, "assistant", first.said, first.created_ms, calls=made)
        for call in made:
            if call.state not in OPEN:
                at_ms = first.created_ms if call.finished_ms is None else call.finished_ms
                yield TranscriptMessage(call.turn, "tool", result_of(call), at_ms, answers=call)
