"""Whether a source has anything at all: the probe behind the gates of tools (R0.47)."""

from __future__ import annotations

from typing import Literal

from store.core.database import Database, scalar

Source = Literal["daily_summaries", "calendar_events", "location_points"]

_PROBES: dict[Source, str] = {
    "daily_summaries": "select 1 from daily_summaries limit 1",
    "calendar_events": "select 1 from calendar_events limit 1",
    "location_points": "select 1 from location_points limit 1",
}


def is_present(database: Database, source: Source) -> bool:
    """Whether the source has a row."""
    with database.read() as connection:
        return scalar(connection, _PROBES[source]) is not None
