"""One summary per local day, made of its hours, in small steps that may be cut short anywhere.

What is to be done stands in the database (`store.memory.daily_hours`): an hour whose observations changed is
summed up again, and its day written anew; each is one transaction, and a restart goes on where the last run
ended. An hour without activity between others becomes an empty placeholder. Days follow the clock of the
person (`store.core.preferences`): when that changes, they are counted and written again from the same hours.

Where a chat model puts observations into better words, their hours and days are told anew with these.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import apsw

from ingest.observations import rules
from store.core import tombstones
from store.core.database import Database
from store.core.preferences import DayClock, day_clock
from store.core.times import Day
from store.memory import daily_hours, daily_summaries, observations
from store.memory.observations import HOUR_MS
from store.timeline import segments

log = logging.getLogger(__name__)

SETTLED_AFTER_MS = 2 * 60_000
"""An hour is derived for the last time a minute and a half after it (see `observation_loop`)."""


class DailySummaryWriter:
    """Sums up hours and writes days; an hour is summed up `SETTLED_AFTER_MS` after it is over."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock

    def step(self) -> bool:
        """Follow another clock, sum up one hour, or write the days of one; False when nothing is due."""
        chosen = day_clock(self._database)
        if self._follow(chosen):
            return True
        hour = daily_hours.due(self._database, self._until_ms)
        if hour is not None:
            self._sum_up(hour)
            return True
        return self._write(chosen)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is due."""
        with self._database.read() as connection:
            if daily_hours.text_due(connection) is not None:
                return False
        return daily_hours.due(self._database, self._until_ms) is None

    @property
    def _until_ms(self) -> int:
        return self._clock() - SETTLED_AFTER_MS

    def _follow(self, chosen: DayClock) -> bool:
        zone, day_start_min = chosen.zone.key, chosen.day_start_min
        with self._database.read() as connection:
            if not daily_summaries.is_other_clock(connection, zone, day_start_min):
                return False
        with self._database.write() as connection:
            daily_summaries.leave_other_clocks(connection, zone, day_start_min)
        log.info("days are counted by %s from now on", zone)
        return True

    def _sum_up(self, hour: int) -> None:
        with self._database.read() as connection:
            before = _state(connection, hour)
        of_hour = observations.of_hour(self._database, hour)
        points, fingerprint = rules.points_of(of_hour), rules.fingerprint_of(of_hour)
        with self._database.write() as connection:
            if _state(connection, hour) == before:  # else the next step sums it up
                is_of_model = any(one.source == "model" for one in of_hour)
                daily_hours.put(connection, hour, points, fingerprint, is_of_model, self._clock())

    def _write(self, chosen: DayClock) -> bool:
        """Write the days of the newest hour that is due; an hour of 30-minute zones may be part of two."""
        with self._database.write() as connection:
            hour = daily_hours.text_due(connection)
            if hour is None:
                return False
            first, last = chosen.day_of(hour * HOUR_MS), chosen.day_of((hour + 1) * HOUR_MS - 1)
            for day in [first] if first == last else [first, last]:
                self._write_day(connection, day, chosen)
            daily_hours.texts_done(connection, hour, first.start_ms, last.end_ms)
        return True

    def _write_day(self, connection: apsw.Connection, day: Day, chosen: DayClock) -> None:
        hours = daily_hours.between(connection, day.start_ms, day.end_ms)
        span = (day.start_ms, min(day.end_ms, self._clock()))
        totals, moments = segments.totals(self._database, *span), segments.moments(self._database, *span)
        text = rules.day_text(day, chosen.zone, hours, totals, len(moments))
        if not text:
            daily_summaries.delete(connection, day.date)
            return
        over = min(day.end_ms, self._until_ms)
        daily_hours.put_placeholders(connection, day.start_ms // HOUR_MS, over // HOUR_MS, self._clock())
        is_of_model = any(hour.source == "model" for hour in hours)
        daily_summaries.put(
            connection, day.date, chosen.zone.key, day.start_ms, day.end_ms, text,
            "model" if is_of_model else "rule", self._clock(), chosen.day_start_min,
        )  # fmt: skip
        log.info("the day %s was written", day.date.isoformat())


def _state(connection: apsw.Connection, hour: int) -> tuple[int | None, int | None]:
    """What must not change while an hour is summed up."""
    return daily_hours.changes(connection, hour), tombstones.newest(connection)
