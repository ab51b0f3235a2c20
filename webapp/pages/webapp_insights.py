"""Insights: told of a frame or a moment, listed, compared, put back, amended, told again as another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.core.errors import TurnRefused
from assistant.core.records import TurnRequest
from assistant.turns import anchor_facts
from store.chats import personas, records
from store.chats.records import Anchor
from store.core import times
from store.frames import frames
from store.memory import insights
from store.memory.insights import Insight
from webapp.core import ranges, templating
from webapp.core.services import services
from webapp.core.viewer import Viewer, viewer
from webapp.exports import insight_files
from webapp.pages import insights as views
from webapp.pages.chats.routes import PATIENCE_S, started
from webapp.pages.insights import InsightFilter

blueprint = Blueprint("insights", __name__)

_MINUTE_MS = 60_000


@blueprint.get("/insights")
def show() -> Response:
    """The list: ``q`` finds by words and meaning, ``persona`` and a range narrow it."""
    who = viewer()
    chosen = ranges.read(request.args, who)
    asked = InsightFilter(
        request.args.get("q", "").strip()[:1_000],
        _number(request.args.get("persona", "")),
        chosen.start_ms,
        chosen.end_ms,
    )
    page = views.list_page(services(), asked, _offset(), who)
    html = render_template("insights/insights.html", page=page, range=chosen, section="memory")
    return make_response(html)


@blueprint.get("/insights/new")
def new() -> Response:
    """Before it is told: ``?frame=`` or ``?from=&to=`` say of what, the form by whom."""
    who = viewer()
    return _new(_anchor(request.args, who), who)


@blueprint.post("/insights")
def tell() -> Response:
    """Tell it. The answer leads to the insight, or to its conversation while it is being told."""
    who = viewer()
    anchor = _anchor(request.form, who)
    if anchor is None:
        return _new(None, who, 422, refusal="Say which time it should be about.")
    question = anchor_facts.request(anchor, who.zone_name, who.now_ms, **_voice())
    try:
        return _go(question)
    except TurnRefused as refusal:
        return _new(anchor, who, 422, refusal=_sentence(refusal))


@blueprint.get("/insights/<id:insight_id>")
def one(insight_id: int) -> Response:
    """One version; ``?compare=`` puts another one beside it."""
    return _page(insights.get(services().database, insight_id))


@blueprint.post("/insights/<id:insight_id>/again")
def again(insight_id: int) -> Response:
    """Tell the same from the beginning, as another persona or with another model."""
    who, found = viewer(), insights.get(services().database, insight_id)
    try:
        return _go(anchor_facts.request(found.anchor, who.zone_name, who.now_ms, **_voice()), beside=found)
    except TurnRefused as refusal:
        return _page(found, 422, refusal=_sentence(refusal))


@blueprint.post("/insights/<id:insight_id>/amend")
def amend(insight_id: int) -> Response:
    """A new current version by what is asked; what it is sent with is kept with it (C22).

    The button ``without_note`` sends the turn without the note.
    """
    who, found = viewer(), insights.get(services().database, insight_id)
    voice = _voice()
    if request.form.get("without_note"):
        voice["style_note"] = ""
    question = TurnRequest(
        message=request.form.get("message", ""),
        timezone=who.zone_name,
        now_ms=who.now_ms,
        chat_id=found.chat_id,
        amend=True,
        **voice,
    )
    try:
        return _go(question, beside=found)
    except TurnRefused as refusal:
        typed = {"message": question.message, "style_note": request.form.get("style_note", "")}
        return _page(found, 422, refusal=_sentence(refusal), **typed)


@blueprint.post("/insights/<id:insight_id>/restore")
def restore(insight_id: int) -> Response:
    """Let this version be the current one again."""
    insights.restore(services().database, insight_id)
    return templating.redirect_to(f"/insights/{insight_id}")


@blueprint.get("/insights/<id:insight_id>/delete")
def confirm(insight_id: int) -> Response:
    """What deleting takes along; nothing is done yet."""
    found = insights.get(services().database, insight_id)
    return templating.render("insights/delete.html", "insights/_delete.html", insight=found, section="memory")


@blueprint.post("/insights/<id:insight_id>/delete")
def delete(insight_id: int) -> Response:
    """Delete this version with its conversation; the newest that is left becomes the current one."""
    database = services().database
    anchor = insights.get(database, insight_id).anchor
    insights.delete(database, insight_id)
    left = insights.current(database, anchor)
    return templating.redirect_to(f"/insights/{left.id}" if left else "/insights")


@blueprint.get("/insights/<id:insight_id>/export")
def export(insight_id: int) -> Response:
    """The insight as a file, ``fmt`` md or json."""
    found = insights.get(services().database, insight_id)
    return insight_files.insight_file(found, "json" if request.args.get("fmt") == "json" else "md")


# -- support ------------------------------------------------------------------------------


def _go(question: TurnRequest, beside: Insight | None = None) -> Response:
    """Start telling; then to what came of it, or to where it can be watched."""
    live = started(question)
    live.settle(PATIENCE_S)
    made = insights.of_chat(services().database, live.chat_id) if live.is_over else None
    if made is None:
        return templating.redirect_to(f"/chat/{live.chat_id}#t{live.n}")
    return templating.redirect_to(
        f"/insights/{made.id}?compare={beside.id}" if beside else f"/insights/{made.id}"
    )


def _anchor(values: Mapping[str, str], who: Viewer) -> Anchor | None:
    """The frame or range of an address or a form. Raises 404."""
    frame_id = _number(values.get("frame", ""))
    if frame_id is not None:
        frame = frames.get(services().database, frame_id)
        return records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
    chosen = _whole_minutes(ranges.read(values, who))
    if chosen.problem or chosen.start_ms is None or chosen.end_ms is None:
        return None
    is_ours = times.MIN_MS <= chosen.start_ms < chosen.end_ms <= times.MAX_MS
    return Anchor("moment", chosen.start_ms, chosen.end_ms) if is_ours else None


def _whole_minutes(chosen: ranges.Range) -> ranges.Range:
    """The minutes that a range touches: a form can say no less, and the same stretch stays the same."""
    if chosen.start_ms is None or chosen.end_ms is None:
        return chosen
    start_ms = chosen.start_ms // _MINUTE_MS * _MINUTE_MS
    return replace(chosen, start_ms=start_ms, end_ms=-(-chosen.end_ms // _MINUTE_MS) * _MINUTE_MS)


def _voice() -> dict[str, Any]:
    """Who tells it, by the form. ``persona`` names one, ``kept`` the voice that is stored with a version."""
    form = request.form
    named = form.get("persona", "")
    found: dict[str, Any] = {
        "model": form.get("model") or None,
        "style_note": form.get("style_note", "").replace("\r\n", "\n"),
    }
    if named != "kept":
        active = personas.active(services().database)
        found["persona_id"] = _number(named) or (active.id if active else None)
    return found


def _page(found: Insight, status: int = 200, **typed: str) -> Response:
    own, who = services(), viewer()
    other = _number(request.args.get("compare", ""))
    beside = None
    if other is not None and other != found.id:
        beside = insights.get(own.database, other)
    page = views.insight_page(own, found, who, beside, **typed)
    return make_response(render_template("insights/insight.html", page=page, section="memory"), status)


def _new(anchor: Anchor | None, who: Viewer, status: int = 200, **typed: str) -> Response:
    page = views.new_page(services(), anchor, who, **typed)
    chosen = _whole_minutes(ranges.read(request.values, who))
    html = render_template("insights/new.html", page=page, range=chosen, section="memory")
    return make_response(html, status)


def _sentence(refusal: TurnRefused) -> str:
    text = str(refusal)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _offset() -> int:
    text = request.args.get("offset", "")
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
