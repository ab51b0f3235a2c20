"""People, things and facts that are remembered: looked at, corrected, merged, forgotten."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.sources import entities, fact_curation
from store.sources.entities import Provenance
from webapp.api.remembered import entity_or_404, fact_or_404, merge
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages import views_remembered as views

blueprint = Blueprint("remembered", __name__)

CONFIRMATION = "FORGET"


@blueprint.get("/memory/entities")
def show_entities() -> Response:
    """Who and what is remembered, last changed first; ``?q=`` and ``?kind=`` narrow it."""
    kind = request.args.get("kind", "")
    known = next((each for each in views.KINDS if each == kind), None)
    page = views.entities_page(services().database, request.args.get("q", "").strip()[:200], known, _offset())
    return _page("remembered/entities.html", page=page, kinds=views.KINDS)


@blueprint.get("/memory/entities/<id:entity_id>")
def show_entity(entity_id: int) -> Response:
    """One, with what is said of it; one that was merged leads to the other."""
    found = entity_or_404(entity_id)
    if found.id != entity_id:
        return templating.redirect_to(f"/memory/entities/{found.id}", 302)
    page = views.entity_page(services().database, found, viewer())
    return _page("remembered/entity.html", page=page, confirmation=CONFIRMATION)


@blueprint.post("/memory/entities/<id:entity_id>/describe")
def describe(entity_id: int) -> Response:
    """Keep the person's description; no chat replaces it."""
    own, found = services(), entity_or_404(entity_id)
    words = request.form.get("description", "").replace("\r\n", "\n")
    with own.database.write() as connection:
        entities.store_entity(connection, found.kind, found.name, Provenance(own.clock()), words)
    return templating.redirect_to(f"/memory/entities/{found.id}")


@blueprint.get("/memory/entities/<id:entity_id>/merge")
def preview_merge(entity_id: int) -> Response:
    """Both side by side; nothing is done yet."""
    into = request.args.get("into", "")
    found = entity_or_404(entity_id)
    other = entity_or_404(int(into) if into.isdecimal() and len(into) < 16 else -1)
    if other.id == found.id:
        raise Problem(422, "cannot_merge", "These are one already.")
    page = views.merge_page(services().database, found, other, viewer())
    return _page("remembered/merge.html", page=page)


@blueprint.post("/memory/entities/<id:entity_id>/merge")
def do_merge(entity_id: int) -> Response:
    """Let this one be recalled as the other."""
    into = request.form.get("into", "")
    into_id = int(into) if into.isdecimal() and len(into) < 16 else -1
    merge(entity_id, into_id)
    return templating.redirect_to(f"/memory/entities/{into_id}")


@blueprint.post("/memory/entities/<id:entity_id>/unmerge")
def unmerge(entity_id: int) -> Response:
    """Let one that was merged stand by itself again."""
    with services().database.write() as connection:
        fact_curation.unmerge(connection, entity_id)
    return templating.redirect_to(f"/memory/entities/{entity_or_404(entity_id).id}")


@blueprint.post("/memory/entities/<id:entity_id>/forget")
def forget(entity_id: int) -> Response:
    """Delete it with every fact about it, when the word was typed."""
    own, found = services(), entity_or_404(entity_id)
    if request.form.get("confirm", "").strip() != CONFIRMATION:
        page = views.entity_page(own.database, found, viewer())
        problem = f"Type {CONFIRMATION} to forget it for good."
        return _page(
            "remembered/entity.html", 422, page=page, confirmation=CONFIRMATION, forget_problem=problem
        )
    with own.database.write() as connection:
        entities.delete_entity(connection, found.id)
    own.database.checkpoint()
    return templating.redirect_to("/memory/entities")


@blueprint.get("/memory/facts")
def show_facts() -> Response:
    """What is said, latest first, what disagrees before it; ``?retracted=1`` what was taken back."""
    page = views.facts_page(
        services().database, viewer(), retracted=request.args.get("retracted") == "1", offset=_offset()
    )
    return _page("remembered/facts.html", page=page)


@blueprint.get("/memory/facts/<id:fact_id>")
def show_fact(fact_id: int) -> Response:
    """One fact: where it was learned, and which answers it went into."""
    found = fact_or_404(fact_id)
    uses = views.fact_uses(services().database, found)
    return _page("remembered/fact.html", fact=found, uses=uses)


@blueprint.post("/memory/facts/<id:fact_id>/retract")
def retract(fact_id: int) -> Response:
    """Take it back, with a reason if there is one."""
    fact_or_404(fact_id)
    own = services()
    with own.database.write() as connection:
        fact_curation.retract(connection, fact_id, request.form.get("reason", ""), own.clock())
    return templating.redirect_to(_back(f"/memory/facts/{fact_id}"))


@blueprint.post("/memory/facts/<id:fact_id>/restore")
def restore(fact_id: int) -> Response:
    """Let it be recalled again."""
    fact_or_404(fact_id)
    with services().database.write() as connection:
        fact_curation.restore_fact(connection, fact_id)
    return templating.redirect_to(_back(f"/memory/facts/{fact_id}"))


@blueprint.post("/memory/facts/<id:fact_id>/correct")
def correct(fact_id: int) -> Response:
    """Take it back and remember what the person says instead."""
    own, found = services(), fact_or_404(fact_id)
    value = request.form.get("value", "").strip()
    if not 0 < len(value) <= entities.MAX_TEXT_CHARS:
        problem = f"Say what is true instead, in at most {entities.MAX_TEXT_CHARS:,} characters."
        raise Problem(422, "invalid_fact", problem)
    with own.database.write() as connection:
        number, _ = entities.store_fact(
            connection, found.subject_id, found.predicate, Provenance(own.clock()), object_value=value
        )
        fact_curation.restore_fact(connection, number)
        if number != fact_id:
            fact_curation.retract(connection, fact_id, "corrected", own.clock())
    return templating.redirect_to(_back(f"/memory/facts/{number}"))


def _offset() -> int:
    text = request.args.get("offset", "")
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def _back(otherwise: str) -> str:
    address = request.form.get("next", "")
    return address if templating.is_local(address) else otherwise


def _page(template: str, status: int = 200, **context: object) -> Response:
    html = render_template(template, section="memory", **{"forget_problem": "", **context})
    return make_response(html, status)
