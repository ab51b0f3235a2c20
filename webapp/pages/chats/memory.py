"""The memory of one chat: its topic, whether it is told of other chats, and what each question was told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from assistant.context import topics
from assistant.context.session_closing import FAULTS, off_by_settings
from store.core.errors import existing
from store.memory import chat_sessions, context_packs
from store.memory.context_packs import StoredPack
from webapp.api import chat_memory
from webapp.core import templating
from webapp.core.lookups import chat_or_404, turn_or_404
from webapp.core.services import Services, services
from webapp.pages.forms import form


@dataclass(frozen=True, slots=True)
class TopicView:
    """The topic of a chat's last window; `title` is '' where there is none."""

    chat_id: int
    title: str = ""
    score: float = 0.0
    is_chosen: bool = False  # by the person
    is_dismissed: bool = False


@dataclass(frozen=True, slots=True)
class PackView:
    """What question `n` was told; `told_before` are the hashes of parts that the one before was told, too."""

    n: int
    pack: StoredPack
    told_before: frozenset[str]

    @property
    def reason(self) -> str:
        return str(self.pack.record.get("reason", "what it told of was deleted"))

    @property
    def parts(self) -> list[dict[str, Any]]:
        return list(self.pack.record.get("parts", ()))

    def of(self, section: str) -> list[dict[str, Any]]:
        """The parts of one section, in order."""
        return [part for part in self.parts if part["section"] == section]


def topic_view(own: Services, chat_id: int) -> TopicView:
    """The topic of the window that the chat was last asked in."""
    try:
        session = chat_sessions.latest_of_chat(own.database, chat_id)
    except FAULTS:  # the chat is shown without its topic
        session = None
    if session is None:
        return TopicView(chat_id)
    topic = topics.topic_of_session(session.metadata)
    is_dismissed = topics.is_dismissed(session.metadata)
    if topic is None:
        return TopicView(chat_id, is_dismissed=is_dismissed)
    return TopicView(chat_id, topic.title, topic.score, topic.by == "person", is_dismissed)


@templating.get("/chat/<id:chat_id>/memory")
def show(chat_id: int) -> Response:
    """The topic, the switch, and for each question what was told, why, and what was left out."""
    own, chat = services(), chat_or_404(chat_id)
    packs = context_packs.of_chat(own.database, chat_id)  # the latest question first
    return templating.render_page(
        "chat/memory.html",
        chat=chat,
        topic=topic_view(own, chat_id),
        is_off=chat_sessions.is_without_context(own.database, chat_id),
        off=_off_everywhere(own),
        packs=[_pack(n, pack, packs[at + 1 : at + 2]) for at, (n, pack) in enumerate(packs)],
    )


@templating.get("/chat/<id:chat_id>/turns/<id:n>/context")
def context(chat_id: int, n: int) -> Response:
    """What one question was told of earlier chats: a page, or what its drawer in the chat holds."""
    database, turn = services().database, turn_or_404(chat_id, n)
    pack = context_packs.of_turn(database, chat_id, n)  # None where it was asked in no window
    before = context_packs.of_turn(database, chat_id, n - 1)
    return templating.render(
        "chat/context.html",
        "chat/_context.html",
        view=_pack(n, pack, [(n - 1, before)] if before else []) if pack else None,
        chat_id=chat_id,
        n=n,
        question=turn.question,
    )


form("/chat/<id:chat_id>/topic", chat_memory.choose, "/chat/{chat_id}/memory")


@templating.post("/chat/<id:chat_id>/memory")
def switch(chat_id: int) -> Response:
    """Tell this chat's model of others, or not (``told=on``)."""
    is_off = request.form.get("told") != "on"
    existing(chat_sessions.set_without_context(services().database, chat_id, is_off), "chat", chat_id)
    return templating.redirect_back(f"/chat/{chat_id}/memory")


def _off_everywhere(own: Services) -> str:
    """Why no chat is told of others, "" where they are."""
    told = "You switched this off for every chat." if chat_sessions.is_off(own.database) else ""
    return off_by_settings(own.context) or told


def _pack(n: int, pack: StoredPack, before: Sequence[tuple[int, StoredPack]]) -> PackView:
    hashes = (part["hash"] for _, earlier in before for part in earlier.record.get("parts", ()))
    return PackView(n, pack, frozenset(hashes))
