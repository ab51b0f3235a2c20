"""What is remembered, open to correction: what was done, and what chats came to, with their topics."""

from __future__ import annotations

from flask import redirect, request
from werkzeug.wrappers import Response

from assistant.context import session_closing, topics
from assistant.context.session_summary import MAX_FIELD_CHARS
from assistant.core.texts import redacted
from store.core.errors import Outdated, existing
from store.core.translation import gettext as _
from store.frames import apps, frames
from store.memory import chat_digests, chat_sessions, chat_summaries, observation_writer, observations
from store.memory.chat_sessions import ChatSession
from store.memory.documents import SUMMARY_FIELDS
from store.search.sample import evenly
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import number
from webapp.core.services import services, viewer

PAGE = 50
_SHOTS = 3
_MAX_CHARS = 1_000
_MAX_NARRATIVE = 4_000
_MAX_LINES = 50


@templating.get("/memory/observations/<id:observation_id>")
def observation(observation_id: int) -> Response:
    """One observation with its frames, and the form to correct it."""
    return _form(observation_id, {}, 200)


@templating.post("/memory/observations/<id:observation_id>")
def edit(observation_id: int) -> Response:
    """Keep the person's words; what reads as before goes on following the frames."""
    observations.get(services().database, observation_id)
    own, form = services(), request.form
    words = {
        "title": " ".join(form.get("title", "").split())[:_MAX_CHARS],
        "narrative": form.get("narrative", "").replace("\r\n", "\n").strip()[:_MAX_NARRATIVE],
        "facts": _lines(form.get("facts", "")),
        "concepts": _lines(form.get("concepts", "").replace(",", "\n")),
        "kind": " ".join(form.get("kind", "").split())[:40],
        "project": " ".join(form.get("project", "").split())[:_MAX_CHARS] or None,
    }
    errors = {name: _("Needs at least one word.") for name in ("title", "kind") if not words[name]}
    if errors:
        return _form(observation_id, errors, 422)
    observation_writer.edit(own.database, observation_id, words, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@templating.post("/memory/observations/<id:observation_id>/revert")
def revert(observation_id: int) -> Response:
    """Without a word of the person it follows its frames again."""
    observation_writer.edit(services().database, observation_id, {}, services().clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@templating.post("/memory/observations/<id:observation_id>/hide")
def hide(observation_id: int) -> Response:
    """Take it out of memory; its frames stay."""
    own = services()
    hidden = observations.get(services().database, observation_id)
    observation_writer.hide(own.database, observation_id, own.clock())
    day = viewer().day_of(hidden.start_ms)
    return redirect(f"/days/{day.date.isoformat()}", 303)


def _form(observation_id: int, errors: dict[str, str], status: int) -> Response:
    database = services().database
    shown = observations.get(database, observation_id)
    seen = frames.get_many(database, shown.frame_ids)
    return templating.render_page(
        "memory/observation.html",
        status,
        observation=shown,
        colour_slot=apps.colour_slots(database).get(shown.app_name or ""),
        shots=evenly(list(seen.values()), _SHOTS),
        frames=seen.keys(),  # of those that still exist
        day=viewer().day_of(shown.start_ms).date,
        errors=errors,
    )


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split())[:_MAX_CHARS] for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))[:_MAX_LINES]


# -- sessions and topics of chats ----------------------------------------------------------------------


@templating.get("/memory/sessions")
def sessions() -> Response:
    """Windows of chats, newest first; ``before`` is the id that a page ends at. The first page also has the
    topics, and the weeks before the recent ones.
    """
    own, database, before = services(), services().database, number(request.args, "before")
    session_closing.close_idle_sessions(own.context)
    listed = chat_sessions.listed(database, PAGE + 1, before)
    shown = listed[:PAGE]
    summaries = chat_summaries.get(database, [session.id for session in shown])
    return templating.render_page(
        "memory/sessions.html",
        rows=[(session, summaries.get(session.id)) for session in shown],
        older=shown[-1].id if len(listed) > PAGE else None,
        topics=topics.renewed(database, own.clock()) if before is None else (),
        weeks=topics.roll_up(database, "history", own.clock()).lines if before is None else (),
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
def edit_session(session_id: int) -> Response:
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
