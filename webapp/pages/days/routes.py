"""Days: one page per day, its summary made again and exported, and the insights of its hours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from flask import Response, request
from werkzeug.wrappers import Response as BaseResponse

from assistant.core.records import TurnRequest
from assistant.turns import anchor_facts
from store.backup.export import escaped
from store.chats import personas
from store.chats.records import Anchor
from store.core import preferences, times
from store.core.preferences import DayClock, day_clock
from store.core.translation import gettext as _
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries, insights
from store.memory.daily_summaries import DailySummary
from store.memory.insights import InsightFilter
from store.memory.observations import HOUR_MS
from store.sources import calendars, inventory, messages
from webapp.api import memory as api
from webapp.api.memory import DayAnswer, day_or_404
from webapp.api.questions import turn_services
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import day_named, number
from webapp.core.services import Services, Viewer, services, viewer
from webapp.exports.files import download
from webapp.exports.pack import when
from webapp.pages.days.view import latest, opened, page

_MOST_NAMED = 8
"""Messages and events of a day that it names; the others are behind their number."""


@templating.get("/days")
def show_latest() -> Response:
    """The last day that has something to tell, or the one named as ``?day=``."""
    who = viewer()
    return _page(day_named(request.args.get("day"), who) or latest(services().database, who))


@templating.get("/days/<day:on>")
def show(on: date) -> Response:
    """One day, with the episode that began at ``open`` opened; for htmx only what is in that."""
    who = viewer()
    return _page(times.day(on, who.zone, who.day_start_min))


def _page(day: times.Day) -> Response:
    database, who = services().database, viewer()
    start_ms, is_month = number(request.args, "open"), request.args.get("month") == "1"
    shown = None if start_ms is None else opened(database, day, start_ms)
    if templating.wants_fragment():
        if shown is None:
            raise Problem(404, "episode_not_found", _("This episode is not there any more."))
        return templating.render_page("days/_opened.html", row=shown)
    clock = day_clock(database)
    summary = daily_summaries.of_day(database, day.date)
    with database.read() as connection:
        is_settled = daily_hours.is_settled(connection, day.start_ms, day.end_ms, who.now_ms)
    return templating.render_page(
        "days/day.html",
        page=page(database, day, who, is_month=is_month),
        is_month=is_month,
        open_ms=shown and shown.start_ms,
        **insights_of(day.date, summary),
        today=who.today.date,
        summary=summary,
        is_settled=is_settled,
        clock=clock,
        other_clock=_other_clock(clock, who),
        held=inventory.held_between(database, day.start_ms, day.end_ms),  # by imported sources
        events=calendars.events_between(database, day.start_ms, day.end_ms, limit=_MOST_NAMED)[0],
        sent=messages.browse(database, messages.Filters(day.start_ms, day.end_ms), _MOST_NAMED)[::-1],
    )


def _clock_of(viewer: Viewer) -> DayClock:
    return DayClock(viewer.zone, viewer.day_start_min)


def _other_clock(clock: DayClock, viewer: Viewer) -> DayClock | None:
    """The viewer's own, where summaries of days are counted by another."""
    own = _clock_of(viewer)
    names = [each.zone.key.removeprefix("Etc/") for each in (own, clock)]  # "Etc/UTC" is "UTC"
    return None if names[0] == names[1] and own.day_start_min == clock.day_start_min else own


@templating.post("/days/<day:on>/redo")
def redo(on: date) -> BaseResponse:
    """Have every hour of the day derived anew, and told anew by the chat model where one may be used."""
    day = day_or_404(on)
    with services().database.write() as connection:
        daily_hours.redo(connection, day.start_ms, day.end_ms)
    return templating.redirect_back(f"/days/{on}")


@templating.post("/days/clock")
def follow() -> BaseResponse:
    """Count days by the viewer's own clock from now on."""
    preferences.choose_day_clock(services().database, _clock_of(viewer()))
    return templating.redirect_back("/days")


