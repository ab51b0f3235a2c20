"""The memory of one chat: its topic, whether it is told of other chats, and what each question was told."""

from __future__ import annotations

from dataclasses import replace

from flask import request
from werkzeug.wrappers import Response

from assistant.context import background, topics
from assistant.context.session_closing import FAULTS, off_by_settings
from assistant.context.topics import Topic
from store.core.errors import existing
from store.core.translation import N_
from store.core.translation import gettext as _
from store.memory import chat_sessions, context_packs
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.services import Services, chat_or_404, services, turn_or_404


def topic_of(own: Services, chat_id: int) -> Topic | None:
    """The topic of the window that the chat was last asked in."""
    try:
        session = chat_sessions.latest_of_chat(own.database, chat_id)
    except FAULTS:  # the chat is shown without its topic
        return None
    return topics.topic_of_session(session.metadata) if session else None


@templating.get("/chat/<id:chat_id>/memory")
def show(chat_id: int) -> Response:
    """The topic, and the switch."""
    own, chat = services(), chat_or_404(chat_id)
    session = chat_sessions.latest_of_chat(own.database, chat_id)
    return templating.render_page(
        "chat/memory.html",
        chat=chat,
        topic=topic_of(own, chat_id),
        is_dismissed=session is not None and topics.is_dismissed(session.metadata),
        is_off=chat_sessions.is_without_context(own.database, chat_id),
        off=_off_everywhere(own),
    )


@templating.get("/chat/<id:chat_id>/turns/<id:n>/context")
def context(chat_id: int, n: int) -> Response:
    """What one question was told of earlier chats: a page, or what its drawer in the chat holds."""
    database, turn = services().database, turn_or_404(chat_id, n)
    pack, told = context_packs.of_turn(database, chat_id, n), None
    if pack:  # it was asked in a window
        # Kept in English: a program reads it, too.
        reason = _(pack.record.get("reason", N_("its source was deleted")))
        told = replace(background.told_again(database, pack), reason=formatting.sentence(reason))
    return templating.render(
        "chat/context.html",
        "chat/_context.html",
        told=told,
        chat_id=chat_id,
        n=n,
        question=turn.question,
    )


@templating.post("/chat/<id:chat_id>/topic")
def choose(chat_id: int) -> Response:
    """Name the topic of the last window (``title``); ``way`` none wants none, automatic finds it."""
    own, way = services(), request.form.get("way", "chosen")
    title = " ".join(request.form.get("title", "").split())[: topics.MAX_TITLE_CHARS]
    if way == "chosen" and not title:
        raise Problem(422, "invalid_topic", _("A topic needs a name."))
    existing(topics.choose(own.database, chat_id, way, title, own.clock()), "session", chat_id)
    return templating.redirect_back(f"/chat/{chat_id}/memory")


@templating.post("/chat/<id:chat_id>/memory")
def switch(chat_id: int) -> Response:
    """Tell this chat's model of others, or not (``told=on``)."""
    is_off = request.form.get("told") != "on"
    existing(chat_sessions.set_without_context(services().database, chat_id, is_off), "chat", chat_id)
    return templating.redirect_back(f"/chat/{chat_id}/memory")


def _off_everywhere(own: Services) -> str:
    """Why no chat is told of others, "" where they are."""
    told = _("You switched this off for every chat.") if chat_sessions.is_off(own.database) else ""
    return _(off_by_settings(own.context)) or told
