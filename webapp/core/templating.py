"""One address, two shapes: the whole page, or the fragment that htmx asked for."""

from __future__ import annotations

from typing import Any

from flask import Flask, Response, make_response, redirect, render_template
from htmx_flask import Htmx, request
from werkzeug.wrappers import Response as BaseResponse


def install_htmx(app: Flask) -> None:
    """Give every request its `htmx` headers."""
    Htmx(app)


def wants_fragment() -> bool:
    """Whether htmx asks for a piece of a page; a history restore gets the page."""
    return bool(request.htmx) and not request.htmx.history_restore_request


def render(page_template: str, fragment_template: str, **context: Any) -> Response:
    """The page's template, or the fragment's, with the same context."""
    return make_response(render_template(fragment_template if wants_fragment() else page_template, **context))


def redirect_to(address: str, code: int = 303) -> BaseResponse:
    """Send the browser to another page: by redirect, or by header when htmx asked.

    htmx follows a redirect by itself and would swap the other page into a corner of this one.
    """
    if not wants_fragment():
        return redirect(address, code)
    response = make_response("", 204)
    response.headers["HX-Redirect"] = address
    return response


def is_local(address: str) -> bool:
    """Whether an address given by a form is a path of ours, and nothing that leads away."""
    return address.startswith("/") and not address.startswith(("//", "/\\")) and "\n" not in address
