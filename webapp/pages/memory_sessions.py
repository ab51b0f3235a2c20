"""Sessions and topics of chats: what they came to, in the person's hands. All of it works without scripts."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from assistant.context import session_closing, topics
from assistant.context.session_summary import MAX_FIELD_CHARS
from assistant.core.texts import redacted
from store.core.errors import Outdated, existing
from store.core.translation import gettext as _
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.memory.chat_sessions import ChatSession
from store.memory.documents import SUMMARY_FIELDS
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import number
from webapp.core.services import services

PAGE = 50


@templating.get("/memory/sessions")
def sessions() -> Response:
    """Windows of chats, newest first; ``before`` is the id that a page ends at. The first page also has the
    topics, and the lines that models are told from.
    """
    own, database, before = services(), services().database, number(request.args, "before")
    session_closing.close_idle_sessions(own.context)
    listed = chat_sessions.listed(database, PAGE + 1, before)
    shown = listed[:PAGE]
    summaries = chat_summaries.get(database, [session.id for session in shown])
    digests = {
        "days": topics.RECENT_DAYS,
        "topics": topics.renewed(database, own.clock()),
        "recent": topics.roll_up(database, "recent", own.clock()).lines,
        "history": topics.roll_up(database, "history", own.clock()).lines,
    }
    return templating.render_page(
        "memory/sessions.html",
        rows=[(session, summaries.get(session.id)) for session in shown],
        older=shown[-1].id if len(listed) > PAGE else None,
        digests=digests if before is None else None,
    )


@templating.get("/memory/sessions/<id:session_id>")
def session(session_id: int) -> Response:
    """What one window came to, and the form to correct it."""
    shown, database = _session(session_id), services().database
    return templating.render_page(
        "memory/session.html",
        shown=shown,
        summary=chat_summaries.get(database, [shown.id]).get(shown.id),
        most_chars=MAX_FIELD_CHARS,
        asked=chat_summaries.summary_input(database, shown.id),
    )


@templating.post("/memory/sessions/<id:session_id>")
def edit(session_id: int) -> Response:
    """Keep the person's words in place of the summary's; 409 when it is no more what the form showed."""
    own, form = services(), request.form
    typed = {name: " ".join(form.get(name, "").split())[:MAX_FIELD_CHARS] for name in SUMMARY_FIELDS}
    fields = {name: redacted(text) or None for name, text in typed.items()}
    try:
        is_there = chat_summaries.edit(
            own.database, session_id, fields, own.clock(), version=form.get("version")
        )
    except Outdated as error:
        detail = _("It was summarised again meanwhile. Open it anew and write your words there.")
        raise Problem(409, "summary_changed", detail) from error
    existing(is_there, "session", session_id)
    session_closing.embed(own.context, session_id)
    return templating.redirect_to(f"/memory/sessions/{session_id}")


@templating.post("/memory/sessions/<id:session_id>/<any(retract, restore, again):what>")
def change(session_id: int, what: str) -> Response:
    """Tell no model of it, tell of it again, or make the summary of the chat again."""
    own = services()
    if what == "again":
        chat_summaries.drop_edits(own.database, _session(session_id).id)
        session_closing.summarise(own.context, [session_id])
    else:
        is_there = chat_summaries.retract(own.database, session_id, what == "retract", own.clock())
        existing(is_there, "session", session_id)
    return templating.redirect_to(f"/memory/sessions/{session_id}")


@templating.post("/memory/topics/<id:topic_id>")
def rename(topic_id: int) -> Response:
    """Call the topic as the person does."""
    title = " ".join(request.form.get("title", "").split())[: topics.MAX_TITLE_CHARS]
    if not title:
        raise Problem(422, "invalid_topic", _("A topic needs a name."))
    existing(chat_digests.rename_topic(services().database, topic_id, title), "topic", topic_id)
    return templating.redirect_to(f"/memory/sessions#topic-{topic_id}")


@templating.post("/memory/topics/<id:topic_id>/<any(dismiss, restore):what>")
def dismiss(topic_id: int, what: str) -> Response:
    """Never take this for a topic again, or do."""
    existing(chat_digests.dismiss_topic(services().database, topic_id, what == "dismiss"), "topic", topic_id)
    return templating.redirect_to(f"/memory/sessions#topic-{topic_id}")


def _session(session_id: int) -> ChatSession:
    return existing(chat_sessions.get(services().database, session_id), "session", session_id)
