"""All conversations, searched by their words."""

from __future__ import annotations

from flask import Blueprint, request
from werkzeug.wrappers import Response

from webapp.core import templating
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.chats.view import chat_list

chats_blueprint = Blueprint("chats", __name__)


@chats_blueprint.get("/chats", endpoint="show")
def show_chats() -> Response:
    """The list; ``?q=`` are words of titles, questions and answers. htmx gets the list alone."""
    found = chat_list(
        services().database, viewer(), request.args.get("q", ""), request.args.get("before", "")
    )
    return templating.render(
        "chat/list.html", "chat/_chat_list.html", chats=found, current=None, section="chat"
    )
