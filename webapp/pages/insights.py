"""Insights: told of a frame or a moment, listed, compared, put back, amended, told again as another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from assistant.core.errors import TurnRefused
from assistant.core.records import TurnRequest
from assistant.evidence.citations import without_numbers
from assistant.turns import anchor_facts
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations, personas, records
from store.chats.records import Anchor
from store.core import times
from store.core.translation import gettext as _
from store.frames import frames
from store.memory import insights, search
from store.memory.insights import Insight, InsightFilter
from webapp.core import formatting, templating
from webapp.core.formatting import difference, sentence
from webapp.core.parameters import Range, number, range_of
from webapp.core.services import Services, Viewer, services, viewer
from webapp.pages.chats.routes import PATIENCE_S, started
from webapp.views.turns import TurnView, turn_view

LISTED = 30
_SNIPPET_CHARS = 260
_MINUTE_MS = 60_000
_MARKS = re.compile(r"\*\*|`|^\s*(?:[-*]|#{1,6}|>)\s+", re.MULTILINE)


@templating.get("/insights")
def show() -> Response:
    """The current insights: ``q`` finds by words and meaning, ``persona`` and a range narrow the list."""
    own, who, args = services(), viewer(), request.args
    q, offset = args.get("q", "").strip()[:1_000], number(args, "offset", 6) or 0
    chosen, database = range_of(args, who), own.database
    asked = InsightFilter(chosen.start_ms, chosen.end_ms, persona_id=number(args, "persona"))
    if q:
        found = search.search_insights(
            database, own.embedder.asked_soon(q), asked, limit=LISTED, offset=offset
        )
        shown, total = found.insights, found.total
    else:
        shown = insights.list_insights(database, asked, LISTED, offset=offset)
        total = insights.count(database, asked)
    return templating.render_page(
        "insights/insights.html",
        chosen.status,
        q=q,
        asked=asked,
        range=chosen,
        insights=shown,
        frames=frames.get_many(database, [each.anchor.frame_id for each in shown if each.anchor.frame_id]),
        when=lambda insight: when(insight.anchor, who),
        snippet=_snippet,
        personas=personas.list_personas(database),
        total=total,
        offset=offset,
        step=LISTED,
    )


@templating.get("/insights/new")
def new() -> Response:
    """Before it is told: ``?frame=`` or ``?from=&to=`` say of what, the form by whom."""
    who = viewer()
    chosen = range_of(request.args, who)
    return _new(_anchor(request.args, who), who, chosen.status, refusal=chosen.problem)


@templating.post("/insights")
def generate() -> Response:
    """Have it told. The answer leads to the insight, or to its conversation while it is being told."""
    who = viewer()
    anchor = _anchor(request.values, who)
    if anchor is None:
        return _new(None, who, 422, refusal=_("Choose the time it should be about."))
    question = anchor_facts.request(anchor, who.zone_name, who.now_ms, **_voice())
    return _start_telling(question, lambda refusal: _new(anchor, who, 422, refusal=refusal))


@templating.get("/insights/<id:insight_id>")
def one(insight_id: int) -> Response:
    """One version; ``?compare=`` puts another one beside it."""
    return _page(insights.get(services().database, insight_id))


@templating.post("/insights/<id:insight_id>/again")
def regenerate(insight_id: int) -> Response:
    """Tell the same from the beginning, as another persona or with another model."""
    who, insight = viewer(), insights.get(services().database, insight_id)
    question = anchor_facts.request(insight.anchor, who.zone_name, who.now_ms, **_voice())
    return _start_telling(question, lambda refusal: _page(insight, 422, refusal=refusal), insight)


@templating.post("/insights/<id:insight_id>/amend")
def amend(insight_id: int) -> Response:
    """A new current version by what is asked; what it is sent with is kept with it.

    The button ``without_note`` sends the turn without the note.
    """
    who, insight = viewer(), insights.get(services().database, insight_id)
    voice = _voice() | ({"style_note": ""} if request.form.get("without_note") else {})
    message = request.form.get("message", "")
    question = TurnRequest(message, who.zone_name, who.now_ms, chat_id=insight.chat_id, amend=True, **voice)
    typed = {"message": question.message, "style_note": request.form.get("style_note", "")}
    return _start_telling(question, lambda refusal: _page(insight, 422, refusal=refusal, **typed), insight)


@templating.post("/insights/<id:insight_id>/restore")
def restore(insight_id: int) -> Response:
    """Make this version the current one; the others stay as they are."""
    insights.restore(services().database, insight_id)
    return templating.redirect_back(f"/insights/{insight_id}")


@templating.get("/insights/<id:insight_id>/delete")
def confirm(insight_id: int) -> Response:
    """What deleting takes along; nothing is done yet."""
    insight = insights.get(services().database, insight_id)
    return templating.ask_first("insights/_delete.html", "chat", _("Delete an insight"), insight=insight)


@templating.post("/insights/<id:insight_id>/delete")
def delete(insight_id: int) -> Response:
    """Delete this version with its conversation; the newest that is left becomes the current one."""
    database = services().database
    anchor = insights.get(database, insight_id).anchor
    insights.delete(database, insight_id)
    current = insights.current(database, anchor)
    return templating.redirect_to(f"/insights/{current.id}" if current else "/insights")


def _start_telling(
    question: TurnRequest, refused: Callable[[str], Response], beside: Insight | None = None
) -> Response:
    """Start telling; then to what came of it, or to where it can be watched."""
    try:
        live = started(question)
    except TurnRefused as refusal:
        return refused(sentence(refusal))
    live.settle(PATIENCE_S)
    made = insights.of_chat(services().database, live.chat_id) if live.is_over else None
    if made is None:
        return templating.redirect_to(f"/chat/{live.chat_id}#t{live.n}")
    return templating.redirect_to(f"/insights/{made.id}{f'?compare={beside.id}' if beside else ''}")


def _anchor(values: Mapping[str, str], who: Viewer) -> Anchor | None:
    """The frame or range of an address or a form. Raises 404."""
    frame_id = number(values, "frame")
    if frame_id is not None:
        frame = frames.get(services().database, frame_id)
        return records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    chosen = _whole_minutes(range_of(values, who))
    if chosen.problem or chosen.start_ms is None or chosen.end_ms is None:
        return None
    is_ours = times.MIN_MS <= chosen.start_ms < chosen.end_ms <= times.MAX_MS
    return Anchor("moment", chosen.start_ms, chosen.end_ms) if is_ours else None


def _whole_minutes(chosen: Range) -> Range:
    """The minutes that a range touches: a form can say no less, and the same stretch stays the same."""
    if chosen.start_ms is None or chosen.end_ms is None:
        return chosen
    start_ms = chosen.start_ms // _MINUTE_MS * _MINUTE_MS
    return replace(chosen, start_ms=start_ms, end_ms=-(-chosen.end_ms // _MINUTE_MS) * _MINUTE_MS)


def _voice() -> dict[str, Any]:
    """Who tells it, by the form. ``persona`` names one, ``kept`` the voice that is stored with a version."""
    form = request.form
    voice: dict[str, Any] = {
        "model": form.get("model") or None,
        "style_note": form.get("style_note", "").replace("\r\n", "\n"),
    }
    if form.get("persona", "") != "kept":
        active = personas.active(services().database)
        voice["persona_id"] = number(form, "persona") or (active.id if active else None)
    return voice


def _page(insight: Insight, status: int = 200, **typed: str) -> Response:
    """One insight, beside it the one that ``?compare=`` names; `typed` is what a form was refused with."""
    own, who = services(), viewer()
    other = number(request.args, "compare")
    beside = insights.get(own.database, other) if other is not None and other != insight.id else None
    context = {
        "insight": insight,
        "when": when(insight.anchor, who),
        "view": _view(own, insight, who),
        "versions": insights.versions(own.database, insight.anchor),
        "identity": conversations.identity(own.database, insight.chat_id),
        "beside": beside,
        "beside_view": _view(own, beside, who) if beside else None,
        "difference": difference(beside.summary, insight.summary) if beside else [],
    }
    return templating.render_page("insights/insight.html", status, **context, **_voices(own, **typed))


def _new(anchor: Anchor | None, who: Viewer, status: int = 200, **typed: str) -> Response:
    """What is about to be told; without an anchor a range has to be chosen first."""
    own, frame_id = services(), anchor.frame_id if anchor else None
    context = {
        "anchor": anchor,
        "when": when(anchor, who) if anchor else "",
        "frame": frames.get_many(own.database, [frame_id]).get(frame_id) if frame_id else None,
        "current": insights.current(own.database, anchor) if anchor else None,
        "range": _whole_minutes(range_of(request.values, who)),
    }
    return templating.render_page("insights/new.html", status, **context, **_voices(own, **typed))


def _voices(own: Services, **typed: str) -> dict[str, Any]:
    """Who could tell it: what `insights/_voice.html` draws, with what was typed before."""
    active = personas.active(own.database)
    return {
        "personas": personas.list_personas(own.database),
        "active_id": active.id if active else None,
        "models": own.chat_models.describe(),
        **dict.fromkeys(("refusal", "message", "style_note"), ""),
        **typed,
    }


def when(anchor: Anchor, viewer: Viewer) -> str:
    """The moment of a frame, or the range of a moment, as a person would write it."""
    end_ms = anchor.start_ms + 1 if anchor.kind == "frame" else anchor.end_ms
    span = formatting.span(anchor.start_ms, end_ms, viewer.zone, viewer.now_ms)
    return span.partition("–")[0] if anchor.kind == "frame" else span


def _view(own: Services, insight: Insight, viewer: Viewer) -> TurnView:
    return turn_view(own, stored_turn(own.database, insight.chat_id, insight.n), viewer.now_ms)


def _snippet(insight: Insight) -> str:
    """Its beginning, without the sentences that are marked where it is shown whole."""
    text = " ".join(_MARKS.sub("", without_numbers(insight.borne_out(insight.summary))).split())
    return text if len(text) <= _SNIPPET_CHARS else f"{text[:_SNIPPET_CHARS].rstrip()}…"
