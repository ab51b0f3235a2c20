"""The pages of days: a list of them, and one hour by hour with what shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, make_response, render_template, request
from werkzeug.wrappers import Response as BaseResponse

from store.core import preferences, times
from store.core.database import Database
from store.core.preferences import DayClock, day_clock
from store.frames import frames
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries
from store.memory.daily_hours import Hour, Point, Quote
from store.memory.daily_summaries import DailySummary
from store.memory.observations import HOUR_MS
from store.sources import inventory
from store.sources.inventory import SourceCounts
from webapp.api import days as api
from webapp.api.days import DayAnswer, day_or_404
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.parameters import day_named
from webapp.core.services import Viewer, services, viewer
from webapp.exports import formats
from webapp.views.frames import Picture, picture

LIMIT = 31


@dataclass(frozen=True, slots=True)
class Row:
    """A day of the list: what it says first, and how many hours were told."""

    on: date
    lead: str
    points: int


@dataclass(frozen=True, slots=True)
class ListPage:
    """Everything `days/days.html` draws. `other_clock` is the viewer's where days follow another one."""

    rows: list[Row]
    older: date | None
    clock: DayClock
    other_clock: DayClock | None


@dataclass(frozen=True, slots=True)
class PointEvidence:
    """A frame that shows a point, at its address with the line marked."""

    quote: str
    address: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class SummaryPoint:
    """A point with what shows it, and a picture of one of its frames that is still there."""

    point: Point
    proofs: tuple[PointEvidence, ...]
    shot: Picture | None


@dataclass(frozen=True, slots=True)
class HourSpan:
    """Hours one after the other: one with its points, or several without any.

    `is_of_model` says whose words they are; `problem` why a model has not told them yet.
    """

    start_ms: int
    end_ms: int
    told: tuple[SummaryPoint, ...]
    is_of_model: bool
    problem: str


@dataclass(frozen=True, slots=True)
class DayPage:
    """Everything `days/day.html` draws; `held` is what imported sources have of the day."""

    on: date
    is_today: bool
    summary: DailySummary | None
    lead: str
    stretches: list[HourSpan]
    is_settled: bool
    previous_day: date | None
    next_day: date | None
    other_clock: DayClock | None
    held: SourceCounts


def list_page(database: Database, before: date | None, viewer: Viewer) -> ListPage:
    found = daily_summaries.listed(database, before, LIMIT + 1)
    clock = day_clock(database)
    rows = [_row(each) for each in found[:LIMIT]]
    older = rows[-1].on if len(found) > LIMIT else None
    return ListPage(rows, older, clock, _other(clock, viewer))


def day_page(database: Database, on: date, viewer: Viewer) -> DayPage:
    summary = daily_summaries.of_day(database, on)
    earlier, later = daily_summaries.neighbours(database, on)
    stretches: list[HourSpan] = []
    is_settled = True
    clock = day_clock(database)
    day = times.day(on, clock.zone, clock.day_start_min)
    start_ms, end_ms = (summary.start_ms, summary.end_ms) if summary else (day.start_ms, day.end_ms)
    if summary is not None:
        with database.read() as connection:
            hours = daily_hours.between(connection, summary.start_ms, summary.end_ms)
            is_settled = daily_hours.is_settled(connection, summary.start_ms, summary.end_ms, viewer.now_ms)
        stretches = _stretches(hours, _shots(database, hours, viewer))
    return DayPage(
        on=on,
        is_today=on == viewer.today.date,
        summary=summary,
        lead=_lead(summary.text) if summary else "",
        stretches=stretches,
        is_settled=is_settled,
        previous_day=earlier,
        next_day=later,
        other_clock=_other(clock, viewer),
        held=inventory.held_between(database, start_ms, end_ms),
    )


def _row(day: DailySummary) -> Row:
    return Row(date.fromisoformat(day.day), _lead(day.text), day.text.count("\n"))


def _lead(text: str) -> str:
    """What a summary says after the name of its day."""
    first = text.split("\n", 1)[0]
    return first.partition(". ")[2] or first


def _other(clock: DayClock, viewer: Viewer) -> DayClock | None:
    mine = DayClock(viewer.zone, viewer.day_start_min)
    return None if mine == clock else mine


def _stretches(hours: Sequence[Hour], shots: dict[int, Picture]) -> list[HourSpan]:
    made: list[HourSpan] = []
    for hour in hours:
        told = tuple(_told(point, shots) for point in hour.points)
        end_ms = hour.start_ms + HOUR_MS
        if not told and made and not made[-1].told:
            made[-1] = HourSpan(made[-1].start_ms, end_ms, (), False, "")
        else:
            made.append(HourSpan(hour.start_ms, end_ms, told, hour.source == "model", hour.model_error or ""))
    return made


def _told(point: Point, shots: dict[int, Picture]) -> SummaryPoint:
    shot = next((shots[quote.frame_id] for quote in point.quotes if quote.frame_id in shots), None)
    return SummaryPoint(point, tuple(_proof(quote) for quote in point.quotes), shot)


def _proof(quote: Quote) -> PointEvidence:
    words = quote.text.replace('"', " ").strip()
    query = "?" + urlencode({"q": f'"{words}"'}) if words else ""
    return PointEvidence(quote.text, f"/frames/{quote.frame_id}{query}", captured_ms_of(quote.frame_id))


def _shots(database: Database, hours: Iterable[Hour], viewer: Viewer) -> dict[int, Picture]:
    """Pictures that are still there, by frame."""
    ids = {quote.frame_id for hour in hours for point in hour.points for quote in point.quotes}
    rows = frames.get_many(database, sorted(ids))
    return {row.id: picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in rows.values()}


# ---- daily
# Days: the summaries of all of them, one hour by hour, told again, and taken along.

blueprint = Blueprint("days", __name__)

_FORMATS = {"md": "text/markdown; charset=utf-8", "json": "application/json"}


@blueprint.get("/days")
def show_all() -> Response:
    """All days, the latest first; ``?before=`` goes further back."""
    before = day_named(request.args.get("before"), viewer())
    page = list_page(services().database, before.date if before else None, viewer())
    return make_response(render_template("days/days.html", page=page, section="memory"))


@blueprint.get("/days/<day:on>")
def show(on: date) -> Response:
    """One day; one without a summary says so, and shows what imported sources have of it."""
    page = day_page(services().database, on, viewer())
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
