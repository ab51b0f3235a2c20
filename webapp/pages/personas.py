"""Personas: who speaks in answers, written, tried, compared with earlier versions, chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flask import request
from markupsafe import Markup
from werkzeug.wrappers import Response

from assistant.core.errors import TurnRefused
from assistant.core.records import EvidenceItem, TurnRequest
from assistant.turns.turn import answer
from store.chats import conversations, personas
from store.chats.personas import Persona, PersonaInvalid, PersonaText
from store.core.translation import N_
from store.core.translation import gettext as _
from store.frames import frames
from store.timeline import segments
from webapp.api.questions import turn_services
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.formatting import difference
from webapp.core.parameters import number
from webapp.core.services import Services, Viewer, services, viewer
from webapp.views import answers
from webapp.views.answers import Links

_FIELDS = ("name", "description", "system_prompt")
MOMENTS = 8
_QUESTION = N_("What was I doing here?")
_SHORTEST_MS = 30_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of activity that a persona can be tried on."""

    start_ms: int
    end_ms: int
    label: str

    @property
    def key(self) -> str:
        return f"{self.start_ms}-{self.end_ms}"


@dataclass(frozen=True, slots=True)
class Trial:
    """What the persona said of a moment, or why it said nothing."""

    moment: Moment
    text: Markup | str = ""
    cited: tuple[EvidenceItem, ...] = ()
    model: str = ""
    problem: str = ""


@templating.get("/personas")
def show() -> Response:
    """The list, with the active persona open."""
    database = services().database
    speaking = personas.active(database) or next(iter(personas.list_personas(database)), None)
    return _page(speaking)


@templating.get("/personas/new")
def new() -> Response:
    return _page(None)


@templating.post("/personas")
def add() -> Response:
    """Keep a new persona."""
    own = services()
    return _changed(None, lambda: personas.create(own.database, _typed(), own.clock()).id)


@templating.get("/personas/<id:persona_id>")
def one(persona_id: int) -> Response:
    """One persona in its editor; ``?compare=N`` shows what changed since version N."""
    return _page(personas.get(services().database, persona_id))


@templating.post("/personas/<id:persona_id>")
def save(persona_id: int) -> Response:
    """Keep what was typed as a new version."""
    own = services()
    return _changed(
        persona_id, lambda: personas.update_persona(own.database, persona_id, _typed(), own.clock())
    )


def _changed(persona_id: int | None, change: Callable[[], object]) -> Response:
    """Make the change and show the persona, a new one by the id that this gives; or say what is wrong."""
    try:
        made = change()
    except PersonaInvalid as error:
        persona = None if persona_id is None else personas.get(services().database, persona_id)
        return _page(persona, 422, errors=dict(error.errors))
    return templating.redirect_to(f"/personas/{made if persona_id is None else persona_id}?saved=1")


@templating.post("/personas/preview")
def preview() -> Response:
    """Hear what is typed speak about a real moment; nothing is saved."""
    own, who, open_id = services(), viewer(), number(request.form, "open")
    opened = None if open_id is None else personas.get(own.database, open_id)
    words = _typed()
    if not words.system_prompt.strip():
        return _page(opened, 422, errors={"system_prompt": _("is missing")})
    key = request.form.get("moment", "")
    chosen = next((moment for moment in moments(own, who) if moment.key == key), None)
    if chosen is None:
        raise Problem(400, "invalid_request", _("There is no such moment any more; choose another."))
    return _page(opened, trial=try_out(own, words.system_prompt, chosen, who))


@templating.post("/personas/active")
def activate() -> Response:
    """Let a persona speak from the next turn on, or with no id nobody."""
    persona_id = number(request.form, "persona_id")
    personas.activate(services().database, persona_id)
    if templating.wants_fragment():  # chosen in the composer, which shows it already
        return Response(status=204)
    return templating.redirect_back(f"/personas/{persona_id}" if persona_id else "/personas")


@templating.post("/personas/<id:persona_id>/duplicate")
def duplicate(persona_id: int) -> Response:
    """A persona of one's own that says the same."""
    own = services()
    return templating.redirect_to(f"/personas/{personas.duplicate(own.database, persona_id, own.clock()).id}")


@templating.post("/personas/<id:persona_id>/reset")
def reset(persona_id: int) -> Response:
    """Let a built-in persona say what it came with; its versions stay."""
    own = services()
    return _changed(persona_id, lambda: personas.reset(own.database, persona_id, own.clock()))


