"""Status: is it recording, reading and finding; and the hand on the recording."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from webapp.core import templating
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.ops import recording
from webapp.ops.light import recording_indicator
from webapp.pages.status import decision_words, page

blueprint = Blueprint("status", __name__)

_MAX_MINUTES = 525_600


@blueprint.get("/status")
def show() -> Response:
    """The page; for htmx the facts alone, asked for every ten seconds."""
    found = page(services(), viewer())
    return templating.render(
        "status/status.html", "status/facts.html", page=found, words=decision_words, section="status"
    )


@blueprint.get("/status/light")
def light() -> Response:
    """The capture light alone."""
    return make_response(render_template("shell/light.html", light=recording_indicator(services())))


@blueprint.post("/status/pause")
def pause() -> Response:
    """Stop recording, for ``minutes`` or until resumed."""
    own = services()
    minutes = request.form.get("minutes", "")
    if minutes and not (minutes.isdecimal() and 0 < int(minutes) <= _MAX_MINUTES):
        error = FieldError("minutes", "must be a whole number of minutes")
        raise Problem(422, "invalid_request", "The pause cannot be set.", errors=(error,))
    recording.pause(own.data_dir, int(minutes) if minutes else None, own.clock())
    return templating.redirect_to(_back())


@blueprint.post("/status/resume")
def resume() -> Response:
    """Go on recording."""
    recording.resume(services().data_dir)
    return templating.redirect_to(_back())


def _back() -> str:
    address = request.form.get("next", "")
    return address if templating.is_local(address) else "/status"
