"""The WSGI application of the screenpipe-shaped port: routes, guards, errors, and the two small views."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any

from flask import Flask, Response, current_app, g, jsonify, request
from pydantic import Field
from werkzeug.exceptions import HTTPException

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall, ReadRefused
from store.core.errors import StoreError
from store.frames.activity_intervals import Segment
from store.frames.frames import captured_ms_of, newest_id
from store.search.filters import Filters
from store.timeline.totals import Totals, of_segments
from webapp.api.values import Text
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
        "/search/keyword": search.keyword,
        "/frames/<id:frame_id>": frames.picture,
        "/frames/<id:frame_id>/context": frames.context,
        "/frames/<id:frame_id>/text": frames.text,
        "/frames/<id:frame_id>/ocr": frames.text,  # what it was called before
        "/frames/<id:frame_id>/elements": frames.elements,
        "/tags/vision/<id:frame_id>": frames.tags,
        "/elements": frames.elements,
        "/activity-summary": summary,
        "/vision/list": frames.monitors,
        "/audio/list": none_heard,
        "/meetings": none_heard,
    }
    views = {view: _recorded(view) for view in routes.values()}
    for path, view in routes.items():
        app.add_url_rule(path, view.__name__, views[view], methods=["GET"])
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
_MAX_WINDOWS = 30
_RECENT_MS = 10 * 60_000


class SummaryQuery(RangeQuery):
    start_time: Time
    end_time: Time
    q: Text = ""
    include_recording: bool = True
    include_memories: bool = True
    include_snippets: bool = True
    include_guidance: bool = True
    max_snippets: Annotated[int, Field(ge=0, le=12)] = 8
    max_snippet_chars: Annotated[int, Field(ge=1)] = 500


def none_heard(call: ReadCall) -> list[Document]:
    """Neither microphones nor calls: sound is not recorded."""
    return []


def summary(call: ReadCall) -> Document:
    """Minutes by app and window, from a union of intervals, and what was read last, or has words of `q`."""
    query = read(SummaryQuery)
    start_ms, end_ms = query.span_ms()
    assert end_ms is not None  # it is required
    line = [
        segment
        for segment in chain(calls.segments(call, start_ms, end_ms), calls.moments(call, start_ms, end_ms))
        if query.app_name is None or (segment.app_name or "").casefold() == query.app_name.casefold()
    ]
    totals = of_segments(line, start_ms, end_ms)
    apps, windows = _apps(line, totals), _windows(line, totals)
    texts = _texts(call, start_ms, end_ms, query.app_name)
    found = _texts(call, start_ms, end_ms, query.app_name, query.q) if query.q.strip() else texts
    call.returned = len(apps) + len(texts)
    newest, count = newest_id(services().database), sum(segment.frames for segment in line)
    is_recent = newest is not None and services().clock() - captured_ms_of(newest) < _RECENT_MS
    more = {
        "recording": {
            "last_frame_at": utc(captured_ms_of(newest)) if newest is not None else None,
            "last_audio_at": None,
            "frames_in_range": count,
            "audio_segments_in_range": 0,
            "recent_capture": is_recent,
        },
        "memories": [],
        "snippets": [
            {**each, "text": each["text"][: query.max_snippet_chars], "source": "screen", "speaker": None}
            for each in found[: query.max_snippets]
        ],
        "guidance": {"searched_endpoints": ["/activity-summary"], "next_best_query": None},
    }
    return {
        "apps": apps,
        "windows": windows,
        "key_texts": texts,
        "recent_texts": texts,  # what it was called before
        "edited_files": [],
        "audio_summary": {"segment_count": 0, "speakers": [], "top_transcriptions": []},
        "total_frames": count,
        "time_range": {"start": utc(query.start_time), "end": utc(query.end_time)},
        "data_status": "ok" if count else "no_capture_in_range" if is_recent else "not_recording",
        "query_status": "not_requested"
        if not query.q.strip()
        else "matched"
        if found
        else "no_query_matches",
    } | {name: part for name, part in more.items() if getattr(query, f"include_{name}")}


def _windows(line: list[Segment], totals: Totals) -> list[Document]:
    counts = Counter(
        (segment.app_name, segment.window_name) for segment in line for _ in range(segment.frames)
    )
    urls = {(segment.app_name, segment.window_name): segment.browser_url or "" for segment in line}
    return [
        {
            "app_name": total.app_name,
            "window_name": total.name,
            "browser_url": urls.get((total.app_name, total.name), ""),
            "minutes": round(total.duration_ms / 60_000, 1),
            "frame_count": counts[total.app_name, total.name],
        }
        for total in totals.by_window[:_MAX_WINDOWS]
        if total.app_name and total.name
    ]


def _apps(line: list[Segment], totals: Totals) -> list[Document]:
    counts: Counter[str | None] = Counter()
    for segment in line:
        counts[segment.app_name] += segment.frames
    return [
        {
            "name": total.name,
            "frame_count": counts[total.name],
            "minutes": round(total.duration_ms / 60_000, 1),
            "first_seen": utc(total.first_ms),
            "last_seen": utc(total.last_ms),
        }
        for total in [total for total in totals.by_app if total.name][:_MAX_APPS]
    ]


def _texts(call: ReadCall, start_ms: int, end_ms: int, app_name: str | None, q: str = "") -> list[Document]:
    """The beginnings of the newest different texts, or what has some words."""
    filters = Filters(start_ms=start_ms, end_ms=end_ms, app_name=app_name)
    by_text: dict[str, Document] = {}
    for hit in calls.find(call, q, filters, limit=4 * _MAX_TEXTS, wanted=search.has_words).hits:
        text = " ".join(hit.snippet.split())
        names = {"app_name": hit.app_name or "", "window_name": hit.window_name or ""}
        entry = {"text": text, **names, "timestamp": utc(hit.captured_ms)}
        by_text.setdefault(text, entry)
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
