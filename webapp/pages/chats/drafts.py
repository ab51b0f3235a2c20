"""What is being written in a composer, kept while it is: for a chat, or for one that is not begun."""

from __future__ import annotations

import apsw
from flask import Blueprint, request
from flask import Response as FlaskResponse

from assistant.core.records import MAX_MESSAGE_CHARS
from store.chats import conversations
from webapp.core.errors import Problem
from webapp.core.services import services

drafts_blueprint = Blueprint("drafts", __name__)


@drafts_blueprint.post("/chat/draft", defaults={"chat_id": None})
@drafts_blueprint.post("/chat/<id:chat_id>/draft")
def keep(chat_id: int | None) -> FlaskResponse:
    """Keep ``message``; an empty one clears the draft."""
    own = services()
    message = request.form.get("message", "")
    if len(message) > MAX_MESSAGE_CHARS:
        raise Problem(413, "too_long", f"A message has at most {MAX_MESSAGE_CHARS} characters.")
    try:
        conversations.save_draft(own.database, chat_id, message, own.clock())
    except apsw.ConstraintError as error:
        raise Problem(404, "chat_not_found", f"There is no chat {chat_id}.") from error
    return FlaskResponse(status=204)
