"""The WSGI application of the screenpipe-shaped port: routes, guards, errors, and the two small views."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

from flask import Flask, Response, current_app, g, jsonify, request
from werkzeug.exceptions import HTTPException

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall, ReadRefused
from store.core.errors import StoreError
from store.frames.activity_intervals import Segment
from store.frames.frames import captured_ms_of, newest_id
from store.search.filters import Filters
from store.timeline.totals import of_segments
from webapp.core.parameters import IdConverter
from webapp.core.services import Services, services
from webapp.integrations.screenpipe import frames, search
from webapp.integrations.screenpipe.values import Document, RangeQuery, Time, read, utc
from webapp.ops import health as app_health
from webapp.security import guards, login
from webapp.security.keys import OWNER, Keyring

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


def create_compat_app(own: Services, port: int) -> Flask:
    """The application over the services of the pages; `port` is the one it is served on."""
    app = Flask("webapp.integrations.screenpipe", static_folder=None, template_folder=None)
    app.extensions["recollect"] = own
    app.extensions["keyring"] = Keyring(own.database, own.token, own.clock)
    app.config["PORT"] = port
    app.url_map.converters["id"] = IdConverter
    app.before_request(_guard)
    app.after_request(guards.protect)
    routes: dict[str, Callable[..., Any]] = {
        "/search": search.search,
        "/frames/<id:frame_id>": frames.picture,
        "/frames/<id:frame_id>/context": frames.context,
        "/tags/vision/<id:frame_id>": frames.tags,
        "/elements": frames.elements,
        "/activity-summary": summary,
    }
    for path, view in routes.items():
        app.add_url_rule(path, view.__name__, _recorded(view), methods=["GET"])
    app.add_url_rule("/health", "health", lambda: jsonify(health(is_known=g.is_known)))
    app.register_error_handler(ReadRefused, lambda error: _error(str(error), _STATUS[error.code]))
    app.register_error_handler(HTTPException, lambda error: _error(str(error.name), error.code or 500))
    app.register_error_handler(Exception, _unexpected)
    return app


def _recorded(view: Callable[..., Any]) -> Callable[..., Response]:
    """`view` without its first parameter, the call it reads through."""

    @functools.wraps(view)
    def run(**values: Any) -> Response:
        with calls.call(services().agent.library, DOOR, view.__name__) as call:
            answer = view(call, **values)
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
    # A bearer token, or ``?token=`` for what cannot send a header, such as an ``<img>``.
    has_header = "Authorization" in request.headers
    shown = guards.bearer_token() if has_header else request.args.get("token", "")
    key = login.keyring().bearer(shown, request.remote_addr or "") if shown else None
    g.is_known = key is not None and key.scope in (OWNER.scope, "read")
    calls.caller.set(key.name if key else "")
    if g.is_known or request.endpoint == "health" or not services().settings.compat.token_required:
        return None
    detail = "a token is needed: set SCREENPIPE_LOCAL_API_KEY to what `recollect token add screenpipe` prints"
    problem = login.slow_down() if shown else None
    if problem:
        return _error(problem.detail, problem.status, **problem.headers)
    return _error(detail, 401, **{"WWW-Authenticate": "Bearer"})


# -- errors in their shape --------------------------------------------------------------------


def _error(sentence: str, status: int, **headers: str) -> Response:
    response = jsonify(error=sentence)
    response.status_code = status
    response.headers.update(headers)
    return response


def _unexpected(error: Exception) -> Response:
    log.exception("a request of another program failed", exc_info=error)
    if isinstance(error, StoreError):
        return _error("the database cannot be read; `recollect doctor` says what to do", 503)
    return _error("something went wrong on our side", 500)


# -- ``GET /activity-summary`` and ``GET /health`` ----------------------------------------------

_MAX_APPS = 20
_MAX_TEXTS = 10


class SummaryQuery(RangeQuery):
    start_time: Time
    end_time: Time


def summary(call: ReadCall) -> Document:
    """Minutes by app, from a union of intervals, and what was read last."""
    query = read(SummaryQuery)
    start_ms, end_ms = query.span_ms()
    assert end_ms is not None  # it is required
    line = [
        segment
        for segment in chain(calls.segments(call, start_ms, end_ms), calls.moments(call, start_ms, end_ms))
        if query.app_name is None or (segment.app_name or "").casefold() == query.app_name.casefold()
    ]
    apps = _apps(line, start_ms, end_ms)
    texts = _texts(call, start_ms, end_ms, query.app_name)
    call.returned = len(apps) + len(texts)
    return {
        "apps": apps,
        "recent_texts": texts,
        "audio_summary": {"segment_count": 0, "speakers": []},
        "total_frames": sum(segment.frames for segment in line),
        "time_range": {"start": utc(query.start_time), "end": utc(query.end_time)},
    }


def _apps(line: list[Segment], start_ms: int, end_ms: int) -> list[Document]:
    counts: Counter[str | None] = Counter()
    for segment in line:
        counts[segment.app_name] += segment.frames
    totals = [total for total in of_segments(line, start_ms, end_ms).by_app if total.name]
    return [
        {
            "name": total.name,
            "frame_count": counts[total.name],
            "minutes": round(total.duration_ms / 60_000, 1),
            "first_seen": utc(total.first_ms),
            "last_seen": utc(total.last_ms),
        }
        for total in totals[:_MAX_APPS]
    ]


def _texts(call: ReadCall, start_ms: int, end_ms: int, app_name: str | None) -> list[Document]:
    """The beginnings of the newest different texts."""
    filters = Filters(start_ms=start_ms, end_ms=end_ms, app_name=app_name)
    by_text: dict[str, Document] = {}
    for hit in calls.find(call, "", filters, limit=4 * _MAX_TEXTS).hits:
        text = " ".join(hit.snippet.split())
        said = {"text": text, "app_name": hit.app_name or "", "timestamp": utc(hit.captured_ms)}
        by_text.setdefault(text, said)
    by_text.pop("", None)
    return list(by_text.values())[:_MAX_TEXTS]


def health(*, is_known: bool) -> Document:
    """Always 200, the state in the body, as theirs; the time of the last frame only with a token."""
    state = app_health.check(services())
    capture = next(part for part in state.parts if part.name == "capture")
    newest = newest_id(services().database)
    frame_status = "not_started" if newest is None else "ok" if capture.verdict == "ok" else "stale"
    return {
        "status": state.status,
        "status_code": 503 if state.status == "unhealthy" else 200,
        "last_frame_timestamp": utc(captured_ms_of(newest)) if is_known and newest is not None else None,
        "last_audio_timestamp": None,
        "frame_status": frame_status,
        "audio_status": "disabled",
        "message": "Recollect records the screen; `recollect doctor` says what is wrong, if anything.",
        "verbose_instructions": None,
        "device_status_details": None,
    }
