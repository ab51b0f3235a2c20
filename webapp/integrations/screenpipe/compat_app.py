"""The WSGI application of the screenpipe-shaped port: its guards, its errors, its routes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, current_app, g, jsonify, request
from pydantic import BaseModel
from werkzeug.exceptions import HTTPException

from assistant.read_api import calls
from assistant.read_api.calls import ReadRefused, ReadSources
from store.core.errors import StoreError
from webapp.core.parameters import IdConverter
from webapp.core.services import Services, services
from webapp.integrations.screenpipe import app as activity
from webapp.integrations.screenpipe import elements, frames, search
from webapp.security import access, guards

log = logging.getLogger(__name__)

DOOR = "screenpipe"

_STATUS = {
    "not_found": 404,
    "withheld": 403,
    "gone": 410,
    "invalid": 400,
    "rules_unreadable": 503,
    "busy": 503,
}

_ROUTES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("/search", search.search),
    ("/frames/<id:frame_id>", frames.picture),
    ("/frames/<id:frame_id>/context", frames.context),
    ("/tags/vision/<id:frame_id>", frames.tags),
    ("/elements", elements.elements),
    ("/activity-summary", activity.summary),
)


def create_compat_app(own: Services, port: int) -> Flask:
    """The application over the services of the pages; `port` is the one it is served on."""
    app = Flask("webapp.integrations.screenpipe", static_folder=None, template_folder=None)
    app.extensions["recollect"] = own
    app.config["PORT"] = port
    app.url_map.converters["id"] = IdConverter
    app.before_request(_guard)
    app.after_request(guards.protect)
    for path, view in _ROUTES:
        app.add_url_rule(path, view.__name__, _recorded(view), methods=["GET"])
    app.add_url_rule("/health", "health", lambda: jsonify(activity.health(is_known=g.is_known)))
    app.register_error_handler(ReadRefused, _refused)
    app.register_error_handler(HTTPException, lambda error: _error(str(error.name), error.code or 500))
    app.register_error_handler(StoreError, _store_error)
    app.register_error_handler(Exception, _unexpected)
    return app


def _recorded(view: Callable[..., Any]) -> Callable[..., Response]:
    """`view` without its first parameter, the call it reads through."""

    @functools.wraps(view)
    def run(**values: Any) -> Response:
        own = services()
        library = ReadSources(own.database, own.media, own.settings, own.embedder, own.clock)
        with calls.call(library, DOOR, view.__name__) as call:
            answer = view(call, **values)
        if isinstance(answer, BaseModel):
            answer = answer.model_dump()
        return answer if isinstance(answer, Response) else jsonify(answer)

    return run


# -- the guard ------------------------------------------------------------------------------


def _guard() -> Response | None:
    """None lets the request through: our Host, no other site, and a token (see the package)."""
    port = current_app.config["PORT"]
    if not guards.is_allowed_host(request.environ.get("HTTP_HOST", ""), guards.LOOPBACK_NAMES, port):
        return _error("this server does not answer to that Host", 403)
    if guards.is_cross_site():
        return _error("requests from web pages of other sites are refused", 403)
    g.is_known = _has_token()
    if g.is_known or request.endpoint == "health" or not services().settings.compat.token_required:
        return None
    detail = "a token is needed: set SCREENPIPE_LOCAL_API_KEY to what `recollect token --reading` prints"
    response = _error(detail, 401)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _has_token() -> bool:
    """A bearer token, or ``?token=`` for what cannot send a header, such as an ``<img>``."""
    shown = request.args.get("token", "")
    if "Authorization" in request.headers:
        sent = request.authorization
        shown = (sent.token or "") if sent is not None and sent.type == "bearer" else ""
    return access.may_read(shown, services().token)


# -- errors in their shape --------------------------------------------------------------------


def _error(sentence: str, status: int) -> Response:
    response = jsonify(error=sentence)
    response.status_code = status
    return response


def _refused(error: ReadRefused) -> Response:
    return _error(str(error), _STATUS[error.code])


def _store_error(error: StoreError) -> Response:
    log.error("a read for another program failed", exc_info=error)
    return _error("the database cannot be read; `recollect doctor` says what to do", 503)


def _unexpected(error: Exception) -> Response:
    log.exception("a request of another program failed", exc_info=error)
    return _error("something went wrong on our side", 500)
