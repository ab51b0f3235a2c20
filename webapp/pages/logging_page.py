"""Settings, Logging: whether what models are told of earlier chats is logged, for a day at most."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.memory import chat_sessions, context_packs
from webapp.core import templating
from webapp.core.services import services

logging_blueprint = Blueprint("logging_page", __name__)


@logging_blueprint.get("/settings/logging", endpoint="show")
def show_logging() -> Response:
    """The switch, until when it is on, and what was measured."""
    own = services()
    html = render_template(
        "logging/logging.html",
        section="settings",
        until_ms=chat_sessions.verbose_until_ms(own.database, own.clock()),
        telemetry=context_packs.telemetry(own.database),
        sample=own.settings.context.telemetry_sample,
    )
    return make_response(html)


@logging_blueprint.post("/settings/logging", endpoint="save")
def save_logging() -> Response:
    """Switch it on from now on, or off; it holds at once."""
    own = services()
    chat_sessions.set_verbose(own.database, request.form.get("verbose") == "on", own.clock())
    return templating.redirect_to("/settings/logging")
