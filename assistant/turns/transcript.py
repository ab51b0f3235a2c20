"""A conversation as messages: what was asked, called, returned and answered, in the protocol's order.

The order is the one that strict providers want: a question, then for each round
of calls the message that makes them and one ``tool`` message for each, then the answer. Made from what
the store has, so it is the same however the conversation was held, and what was deleted is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from assistant.core.texts import neutralized
from assistant.evidence.citations import without_numbers
from assistant.formats.parsing import Call, Parsed
from assistant.turns.model_session import Exchange
from assistant.turns.plan import TurnPlan, TurnServices
from assistant.turns.tool_execution import result_messages, result_of, result_text
from engines.chat.protocol import Message, RequestedCall, Role
from store.chats import conversations, records, tool_calls
from store.chats.conversations import DELETED_ANSWER
from store.chats.records import AnchoredChat, StoredTurn
from store.chats.tool_calls import ToolCall
from store.core.database import Database
from store.core.errors import NotFound
from store.memory import insights
from store.memory.insights import Insight

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

    @property
    def as_sent(self) -> Message:
        """As a model knows it."""
        made = tuple(RequestedCall(call.call_id, call.tool, call.arguments) for call in self.calls)
        answers = self.answers.call_id if self.answers else ""
        return Message(cast(Role, self.role), self.content, made, answers)


def transcript(database: Database, chat_id: int) -> list[TranscriptMessage]:
    """All messages of a chat, in order."""
    called: dict[int, list[ToolCall]] = {}
    for call in tool_calls.of_chat(database, chat_id):
        called.setdefault(call.turn, []).append(call)
    cut_off = {turn.n for turn in conversations.turns(database, chat_id) if turn.payload.get("is_cut_off")}
    messages: list[TranscriptMessage] = []
    for message in conversations.messages(database, chat_id):
        is_cut_off = message.role == "assistant" and message.turn in cut_off
        told = message.turn, message.role, message.content, message.created_ms
        messages.append(TranscriptMessage(*told, is_cut_off=is_cut_off))
        if message.role == "user":
            messages += _rounds(called.get(message.turn, ()))
    return messages


def _rounds(calls: Sequence[ToolCall]) -> Iterator[TranscriptMessage]:
    for _, round_calls in groupby(calls, lambda call: call.iteration):
        made = tuple(round_calls)
        first = made[0]
        yield TranscriptMessage(first.turn, "assistant", first.said, first.created_ms, calls=made)
        for call in made:
            if call.state not in OPEN or call.is_proposed:
                at_ms = first.created_ms if call.finished_ms is None else call.finished_ms
                yield TranscriptMessage(call.turn, "tool", result_of(call), at_ms, answers=call)


# -- what was said before a turn --------------------------------------------------------------
#
# How much of it a model is told is decided by its window (`model_session.recent`). In a conversation about a
# frame or a moment the first exchange always comes along: what is known of the anchor, made anew, and the
# insight. One that amends an insight goes on from the conversation of that insight, as it was when the
# amending began.

MAX_INSIGHT_CHARS = 6_000
"""Of an insight itself: who asks for it to be told otherwise means all of it."""


def before(services: TurnServices, plan: TurnPlan) -> tuple[list[Exchange], str]:
    """What was said before, an exchange for each turn, and what the model is asked now."""
    database, about = services.database, plan.about
    own = [] if plan.chat_id is None else answered(database, plan.chat_id)
    if about is None:
        said, now = _said(plan) if plan.chat_id is None else ([], plan.message)
        return [*said, *(_exchange(services, plan, turn) for turn in own)], now
    based = [turn for _, turns in bases(database, about.anchored, plan.chat_id) for turn in turns]
    if not (based or own):
        return [], about.message(plan.message, has_tools=plan.uses_tools)
    first, *rest = based + own
    asked = Message("user", about.message(first.question, has_tools=plan.uses_tools))
    opening = (asked, _answer(first, MAX_INSIGHT_CHARS))
    return [opening, *(_exchange(services, plan, turn) for turn in rest)], plan.message


def _said(plan: TurnPlan) -> tuple[list[Exchange], str]:
    """What the request itself says was said before, a question with all that followed it, and what is asked
    now. Models take questions and answers by turns, so what nobody answered is a part of the next question.
    """
    exchanges: list[list[Message]] = []
    for role, said in groupby((*plan.request.said, ("user", plan.message)), lambda message: message[0]):
        content = "\n\n".join(content for _, content in said)
        if role == "user" or not exchanges:
            exchanges.append([])
        exchanges[-1].append(Message(cast(Role, role), content))
    *before, [asked] = exchanges
    return [each for each in before if each[0].role == "user"], asked.content


def bases(
    database: Database, anchored: AnchoredChat, chat_id: int | None
) -> list[tuple[Insight, list[StoredTurn]]]:
    """The insights that a conversation goes on from, the oldest first, each with the answered turns of its
    conversation up to when it was left: when that one began which goes on from it (None: it begins now).
    """
    chain: list[tuple[Insight, list[StoredTurn]]] = []
    above: AnchoredChat | None = anchored
    while above is not None and above.amends_id is not None:
        try:
            base = insights.get(database, above.amends_id)
        except NotFound:
            break
        chat = None if chat_id is None else conversations.get(database, chat_id)
        turns = answered(database, base.chat_id)
        chain.insert(0, (base, [turn for turn in turns if not chat or turn.created_ms <= chat.created_ms]))
        chat_id = base.chat_id
        above = records.anchor_of_chat(database, chat_id)
    return chain


def answered(database: Database, chat_id: int) -> list[StoredTurn]:
    """The turns of a conversation whose answers are there."""
    return [
        turn
        for turn in conversations.turns(database, chat_id)
        if turn.status == "done" and turn.answer_md != DELETED_ANSWER
    ]


def _exchange(services: TurnServices, plan: TurnPlan, turn: StoredTurn) -> Exchange:
    """A turn as its model is told of it again: with what its tools gave, where this one has tools, too."""
    question, answer = Message("user", turn.question), _answer(turn)
    endpoint = services.models.endpoint(plan.model.name)
    if not plan.uses_tools:
        return question, answer
    messages = [question]
    calls = tool_calls.of_turn(services.database, turn.chat_id, turn.n)
    for _, made in groupby(calls, lambda call: call.iteration):
        done = [call for call in made if call.state not in OPEN]
        if done:
            messages += _told_again(done, endpoint.tool_format, as_text=not endpoint.supports_tool_role)
    return *messages, answer


def _told_again(calls: Sequence[ToolCall], form: str, *, as_text: bool) -> list[Message]:
    """One round of an earlier turn."""
    wanted = [
        Call(f"t{call.turn}_{call.call_id}"[:64], call.tool, json.loads(call.arguments)) for call in calls
    ]
    told = (result_text(result_of(call), is_of_now=False) for call in calls)
    results = dict(zip((want.id for want in wanted), told, strict=True))
    return result_messages(Parsed(calls[0].said, tuple(wanted)), results, form, as_text=as_text)


def _answer(turn: StoredTurn, most: int | None = None) -> Message:
    """An answer without its citation numbers, which mean nothing here. It may repeat what the screen said."""
    return Message("assistant", neutralized(without_numbers(turn.answer_md))[:most])
