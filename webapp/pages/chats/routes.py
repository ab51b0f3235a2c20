"""Chat: a question over a range of time, an answer, and for each part of it the frame that shows it."""

from __future__ import annotations

from dataclasses import replace

import apsw
from flask import Response as FlaskResponse
from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from assistant.context import session_closing
from assistant.context.background import VERSION
from assistant.core.errors import TimeRangeRequired, TurnRefused, UnknownChat
from assistant.core.records import MAX_MESSAGE_CHARS, NO_VOICE, TurnFilters, TurnRequest
from assistant.turns.live import LiveTurn
from store.chats import conversations
from store.chats.records import Chat
from store.core.errors import NotFound
from store.core.translation import gettext as _
from store.frames import frames
from webapp.api import chats, event_stream
from webapp.api.event_stream import PageEvent
from webapp.api.questions import turn_services
from webapp.core import parameters, templating
from webapp.core.errors import Problem, problem_of
from webapp.core.parameters import number
from webapp.core.services import Viewer, chat_or_404, services, stored_turn_or_404, turn_or_404, viewer
from webapp.core.uploads import form_attachments
from webapp.pages.chats.memory import topic_of
from webapp.pages.chats.understood import chosen_range
from webapp.pages.chats.view import Composer, around_frame, chat_list, edit, page
from webapp.views.turns import TurnView, turn_view

PATIENCE_S = 0.4
"""How long a question waits for its whole answer before it is shown as running."""

MAX_SKEW_MS = 60_000
"""A browser's clock further off than this is not used as "now"."""


@templating.get("/chat")
def new() -> Response:
    """An empty chat; ``?frame=`` asks about a frame, ``?q=`` and a range fill the composer."""
    who = viewer()
    frame_id, message = number(request.args, "frame"), request.args.get("q", "")[:8000]
    if frame_id is not None:
        return _page(None, around_frame(frames.get(services().database, frame_id), who), who)
    chosen = parameters.range_of(request.args, who)
    composer = Composer(message) if message else _draft(None)
    composer = replace(composer, range=chosen, refusal=chosen.problem)
    return _page(None, composer, who, chosen.status)


@templating.get("/chat/<id:chat_id>")
def show(chat_id: int) -> Response:
    """A stored chat; ``?edit=`` puts a question of it into the composer, ``?first=`` draws more answers."""
    chat, who = chat_or_404(chat_id), viewer()
    edited = number(request.args, "edit", 9)
    if edited is not None:
        return _page(chat, edit(stored_turn_or_404(chat_id, edited), who), who)
    return _page(chat, _draft(chat_id), who)


@templating.post("/chat", defaults={"chat_id": None})
@templating.post("/chat/<id:chat_id>")
def ask(chat_id: int | None) -> Response:
    """Ask. The answer's address is ``#tN``; htmx gets the turn itself."""
    who = viewer()
    chat = None if chat_id is None else chat_or_404(chat_id)
    is_edited = bool(request.form.get("edited"))
    try:
        live = started(_request(chat_id, who))
    except TurnRefused as refusal:
        return refused_page(chat, refusal, who)
    if not is_edited:
        conversations.delete_draft(services().database, chat_id)
    live.settle(PATIENCE_S)
    if chat is None or is_edited or not templating.wants_fragment():
        return templating.redirect_to(f"/chat/{live.chat_id}#t{live.n}")
    return turn_fragment(live.chat_id, live.n)


@templating.get("/chat/<id:chat_id>/turns/<id:n>")
def turn(chat_id: int, n: int) -> Response:
    """One turn as a fragment, running or done."""
    if not templating.wants_fragment():
        return redirect(f"/chat/{chat_id}#t{n}", 302)
    return turn_fragment(chat_id, n)


@templating.get("/chat/<id:chat_id>/turns/<id:n>/events")
def events(chat_id: int, n: int) -> Response:
    """The turn as it goes on, for its page."""
    turn_or_404(chat_id, n)
    return event_stream.event_stream(services(), chat_id, n, lambda: _turn_event(chat_id, n))


@templating.post("/chat/<id:chat_id>/turns/<id:n>/stop")
def stop(chat_id: int, n: int) -> Response:
    """End a running turn; what was said stays."""
    live = services().turns.get(chat_id, n)
    if live is not None and not live.is_over:
        live.stop.set()
        live.settle(PATIENCE_S)
    return followed(chat_id, n)


@templating.get("/chat/<id:chat_id>/delete")
def confirm(chat_id: int) -> Response:
    """What deleting a chat takes along; nothing is done yet."""
    chat = chat_or_404(chat_id)
    return templating.ask_first("chat/_delete.html", "chat", _("Delete a chat"), chat=chat)


@templating.post("/chat/<id:chat_id>/delete")
def delete(chat_id: int) -> Response:
    """Delete its messages, turns and evidence; frames stay."""
    chats.delete(chat_id)
    return templating.redirect_back("/chat")


def started(question: TurnRequest) -> LiveTurn:
    """The turn as it runs. Raises `TurnRefused`, 404 and 503."""
    own = services()
    window = session_closing.window_for(own.context, question.chat_id, question.session_id)
    question = replace(question, session_id=window, context_version=VERSION)
    try:
        return own.turns.start(turn_services(own), question)
    except UnknownChat as error:
        raise NotFound("chat", error.chat_id) from error


def _draft(chat_id: int | None) -> Composer:
    """The composer as it was left."""
    return Composer(conversations.get_draft(services().database, chat_id), draft=_draft_address(chat_id))


