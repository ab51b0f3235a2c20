"""The timeline: one local day at a time, a frame on the stage, a band of apps to scrub along."""

from __future__ import annotations

from flask import Response, jsonify, redirect, request
from werkzeug.wrappers import Response as BaseResponse

from store.core.times import Day
from store.core.translation import gettext as _
from store.frames import frames
from store.timeline import sample_week
from webapp.core import templating
from webapp.core.errors import Problem, unreadable_address
from webapp.core.parameters import day_named, moment
from webapp.core.services import Viewer, services, viewer
from webapp.pages.timeline import band
from webapp.pages.timeline.destinations import Destination, resolve_destination
from webapp.pages.timeline.stage import StageQuery, address, selection_of, stage
from webapp.pages.timeline.view import page, scrub_marks, selector
from webapp.views.frames import highlight_request

_LONGEST_DAY_MS = 27 * 3_600_000


@templating.get("/timeline")
def show() -> BaseResponse:
    """The day around ``frame``, ``at`` or ``day``; for htmx the stage alone. ``go`` is a typed time."""
    who = viewer()
    typed = request.args.get("go", "").strip()[:200]
    shown_day = day_named(request.args.get("day"), who) or who.today
    destination = resolve_destination(typed, shown_day, who) if typed else ""
    if isinstance(destination, Destination):
        return redirect(destination.address, 303)
    ask = _stage_query(who)
    if templating.wants_fragment():
        return _with_selection("timeline/_moment.html", ask, who)
    return templating.render_page(
        "timeline/timeline.html",
        400 if destination else 200,
        page=page(services().database, ask, who),
        typed=typed,
        problem=destination,
    )


@templating.get("/timeline/selection")
def selected() -> Response:
    """What can be done with the stretch from ``from`` to ``to``; the rest as of the timeline."""
    who = viewer()
    return _with_selection("timeline/_selection.html", _stage_query(who), who)


def _with_selection(template: str, ask: StageQuery, who: Viewer) -> Response:
    """A fragment of what is on the stage, and what can be selected from there; the address bar follows."""
    shown = stage(services().database, ask)
    at_ms = shown.frame.captured_ms if shown else ask.day.start_ms
    chosen = selector(ask, shown, band.window(ask.day, at_ms, ask.zoom, who))
    response = templating.render_page(template, ask=ask, stage=shown, selector=chosen)
    response.headers["HX-Replace-Url"] = address(ask, shown.frame.id if shown else None)
    return response


@templating.get("/timeline/marks")
def marks() -> Response:
    """The index to scrub by: ``{"marks": [[id, ms, app], ...]}``, one frame a minute or each frame."""
    who = viewer()
    start_ms, end_ms = _required("from", who), _required("to", who)
    if not start_ms < end_ms <= start_ms + _LONGEST_DAY_MS:
        raise Problem(400, "invalid_time_range", _("Choose a range of at most a day."))
    return jsonify(marks=scrub_marks(services().database, start_ms, end_ms, request.args.getlist("app")))


def _stage_query(who: Viewer) -> StageQuery:
    """What the address asks for: of ``frame``, ``at`` and ``day`` the first that it has."""
    args = request.args
    zoom = args.get("z", "day")
    if zoom not in band.ZOOMS:
        raise unreadable_address("z", _("must be one of %(names)s", names=_(", ").join(band.ZOOMS)))
    try:
        selection = selection_of(args, who)
    except ValueError as error:
        raise unreadable_address(str(error), _("must be a moment, as epoch milliseconds")) from error
    frame = at_ms = None
    if (number := args.get("frame")) is not None:
        if not number.isdigit():
            raise unreadable_address("frame", _("must be the number of a frame"))
        frame = frames.get(services().database, int(number))
        day = who.day_of(frame.captured_ms)
    elif (at := args.get("at")) is not None:
        at_ms = moment(at, who)
        if at_ms is None:
            form = _("must be epoch milliseconds or a time such as 2026-11-20T14:32:08+08:00")
            raise unreadable_address("at", form)
        day = who.day_of(at_ms)
    else:
        day = _day(args.get("day"), who)
    return StageQuery(
        day=day,
        zoom=zoom,
        at_ms=at_ms,
        frame=frame,
        app_names=tuple(dict.fromkeys(name for name in args.getlist("app") if name)),
        wanted=highlight_request(args if frame else {}),
        selected=selection,
    )


def _day(name: str | None, who: Viewer) -> Day:
    """The day that is named, else today; in a sample week, where nothing ever happens today, its last."""
    if (day := day_named(name, who)) is not None:
        return day
    own = services()
    last = frames.nearest(own.database, who.now_ms) if sample_week.is_sample(own.data_dir) else None
    return who.day_of(last.captured_ms) if last else who.today


def _required(name: str, who: Viewer) -> int:
    ms = moment(request.args.get(name), who)
    if ms is None:
        raise unreadable_address(name, _("must be epoch milliseconds"))
    return ms
