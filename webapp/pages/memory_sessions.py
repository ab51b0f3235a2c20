"""Sessions and topics of chats, as the pages of memory show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.context import session_closing, topics
from assistant.context.session_closing import is_opted_out
from assistant.core.texts import normalize, redacted
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_digests import Topic
from store.memory.chat_sessions import ChatSession
from store.memory.chat_summaries import ChatSummary, SessionTurn
from store.memory.documents import SUMMARY_FIELDS
from webapp.api import chat_memory
from webapp.api.chat_memory import SourcedLine, SourcedText
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services

PAGE = 50


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One window. `summary` is None until it has one."""

    session: ChatSession
    summary: ChatSummary | None
    said: dict[str, tuple[SourcedText, ...]]  # its fields, with where each sentence is from


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """Everything `memory/sessions.html` draws; `older` is where the next page begins, None at the end."""

    rows: list[SessionRow]
    older: int | None
    is_off: bool  # by the person
    off: str  # by the settings, '' where it is not


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Everything `memory/session.html` draws. `asked` are its questions with where they stand."""

    session: ChatSession
    summary: ChatSummary | None
    said: dict[str, tuple[SourcedText, ...]]
    asked: list[SessionTurn]


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic with its lines, and the others that it may be merged into."""

    topic: Topic
    lines: list[SourcedLine]
    others: list[Topic]


@dataclass(frozen=True, slots=True)
class DigestsPage:
    """Everything `memory/digests.html` draws: the last `days`, and the time before them."""

    days: int
    recent: list[SourcedLine]
    history: list[SourcedLine]


def sessions_page(own: Services, before: int | None) -> SessionsPage:
    """A page of windows in which something was asked, newest first."""
    found = chat_sessions.listed(own.database, PAGE + 1, before)
    shown = found[:PAGE]
    summaries = chat_summaries.get(own.database, [each.id for each in shown])
    off = ""
    if not own.settings.context.enabled:
        off = "The settings switch this off (context.enabled)."
    elif is_opted_out(own.context):
        off = "The settings switch this off for you (context.opt_out)."
    return SessionsPage(
        rows=[_row(own, each, summaries.get(each.id)) for each in shown],
        older=shown[-1].id if len(found) > PAGE else None,
        is_off=chat_sessions.is_off(own.database),
        off=off,
    )


def session_page(own: Services, session: ChatSession) -> SessionPage:
    """A window with its summary and its questions."""
    found = chat_summaries.get(own.database, [session.id]).get(session.id)
    said = chat_memory.of_summary(own.database, found) if found else {}
    return SessionPage(session, found, said, chat_summaries.summary_input(own.database, session.id))


def topic_page(own: Services, topic: Topic) -> TopicPage:
    """A topic with what chats came to about it."""
    found = topics.digest(own.database, topics.of_stored(topic), own.clock())
    topic = replace(topic, lines=found)
    others = [each for each in chat_digests.topics(own.database) if each.id != topic.id]
    return TopicPage(topic, chat_memory.of_lines(own.database, topic.lines), others)


def digests_page(own: Services) -> DigestsPage:
    """What packs are made from, as it is now."""
    now_ms = own.clock()
    return DigestsPage(
        topics.RECENT_DAYS,
        chat_memory.of_lines(own.database, topics.recent(own.database, now_ms).lines),
        chat_memory.of_lines(own.database, topics.history(own.database, now_ms).lines),
    )


def _row(own: Services, session: ChatSession, summary: ChatSummary | None) -> SessionRow:
    return SessionRow(session, summary, chat_memory.of_summary(own.database, summary) if summary else {})


# ---- webapp memory sessions
# Memory, Sessions and Topics: what chats came to, in the person's hands. All of it works without scripts.

blueprint = Blueprint("memory_sessions", __name__)

_MAX_FIELD_CHARS = 1_000


@blueprint.get("/memory/sessions")
def sessions() -> Response:
    """Windows of chats, newest first; ``before`` is the id that a page ends at."""
    own, before = services(), request.args.get("before", "")
    session_closing.close_idle_sessions(own.context)
    page = sessions_page(own, int(before) if before.isdecimal() and len(before) < 19 else None)
    return make_response(render_template("memory/sessions.html", page=page, section="memory"))


@blueprint.post("/memory/sessions")
def switch() -> Response:
    """Let models be told of earlier chats (``told=on``), or not."""
    chat_sessions.set_off(services().database, request.form.get("told") != "on")
    return templating.redirect_to("/memory/sessions")


@blueprint.post("/memory/sessions/forget")
def forget() -> Response:
    """Forget all memory of chats; the chats stay."""
    chat_digests.delete_everything(services().database)
    return templating.redirect_to("/memory/sessions")


