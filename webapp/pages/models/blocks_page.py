"""The system prompt block by block: as it was sent for a turn, and as a model would be sent it now."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.chats import conversations
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.models import prompt_blocks
from webapp.pages.models.views_prompts import editor

blueprint = Blueprint("blocks", __name__)


@blueprint.get("/chat/<id:chat_id>/turns/<id:n>/prompt")
def for_turn(chat_id: int, n: int) -> Response:
    """What the model was told beside the question, by the ledger of what was sent."""
    database = services().database
    turn = conversations.turn(database, chat_id, n)
    if turn is None:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.")
    html = render_template(
        "prompts/turn.html", section="chat", turn=turn, prompts=prompt_blocks.of_turn(database, chat_id, n)
    )
    return make_response(html)


@blueprint.get("/settings/models/prompt/preview")
def preview() -> Response:
    """What a model would be told now, without tools and with them."""
    own, name = services(), request.args.get("model", "")
    found = editor(own, name)
    if found is None or found.info.name != name:
        raise Problem(404, "model_not_found", "There is no such model.")
    info, who = found.info, viewer()
    views = [("In evidence mode", prompt_blocks.prompt_preview(own, info, "evidence", who))]
    if info.supports_tools or info.tool_format:
        views.append(("With tools", prompt_blocks.prompt_preview(own, info, "agent", who)))
    html = render_template("prompts/preview.html", section="settings", info=info, views=views)
    return make_response(html)
