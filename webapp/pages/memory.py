"""What was done, open to correction."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import redirect, request
from werkzeug.wrappers import Response

from store.core.translation import gettext as _
from store.frames import apps, frames
from store.memory import observation_writer, observations
from store.search.sample import evenly
from webapp.core import templating
from webapp.core.services import services, viewer

_SHOTS = 3
_MAX_CHARS = 1_000
_MAX_NARRATIVE = 4_000
_MAX_LINES = 50


@templating.get("/memory")
def show() -> Response:
    """Where a day's observations are now: the page of that day."""
    day = request.args.get("day")
    return redirect(f"/days?{urlencode({'day': day})}" if day else "/days")


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
