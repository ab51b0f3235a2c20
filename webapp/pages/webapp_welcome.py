"""The first-run page: what is recorded, what never is, and what still wants a hand."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template
from werkzeug.wrappers import Response

from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.welcome import page

blueprint = Blueprint("welcome", __name__)


@blueprint.get("/welcome")
def show() -> Response:
    """The rows as they are now."""
    html = render_template("welcome/welcome.html", page=page(services(), viewer()), section="status")
    return make_response(html)
