"""The life of a chat window: opened, heard of, shown or hidden, closed (R1.2 to R1.5)."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

import apsw
from pydantic import Field, StringConstraints

from assistant.context import session_closing
from assistant.turns.transcript import TranscriptMessage, transcript
from store.chats import conversations
from store.chats.conversations import find_chats
from store.chats.tool_calls import State, ToolCall
from store.core.times import to_seconds
from store.memory import chat_sessions
from store.memory.chat_sessions import ChatSession
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import MAX_ID, Answer, QueryInt, Request, Text
from webapp.core.errors import Problem
from webapp.core.services import services

SessionId = Annotated[str, StringConstraints(max_length=100)]


class NewSession(Request):
    chat_id: Annotated[int, Field(ge=1, le=MAX_ID)] | None = Field(
        None, description="The chat the window shows; one that is not begun when missing."
    )
    previous_session_id: SessionId | None = Field(
        None, description="Closed first; it goes on instead where it is of the same chat and a moment old."
    )


class NamedSession(Request):
    session_id: SessionId


class Visibility(NamedSession):
    visible: bool


class SessionAnswer(Answer):
    session_id: str
    chat_id: int | None
    state: Literal["open", "closed"]
    visible: bool
    created_at: float
    seen_at: float
    closed_at: float | None
    summary: Literal["none", "pending", "made", "empty"] = Field(
        description="`pending` is made later; `empty` where nothing was asked."
    )


@endpoint(
    "POST", "/chat/new", "Open a context session", {404: "chat_not_found"}, body_required=False, status=201
)
def new(body: NewSession) -> SessionAnswer:
    """One for each window of a chat; questions name it as `session_id`."""
    previous = number_of(body.previous_session_id) if body.previous_session_id else None
    try:
        session_id = session_closing.open_window(services().context, body.chat_id, previous)
    except apsw.ConstraintError as error:
        raise Problem(404, "chat_not_found", f"There is no chat {body.chat_id}.") from error
    return _answer(session_or_404(str(session_id)))


@endpoint("POST", "/chat/heartbeat", "Say that a window is still open", {404: "session_not_found"})
def heartbeat(body: NamedSession) -> SessionAnswer:
    """A session that is closed stays closed, as its `state` says."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.heartbeat(own.database, session.id, own.clock())
    return _answer(session_or_404(body.session_id))


