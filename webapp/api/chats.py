"""The life of a chat window: opened, heard of, shown or hidden, closed (R1.2 to R1.5)."""

from __future__ import annotations

from typing import Annotated, Literal

import apsw
from pydantic import Field, StringConstraints

from assistant.context import session_closing
from store.core.times import to_seconds
from store.memory import chat_sessions
from store.memory.chat_sessions import ChatSession
from webapp.api.endpoint import endpoint
from webapp.api.values import MAX_ID, Answer, Request
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
    "POST",
    "/chat/new",
    "Open a context session",
    body=NewSession,
    body_required=False,
    answer=SessionAnswer,
    status=201,
    problems={404: "chat_not_found"},
)
def new(body: NewSession) -> SessionAnswer:
    """One for each window of a chat; questions name it as `session_id`."""
    previous = number_of(body.previous_session_id) if body.previous_session_id else None
    try:
        session_id = session_closing.open_window(services().context, body.chat_id, previous)
    except apsw.ConstraintError as error:
        raise Problem(404, "chat_not_found", f"There is no chat {body.chat_id}.") from error
    return _answer(session_or_404(str(session_id)))


@endpoint(
    "POST",
    "/chat/heartbeat",
    "Say that a window is still open",
    body=NamedSession,
    answer=SessionAnswer,
    problems={404: "session_not_found"},
)
def heartbeat(body: NamedSession) -> SessionAnswer:
    """A session that is closed stays closed, as its `state` says."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.heartbeat(own.database, session.id, own.clock())
    return _answer(session_or_404(body.session_id))


@endpoint(
    "POST",
    "/chat/visibility",
    "Say whether a window is in front",
    body=Visibility,
    answer=SessionAnswer,
    problems={404: "session_not_found"},
)
def visibility(body: Visibility) -> SessionAnswer:
    """Whether its tab can be seen; counts as a heartbeat."""
    own, session = services(), session_or_404(body.session_id)
    chat_sessions.show(own.database, session.id, body.visible, own.clock())
    return _answer(session_or_404(body.session_id))


@endpoint(
    "POST",
    "/chat/close",
    "Close a context session",
    body=NamedSession,
    answer=SessionAnswer,
    problems={404: "session_not_found"},
)
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