@templating.post("/personas/<id:persona_id>/restore")
def restore(persona_id: int) -> Response:
    """Say again what a version said."""
    own, version = services(), number(request.form, "version", 9) or 0
    return _changed(persona_id, lambda: personas.restore(own.database, persona_id, version, own.clock()))


@templating.post("/personas/<id:persona_id>/remove")
def remove(persona_id: int) -> Response:
    """Delete one of one's own, or put it away where turns name it."""
    personas.remove(services().database, persona_id, services().clock())
    return templating.redirect_back("/personas")


@templating.post("/personas/<id:persona_id>/bring-back")
def bring_back(persona_id: int) -> Response:
    return _changed(persona_id, lambda: personas.unarchive(services().database, persona_id))


def _typed() -> PersonaText:
    name, description, prompt = (request.form.get(field, "") for field in _FIELDS)
    return PersonaText(personas.stored(name.strip()), prompt, personas.stored(description.strip()))


def _form(persona: Persona | None) -> dict[str, str]:
    """What the editor holds: what was typed a moment ago, or what is kept."""
    if request.method == "POST" and any(field in request.form for field in _FIELDS):
        return {field: request.form.get(field, "")[: 2 * personas.MAX_PROMPT_CHARS] for field in _FIELDS}
    return {field: personas.shown(getattr(persona, field)) if persona else "" for field in _FIELDS}


def _page(
    persona: Persona | None,
    status: int = 200,
    *,
    errors: Mapping[str, str] | None = None,
    trial: Trial | None = None,
) -> Response:
    """The list, and the persona that is open, None for a new one."""
    own = services()
    active = personas.active(own.database)
    versions = personas.versions(own.database, persona.id) if persona else []
    earlier = next((each for each in versions if each.version == number(request.args, "compare")), None)
    return templating.render_page(
        "personas/personas.html",
        status,
        listed=personas.list_personas(own.database),
        archived=personas.list_personas(own.database, archived=True),
        active_id=active.id if active else None,
        open=persona,
        form=_form(persona),
        errors=errors or {},
        versions=versions,
        compared=earlier,
        difference=difference(earlier.system_prompt, persona.system_prompt) if persona and earlier else (),
        moments=moments(own, viewer()),
        trial=trial,
        trial_question=_(_QUESTION),
        limits=personas,
        is_saved=request.method == "GET" and request.args.get("saved") == "1",
    )


def moments(own: Services, viewer: Viewer) -> list[Moment]:
    """The last stretches of some length, the latest first, of the day in which something was last seen."""
    last = frames.nearest(own.database, viewer.now_ms)
    if last is None:
        return []
    activity = segments.segments(own.database, last.ended_ms - _DAY_MS, last.ended_ms + 1)
    long_enough = (
        [segment for segment in activity if segment.end_ms - segment.start_ms >= _SHORTEST_MS]
        or activity
        or segments.moments(own.database, last.ended_ms - _DAY_MS, last.ended_ms + 1)
    )
    return [
        Moment(
            each.start_ms,
            max(each.end_ms, each.start_ms + 1),
            f"{formatting.span(each.start_ms, each.end_ms, viewer.zone, viewer.now_ms)} · "
            f"{formatting.app_name(each.app_name)}",
        )
        for each in reversed(long_enough[-MOMENTS:])
    ]


def try_out(own: Services, system_prompt: str, moment: Moment, viewer: Viewer) -> Trial:
    """Ask about a real moment as this persona would be asked: a turn like any other, of which nothing stays
    but the record that something was sent.
    """
    question = TurnRequest(
        _(_QUESTION), viewer.zone_name, viewer.now_ms, start_ms=moment.start_ms, end_ms=moment.end_ms,
        mode="evidence", system_prompt=system_prompt,
    )  # fmt: skip
    try:
        result = answer(turn_services(own), question)
    except TurnRefused as refusal:
        return Trial(moment, problem=formatting.sentence(refusal))
    conversations.delete(own.database, result.chat_id)
    if result.error:
        return Trial(moment, problem=f"{result.error.message} {result.error.action}".strip())
    cited = tuple(item for item in result.evidence if item.n is not None)
    addresses = {item.n: f"/frames/{item.frame_id}" for item in cited if item.n is not None}
    text = answers.whole(result, Links(addresses))
    return Trial(moment, text, cited, result.model)
