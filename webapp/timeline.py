"""The timeline: one local day at a time, a frame on the stage, a band of apps to scrub along."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from store import frames
from webapp import fragments
from webapp.errors import FieldError, Problem
from webapp.moments import clock_on, day_named, moment
from webapp.services import services
from webapp.viewer import Viewer, viewer
from webapp.views import band
from webapp.views.day import page
from webapp.views.marks import scrub_marks
from webapp.views.stage import Ask, address, stage

blueprint = Blueprint("timeline", __name__)

_LONGEST_DAY_MS = 27 * 3_600_000


@blueprint.get("/timeline")
def show() -> BaseResponse:
    """The day around ``frame``, ``at`` or ``day``; for htmx the stage alone."""
    who = viewer()
    typed = request.args.get("go", "").strip()
    if typed:
        return _go(typed, who)
    ask = _ask(who)
    database = services().database
    if fragments.wants_fragment():
        found = stage(database, ask, who)
        response = fragments.render("timeline/timeline.html", "timeline/_moment.html", ask=ask, stage=found)
        if found is not None:
            response.headers["HX-Replace-Url"] = address(ask, found.frame.id)
        return response
    return fragments.render(
        "timeline/timeline.html", "timeline/_moment.html", page=page(database, ask, who), section="timeline"
    )


@blueprint.get("/timeline/marks")
def marks() -> Response:
    """The index to scrub by: ``{"marks": [[id, ms, app], ...]}``, one frame a minute or each frame."""
    who = viewer()
    start_ms, end_ms = _required("from", who), _required("to", who)
    if not start_ms < end_ms <= start_ms + _LONGEST_DAY_MS:
        raise Problem(400, "invalid_time_range", "An index covers more than nothing and at most a day.")
    found = scrub_marks(services().database, start_ms, end_ms, request.args.getlist("app"))
    return jsonify(marks=found)


def _ask(who: Viewer) -> Ask:
    zoom = request.args.get("z", "day")
    if zoom not in band.ZOOMS:
        raise _bad("z", f"must be one of {', '.join(band.ZOOMS)}")
    apps = tuple(dict.fromkeys(name for name in request.args.getlist("app") if name))
    frame_id = request.args.get("frame")
    if frame_id is not None:
        if not frame_id.isdigit():
            raise _bad("frame", "must be the number of a frame")
        frame = frames.get(services().database, int(frame_id))
        return Ask(who.day_of(frame.captured_ms), zoom, frame=frame, app_names=apps)
    at = request.args.get("at")
    if at is not None:
        at_ms = moment(at, who)
        if at_ms is None:
            raise _bad("at", "must be epoch milliseconds or a time such as 2026-11-20T14:32:08+08:00")
        return Ask(who.day_of(at_ms), zoom, at_ms=at_ms, app_names=apps)
    name = request.args.get("day")
    day = day_named(name, who) if name else who.today
    if day is None:
        raise _bad("day", "must be a date such as 2026-11-20")
    return Ask(day, zoom, app_names=apps)


def _go(typed: str, who: Viewer) -> BaseResponse:
    """A typed day, time or phrase, as a redirect to its address."""
    shown = day_named(request.args.get("day"), who) or who.today
    at_ms = clock_on(shown, typed, who)
    if at_ms is not None:
        return redirect(f"/timeline?at={at_ms}", 303)
    day = day_named(typed, who)
    if day is not None:
        return redirect(f"/timeline?day={day.date.isoformat()}", 303)
    return redirect(_of_phrase(typed, who), 303)


def _of_phrase(typed: str, who: Viewer) -> str:
    raise _bad("go", f"“{typed}” is not a time I know; try 14:32 or 2026-11-20")


def _required(name: str, who: Viewer) -> int:
    ms = moment(request.args.get(name), who)
    if ms is None:
        raise _bad(name, "must be epoch milliseconds")
    return ms


def _bad(field: str, message: str) -> Problem:
    return Problem(
        400, "invalid_request", "The address cannot be understood.", errors=(FieldError(field, message),)
    )