@templating.get("/days/<day:on>/export")
def export(on: date) -> Response:
    """The day as Markdown, with the address of every frame."""
    content = _markdown(day_or_404(on), api.one_day(on)).encode()
    return download(content, "text/markdown; charset=utf-8", f"day-{on}.md")


def _markdown(day: DailySummary, document: DayAnswer) -> str:
    zone, origin = ZoneInfo(day.zone), request.host_url.rstrip("/")
    lines = [f"# {escaped(day.text.split(chr(10), 1)[0])}", ""]
    for hour in document.hours:
        for point in hour.points:
            at = when(point.timestamp, zone)
            lines.append(f"- {at} {escaped(point.text)}")
            for evidence in point.evidence:
                quoted = f"“{escaped(evidence.quote)}” - " if evidence.quote else ""
                lines.append(f"  - {quoted}[frame {evidence.frame_id}]({origin}{evidence.frame_url})")
    if day.source == "model":
        whose = _("Made by Recollect for %(zone)s, in the words of a chat model.", zone=day.zone)
    else:
        whose = _("Made by Recollect for %(zone)s, without a model.", zone=day.zone)
    lines += ["", whose]
    return "\n".join(lines) + "\n"


# -- insights of its hours: those there are, and the others told one after the other -----------------


def _untold_hours(own: Services, start_ms: int, end_ms: int) -> list[Anchor]:
    """The hours of a range with something to tell, a frame of their own, that no insight tells."""
    hours = daily_hours.between(own.database, start_ms, end_ms, own.clock())
    quoted = [quote.frame_id for hour in hours for point in hour.points for quote in point.quotes]
    starts = sorted({captured_ms_of(frame_id) // HOUR_MS * HOUR_MS for frame_id in quoted})
    anchors = [Anchor("moment", at, at + HOUR_MS) for at in starts if start_ms - HOUR_MS < at < end_ms]
    return [anchor for anchor in anchors if insights.current(own.database, anchor) is None]


@templating.post("/days/<day:on>/insights")
def tell(on: date) -> BaseResponse:
    """Have an insight told of every hour that has none, one after the other; ``stop`` ends that."""
    own, name = services(), on.isoformat()
    if request.form.get("stop") and name in own.turns.series:
        own.turns.series[name].stop()
    elif not request.form.get("stop"):
        day = day_or_404(on)
        hours = _untold_hours(own, day.start_ms, day.end_ms)
        requests = _requests(own, viewer().zone_name, day, hours)
        own.turns.start_series(name, turn_services(own), requests, len(hours))
    return templating.redirect_to(f"/days/{name}#insights")


def _requests(
    own: Services, zone_name: str, day: DailySummary, hours: Sequence[Anchor]
) -> Iterator[TurnRequest]:
    """The questions of hours of a day, of each when it is asked: meanwhile it may be told, or deleted."""
    for hour in hours:
        if hour in _untold_hours(own, day.start_ms, day.end_ms):
            yield anchor_facts.request(hour, zone_name, own.clock())


@templating.get("/days/<day:on>/insights")
def told(on: date) -> BaseResponse:
    """How far they are, as a fragment of the day's page."""
    if not templating.wants_fragment():
        return templating.redirect_to(f"/days/{on.isoformat()}#insights")
    return templating.render_page(
        "days/_insights.html", **insights_of(on, daily_summaries.of_day(services().database, on))
    )


def insights_of(on: date, summary: DailySummary | None) -> dict[str, Any]:
    """What `days/_insights.html` draws."""
    own = services()
    span = (summary.start_ms, summary.end_ms) if summary else (0, 0)
    return {
        "on": on,
        "insights": insights.list_insights(own.database, InsightFilter(*span))[::-1] if summary else [],
        "untold": len(_untold_hours(own, *span)),
        "series": own.turns.series.get(on.isoformat()),
        "teller": own.chat_models.endpoint(own.chat_models.default),
        "rounds": own.settings.tools.max_iterations,
        "voice": personas.active(own.database),
    }
