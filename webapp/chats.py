"""All conversations, searched by their words."""

from __future__ import annotations

from flask import Blueprint, request
from werkzeug.wrappers import Response

from webapp import fragments
from webapp.services import services
from webapp.viewer import viewer
from webapp.views.chat_list import chat_list

chats_blueprint = Blueprint("chats", __name__)


@chats_blueprint.get("/chats", endpoint="show")
def show_chats() -> Response:
    """The list; ``?q=`` are words of titles, questions and answers. htmx gets the list alone."""
    found = chat_list(
        services().database, viewer(), request.args.get("q", ""), request.args.get("before", "")
    )
    return fragments.render(
        "chat/list.html", "chat/_chat_list.html", chats=found, current=None, section="chat"
    )
