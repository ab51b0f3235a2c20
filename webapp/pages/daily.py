"""Days: the summaries of all of them, one hour by hour, told again, and taken along."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, make_response, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from store.core import preferences
from store.core.preferences import DayClock
from store.memory.daily_summaries import DailySummary
from webapp.api import days as api
from webapp.api.days import DayAnswer, day_or_404
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.moments import day_named
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.exports import formats
from webapp.pages import days as views

blueprint = Blueprint("days", __name__)

_FORMATS = {"md": "text/markdown; charset=utf-8", "json": "application/json"}


@blueprint.get("/days")
def show_all() -> Response:
    """All days, the latest first; ``?before=`` goes further back."""
    before = day_named(request.args.get("before"), viewer())
    page = views.list_page(services().database, before.date if before else None, viewer())
    return make_response(render_template("days/days.html", page=page, section="memory"))


@blueprint.get("/days/<day:on>")
def show(on: date) -> Response:
    """One day; one without a summary says so, and shows what imported sources have of it."""
    page = views.day_page(services().database, on, viewer())
    html = render_template("days/day.html", page=page, section="memory")
    return make_response(html, 200 if page.summary or page.held else 404)


@blueprint.post("/days/<day:on>/redo")
def redo(on: date) -> BaseResponse:
    """Tell every hour of the day again."""
    api.redo(day_or_404(on))
    return templating.redirect_to(f"/days/{on.isoformat()}")


@blueprint.post("/days/clock")
def follow() -> BaseResponse:
    """Count days by the viewer's own clock from now on."""
    who = viewer()
    preferences.choose_day_clock(services().database, DayClock(who.zone, who.day_start_min))
    address = request.form.get("next", "")
    return templating.redirect_to(address if templating.is_local(address) else "/days")


@blueprint.get("/days/<day:on>/export")
def export(on: date) -> Response:
    """The day as Markdown or JSON, with the address of every frame."""
    fmt = request.args.get("fmt", "md")
    if fmt not in _FORMATS:
        raise Problem(400, "invalid_fmt", f"fmt must be one of {', '.join(_FORMATS)}.")
    found = day_or_404(on)
    told = api.document(found)
    content = _markdown(found, told) if fmt == "md" else told.model_dump_json(indent=1)
    response = Response(content, content_type=_FORMATS[fmt])
    response.headers["Content-Disposition"] = f'attachment; filename="day-{found.day}.{fmt}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _markdown(day: DailySummary, told: DayAnswer) -> str:
    zone, origin = ZoneInfo(day.zone), request.host_url.rstrip("/")
    lines = [f"# {formats.escape(day.text.split(chr(10), 1)[0])}", ""]
    for hour in told.hours:
        for point in hour.points:
            at = formats.when(round(point.timestamp * 1000), zone)
            lines.append(f"- {at} {formats.escape(point.text)}")
            for proof in point.evidence:
                quoted = f"“{formats.escape(proof.quote)}” - " if proof.quote else ""
                lines.append(f"  - {quoted}[frame {proof.frame_id}]({origin}{proof.frame_url})")
    whose = "in words of a chat model" if day.source == "model" else "by rule"
    lines += ["", f"Told by Recollect for {day.zone}; {whose}."]
    return "\n".join(lines) + "\n"