@endpoint("POST", "/chat/visibility", "Say whether a window is in front", {404: "session_not_found"})
def visibility(body: Visibility) -> SessionAnswer:
    """Whether its tab can be seen; counts as a heartbeat."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.show(own.database, session.id, body.visible, own.clock())
    return _answer(session_or_404(body.session_id))


@endpoint("POST", "/chat/close", "Close a context session", {404: "session_not_found"})
def close(body: NamedSession) -> SessionAnswer:
    """Its summary is made, or made up for later; closing twice is closing once."""
    session = session_or_404(body.session_id)
    session_closing.close(services().context, session.id, "window")
    return _answer(session_or_404(body.session_id))


def number_of(session_id: str) -> int:
    """The number that a session goes by; 0, which none has, for a name that is no number."""
    is_number = session_id.isascii() and session_id.isdecimal() and len(session_id) < 19
    return int(session_id) if is_number else 0


def session_or_404(session_id: str) -> ChatSession:
    found = chat_sessions.get(services().database, number_of(session_id))
    if found is None:
        raise Problem(404, "session_not_found", "There is no session of that id.")
    return found


def _answer(session: ChatSession) -> SessionAnswer:
    return SessionAnswer(
        session_id=str(session.id),
        chat_id=session.chat_id,
        state=session.state,
        visible=session.is_visible,
        created_at=to_seconds(session.created_ms),
        seen_at=to_seconds(session.seen_ms),
        closed_at=None if session.closed_ms is None else to_seconds(session.closed_ms),
        summary=session.summary_state,
    )


# ---- api chats
# Stored conversations, and the models that answer.

_CURSOR = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


class ChatsQuery(Request):
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 50
    cursor: Text | None = Field(None, description="`next_cursor` of the page before.")
    q: Text = Field("", description="Words of which each stands in the title, a question or an answer.")


class ChatSummary(Answer):
    id: int
    title: str
    turns: int
    created_at: float
    updated_at: float


class ChatsPagination(Answer):
    limit: int
    next_cursor: str | None


class ChatsAnswer(Answer):
    data: list[ChatSummary]
    pagination: ChatsPagination


@endpoint("GET", "/chats", "Conversations", {400: "invalid_cursor"})
def chats(query: ChatsQuery) -> ChatsAnswer:
    """The one used last first; with `q` those that have its words."""
    before = None if query.cursor is None else _place(query.cursor)
    database = services().database
    if query.q.strip():
        found = find_chats(database, query.q, query.limit + 1, before)
    else:
        found = conversations.list_chats(database, query.limit + 1, before)
    shown = found[: query.limit]
    has_more = len(found) > query.limit
    return ChatsAnswer(
        data=[_summary(chat) for chat in shown],
        pagination=ChatsPagination(
            limit=query.limit,
            next_cursor=f"{shown[-1].updated_ms}-{shown[-1].id}" if has_more else None,
        ),
    )


def _place(cursor: str) -> tuple[int, int]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise invalid(400, "invalid_cursor", ("cursor", "is not a cursor of this list"))
    return int(match[1]), int(match[2])


def _summary(chat: conversations.Chat) -> ChatSummary:
    return ChatSummary(
        id=chat.id,
        title=chat.title,
        turns=chat.turns,
        created_at=to_seconds(chat.created_ms),
        updated_at=to_seconds(chat.updated_ms),
    )


class MadeCall(Answer):
    """A call as the message makes it; `tool_call` is its number under /tool-calls."""

    id: str = Field(description="The model's own id of it; a `tool` message names it.")
    name: str
    arguments: dict[str, Any]
    state: State
    tool_call: int


class MessageAnswer(Answer):
    role: Literal["user", "assistant", "system", "tool"]
    content: str = Field(description="Of a `tool` message: the result as JSON, or an object with `error`.")
    created_at: float
    turn: int
    tool_calls: list[MadeCall] | None = Field(description="What an `assistant` message has called.")
    tool_call_id: str | None = Field(description="Which call a `tool` message answers.")
    cut_off: bool = Field(description="An answer that was stopped or broke off: this is as far as it came.")


class ChatAnswer(Answer):
    id: int
    title: str
    created_at: float
    updated_at: float
    messages: list[MessageAnswer]


@endpoint("GET", "/chats/<id:chat_id>", "A conversation as it is stored", {404: "chat_not_found"})
def chat(chat_id: int) -> ChatAnswer:
    """Every message in order, with the tool calls of each turn and their results."""
    database = services().database
    found = conversations.get(database, chat_id)
    if found is None:
        raise _unknown(chat_id)
    return ChatAnswer(
        id=found.id,
        title=found.title,
        created_at=to_seconds(found.created_ms),
        updated_at=to_seconds(found.updated_ms),
        messages=[_message(each) for each in transcript(database, chat_id)],
    )


def _message(message: TranscriptMessage) -> MessageAnswer:
    return MessageAnswer(
        role=message.role,  # type: ignore[arg-type]  # checked when it was stored
        content=message.content,
        created_at=to_seconds(message.created_ms),
        turn=message.turn,
        tool_calls=[_made(call) for call in message.calls] or None,
        tool_call_id=message.answers.call_id if message.answers else None,
        cut_off=message.is_cut_off,
    )


def _made(call: ToolCall) -> MadeCall:
    return MadeCall(
        id=call.call_id,
        name=call.tool,
        arguments=json.loads(call.arguments),
        state=call.state,
        tool_call=call.id,
    )


class DeletedChat(Answer):
    id: int
    deleted: Literal[True] = True


@endpoint("DELETE", "/chats/<id:chat_id>", "Delete a conversation", {404: "chat_not_found"})
def delete(chat_id: int) -> DeletedChat:
    """Messages, turns and evidence go with it; frames stay."""
    if not conversations.delete(services().database, chat_id):
        raise _unknown(chat_id)
    return DeletedChat(id=chat_id)


def _unknown(chat_id: int) -> Problem:
    return Problem(404, "chat_not_found", f"There is no chat {chat_id}.")
