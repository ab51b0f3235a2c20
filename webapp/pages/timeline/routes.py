"""The timeline: one local day at a time, a frame on the stage, a band of apps to scrub along."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from store.core.times import Day
from store.frames import frames
from store.timeline import sample_week
from webapp.core import templating
from webapp.core.errors import FieldError, Problem
from webapp.core.parameters import day_named, moment
from webapp.core.services import Viewer, services, viewer
from webapp.pages.palette import Goal, resolve_destination
from webapp.pages.timeline import stage as selection
from webapp.pages.timeline.stage import Stage, StageQuery, address, stage
from webapp.pages.timeline.view import Selector, page, scrub_marks, selector
from webapp.views import activity_band
from webapp.views.frames import highlight_request

blueprint = Blueprint("timeline", __name__)

_LONGEST_DAY_MS = 27 * 3_600_000


@blueprint.get("/timeline")
def show() -> BaseResponse:
    """The day around ``frame``, ``at`` or ``day``; for htmx the stage alone."""
    who = viewer()
    typed = request.args.get("go", "").strip()[:200]
    led = (
        resolve_destination(typed, day_named(request.args.get("day"), who) or who.today, who) if typed else ""
    )
    if isinstance(led, Goal):
        return redirect(led.address, 303)
    ask = _ask(who)
    database = services().database
    if templating.wants_fragment():
        return _moment(ask, stage(database, ask, who), who)
    found = page(database, ask, who)
    html = render_template("timeline/timeline.html", page=found, typed=typed, problem=led, section="timeline")
    return make_response(html, 422 if led else 200)


def _moment(ask: StageQuery, found: Stage | None, who: Viewer) -> Response:
    """The stage with its details and what can be selected from here; the address bar follows."""
    selecting = _selector(ask, found, who)
    response = make_response(
        render_template("timeline/_moment.html", ask=ask, stage=found, selector=selecting)
    )
    if found is not None:
        response.headers["HX-Replace-Url"] = address(ask, found.frame.id)
    return response


def _selector(ask: StageQuery, found: Stage | None, who: Viewer) -> Selector:
    at_ms = found.frame.captured_ms if found else ask.day.start_ms
    return selector(ask, found, activity_band.window(ask.day, at_ms, ask.zoom, who))


@blueprint.get("/timeline/selection")
def selected() -> Response:
    """What can be done with the stretch from ``from`` to ``to``; the rest as of the timeline."""
    who = viewer()
    ask = _ask(who)
    found = stage(services().database, ask, who)
    html = render_template("timeline/_selection.html", selector=_selector(ask, found, who))
    response = make_response(html)
    response.headers["HX-Replace-Url"] = address(ask, found.frame.id if found else None)
    return response


@blueprint.get("/timeline/marks")
def marks() -> Response:
    """The index to scrub by: ``{"marks": [[id, ms, app], ...]}``, one frame a minute or each frame."""
    who = viewer()
    start_ms, end_ms = _required("from", who), _required("to", who)
    if not start_ms < end_ms <= start_ms + _LONGEST_DAY_MS:
        raise Problem(400, "invalid_time_range", "An index covers more than nothing and at most a day.")
    found = scrub_marks(services().database, start_ms, end_ms, request.args.getlist("app"))
    return jsonify(marks=found)


def _ask(who: Viewer) -> StageQuery:
    zoom = request.args.get("z", "day")
    if zoom not in activity_band.ZOOMS:
        raise _bad("z", f"must be one of {', '.join(activity_band.ZOOMS)}")
    apps = tuple(dict.fromkeys(name for name in request.args.getlist("app") if name))
    lines = request.args.get("boxes") == "1"
    try:
        chosen = selection.read(request.args, who)
    except ValueError as error:
        raise _bad(str(error), "must be a moment, as epoch milliseconds") from error
    frame_id = request.args.get("frame")
    if frame_id is not None:
        if not frame_id.isdigit():
            raise _bad("frame", "must be the number of a frame")
        frame = frames.get(services().database, int(frame_id))
        day = who.day_of(frame.captured_ms)
        return StageQuery(
            day,
            zoom,
            frame=frame,
            app_names=apps,
            wanted=highlight_request(request.args),
            with_lines=lines,
            selected=chosen,
        )
    at = request.args.get("at")
    if at is not None:
        at_ms = moment(at, who)
        if at_ms is None:
            raise _bad("at", "must be epoch milliseconds or a time such as 2026-11-20T14:32:08+08:00")
        return StageQuery(
            who.day_of(at_ms), zoom, at_ms=at_ms, app_names=apps, with_lines=lines, selected=chosen
        )
    name = request.args.get("day")
    named = day_named(name, who) if name else _day_to_begin_with(who)
    if named is None:
        raise _bad("day", "must be a date such as 2026-11-20")
    return StageQuery(named, zoom, app_names=apps, with_lines=lines, selected=chosen)


def _day_to_begin_with(who: Viewer) -> Day:
    """Today; in a sample week, where nothing ever happens today, its last day."""
    own = services()
    last = frames.nearest(own.database, who.now_ms) if sample_week.is_sample(own.data_dir) else None
    return who.day_of(last.captured_ms) if last else who.today


def _required(name: str, who: Viewer) -> int:
    ms = moment(request.args.get(name), who)
    if ms is None:
        raise _bad(name, "must be epoch milliseconds")
    return ms


def _bad(field: str, message: str) -> Problem:
    return Problem(
        400, "invalid_request", "The address cannot be understood.", errors=(FieldError(field, message),)
    )
