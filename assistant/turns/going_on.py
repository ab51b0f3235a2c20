"""Going on from what an endpoint keeps of a conversation, where it keeps one (R1.6, C9).

The response that the last turn ended with is kept with it. It is passed on while the same model answers and
nothing was deleted since: what the endpoint has of a deleted frame is told to nobody again.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.models import AnyModel
from assistant.turns.plan import TurnPlan
from engines.chat.protocol import Message
from engines.chat.responses import OpenAIResponsesModel
from store.chats import conversations
from store.chats.conversations import DELETED_ANSWER
from store.core.database import Database


def chained_model(database: Database, plan: TurnPlan, history: Sequence[Message]) -> AnyModel:
    """The plan's model, where it can be going on from the turn before; `history` is then not sent again."""
    model = plan.model
    if not isinstance(model, OpenAIResponsesModel) or plan.about or plan.chat_id is None:
        return model
    previous = plan.previous_response_id or _kept(database, plan.chat_id, model.name)
    return model.after(previous, history) if previous else model


def _kept(database: Database, chat_id: int, model: str) -> str:
    turns = conversations.turns(database, chat_id)
    if not turns:
        return ""
    last = turns[-1]
    if last.status != "done" or last.model != model or last.answer_md == DELETED_ANSWER:
        return ""
    if conversations.is_outdated(database, last.id):
        return ""
    return str(last.payload.get("response_id", ""))
