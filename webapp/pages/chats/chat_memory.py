"""The memory of one chat: its topic, whether it is told of other chats, and what it was told."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.context import topics
from store.chats import conversations
from store.memory import chat_sessions
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.pages.chats import memory as views

blueprint = Blueprint("chat_memory", __name__)


@blueprint.get("/chat/<id:chat_id>/memory")
def show(chat_id: int) -> Response:
    """The topic, the switch, and for each question what was told, why, and what was left out."""
    own = services()
    chat = conversations.get(own.database, chat_id)
    if chat is None:
        raise Problem(404, "chat_not_found", f"There is no chat {chat_id}.")
    page = views.chat_memory(own, chat_id, chat.title)
    return make_response(render_template("chat/memory.html", page=page, section="chat"))


@blueprint.get("/chat/<id:chat_id>/turns/<id:n>/context")
def told(chat_id: int, n: int) -> Response:
    """What one question was told of earlier chats: a page, or what its drawer in the chat holds."""
    own = services()
    turn = conversations.turn(own.database, chat_id, n)
    if turn is None:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.")
    pack = views.question_context(own, chat_id, n)
    return templating.render(
        "chat/told.html",
        "chat/_told.html",
        pack=pack,
        chat_id=chat_id,
        n=n,
        question=turn.question,
        section="chat",
    )


@blueprint.post("/chat/<id:chat_id>/topic")
def topic(chat_id: int) -> Response:
    """Call the topic as the person does (``title``), have none (``way=none``), or let it be found."""
    own = services()
    way = request.form.get("way", "chosen")
    title = " ".join(request.form.get("title", "").split())[: topics.MAX_TITLE_CHARS]
    if way not in ("chosen", "none", "automatic") or (way == "chosen" and not title):
        raise Problem(422, "invalid_topic", "A topic needs a name, or `way` none or automatic.")
    if not topics.choose(own.database, chat_id, way, title, own.clock()):
        raise Problem(404, "chat_not_found", f"Nothing was asked in chat {chat_id} yet.")
    return templating.redirect_to(f"/chat/{chat_id}/memory")


@blueprint.post("/chat/<id:chat_id>/memory")
def switch(chat_id: int) -> Response:
    """Tell this chat's model of others, or not (``told=on``)."""
    is_off = request.form.get("told") != "on"
    if not chat_sessions.set_without_context(services().database, chat_id, is_off):
        raise Problem(404, "chat_not_found", f"There is no chat {chat_id}.")
    return templating.redirect_to(f"/chat/{chat_id}/memory")
