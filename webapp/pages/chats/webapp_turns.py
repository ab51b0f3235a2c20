"""One answer in a chat: its sources marked as wrong, copies of it, and its export."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.turns.turn import TurnResult, UnknownChat, stored_turn
from store.chats import feedback
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.exports import files, formats, page
from webapp.exports.pack import Size
from webapp.pages.chats.turns import export_view
from webapp.views.views_turns import turn_view

blueprint = Blueprint("turns", __name__)


@blueprint.post("/chat/<id:chat_id>/turns/<id:n>/sources/<id:source>")
def report(chat_id: int, n: int, source: int) -> Response:
    """Mark a source as wrong (``note`` says why), or take that back (``verdict=withdraw``)."""
    own = services()
    if request.form.get("verdict") == "withdraw":
        feedback.withdraw(own.database, chat_id, n, source)
    else:
        note = request.form.get("note", "")
        is_source = source != feedback.WHOLE_ANSWER
        if not (is_source and feedback.report(own.database, chat_id, n, source, "wrong", note, own.clock())):
            raise Problem(404, "source_not_found", f"Turn {n} of chat {chat_id} cites no source {source}.")
    result = _turn(chat_id, n)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/chat/{chat_id}#t{n}e{source}")
    view = turn_view(own.database, own.media, result, viewer().now_ms)
    return make_response(render_template("chat/turn.html", view=view))


@blueprint.get("/chat/<id:chat_id>/turns/<id:n>/copy")
def copy(chat_id: int, n: int) -> Response:
    """The answer as ``text``, ``md`` or ``html``, for the clipboard: the export's own words."""
    found = files.export_pack(chat_id, n, lambda number: "none")
    kind = request.args.get("as", "text")
    made = {"text": formats.text, "md": formats.markdown_document, "html": page.fragment}.get(kind)
    if made is None:
        raise Problem(400, "invalid_request", "An answer is copied as text, md or html.")
    return make_response(made(found), 200, {"Content-Type": "text/plain; charset=utf-8"})


@blueprint.get("/chat/<id:chat_id>/turns/<id:n>/export")
def export(chat_id: int, n: int) -> Response:
    """What would be exported, every picture with a tick; with ``fmt`` the file.

    ``picture`` names the sources whose pictures come along, ``size<n>`` says crop or full; with
    ``chosen`` only those that are ticked, without it all of them as crops.
    """
    fmt = request.args.get("fmt", "")
    if fmt and fmt not in files.FORMATS:
        raise Problem(400, "invalid_request", "An answer is exported as md, html or zip.")
    with_files = fmt == "zip" and request.args.get("files") == "1"
    found = files.export_pack(chat_id, n, _size if fmt else lambda number: "none", with_files=with_files)
    if fmt:
        return files.answer_file(found, fmt)
    html = render_template("chat/export.html", view=export_view(found, viewer()), section="chat")
    return make_response(html)


def _size(n: int) -> Size:
    if request.args.get("chosen") and str(n) not in request.args.getlist("picture"):
        return "none"
    return "full" if request.args.get(f"size{n}") == "full" else "crop"


def _turn(chat_id: int, n: int) -> TurnResult:
    """The turn as it is stored. Raises 404."""
    try:
        return stored_turn(services().database, chat_id, n)
    except UnknownChat as error:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.") from error
