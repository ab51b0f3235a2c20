"""Conversations as they are stored, and the windows they are shown in: opened, seen, hidden, closed."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import apsw
from pydantic import BeforeValidator, Field, StringConstraints

from assistant.context import session_closing
from assistant.turns.transcript import transcript
from store.chats import conversations
from store.chats.tool_calls import State
from store.core.errors import NotFound, existing
from store.memory import chat_sessions
from store.memory.chat_sessions import ChatSession
from webapp.api.endpoint import cut_page, endpoint, read_place
from webapp.api.values import (
    Answer,
    DeletedAnswer,
    Id,
    Listing,
    Pagination,
    QueryInt,
    Request,
    Text,
    Timestamp,
)
from webapp.core.services import chat_or_404, services

CHAT = "/chats/<id:chat_id>"


class ChatsQuery(Request):
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 50
    cursor: Text | None = Field(None, description="`next_cursor` of the page before.")
    q: Text = Field("", description="Words of which each stands in the title, a question or an answer.")


class ChatSummary(Answer):
    id: int
    title: str
    turns: int
    created_at: Timestamp
    updated_at: Timestamp


class ChatsAnswer(Listing[ChatSummary]):
    pagination: Pagination


@endpoint("GET", "/chats", "Conversations")
def chats(query: ChatsQuery) -> ChatsAnswer:
    """The one used last first; with `q` those that have its words."""
    before = read_place(query.cursor)
    page = conversations.list_chats(services().database, query.limit + 1, before, query.q)
    shown, next_cursor = cut_page(page, query.limit, lambda chat: f"{chat.updated_ms}-{chat.id}")
    return ChatsAnswer(
        data=ChatSummary.list_of(shown), pagination=Pagination(limit=query.limit, next_cursor=next_cursor)
    )


class MadeCall(Answer):
    """A call as the message makes it; `tool_call` is its number under /tool-calls."""

    id: str = Field(
        validation_alias="call_id", description="The model's own id of it; a `tool` message names it."
    )
    name: str = Field(validation_alias="tool")
    arguments: Annotated[dict[str, Any], BeforeValidator(json.loads)]
    state: State
    tool_call: int = Field(validation_alias="id")


class MessageAnswer(Answer):
    role: Literal["user", "assistant", "system", "tool"]
    content: str = Field(description="Of a `tool` message: the result as JSON, or an object with `error`.")
    created_at: Timestamp
    turn: int
    tool_calls: list[MadeCall] | None = Field(description="What an `assistant` message has called.")
    tool_call_id: str | None = Field(description="Which call a `tool` message answers.")
    cut_off: bool = Field(description="An answer that was stopped or broke off: this is as far as it came.")


class ChatAnswer(Answer):
    id: int
    title: str
    created_at: Timestamp
    updated_at: Timestamp
    messages: list[MessageAnswer]


@endpoint("GET", CHAT, "A conversation as it is stored")
def chat(chat_id: int) -> ChatAnswer:
    """Every message in order, with the tool calls of each turn and their results."""
    stored, messages = chat_or_404(chat_id), transcript(services().database, chat_id)
    answers = [
        MessageAnswer.of(
            message,
            tool_calls=MadeCall.list_of(message.calls) or None,
            tool_call_id=message.answers.call_id if message.answers else None,
        )
        for message in messages
    ]
    return ChatAnswer.of(stored, messages=answers)


@endpoint("DELETE", CHAT, "Delete a conversation")
def delete(chat_id: int) -> DeletedAnswer:
    """Messages, turns and evidence go with it; frames stay."""
    existing(conversations.delete(services().database, chat_id), "chat", chat_id)
    return DeletedAnswer(id=chat_id)


# -- windows: opened, seen, hidden, closed -----------------------------------------------------

SessionId = Annotated[str, StringConstraints(max_length=100)]


class NewSession(Request):
    chat_id: Id | None = Field(
        None, description="The chat the window shows; one that is not begun when missing."
    )
    previous_session_id: SessionId | None = Field(
        None, description="Closed first; it goes on instead where it is of the same chat and a moment old."
    )


class NamedSession(Request):
    session_id: SessionId


class Visibility(NamedSession):
    visible: bool


class WindowAnswer(Answer):
    session_id: str
    chat_id: int | None
    state: Literal["open", "closed"]
    visible: bool
    created_at: Timestamp
    seen_at: Timestamp
    closed_at: Timestamp | None
    summary: Literal["none", "pending", "made", "empty"] = Field(
        validation_alias="summary_state",
        description="`pending` is made later; `empty` where nothing was asked.",
    )


@endpoint(
    "POST", "/chat/new", "Open a context session", {404: "chat_not_found"}, body_required=False, status=201
)
def new(body: NewSession) -> WindowAnswer:
    """One for each window of a chat; questions name it as `session_id`."""
    previous = number_of(body.previous_session_id) if body.previous_session_id else None
    try:
        session_id = session_closing.open_window(services().context, body.chat_id, previous)
    except apsw.ConstraintError as error:
        raise NotFound("chat", body.chat_id) from error
    return _window(str(session_id))


@endpoint("POST", "/chat/heartbeat", "Say that a window is still open", {404: "session_not_found"})
def heartbeat(body: NamedSession) -> WindowAnswer:
    """A session that is closed stays closed, as its `state` says."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.heartbeat(own.database, session.id, own.clock())
    return _window(body.session_id)


@endpoint("POST", "/chat/visibility", "Say whether a window is in front", {404: "session_not_found"})
def visibility(body: Visibility) -> WindowAnswer:
    """Whether its tab can be seen; counts as a heartbeat."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.heartbeat(own.database, session.id, own.clock(), body.visible)
    return _window(body.session_id)


@endpoint("POST", "/chat/close", "Close a context session", {404: "session_not_found"})
def close(body: NamedSession) -> WindowAnswer:
    """Its summary is made, or made up for later; closing twice is closing once."""
    session = session_or_404(body.session_id)
    session_closing.close(services().context, session.id, "window")
    return _window(body.session_id)


def number_of(session_id: str) -> int:
    """The number that a session goes by; 0, which none has, for a name that is no number."""
    is_number = session_id.isascii() and session_id.isdecimal() and len(session_id) < 19
    return int(session_id) if is_number else 0


def session_or_404(session_id: str) -> ChatSession:
    number = number_of(session_id)
    return existing(chat_sessions.get(services().database, number), "session", number)


def _window(session_id: str) -> WindowAnswer:
    return WindowAnswer.of(session_or_404(session_id), session_id=session_id)
