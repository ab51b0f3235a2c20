"""Settings, Logging: whether what models are told of earlier chats is logged, for a day at most."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store import context_packs, context_preferences
from webapp import fragments
from webapp.services import services

blueprint = Blueprint("logging_page", __name__)


@blueprint.get("/settings/logging")
def show() -> Response:
    """The switch, until when it is on, and what was measured."""
    own = services()
    html = render_template(
        "logging/logging.html",
        section="settings",
        until_ms=context_preferences.verbose_until_ms(own.database, own.clock()),
        telemetry=context_packs.telemetry(own.database),
        sample=own.settings.context.telemetry_sample,
    )
    return make_response(html)


@blueprint.post("/settings/logging")
def save() -> Response:
    """Switch it on from now on, or off; it holds at once."""
    own = services()
    context_preferences.set_verbose(own.database, request.form.get("verbose") == "on", own.clock())
    return fragments.go("/settings/logging")
