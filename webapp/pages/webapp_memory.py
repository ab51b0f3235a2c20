"""Memory: what was done on a day, found again, and seen in its surroundings; open to correction."""

from __future__ import annotations

from flask import Blueprint, make_response, redirect, render_template, request
from werkzeug.wrappers import Response

from store.memory import observation_writer, timeline
from store.memory.entries import ENTRY_TYPES
from store.memory.timeline import BadAnchor, UnknownAnchor
from webapp.api.api_memory import observation_or_404
from webapp.core import ranges, templating
from webapp.core.errors import Problem
from webapp.core.moments import day_named
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages import memory as views

blueprint = Blueprint("memory", __name__)

_MAX_CHARS = 1_000
_MAX_NARRATIVE = 4_000
_MAX_LINES = 50


@blueprint.get("/memory")
def show() -> Response:
    """One day of observations; today unless ``?day=`` says another."""
    who = viewer()
    day = day_named(request.args.get("day"), who) or who.today
    page = views.day_page(services().database, day, who)
    return make_response(render_template("memory/memory.html", page=page, section="memory"))


@blueprint.get("/memory/search")
def search() -> Response:
    """What fits words or their meaning; for htmx only the results."""
    own, who = services(), viewer()
    asked = views.MemoryQuery(
        q=request.args.get("q", "")[:_MAX_CHARS],
        type=request.args.get("type", "") if request.args.get("type") in ENTRY_TYPES else "",
        concept=request.args.get("concept", "").strip()[:_MAX_CHARS],
        file=request.args.get("file", "").strip()[:_MAX_CHARS],
        kind=request.args.get("kind", "").strip()[:_MAX_CHARS],
        range=ranges.read(request.args, who),
    )
    page = views.search_page(own.database, asked, own.embedder.asking(asked.q), who)
    return templating.render("memory/search.html", "memory/_results.html", page=page, section="memory")


@blueprint.get("/memory/around")
def around() -> Response:
    """What lies around an anchor, which is marked."""
    anchor = request.args.get("anchor", "")[:_MAX_CHARS]
    depth = request.args.get("depth", "")
    steps = int(depth) if depth.isdecimal() and len(depth) < 3 else timeline.TIMELINE_DEPTH
    steps = min(steps, timeline.MAX_DEPTH)
    unit: timeline.Unit = "hours" if request.args.get("unit") == "hours" else "records"
    try:
        found = timeline.get_context_timeline(
            services().database, anchor, depth_before=steps, depth_after=steps, unit=unit
        )
    except BadAnchor as error:
        raise Problem(400, "invalid_anchor", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    except UnknownAnchor as error:
        raise Problem(404, "anchor_not_found", f"{str(error).capitalize()}.") from error
    page = views.around_page(services().database, found, anchor, steps, unit, viewer())
    return make_response(render_template("memory/around.html", page=page, section="memory"))


@blueprint.get("/memory/observations/<id:observation_id>")
def observation(observation_id: int) -> Response:
    """One observation with its frames, and the form to correct it."""
    return _form(observation_id, {}, 200)


@blueprint.post("/memory/observations/<id:observation_id>")
def edit(observation_id: int) -> Response:
    """Keep the person's words; what reads as before goes on following the frames."""
    observation_or_404(observation_id)
    own, form = services(), request.form
    words = {
        "title": " ".join(form.get("title", "").split())[:_MAX_CHARS],
        "narrative": form.get("narrative", "").replace("\r\n", "\n").strip()[:_MAX_NARRATIVE],
        "facts": _lines(form.get("facts", "")),
        "concepts": _lines(form.get("concepts", "").replace(",", "\n")),
        "kind": " ".join(form.get("kind", "").split())[:40],
        "project": " ".join(form.get("project", "").split())[:_MAX_CHARS] or None,
    }
    errors = {name: "Needs at least one word." for name in ("title", "kind") if not words[name]}
    if errors:
        return _form(observation_id, errors, 422)
    observation_writer.edit(own.database, observation_id, words, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@blueprint.post("/memory/observations/<id:observation_id>/revert")
def revert(observation_id: int) -> Response:
    """Let the observation follow its frames again."""
    observation_or_404(observation_id)
    own = services()
    observation_writer.edit(own.database, observation_id, {}, own.clock())
    return templating.redirect_to(f"/memory/observations/{observation_id}")


@blueprint.post("/memory/observations/<id:observation_id>/hide")
def hide(observation_id: int) -> Response:
    """Take it out of memory; its frames stay."""
    own = services()
    found = observation_or_404(observation_id)
    observation_writer.hide(own.database, observation_id, own.clock())
    day = viewer().day_of(found.start_ms)
    return redirect(f"/memory?day={day.date.isoformat()}", 303)


def _form(observation_id: int, errors: dict[str, str], status: int) -> Response:
    found = observation_or_404(observation_id)
    page = views.observation_page(services().database, found, viewer(), errors)
    return make_response(render_template("memory/observation.html", page=page, section="memory"), status)


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split())[:_MAX_CHARS] for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))[:_MAX_LINES]
