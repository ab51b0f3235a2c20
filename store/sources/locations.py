"""Where a person's devices were: imported points, each a moment and a position (WGS 84 degrees)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from store.core.database import Database, rows, scalar
from store.core.upserts import Upserted, UpsertTable, clean_text
from store.sources import imports

E7 = 10_000_000
"""Degrees are kept as whole numbers of this part, about a centimetre."""


@dataclass(frozen=True, slots=True)
class PointRecord:
    """A point as a file tells it; degrees, and metres where they are known."""

    at_ms: int
    latitude: float
    longitude: float
    accuracy_m: float | None = None
    altitude_m: float | None = None
    source: str = ""  # what wrote it: gpx, takeout, a device


@dataclass(frozen=True, slots=True)
class Point:
    """A stored point."""

    id: int
    at_ms: int
    latitude: float
    longitude: float
    accuracy_m: float | None
    altitude_m: float | None
    source: str


# -- writing ------------------------------------------------------------------------------

_TABLE = UpsertTable(
    "location_points", ["at_ms", "latitude_e7", "longitude_e7"], ["accuracy_m", "altitude_m", "source"]
)


def upsert_points(connection: apsw.Connection, import_id: int, records: Iterable[PointRecord]) -> Upserted:
    """Put points; at most `store.core.upserts.BATCH` at once, inside `Database.write()`.

    Raises `ValueError` for a position that is not on the globe.
    """
    done = Upserted()
    for record in records:
        latitude_e7, longitude_e7 = to_e7(record.latitude, record.longitude)
        values = {
            "at_ms": record.at_ms,
            "latitude_e7": latitude_e7,
            "longitude_e7": longitude_e7,
            "accuracy_m": None if record.accuracy_m is None else float(record.accuracy_m),
            "altitude_m": None if record.altitude_m is None else float(record.altitude_m),
            "source": clean_text(record.source),
        }
        done = done.and_one(_TABLE.put(connection, import_id, values))
    imports.count(connection, import_id, done)
    return done


def delete_points(database: Database, import_id: int | None = None) -> int:
    """Delete all points, or those of one import; returns how many went. Raises `ImportNotFound`."""
    return imports.delete(database, "location", import_id).rows


def to_e7(latitude: float, longitude: float) -> tuple[int, int]:
    """Degrees as whole numbers. Raises `ValueError` outside of ±90 and ±180, and for NaN."""
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError(f"no position on the globe: {latitude}, {longitude}")
    return round(latitude * E7), round(longitude * E7)


# -- reading ------------------------------------------------------------------------------


def points_between(
    database: Database, start_ms: int, end_ms: int, limit: int = 100, deadline_s: float | None = None
) -> tuple[list[Point], int]:
    """Points of ``[start_ms, end_ms)`` in the order of time, and how many there are in all.

    Of more than `limit` every n-th is given, so that the whole time is shown.
    """
    values = {"start": start_ms, "end": end_ms, "limit": limit}
    with database.read(deadline_s) as connection:
        sql = "select count(*) from location_points where at_ms >= :start and at_ms < :end"
        total = int(scalar(connection, sql, values))
        found = rows(connection, _SPREAD, {**values, "step": max(1, -(-total // limit))})
    return [_point(*row) for row in found], total


def nearest_in_time(connection: apsw.Connection, at_ms: int) -> Point | None:
    """The point nearest in time to a moment, the earlier of two; None when there is none (chapter 1)."""
    found = [
        *rows(connection, f"{_SELECT} where at_ms <= ? order by at_ms desc limit 1", (at_ms,)),
        *rows(connection, f"{_SELECT} where at_ms > ? order by at_ms limit 1", (at_ms,)),
    ]
    points = [_point(*row) for row in found]
    return min(points, key=lambda point: (abs(point.at_ms - at_ms), point.at_ms), default=None)


def _point(number: int, at_ms: int, latitude: int, longitude: int, *rest: object) -> Point:
    return Point(number, at_ms, latitude / E7, longitude / E7, *rest)  # type: ignore[arg-type]  # as the columns are


_SELECT = "select id, at_ms, latitude_e7, longitude_e7, accuracy_m, altitude_m, source from location_points"

_SPREAD = """
select id, at_ms, latitude_e7, longitude_e7, accuracy_m, altitude_m, source
from (
    select *, row_number() over (order by at_ms, id) as n
    from location_points
    where at_ms >= :start and at_ms < :end
)
where (n - 1) % :step = 0
order by at_ms, id
limit :limit
"""
