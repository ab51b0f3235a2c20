"""Insights of a day's hours: those there are, and the others told one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from flask import request
from werkzeug.wrappers import Response as BaseResponse

from assistant.core.records import TurnRequest
from assistant.turns import anchor_facts
from store.chats import personas
from store.chats.records import Anchor
from store.frames.frames import captured_ms_of
from store.memory import daily_hours, daily_summaries, insights
from store.memory.daily_summaries import DailySummary
from store.memory.insights import InsightFilter
from store.memory.observations import HOUR_MS
from webapp.api.days import day_or_404
from webapp.api.questions import turn_services
from webapp.core import templating
from webapp.core.services import Services, services, viewer


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
        requests = _requests(own, viewer().zone_name, hours)
        own.turns.start_series(name, turn_services(own), requests, len(hours))
    return templating.redirect_to(f"/days/{name}#insights")


def _requests(own: Services, zone_name: str, hours: Sequence[Anchor]) -> Iterator[TurnRequest]:
    """The questions of hours, of each when it is asked: meanwhile it may be told, or deleted."""
    for hour in hours:
        for anchor in _untold_hours(own, hour.start_ms, hour.end_ms):
            yield anchor_facts.request(anchor, zone_name, own.clock())


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