@blueprint.get("/memory/digests")
def digests() -> Response:
    """What models are told of many chats: the recent days chat by chat, the time before by month."""
    page = digests_page(services())
    return make_response(render_template("memory/digests.html", page=page, section="memory"))


@blueprint.get("/memory/sessions/<id:session_id>")
def session(session_id: int) -> Response:
    """What one window came to, and the form to correct it."""
    page = session_page(services(), _session(session_id))
    return make_response(render_template("memory/session.html", page=page, section="memory"))


@blueprint.post("/memory/sessions/<id:session_id>")
def edit(session_id: int) -> Response:
    """Keep the person's words in place of the summary's."""
    own, form = services(), request.form
    said = {name: " ".join(form.get(name, "").split())[:_MAX_FIELD_CHARS] for name in SUMMARY_FIELDS}
    fields = {name: redacted(text) or None for name, text in said.items()}
    if not chat_summaries.edit(own.database, session_id, fields, own.clock()):
        raise _no_session(session_id)
    session_closing.embed(own.context, session_id)
    return templating.redirect_to(f"/memory/sessions/{session_id}")


@blueprint.post("/memory/sessions/<id:session_id>/<any(retract, restore, again):what>")
def change(session_id: int, what: str) -> Response:
    """Tell no model of it, tell of it again, or make the summary of the chat again."""
    own = services()
    if what == "again":
        chat_summaries.drop_edits(own.database, _session(session_id).id)
        session_closing.summarise(own.context, session_id)
    elif not chat_summaries.retract(own.database, session_id, what == "retract", own.clock()):
        raise _no_session(session_id)
    return templating.redirect_to(f"/memory/sessions/{session_id}")


@blueprint.post("/memory/sessions/<id:session_id>/tags")
def split(session_id: int) -> Response:
    """Say that the session is about ``new`` and not about ``tag``: it leaves that topic for another."""
    tag, new = request.form.get("tag", ""), normalize(request.form.get("new", ""))[: topics.MAX_TITLE_CHARS]
    if not new:
        raise Problem(422, "invalid_tag", "Say what it is about instead.")
    if not chat_digests.split_topic(services().database, session_id, tag, new):
        raise _no_session(session_id)
    return templating.redirect_to(f"/memory/sessions/{session_id}")


@blueprint.get("/memory/topics")
def listed() -> Response:
    """Topics of chats, the one made last first."""
    found = chat_digests.topics(services().database)
    return make_response(render_template("memory/topics.html", topics=found, section="memory"))


@blueprint.get("/memory/topics/<id:topic_id>")
def topic(topic_id: int) -> Response:
    """What chats came to about one topic."""
    page = topic_page(services(), _topic(topic_id))
    return make_response(render_template("memory/topic.html", page=page, section="memory"))


@blueprint.post("/memory/topics/<id:topic_id>")
def rename(topic_id: int) -> Response:
    """Call the topic as the person does."""
    title = " ".join(request.form.get("title", "").split())[: topics.MAX_TITLE_CHARS]
    if not title:
        raise Problem(422, "invalid_topic", "A topic needs a name.")
    chat_digests.rename_topic(services().database, _topic(topic_id).id, title)
    return templating.redirect_to(f"/memory/topics/{topic_id}")


@blueprint.post("/memory/topics/<id:topic_id>/<any(dismiss, restore):what>")
def dismiss(topic_id: int, what: str) -> Response:
    """Never take this for a topic again, or do."""
    chat_digests.dismiss_topic(services().database, _topic(topic_id).id, what == "dismiss")
    return templating.redirect_to(f"/memory/topics/{topic_id}")


@blueprint.post("/memory/topics/<id:topic_id>/merge")
def merge(topic_id: int) -> Response:
    """Let its sessions be of the topic ``into``."""
    into = request.form.get("into", "")
    other = int(into) if into.isdecimal() and len(into) < 19 else 0
    if not chat_digests.merge_topics(services().database, topic_id, other):
        raise Problem(404, "topic_not_found", "One of these topics is not there.")
    return templating.redirect_to(f"/memory/topics/{other}")


def _session(session_id: int) -> ChatSession:
    found = chat_sessions.get(services().database, session_id)
    if found is None:
        raise _no_session(session_id)
    return found


def _no_session(session_id: int) -> Problem:
    return Problem(404, "session_not_found", f"There is no such session {session_id}.")


def _topic(topic_id: int) -> Topic:
    found = chat_digests.topic_of_id(services().database, topic_id)
    if found is None:
        raise Problem(404, "topic_not_found", f"There is no topic {topic_id}.")
    return found
