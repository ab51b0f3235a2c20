"""The pages of insights: the list, one with its versions, and two beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from assistant.core.errors import TurnRefused
from assistant.core.models import ModelInfo
from assistant.core.records import TurnRequest
from assistant.evidence.citations import without_numbers
from assistant.turns import anchor_facts
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations, personas, records
from store.chats.personas import Persona
from store.chats.records import Anchor
from store.core import times
from store.core.database import Database
from store.frames import frames
from store.memory import insights, search
from store.memory.insights import Insight
from store.memory.insights import InsightFilter as Wanted
from webapp.core import formatting, parameters, templating
from webapp.core.formatting import DiffLine, difference
from webapp.core.services import Services, Viewer, services, viewer
from webapp.exports import files
from webapp.pages.chats.routes import PATIENCE_S, started
from webapp.views.frames import Picture, picture
from webapp.views.turns import TurnView, turn_view

LISTED = 30
_SNIPPET_CHARS = 260
_MARKS = re.compile(r"\*\*|`|^\s*(?:[-*]|#{1,6}|>)\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InsightCard:
    """One insight in a list, with the picture of its frame where it has one."""

    insight: Insight
    when: str
    snippet: str
    picture: Picture | None


@dataclass(frozen=True, slots=True)
class InsightFilter:
    """What a list is narrowed to."""

    q: str = ""
    persona_id: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.persona_id or self.start_ms is not None)


@dataclass(frozen=True, slots=True)
class InsightsPage:
    """Everything `insights/insights.html` draws: the cards from `offset` on, of `total` in all."""

    asked: InsightFilter
    cards: list[InsightCard]
    personas: list[Persona]
    total: int
    offset: int

    @property
    def last(self) -> int:
        return self.offset + len(self.cards)

    @property
    def step(self) -> int:
        return LISTED


@dataclass(frozen=True, slots=True)
class InsightPage:
    """Everything `insights/insight.html` draws. `beside` is the version it is compared with."""

    insight: Insight
    when: str
    view: TurnView
    versions: list[Insight]
    personas: list[Persona]
    active_id: int | None
    models: list[ModelInfo]
    identity: str
    frame: Picture | None
    beside: Insight | None = None
    beside_view: TurnView | None = None
    difference: list[DiffLine] = field(default_factory=list)
    refusal: str = ""
    message: str = ""
    style_note: str = ""

    @property
    def title(self) -> str:
        return self.insight.title or "Insight"


@dataclass(frozen=True, slots=True)
class NewInsight:
    """What `insights/new.html` draws: the frame or moment that would be told, and by whom."""

    anchor: Anchor | None
    when: str
    frame: Picture | None
    current: Insight | None
    personas: list[Persona]
    active_id: int | None
    models: list[ModelInfo]
    refusal: str = ""
    style_note: str = ""


def list_page(own: Services, asked: InsightFilter, offset: int, viewer: Viewer) -> InsightsPage:
    """The current insights; with words those that fit them best first, else those of the latest time."""
    database = own.database
    wanted = Wanted(asked.start_ms, asked.end_ms, persona_id=asked.persona_id)
    if asked.q:
        asking = own.embedder.asking(asked.q)
        found = search.search_insights(database, asking, wanted, limit=LISTED, offset=offset)
        shown, total = found.insights, found.total
    else:
        shown = insights.list_insights(database, wanted, LISTED, offset=offset)
        total = insights.count(database, wanted)
    return InsightsPage(
        asked, _cards(database, shown, viewer), personas.list_personas(database), total, offset
    )


def insight_page(
    own: Services, insight: Insight, viewer: Viewer, beside: Insight | None = None, **typed: str
) -> InsightPage:
    """One insight, and `beside` it another version; `typed` is what a form was refused with."""
    database = own.database
    active = personas.active(database)
    return InsightPage(
        insight=insight,
        when=when(insight.anchor, viewer),
        view=_view(own, insight, viewer),
        versions=insights.versions(database, insight.anchor),
        personas=personas.list_personas(database),
        active_id=active.id if active else None,
        models=own.chat_models.describe(),
        identity=conversations.identity(database, insight.chat_id),
        frame=_frame(database, insight.anchor, viewer),
        beside=beside,
        beside_view=_view(own, beside, viewer) if beside else None,
        difference=difference(beside.summary, insight.summary) if beside else [],
        **typed,
    )


def new_page(own: Services, anchor: Anchor | None, viewer: Viewer, **typed: str) -> NewInsight:
    """What is about to be told; without an anchor a range has to be chosen first."""
    database = own.database
    active = personas.active(database)
    return NewInsight(
        anchor=anchor,
        when=when(anchor, viewer) if anchor else "",
        frame=_frame(database, anchor, viewer) if anchor else None,
        current=insights.current(database, anchor) if anchor else None,
        personas=personas.list_personas(database),
        active_id=active.id if active else None,
        models=own.chat_models.describe(),
        **typed,
    )


def when(anchor: Anchor, viewer: Viewer) -> str:
    """The moment of a frame, or the range of a moment, as a person would write it."""
    end_ms = anchor.start_ms + 1 if anchor.kind == "frame" else anchor.end_ms
    span = formatting.span(anchor.start_ms, end_ms, viewer.zone, viewer.now_ms)
    return span.partition("–")[0] if anchor.kind == "frame" else span


def _view(own: Services, insight: Insight, viewer: Viewer) -> TurnView:
    turn = stored_turn(own.database, insight.chat_id, insight.n)
    return turn_view(own.database, own.media, turn, viewer.now_ms)


def _frame(database: Database, anchor: Anchor, viewer: Viewer) -> Picture | None:
    if anchor.frame_id is None:
        return None
    rows = frames.get_many(database, [anchor.frame_id])
    return next((picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in rows.values()), None)


def _cards(database: Database, found: Iterable[Insight], viewer: Viewer) -> list[InsightCard]:
    return [
        InsightCard(each, when(each.anchor, viewer), _snippet(each), _frame(database, each.anchor, viewer))
        for each in found
    ]


def _snippet(insight: Insight) -> str:
    text = " ".join(_MARKS.sub("", without_numbers(insight.summary)).split())
    return text if len(text) <= _SNIPPET_CHARS else f"{text[:_SNIPPET_CHARS].rstrip()}…"


# ---- webapp insights
# Insights: told of a frame or a moment, listed, compared, put back, amended, told again as another.

blueprint = Blueprint("insights", __name__)

_MINUTE_MS = 60_000


@blueprint.get("/insights")
def show() -> Response:
    """The list: ``q`` finds by words and meaning, ``persona`` and a range narrow it."""
    who = viewer()
    chosen = parameters.read(request.args, who)
    asked = InsightFilter(
        request.args.get("q", "").strip()[:1_000],
        _number(request.args.get("persona", "")),
        chosen.start_ms,
        chosen.end_ms,
    )
    page = list_page(services(), asked, _offset(), who)
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
    return files.insight_file(found, "json" if request.args.get("fmt") == "json" else "md")


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
    chosen = _whole_minutes(parameters.read(values, who))
    if chosen.problem or chosen.start_ms is None or chosen.end_ms is None:
        return None
    is_ours = times.MIN_MS <= chosen.start_ms < chosen.end_ms <= times.MAX_MS
    return Anchor("moment", chosen.start_ms, chosen.end_ms) if is_ours else None


def _whole_minutes(chosen: parameters.Range) -> parameters.Range:
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
    page = insight_page(own, found, who, beside, **typed)
    return make_response(render_template("insights/insight.html", page=page, section="memory"), status)


def _new(anchor: Anchor | None, who: Viewer, status: int = 200, **typed: str) -> Response:
    page = new_page(services(), anchor, who, **typed)
    chosen = _whole_minutes(parameters.read(request.values, who))
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
