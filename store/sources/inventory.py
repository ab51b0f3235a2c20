"""What imported sources hold for a stretch of time, such as a day: how many of each, and which places."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from store.core.database import Database, rows, scalar

MOST_PLACES = 20
_M_PER_E7 = 111_194.93 / 1e7
"""Metres in a ten-millionth of a degree of latitude, on the sphere of `store.sources.locations`."""


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """Messages and positions by their moments, events that overlap, names of places that were reached."""

    messages: int
    events: int
    positions: int
    places: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.messages or self.events or self.positions)


def held_between(database: Database, start_ms: int, end_ms: int) -> SourceCounts:
    """What the sources hold for ``[start_ms, end_ms)``. An event without a length counts at its moment.

    A place is reached when a position lies within its radius, on a flat map; the first `MOST_PLACES` by name.
    """
    values = {"start": start_ms, "end": end_ms}
    with database.read() as connection:
        messages, events, positions = (int(scalar(connection, sql, values)) for sql in _COUNTS)
        places = rows(connection, _REACHED, {**values, **_CONSTANTS}) if positions else []
    return SourceCounts(messages, events, positions, tuple(name for (name,) in places))


_COUNTS = (
    "select count(*) from text_messages where sent_ms >= :start and sent_ms < :end",
    """
    select count(*) from calendar_events e
    where e.start_ms < :end and (e.end_ms > :start or e.start_ms >= :start)
    """,
    "select count(*) from location_points where at_ms >= :start and at_ms < :end",
)

_CONSTANTS = {"metre": _M_PER_E7, "turn": 3_600_000_000, "rad": math.pi / 180 / 1e7, "limit": MOST_PLACES}

# A place is looked at only when it stands in the box of the time's positions, widened by its own radius.
_REACHED = """
with those as materialized (
    select distinct latitude_e7 as y, longitude_e7 as x
    from location_points
    where at_ms >= :start and at_ms < :end
),
box as materialized (select min(y) as south, max(y) as north from those)
select distinct p.name
from places p
join box on p.latitude_e7 between south - p.radius_m / :metre and north + p.radius_m / :metre
where p.name <> '' and exists (
    select 1 from those
    where abs(y - p.latitude_e7) * :metre <= p.radius_m
        and pow((y - p.latitude_e7) * :metre, 2) + pow(
            min(abs(x - p.longitude_e7), :turn - abs(x - p.longitude_e7))
            * cos(p.latitude_e7 * :rad) * :metre, 2
        ) <= pow(p.radius_m, 2)
)
order by p.name collate nocase
limit :limit
"""


# -- whether there is anything ------------------------------------------------------------
# Whether a source has anything at all: the probe behind the gates of tools.

Source = Literal[
    "daily_summaries", "calendar_events", "location_points", "text_messages", "facts", "places", "entities",
    "frame_tags", "observations", "session_summaries",
]  # fmt: skip


def is_present(database: Database, source: Source) -> bool:
    return database.scalar(f"select 1 from {source} limit 1") is not None
