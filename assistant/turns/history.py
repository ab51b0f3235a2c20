"""What was said before a turn, as it is sent along: the last answered turns, shortened.

In a conversation about a frame or a moment the first exchange always comes along: what is known of the
anchor, made anew, and the insight. One that amends an insight goes on from the conversation of that
insight, as it was when the amending began.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.neutral import neutralized
from assistant.evidence.assistant_citations import without_numbers
from assistant.turns.plan import TurnPlan
from engines.chat.protocol import Message
from store.chats import conversations, records
from store.chats.conversations import DELETED_ANSWER, StoredTurn
from store.chats.records import AnchoredChat
from store.core.database import Database
from store.memory import insights
from store.memory.insights import Insight, InsightNotFound

MAX_HISTORY_TURNS = 4
MAX_HISTORY_CHARS = 1_200
_EVER_MS = 2**62
MAX_INSIGHT_CHARS = 6_000
"""Of an insight itself: who asks for it to be told otherwise means all of it."""


def before(database: Database, plan: TurnPlan) -> tuple[list[Message], str]:
    """What was said before, and what the model is asked now."""
    about = plan.about
    if about is None:
        said = [] if plan.chat_id is None else answered(database, plan.chat_id)
        return _messages(said[-MAX_HISTORY_TURNS:]), plan.message
    has_tools = plan.mode == "agent"
    said = [
        turn
        for base in bases(database, about.anchored, plan.chat_id)
        for turn in answered_until(database, base)
    ]
    said += [] if plan.chat_id is None else answered(database, plan.chat_id)
    if not said:
        return [], about.message(plan.message, has_tools=has_tools)
    first, rest = said[0], said[1:]
    opening = [
        Message("user", about.message(first.question, has_tools=has_tools)),
        _answer(first, MAX_INSIGHT_CHARS),
    ]
    return [*opening, *_messages(rest[-MAX_HISTORY_TURNS:])], plan.message


def bases(database: Database, anchored: AnchoredChat, chat_id: int | None) -> list[tuple[Insight, int]]:
    """The insights that a conversation goes on from, the oldest first, each with when it was left: when the
    conversation that goes on from it began (None: it begins now).
    """
    found: list[tuple[Insight, int]] = []
    above: AnchoredChat | None = anchored
    until_ms = _begun(database, chat_id)
    while above is not None and above.amends_id is not None:
        try:
            base = insights.get(database, above.amends_id)
        except InsightNotFound:
            break
        found.insert(0, (base, until_ms))
        until_ms = _begun(database, base.chat_id)
        above = records.anchor_of_chat(database, base.chat_id)
    return found


def _begun(database: Database, chat_id: int | None) -> int:
    chat = None if chat_id is None else conversations.get(database, chat_id)
    return chat.created_ms if chat else _EVER_MS


def answered_until(database: Database, base: tuple[Insight, int]) -> list[StoredTurn]:
    """The answered turns of an insight's conversation up to when it was left."""
    insight, until_ms = base
    return [turn for turn in answered(database, insight.chat_id) if turn.created_ms <= until_ms]


def answered(database: Database, chat_id: int) -> list[StoredTurn]:
    """The turns of a conversation whose answers are there."""
    return [
        turn
        for turn in conversations.turns(database, chat_id)
        if turn.status == "done" and turn.answer_md != DELETED_ANSWER
    ]


def _messages(turns: Sequence[StoredTurn]) -> list[Message]:
    found = []
    for turn in turns:
        found.append(Message("user", turn.question[:MAX_HISTORY_CHARS]))
        found.append(_answer(turn, MAX_HISTORY_CHARS))
    return found


def _answer(turn: StoredTurn, most: int) -> Message:
    """An answer without its citation numbers, which mean nothing here. It may repeat what the screen said."""
    return Message("assistant", neutralized(without_numbers(turn.answer_md))[:most])
