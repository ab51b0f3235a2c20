"""What an address names: a chat or a turn of the current app's store. All raise `NotFound`."""

from __future__ import annotations

from assistant.core.errors import UnknownChat
from assistant.core.records import TurnResult
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations
from store.chats.records import Chat, StoredTurn
from store.core.errors import NotFound, existing
from webapp.core.services import services


def chat_or_404(chat_id: int) -> Chat:
    return existing(conversations.get(services().database, chat_id), "chat", chat_id)


def turn_or_404(chat_id: int, n: int) -> StoredTurn:
    """The row of a turn; `stored_turn_or_404` reads all of it."""
    return existing(conversations.turn(services().database, chat_id, n), "turn", f"{n} in chat {chat_id}")


def stored_turn_or_404(chat_id: int, n: int) -> TurnResult:
    try:
        return stored_turn(services().database, chat_id, n)
    except UnknownChat as error:
        raise NotFound("turn", f"{n} in chat {chat_id}") from error
