"""Step four: activity becomes observations, in a thread of its own.

What is to be done is `memory_hours` in the database, which triggers keep: an hour whose frames or
texts changed is derived again, the newest first, and leaves the list in the transaction that
stores what came of it. A restart goes on where the last run ended, and nothing is derived twice.
Of the hour that still runs only activity that has ended is taken, every few minutes.

What was observed then becomes days (`ingest.observations.daily_summaries`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import apsw

from ingest.core.step_loop import StepLoop
from ingest.core.worker_stats import WorkerStats
from ingest.observations import rules
from ingest.observations.daily_summaries import DailySummaryWriter
from store.core import tombstones
from store.core.database import Database
from store.core.errors import StoreBusy
from store.memory import observation_writer, observations
from store.memory.observations import HOUR_MS
from store.timeline import segments

log = logging.getLogger(__name__)

SETTLED_AFTER_MS = 90_000
"""Activity goes on up to a minute after its last look (`activity_intervals.MERGE_GAP_MS`)."""
RUNNING_HOUR_EVERY_MS = 5 * 60_000
_STUMBLED_AGAIN_MS = 10 * 60_000


class ObservationLoop(StepLoop):
    """Derives hours and writes `days` of them."""

    work = "memory"
    idle_s = 2.0

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        stop: threading.Event,
        days: DailySummaryWriter | None = None,
        stats: WorkerStats | None = None,
    ) -> None:
        super().__init__("observations", database, stats or WorkerStats(clock), stop)
        self._clock = clock
        self._later: dict[int, int] = {}  # hours that are not due before a moment
        self._days = days
        self._compared: tuple[tuple[int, int | None, int], rules.Surroundings] = (
            (0, None, 0),
            rules.Surroundings(),
        )

    def step(self) -> bool:
        """Derive one hour, or sum up one of a day."""
        hour = self._due()
        if hour is not None:
            self._derive_or_postpone(hour)
            return True
        return bool(self._days and self._days.step())

    @property
    def is_idle(self) -> bool:
        """Whether no hour and no day is due."""
        return self._due() is None and (self._days is None or self._days.is_idle)

    def _due(self) -> int | None:
        now_ms = self._clock()
        hours = observations.begun(self._database, now_ms)
        return next((hour for hour in hours if self._later.get(hour, 0) <= now_ms), None)

    def _derive_or_postpone(self, hour: int) -> None:
        try:
            self._derive(hour)
        except StoreBusy:
            raise
        except Exception as error:
            # One strange hour must not keep the others waiting.
            log.exception("hour %d could not be derived", hour)
            self.on_surprise(f"{self.work} failed: {type(error).__name__}")
            self._later[hour] = self._clock() + _STUMBLED_AGAIN_MS

    def _derive(self, hour: int) -> None:
        now_ms = self._clock()
        is_over = (hour + 1) * HOUR_MS + SETTLED_AFTER_MS <= now_ms
        started = time.monotonic()
        if segments.moments(self._database, hour * HOUR_MS, (hour + 1) * HOUR_MS):
            with self._database.write() as connection:  # before migration 015 these were on the line
                segments.rebuild(connection, hour * HOUR_MS, (hour + 1) * HOUR_MS)
        with self._database.read() as connection:
            before = _state(connection, hour, is_over)
        drafts = rules.drafts_of(
            self._database, hour, now_ms - SETTLED_AFTER_MS, self._surroundings(now_ms, before[1])
        )
        with self._database.write() as connection:
            if _state(connection, hour, is_over) != before:
                return  # it changed meanwhile: the next step derives it again
            changed = observation_writer.put_hour(connection, hour, drafts, now_ms)
            if is_over:
                observations.finish_hour(connection, hour)
        if is_over:
            self._later.pop(hour, None)
        else:
            self._later[hour] = now_ms + RUNNING_HOUR_EVERY_MS
        sessions = rules.summarize_sessions(self._database, hour, now_ms)
        log.info(
            "hour %d: %d observations, %d of them new or changed, %d sessions, %d ms",
            hour, len(drafts), changed, sessions, round((time.monotonic() - started) * 1000),
        )  # fmt: skip

    def _surroundings(self, now_ms: int, deletion: int | None) -> rules.Surroundings:
        """What hours are compared with, for an hour or until something is deleted: it is slow to make.

        On the first day there is little to compare with, so it is made again when there is twice as much.
        """
        key = now_ms // HOUR_MS, deletion, observations.remembered_ms(self._database).bit_length()
        if self._compared[0] != key:
            self._compared = key, rules.surroundings(self._database)
        return self._compared[1]


def _state(connection: apsw.Connection, hour: int, is_over: bool) -> tuple[int | None, int | None]:
    """What must not change while an hour is derived: its frames, and that nothing is deleted.

    The hour that still runs gets frames all the time, which belong to activity that has not ended.
    """
    changes = observations.hour_changes(connection, hour) if is_over else None
    return changes, tombstones.newest(connection)
