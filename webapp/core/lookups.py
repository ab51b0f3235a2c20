"""What an address names: a chat or a turn of the current app's store, or the answer 404."""

from __future__ import annotations

from assistant.core.errors import UnknownChat
from assistant.core.records import TurnResult
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations
from store.chats.records import Chat, StoredTurn
from webapp.core.errors import Problem, found
from webapp.core.services import services


def no_turn(chat_id: int, n: int) -> Problem:
    return Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.")


def chat_or_404(chat_id: int) -> Chat:
    return found(conversations.get(services().database, chat_id), "chat", chat_id)


def turn_or_404(chat_id: int, n: int) -> StoredTurn:
    """The row of a turn; `stored_turn_or_404` reads all of it."""
    turn = conversations.turn(services().database, chat_id, n)
    if turn is None:
        raise no_turn(chat_id, n)
    return turn


def stored_turn_or_404(chat_id: int, n: int) -> TurnResult:
    try:
        return stored_turn(services().database, chat_id, n)
    except UnknownChat as error:
        raise no_turn(chat_id, n) from error
