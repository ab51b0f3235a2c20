"""What a chat page says of its window, as forms: a page that is left can send its token in nothing else."""

from __future__ import annotations

import apsw
from flask import Blueprint, jsonify, request
from flask import Response as FlaskResponse

from assistant.context import session_closing
from store.memory import chat_sessions
from webapp.core.errors import Problem
from webapp.core.services import services

windows_blueprint = Blueprint("chat_windows", __name__)


@windows_blueprint.post("/chat/windows")
def opened() -> FlaskResponse:
    """A session for this window: the one in ``session`` goes on after a reload of the same ``chat``."""
    own = services()
    try:
        number = session_closing.open_window(own.context, _number("chat"), _number("session"))
    except apsw.ConstraintError as error:
        raise Problem(404, "chat_not_found", "There is no such chat.") from error
    return jsonify(session=str(number), every_s=own.settings.context.heartbeat_interval_s)


@windows_blueprint.post("/chat/windows/<id:session_id>/<any(seen, shown, hidden, closed):what>")
def heard(session_id: int, what: str) -> FlaskResponse:
    """The window is still there, came to the front, went behind, or is left. 409 where it is closed."""
    own = services()
    if what == "closed":
        session_closing.close(own.context, session_id, "window")
        return FlaskResponse(status=204)
    now_ms = own.clock()
    if what == "seen":
        is_open = chat_sessions.heartbeat(own.database, session_id, now_ms)
    else:
        is_open = chat_sessions.show(own.database, session_id, what == "shown", now_ms)
    if not is_open:
        raise Problem(409, "session_closed", "This window was taken for closed.")
    return FlaskResponse(status=204)


def _number(name: str) -> int | None:
    given = request.form.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else None