def _draft_address(chat_id: int | None) -> str:
    return "/chat/draft" if chat_id is None else f"/chat/{chat_id}/draft"


def _page(chat: Chat | None, composer: Composer, who: Viewer, status: int = 200) -> Response:
    services().embedder.warm()  # somebody is about to ask
    drawn = page(services(), chat, composer, who, number(request.args, "first", 9))
    return templating.render_page("chat/chat.html", status, page=drawn)


def turn_fragment(chat_id: int, n: int) -> Response:
    """A turn as a fragment, running or done. Raises 404."""
    return templating.render_page(
        "chat/turn.html", view=_turn_view(chat_id, n), topic=topic_of(services(), chat_id), chat_id=chat_id
    )


def followed(chat_id: int, n: int) -> Response:
    """What a change to a running turn is answered with: its stream tells a page what came of it."""
    if templating.wants_fragment():
        return FlaskResponse(status=204)
    return templating.redirect_to(f"/chat/{chat_id}#t{n}")


def _turn_event(chat_id: int, n: int) -> PageEvent:
    """A turn as its stream tells it."""
    try:
        view = _turn_view(chat_id, n)
    except NotFound:  # deleted meanwhile
        return PageEvent("turn", "", None)
    html = render_template("chat/turn.html", view=view).strip()
    return PageEvent("turn", html, view.heard)


def _turn_view(chat_id: int, n: int) -> TurnView:
    """A turn as it is now. Raises 404."""
    events = services().turns.so_far(chat_id, n)
    return turn_view(services(), stored_turn_or_404(chat_id, n), viewer().now_ms, events)


def _request(chat_id: int | None, who: Viewer) -> TurnRequest:
    """The question as the form gives it; the browser's milliseconds win over its words.

    Raises `TurnRefused` for a time in words that is none, and for a file that is not taken.
    """
    form = request.form
    chosen = _range(who)
    if chosen.problem and not chosen.is_given:
        raise TurnRefused("invalid_time_range", "end_time", chosen.problem)
    files, refusal = form_attachments()
    if refusal:
        raise TurnRefused("attachment_refused", "attachments", refusal)
    now_ms = number(form, "now_ms", 15) or 0
    return TurnRequest(
        message=form.get("message", ""),
        timezone=who.zone_name,
        now_ms=now_ms if abs(now_ms - who.now_ms) <= MAX_SKEW_MS else who.now_ms,
        start_ms=chosen.start_ms,
        end_ms=chosen.end_ms,
        chat_id=chat_id,
        filters=TurnFilters(app_name=form.get("app", "").strip() or None),
        model=form.get("model") or None,
        system_prompt=form.get("system_prompt", "").replace("\r\n", "\n"),
        persona_id=NO_VOICE if form.get("persona_id") == "" else number(form, "persona_id"),
        style_note=form.get("style_note", "").replace("\r\n", "\n"),
        session_id=number(form, "session_id"),
        without=tuple(int(text) for text in form.getlist("without") if text.isdecimal() and len(text) < 19),
        day_start_min=who.day_start_min,
        week_start=who.week_start,
        attachments=tuple(file.id for file in files),
        amend=bool(form.get("amend")),
        frame_id=number(form, "frame"),
        pictures=bool(form.get("pictures")),
    )


def _range(who: Viewer) -> parameters.Range:
    """The range of the form; one that was offered after a refusal goes before the others."""
    form = request.form
    return chosen_range({"when": form["offered"]} if form.get("offered") else form, who)


def refused_page(chat: Chat | None, refusal: TurnRefused, who: Viewer) -> Response:
    """The same page with the message kept, why it was not asked, and ranges to choose from."""
    form = request.form
    edited = number(form, "edited", 9) or 0
    composer = Composer(
        message=form.get("message", ""),
        range=_range(who),
        app=form.get("app", ""),
        model=form.get("model", ""),
        refusal=str(refusal),
        offers_ranges=isinstance(refusal, TimeRangeRequired),
        edited=edited,
        draft="" if edited else _draft_address(chat.id if chat else None),
        style_note=form.get("style_note", ""),
        files=form_attachments()[0],
    )
    status = problem_of(refusal).status
    if not templating.wants_fragment():
        return _page(chat, composer, who, status)
    drawn = page(services(), chat, composer, who)
    response = templating.render_page("chat/_composer.html", status, page={**drawn, "turns": ()})
    response.headers["HX-Retarget"] = "#composer"
    response.headers["HX-Reswap"] = "outerHTML"
    return response


@templating.get("/chats")
def show_chats() -> Response:
    """The list; ``?q=`` are words of titles, questions and answers. htmx gets the list alone."""
    chats = chat_list(
        services().database, viewer(), request.args.get("q", ""), request.args.get("before", "")
    )
    return templating.render("chat/list.html", "chat/_chat_list.html", chats=chats, current=None)


@templating.post("/chat/draft", defaults={"chat_id": None})
@templating.post("/chat/<id:chat_id>/draft")
def keep(chat_id: int | None) -> FlaskResponse:
    """Keep what is being written, for a chat or for one that is not begun; an empty one clears the draft."""
    own = services()
    message = request.form.get("message", "")
    if len(message) > MAX_MESSAGE_CHARS:
        raise Problem(
            413, "too_long", _("A message has at most %(number)s characters.", number=MAX_MESSAGE_CHARS)
        )
    try:
        conversations.save_draft(own.database, chat_id, message, own.clock())
    except apsw.ConstraintError as error:
        raise NotFound("chat", chat_id) from error
    return FlaskResponse(status=204)
