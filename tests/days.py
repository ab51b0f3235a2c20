"""Plain functions that put told days into the store, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from ingest.observations.daily_summaries import DailySummaryWriter
from store.core import preferences
from store.core.database import Database
from store.core.preferences import DayClock
from store.memory.observations import HOUR_MS
from tests.factories import NOON_MS
from tests.memories import put_observation

UTC = DayClock(ZoneInfo("UTC"))


def tell(database: Database, clock: DayClock = UTC, now_ms: int = NOON_MS + 40 * HOUR_MS) -> None:
    """Tell every day from the observations there are, as ingest does."""
    preferences.choose_day_clock(database, clock)
    with database.write() as connection:
        connection.execute("delete from memory_hours")  # as after the observations were derived
    writer = DailySummaryWriter(database, lambda: now_ms)
    while writer.step():
        pass


def put_day(database: Database, facts: Sequence[tuple[str, int | None]] = (), **changes: object) -> None:
    """A day with one observation of noon, told."""
    put_observation(database, facts=facts, **changes)
    tell(database)
