"""Days: the summaries of all of them, one hour by hour with what shows it, made again, and exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from flask import Response, request
from werkzeug.wrappers import Response as BaseResponse

from assistant.turns import anchor_facts
from store.chats import personas
from store.chats.records import Anchor
from store.core import preferences, times
from store.core.preferences import DayClock, day_clock
from store.frames import frames
from store.memory import daily_hours, daily_summaries, insights
from store.memory.daily_hours import Hour, Point
from store.memory.daily_summaries import DailySummary
from store.memory.insights import InsightFilter
from store.memory.observations import HOUR_MS
from store.sources import inventory
from webapp.api import days as api
from webapp.api.days import DayAnswer, day_or_404
from webapp.api.questions import turn_services
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import day_named
from webapp.core.services import Viewer, services, viewer
from webapp.exports import formats
from webapp.exports.files import download
from webapp.exports.pack import when
from webapp.pages.forms import form

LIMIT = 31
_FORMATS = {"md": "text/markdown; charset=utf-8", "json": "application/json"}


@dataclass(frozen=True, slots=True)
class HourSpan:
    """Hours one after the other: one with its points, or several without any.

    `problem` is why a model has not told them yet.
    """

    start_ms: int
    end_ms: int
    points: tuple[Point, ...] = ()
    problem: str = ""


@templating.get("/days")
def show_all() -> Response:
    """All days, the latest first; ``?before=`` goes further back."""
    database = services().database
    before = day_named(request.args.get("before"), viewer())
    summaries = daily_summaries.listed(database, before.date if before else None, LIMIT + 1)
    clock, shown = day_clock(database), summaries[:LIMIT]
    return templating.render_page(
        "days/days.html",
        days=[(date.fromisoformat(day.day), _lead(day), day.text.count("\n")) for day in shown],
        older=shown[-1].day if len(summaries) > LIMIT else None,
        clock=clock,
        other_clock=_other_clock(clock, viewer()),
    )


@templating.get("/days/<day:on>")
def show(on: date) -> Response:
    """One day; one without a summary says so, and shows what imported sources have of it."""
    database, who = services().database, viewer()
    summary = daily_summaries.of_day(database, on)
    previous_day, next_day = daily_summaries.neighbours(database, on)
    clock = day_clock(database)
    span = summary or times.day(on, clock.zone, clock.day_start_min)
    held = inventory.held_between(database, span.start_ms, span.end_ms)  # by imported sources
    hours: list[Hour] = []
    is_settled = True
    if summary is not None:
        with database.read() as connection:
            hours = daily_hours.between(connection, span.start_ms, span.end_ms)
            is_settled = daily_hours.is_settled(connection, span.start_ms, span.end_ms, who.now_ms)
    quoted = {quote.frame_id for hour in hours for point in hour.points for quote in point.quotes}
    return templating.render_page(
        "days/day.html",
        200 if summary or held else 404,
        **_insights(on, summary),
        is_today=on == who.today.date,
        summary=summary,
        lead=_lead(summary) if summary else "",
        spans=_hour_spans(hours),
        shots=frames.get_many(database, sorted(quoted)),
        is_settled=is_settled,
        previous_day=previous_day,
        next_day=next_day,
        other_clock=_other_clock(clock, who),
        held=held,
    )


# -- insights of all its hours ----------------------------------------------------------------


def _untold_hours(summary: DailySummary) -> list[Anchor]:
    """The hours of a day with activity in them that no insight tells."""
    database = services().database
    with database.read() as connection:
        hours = daily_hours.between(connection, summary.start_ms, summary.end_ms)
    anchors = [Anchor("moment", hour.start_ms, hour.start_ms + HOUR_MS) for hour in hours if hour.points]
    return [anchor for anchor in anchors if insights.current(database, anchor) is None]


@templating.post("/days/<day:on>/insights")
def tell(on: date) -> BaseResponse:
    """Have an insight told of every hour that has none, one after the other; ``stop`` ends that."""
    own, who, name = services(), viewer(), on.isoformat()
    if request.form.get("stop") and name in own.turns.series:
        own.turns.series[name].stop()
    elif not request.form.get("stop"):
        asked = [anchor_facts.request(a, who.zone_name, who.now_ms) for a in _untold_hours(day_or_404(on))]
        own.turns.start_series(name, turn_services(own), asked)
    return templating.redirect_to(f"/days/{name}#insights")


@templating.get("/days/<day:on>/insights")
def told(on: date) -> BaseResponse:
    """How far they are, as a fragment of the day's page."""
    if not templating.wants_fragment():
        return templating.redirect_to(f"/days/{on.isoformat()}#insights")
    return templating.render_page(
        "days/told.html", **_insights(on, daily_summaries.of_day(services().database, on))
    )


