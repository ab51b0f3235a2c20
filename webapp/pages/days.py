"""The pages of days: a list of them, and one hour by hour with what shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from store.core import times
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
from webapp.core import formatting
from webapp.core.viewer import Viewer
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
