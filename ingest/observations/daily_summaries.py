"""One summary per local day, made of its hours, in small steps that may be cut short anywhere.

What is to be done stands in the database (`store.memory.daily_hours`): the day of an hour whose observations
changed is written anew in one transaction, and a restart goes on where the last run ended. Days follow the
clock of the person (`store.core.preferences`): when that changes, they are counted and written again from the
same hours.

Where a chat model puts observations into better words, their hours and days are told anew with these.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import apsw

from ingest.observations import rules
from store.core.database import Database
from store.core.preferences import DayClock, day_clock
from store.core.times import Day
from store.memory import daily_hours, daily_summaries
from store.memory.daily_summaries import Source
from store.memory.observations import HOUR_MS
from store.timeline import segments

log = logging.getLogger(__name__)

SETTLED_AFTER_MS = 2 * 60_000
"""An hour is derived for the last time a minute and a half after it (see `observation_loop`)."""


class DailySummaryWriter:
    """Writes days; an hour is told `SETTLED_AFTER_MS` after it is over."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    def step(self) -> bool:
        """Follow another clock, or write the days of one hour; False when nothing is due."""
        chosen, until_ms = day_clock(self._database), self._until_ms
        if self._follow(chosen):
            return True
        hour = daily_hours.due(self._database, until_ms)
        if hour is not None:
            self._write(hour, until_ms, chosen)
        return hour is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is due."""
        return daily_hours.due(self._database, self._until_ms) is None

    @property
    def _until_ms(self) -> int:
        return self._clock() - SETTLED_AFTER_MS

    def _follow(self, chosen: DayClock) -> bool:
        zone, day_start_min = chosen.zone.key, chosen.day_start_min
        if not daily_summaries.follow_clock(self._database, zone, day_start_min):
            return False
        log.info("days are counted by %s from now on", zone)
        return True

    def _write(self, hour: int, until_ms: int, chosen: DayClock) -> None:
        """Write the days of an hour; one of 30-minute zones may be part of two."""
        first, last = chosen.day_of(hour * HOUR_MS), chosen.day_of((hour + 1) * HOUR_MS - 1)
        span = first.start_ms, last.end_ms
        with self._database.read() as connection:  # a busy day takes longer than others should wait to write
            before = daily_hours.state(connection, *span)
            days = [(day, *self._told(day, until_ms, chosen)) for day in dict.fromkeys((first, last))]
        with self._database.write() as connection:
            if daily_hours.state(connection, *span) != before:
                return  # the next step tells it
            for day, text, source in days:
                self._put(connection, day, text, source, chosen)
            daily_hours.texts_done(connection, hour, *span, until_ms)

    def _told(self, day: Day, until_ms: int, chosen: DayClock) -> tuple[str, Source]:
        """The text of a day, "" for none, and whose words it has."""
        hours = daily_hours.between(self._database, day.start_ms, day.end_ms, until_ms)
        span = (day.start_ms, min(day.end_ms, self._clock()))
        totals, moments = segments.totals(self._database, *span), segments.moments(self._database, *span)
        text = rules.day_text(day, chosen.zone, hours, totals, len(moments))
        return text, "model" if any(hour.source == "model" for hour in hours) else "rule"

    def _put(
        self, connection: apsw.Connection, day: Day, text: str, source: Source, chosen: DayClock
    ) -> None:
        if not text:
            daily_summaries.delete(connection, day.date)
            return
        daily_summaries.put(
            connection, day.date, chosen.zone.key, day.start_ms, day.end_ms, text, source, self._clock(),
            chosen.day_start_min,
        )  # fmt: skip
        log.info("the day %s was written", day.date.isoformat())
