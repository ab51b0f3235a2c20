"""Imported sources: what there is of each, looked through, added to, and taken back."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.core.preferences import day_clock
from store.sources import imports
from store.sources.imports import KINDS, AcceptedNames, Import, ImportNotFound, Kind
from webapp.api.import_names import import_or_404
from webapp.core import importing
from webapp.core.errors import Problem
from webapp.core.importing import Choices
from webapp.core.services import services
from webapp.core.uploads import MAX_IMPORT_BYTES
from webapp.core.viewer import viewer
from webapp.pages import sources as views
from webapp.pages.sources import SourcePage

blueprint = Blueprint("sources", __name__)

CONFIRMATION = "DELETE"
_MAX_CHARS = 200


@blueprint.get("/sources")
def show() -> str:
    """The four sources, and how much there is of each."""
    database = services().database
    cards = [(kind, views.TITLES[kind], views.ABOUT[kind], views.ICONS[kind], views.UNITS[kind],
              imports.total(database, kind)) for kind in KINDS]  # fmt: skip
    return render_template("sources/sources.html", cards=cards, section="settings")


@blueprint.get("/sources/<kind>")
def source(kind: str) -> Response:
    return _answer(_page(_known(kind)))


@blueprint.post("/sources/<kind>/import")
def take_in(kind: str) -> Response:
    """Import the file of the form; the answer is the page with the receipt, or with what is wrong."""
    known = _known(kind)
    given = {name: request.form.get(name, "").strip()[:_MAX_CHARS] for name in ("timezone", "me", "dates")}
    given["timezone"] = given["timezone"] or viewer().zone_name
    try:
        receipt = importing.run(known, importing.uploaded_file(), Choices(**given))
    except Problem as problem:
        if problem.status >= 500:
            raise
        detail = "Choose a file first." if problem.code == "file_required" else problem.detail
        return _answer(replace(_page(known), problem=_on_a_page(detail), given=given), problem.status)
    return _answer(replace(_page(known), receipt=receipt))


@blueprint.get("/sources/<kind>/imports/<id:import_id>")
def imported(kind: str, import_id: int) -> Response:
    """One import: what it brought, and the people or places it names, which can be remembered."""
    return _imported(_import(kind, import_id))


@blueprint.post("/sources/<kind>/imports/<id:import_id>/remember")
def remember(kind: str, import_id: int) -> Response:
    """Remember the names that are ticked, or all of them; the page says what came of it."""
    own, found = services(), _import(kind, import_id)
    chosen = None if request.form.get("all") else set(request.form.getlist("name"))
    try:
        done = imports.accept_names(own.database, found, chosen, own.clock())
    except LookupError as error:
        raise Problem(422, "invalid_request", "That name is not in this import any more.") from error
    return _imported(found, done)


@blueprint.post("/sources/<kind>/delete")
def delete(kind: str) -> Response:
    """Delete a source as a whole, when the word was typed, or what one import brought."""
    known = _known(kind)
    number = request.form.get("import_id", "")
    import_id = int(number) if number.isdecimal() and len(number) < 16 else None
    if import_id is None and request.form.get("confirm", "").strip() != CONFIRMATION:
        problem = f"Type {CONFIRMATION} to delete all of it for good."
        return _answer(replace(_page(known), delete_problem=problem), 422)
    try:
        gone = imports.delete(services().database, known, import_id)
    except ImportNotFound as error:
        raise Problem(404, "import_not_found", "That import is not there any more.") from error
    return _answer(replace(_page(known), deleted=gone))


def _known(kind: str) -> Kind:
    if kind not in KINDS:
        raise Problem(404, "not_found", "There is no such source.")
    return kind


def _import(kind: str, import_id: int) -> Import:
    found = import_or_404(import_id)
    if found.kind != _known(kind):
        raise Problem(404, "import_not_found", f"There is no import {import_id} of {kind}.")
    return found


def _imported(found: Import, done: AcceptedNames | None = None) -> Response:
    page = views.import_page(services().database, found, done)
    return make_response(render_template("sources/imported.html", page=page, section="settings"))


def _on_a_page(detail: str) -> str:
    """The sentence of the command, which names options, for a form, which has fields."""
    words = {"with --me": "in the field “You”", "with --dates dmy or mdy": "in the field “Dates”"}
    for option, field in words.items():
        detail = detail.replace(option, field)
    return detail


def _page(kind: Kind) -> SourcePage:
    database, who = services().database, viewer()
    return SourcePage(
        kind=kind,
        title=views.TITLES[kind],
        unit=views.UNITS[kind],
        icon=views.ICONS[kind],
        total=imports.total(database, kind),
        imports=imports.listed(database, kind),
        q=request.args.get("q", "").strip()[:1_000],
        listed=views.listed(database, kind, request.args, who),
        zone_name=who.zone_name,
        clock=day_clock(database),
    )


def _answer(page: SourcePage, status: int = 200) -> Response:
    html = render_template(
        "sources/source.html", page=page, confirmation=CONFIRMATION, section="settings",
        max_mb=MAX_IMPORT_BYTES // 1_000_000,
    )  # fmt: skip
    return make_response(html, status)
