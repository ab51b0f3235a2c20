"""Personas: who speaks in answers, written, tried, compared with earlier versions, chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.chats import personas
from store.chats.personas import Persona, PersonaInvalid, PersonaText, Version
from webapp.core import templating
from webapp.core.difference import DiffLine, difference
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages import persona_files
from webapp.pages import personas as persona_trial
from webapp.pages.personas import Moment, Trial

blueprint = Blueprint("personas", __name__)

_FIELDS = ("name", "description", "system_prompt")


@dataclass(frozen=True, slots=True)
class PersonasPage:
    """What `personas/personas.html` draws: the list, and the one that is open (None: a new one)."""

    listed: list[Persona]
    archived: list[Persona]
    active_id: int | None
    open: Persona | None
    form: Mapping[str, str]
    errors: Mapping[str, str]
    versions: list[Version]
    compared: tuple[Version, list[DiffLine]] | None = None
    is_saved: bool = False
    moments: Sequence[Moment] = ()
    trial: Trial | None = None
    trial_question: str = persona_trial.QUESTION
    max_prompt: int = personas.MAX_PROMPT_CHARS
    max_name: int = personas.MAX_NAME_CHARS
    max_description: int = personas.MAX_DESCRIPTION_CHARS


@blueprint.get("/personas")
def show() -> Response:
    """The list, with the active persona open."""
    database = services().database
    speaking = personas.active(database) or next(iter(personas.list_personas(database)), None)
    return _page(speaking)


@blueprint.get("/personas/new")
def new() -> Response:
    return _page(None)


@blueprint.post("/personas")
def add() -> Response:
    """Keep a new persona."""
    own = services()
    try:
        added = personas.create(own.database, _typed(), own.clock())
    except PersonaInvalid as error:
        return _page(None, 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{added.id}?saved=1")


@blueprint.get("/personas/<id:persona_id>")
@blueprint.get("/personas/<id:persona_id>/edit", endpoint="edit")
def one(persona_id: int) -> Response:
    """One persona in its editor; ``?compare=N`` shows what changed since version N."""
    return _page(personas.get(services().database, persona_id))


@blueprint.post("/personas/<id:persona_id>")
def save(persona_id: int) -> Response:
    """Keep what was typed as a new version."""
    own = services()
    try:
        personas.update_persona(own.database, persona_id, _typed(), own.clock())
    except PersonaInvalid as error:
        return _page(personas.get(own.database, persona_id), 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{persona_id}?saved=1")


@blueprint.post("/personas/preview")
def preview() -> Response:
    """Hear what is typed speak about a real moment; nothing is saved."""
    own, who, text = services(), viewer(), request.form.get("open", "")
    opened = personas.get(own.database, int(text)) if text.isdecimal() and len(text) < 19 else None
    words = _typed()
    if not words.system_prompt.strip():
        return _page(opened, 422, errors={"system_prompt": "is missing"})
    wanted = request.form.get("moment", "")
    chosen = next((each for each in persona_trial.moments(own, who) if each.key == wanted), None)
    if chosen is None:
        raise Problem(400, "invalid_request", "There is no such moment any more; choose another.")
    return _page(opened, trial=persona_trial.run(own, words.system_prompt, chosen, who))


@blueprint.post("/personas/active")
def activate() -> Response:
    """Let a persona speak from the next turn on, or with no id nobody."""
    text = request.form.get("persona_id", "")
    persona_id = int(text) if text.isdecimal() and len(text) < 19 else None
    personas.activate(services().database, persona_id)
    return templating.redirect_to(f"/personas/{persona_id}" if persona_id else "/personas")


@blueprint.post("/personas/<id:persona_id>/duplicate")
def duplicate(persona_id: int) -> Response:
    own = services()
    try:
        added = personas.duplicate(own.database, persona_id, own.clock())
    except PersonaInvalid as error:
        raise Problem(422, "invalid_persona", f"{str(error).capitalize()}.") from error
    return templating.redirect_to(f"/personas/{added.id}")


@blueprint.post("/personas/<id:persona_id>/reset")
def reset(persona_id: int) -> Response:
    """Let a built-in persona say what it came with; its versions stay."""
    own = services()
    try:
        personas.reset(own.database, persona_id, own.clock())
    except PersonaInvalid as error:
        return _page(personas.get(own.database, persona_id), 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{persona_id}?saved=1")


@blueprint.post("/personas/<id:persona_id>/restore")
def restore(persona_id: int) -> Response:
    """Say again what a version said."""
    own = services()
    text = request.form.get("version", "")
    version = int(text) if text.isdecimal() and len(text) < 10 else 0
    try:
        personas.restore(own.database, persona_id, version, own.clock())
    except PersonaInvalid as error:
        return _page(personas.get(own.database, persona_id), 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{persona_id}?saved=1")


@blueprint.post("/personas/<id:persona_id>/remove")
def remove(persona_id: int) -> Response:
    """Delete a persona, or put it away when turns name it."""
    own = services()
    personas.remove(own.database, persona_id, own.clock())
    return templating.redirect_to("/personas")


@blueprint.post("/personas/<id:persona_id>/bring-back")
def bring_back(persona_id: int) -> Response:
    try:
        personas.unarchive(services().database, persona_id)
    except PersonaInvalid as error:
        return _page(personas.get(services().database, persona_id), 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{persona_id}")


@blueprint.get("/personas/export")
def export() -> Response:
    """Every persona that can be chosen, or with ``?id=`` one, as a file."""
    database = services().database
    text = request.args.get("id", "")
    if text.isdecimal() and len(text) < 19:
        chosen = [personas.get(database, int(text))]
    else:
        chosen = personas.list_personas(database)
    response = make_response(persona_files.dump_personas(each.words for each in chosen))
    response.content_type = "application/json"
    response.headers["Content-Disposition"] = 'attachment; filename="recollect-personas.json"'
    return response


@blueprint.post("/personas/import")
def import_file() -> Response:
    """Add the personas of a file: all of them, or with a sentence none."""
    own = services()
    upload = request.files.get("file")
    try:
        words = persona_files.load_personas(upload.read(persona_files.MAX_BYTES + 1) if upload else b"")
        added = personas.create_all(own.database, words, own.clock())
    except PersonaInvalid as error:
        told = "; ".join(f"{name} {message}" for name, message in error.errors)
        return _page(None, 422, errors={"file": f"{told[:1].upper()}{told[1:]}."})
    return templating.redirect_to(f"/personas/{added[0].id}" if added else "/personas")


# -- support ------------------------------------------------------------------------------


def _typed() -> PersonaText:
    name, description, prompt = (request.form.get(field, "") for field in _FIELDS)
    return PersonaText(name, prompt, description)


def _form(persona: Persona | None) -> dict[str, str]:
    """What the editor holds: what was typed a moment ago, or what is kept."""
    if request.method == "POST" and any(field in request.form for field in _FIELDS):
        return {field: request.form.get(field, "")[: 2 * personas.MAX_PROMPT_CHARS] for field in _FIELDS}
    return {field: getattr(persona, field) if persona else "" for field in _FIELDS}


def _page(
    persona: Persona | None,
    status: int = 200,
    *,
    errors: Mapping[str, str] | None = None,
    trial: Trial | None = None,
) -> Response:
    own = services()
    database = own.database
    active = personas.active(database)
    versions = personas.versions(database, persona.id) if persona else []
    page = PersonasPage(
        listed=personas.list_personas(database),
        archived=personas.list_personas(database, archived=True),
        active_id=active.id if active else None,
        open=persona,
        form=_form(persona),
        errors=errors or {},
        versions=versions,
        compared=_compared(persona, versions),
        moments=persona_trial.moments(own, viewer()),
        trial=trial,
        is_saved=request.method == "GET" and request.args.get("saved") == "1",
    )
    html = render_template("personas/personas.html", page=page, section="personas")
    return make_response(html, status)


def _compared(persona: Persona | None, versions: list[Version]) -> tuple[Version, list[DiffLine]] | None:
    """The version that ``?compare=`` names, and how the persona differs from it."""
    wanted = request.args.get("compare", "")
    earlier = next((each for each in versions if str(each.version) == wanted), None)
    if persona is None or earlier is None:
        return None
    return earlier, difference(earlier.system_prompt, persona.system_prompt)
