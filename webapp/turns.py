"""One answer in a chat: its sources marked as wrong."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store import answer_reports
from webapp import fragments
from webapp.assistant.turn import TurnResult, UnknownChat, stored_turn
from webapp.errors import Problem
from webapp.services import services
from webapp.viewer import viewer
from webapp.views.turns import turn_view

blueprint = Blueprint("turns", __name__)


@blueprint.post("/chat/<id:chat_id>/turns/<id:n>/sources/<id:source>")
def report(chat_id: int, n: int, source: int) -> Response:
    """Mark a source as wrong (``note`` says why), or take that back (``verdict=withdraw``)."""
    own = services()
    if request.form.get("verdict") == "withdraw":
        answer_reports.withdraw(own.database, chat_id, n, source)
    else:
        note = request.form.get("note", "")
        is_source = source != answer_reports.WHOLE_ANSWER
        if not (
            is_source and answer_reports.report(own.database, chat_id, n, source, "wrong", note, own.clock())
        ):
            raise Problem(404, "source_not_found", f"Turn {n} of chat {chat_id} cites no source {source}.")
    result = _turn(chat_id, n)
    if not fragments.wants_fragment():
        return fragments.go(f"/chat/{chat_id}#t{n}e{source}")
    view = turn_view(own.database, own.media, result, viewer().now_ms)
    return make_response(render_template("chat/turn.html", view=view))


def _turn(chat_id: int, n: int) -> TurnResult:
    """The turn as it is stored. Raises 404."""
    try:
        return stored_turn(services().database, chat_id, n)
    except UnknownChat as error:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.") from error
