"""What one chat knows of others: its topic, and what each question was told, with where that is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.context import topics
from assistant.context.session_closing import is_opted_out
from store.chats import conversations
from store.memory import chat_sessions, context_packs
from store.memory.context_packs import StoredPack
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services


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
    """What one question was told. `parts` and `left_out` are dicts as the record has them.

    `told_before` are the hashes of parts that the question before was told, too.
    """

    chat_id: int
    n: int
    reason: str
    text: str
    parts: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    tokens: int
    build_ms: float
    told_before: frozenset[str] = frozenset()

    def of(self, section: str) -> list[dict[str, Any]]:
        """The parts of one section, in order."""
        return [part for part in self.parts if part["section"] == section]


@dataclass(frozen=True, slots=True)
class ChatMemory:
    """Everything `chat/memory.html` draws. `off` says why nothing is told here, '' where it is."""

    chat_id: int
    title: str
    topic: TopicView
    is_off: bool  # for this chat
    off: str
    packs: list[PackView]


def topic_view(own: Services, chat_id: int) -> TopicView:
    """The topic of the window that the chat was last asked in."""
    session = chat_sessions.latest_of_chat(own.database, chat_id)
    if session is None:
        return TopicView(chat_id)
    found = topics.stored(session.metadata)
    is_dismissed = topics.is_dismissed(session.metadata)
    if found is None:
        return TopicView(chat_id, is_dismissed=is_dismissed)
    return TopicView(chat_id, found.title, found.score, found.by == "person", is_dismissed)


def chat_memory(own: Services, chat_id: int, title: str) -> ChatMemory:
    """What a chat was told of others, the latest question first."""
    found = context_packs.of_chat(own.database, chat_id)
    return ChatMemory(
        chat_id=chat_id,
        title=title,
        topic=topic_view(own, chat_id),
        is_off=chat_sessions.is_without_context(own.database, chat_id),
        off=_off(own),
        packs=[_pack(chat_id, n, pack, found[at + 1 : at + 2]) for at, (n, pack) in enumerate(found)],
    )


def question_context(own: Services, chat_id: int, n: int) -> PackView | None:
    """What one question was told; None where it was asked in no window."""
    pack = context_packs.of_turn(own.database, chat_id, n)
    if pack is None:
        return None
    before = context_packs.of_turn(own.database, chat_id, n - 1)
    return _pack(chat_id, n, pack, [(n - 1, before)] if before else [])


def _off(own: Services) -> str:
    if not own.settings.context.enabled:
        return "The settings switch this off for every chat (context.enabled)."
    if is_opted_out(own.context):
        return "The settings switch this off for you (context.opt_out)."
    return "You switched this off for every chat." if chat_sessions.is_off(own.database) else ""


def _pack(chat_id: int, n: int, pack: StoredPack, before: Sequence[tuple[int, StoredPack]]) -> PackView:
    record = pack.record
    return PackView(
        chat_id=chat_id,
        n=n,
        reason=record.get("reason", "what it told of was deleted"),
        text=pack.text,
        parts=list(record.get("parts", ())),
        left_out=list(record.get("left_out", ())),
        tokens=pack.tokens,
        build_ms=pack.build_ms,
        told_before=frozenset(part["hash"] for _, told in before for part in told.record.get("parts", ())),
    )


# ---- chat memory
# The memory of one chat: its topic, whether it is told of other chats, and what it was told.

blueprint = Blueprint("chat_memory", __name__)


@blueprint.get("/chat/<id:chat_id>/memory")
def show(chat_id: int) -> Response:
    """The topic, the switch, and for each question what was told, why, and what was left out."""
    own = services()
    chat = conversations.get(own.database, chat_id)
    if chat is None:
        raise Problem(404, "chat_not_found", f"There is no chat {chat_id}.")
    page = chat_memory(own, chat_id, chat.title)
    return make_response(render_template("chat/memory.html", page=page, section="chat"))


@blueprint.get("/chat/<id:chat_id>/turns/<id:n>/context")
def told(chat_id: int, n: int) -> Response:
    """What one question was told of earlier chats: a page, or what its drawer in the chat holds."""
    own = services()
    turn = conversations.turn(own.database, chat_id, n)
    if turn is None:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.")
    pack = question_context(own, chat_id, n)
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