def _insights(on: date, summary: DailySummary | None) -> dict[str, Any]:
    """What `days/_insights.html` draws."""
    own = services()
    span = (summary.start_ms, summary.end_ms) if summary else (0, 0)
    return {
        "on": on,
        "insights": insights.list_insights(own.database, InsightFilter(*span))[::-1] if summary else [],
        "untold": len(_untold_hours(summary)) if summary else 0,
        "series": own.turns.series.get(on.isoformat()),
        "teller": own.chat_models.endpoint(own.chat_models.default),
        "rounds": own.settings.tools.max_iterations,
        "voice": personas.active(own.database),
    }


def _lead(day: DailySummary) -> str:
    """What a summary says after the name of its day."""
    first = day.text.split("\n", 1)[0]
    return first.partition(". ")[2] or first


def _clock_of(viewer: Viewer) -> DayClock:
    return DayClock(viewer.zone, viewer.day_start_min)


def _other_clock(clock: DayClock, viewer: Viewer) -> DayClock | None:
    """The viewer's own, where days are counted by another."""
    return None if _clock_of(viewer) == clock else _clock_of(viewer)


def _hour_spans(hours: Sequence[Hour]) -> list[HourSpan]:
    spans: list[HourSpan] = []
    for hour in hours:
        end_ms = hour.start_ms + HOUR_MS
        if not hour.points and spans and not spans[-1].points:
            spans[-1] = HourSpan(spans[-1].start_ms, end_ms)
        else:
            spans.append(HourSpan(hour.start_ms, end_ms, tuple(hour.points), hour.model_error or ""))
    return spans


form("/days/<day:on>/redo", api.redo_day, "/days/{on}")


@templating.post("/days/clock")
def follow() -> BaseResponse:
    """Count days by the viewer's own clock from now on."""
    preferences.choose_day_clock(services().database, _clock_of(viewer()))
    return templating.redirect_back("/days")


@templating.get("/days/<day:on>/export")
def export(on: date) -> Response:
    """The day as Markdown or JSON, with the address of every frame."""
    fmt = request.args.get("fmt", "md")
    if fmt not in _FORMATS:
        raise Problem(400, "invalid_fmt", f"fmt must be one of {', '.join(_FORMATS)}.")
    summary = day_or_404(on)
    document = api.one_day(on)
    content = _markdown(summary, document) if fmt == "md" else document.model_dump_json(indent=1)
    return download(content.encode(), _FORMATS[fmt], f"day-{summary.day}.{fmt}")


def _markdown(day: DailySummary, document: DayAnswer) -> str:
    zone, origin = ZoneInfo(day.zone), request.host_url.rstrip("/")
    lines = [f"# {formats.escape(day.text.split(chr(10), 1)[0])}", ""]
    for hour in document.hours:
        for point in hour.points:
            at = when(point.timestamp, zone)
            lines.append(f"- {at} {formats.escape(point.text)}")
            for evidence in point.evidence:
                quoted = f"“{formats.escape(evidence.quote)}” - " if evidence.quote else ""
                lines.append(f"  - {quoted}[frame {evidence.frame_id}]({origin}{evidence.frame_url})")
    whose = "in words of a chat model" if day.source == "model" else "by rule"
    lines += ["", f"Told by Recollect for {day.zone}; {whose}."]
    return "\n".join(lines) + "\n"
