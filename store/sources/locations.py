"""Where a person's devices were, and their own places: imported positions (WGS 84 degrees).

Places are looked up without any network. The preference ``places_enabled`` goes on with their first import
and off with the last place; it can be switched by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from store.core import preferences, tokenizer
from store.core.database import Database, rows, scalar
from store.core.records import columns, load
from store.sources import imports
from store.sources.imports import PLACES_ENABLED, Upserted, UpsertTable, natural_key

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
class Point(PointRecord):
    id: int = 0


_TABLE = UpsertTable(
    "location_points", ["at_ms", "latitude_e7", "longitude_e7"], ["accuracy_m", "altitude_m", "source"]
)


def upsert_points(connection: apsw.Connection, import_id: int, records: Iterable[PointRecord]) -> Upserted:
    """Put points; at most `store.sources.imports.BATCH` at once, inside `Database.write()`.

    Raises `ValueError` for a position that is not on the globe.
    """
    return imports.put(connection, import_id, _TABLE, ((record, _where(record)) for record in records))


def _where(record: PointRecord | PlaceRecord) -> dict[str, int]:
    return dict(zip(("latitude_e7", "longitude_e7"), to_e7(record.latitude, record.longitude), strict=True))


def to_e7(latitude: float, longitude: float) -> tuple[int, int]:
    """Degrees as whole numbers. Raises `ValueError` outside of ±90 and ±180, and for NaN."""
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError(f"no position on the globe: {latitude}, {longitude}")
    return round(latitude * E7), round(longitude * E7)


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
    return load(Point, found), total


def nearest_in_time(connection: apsw.Connection, at_ms: int) -> Point | None:
    """The point nearest in time to a moment, the earlier of two; None when there is none."""
    found = [
        *rows(connection, f"{_SELECT} where at_ms <= ? order by at_ms desc limit 1", (at_ms,)),
        *rows(connection, f"{_SELECT} where at_ms > ? order by at_ms limit 1", (at_ms,)),
    ]
    return min(load(Point, found), key=lambda point: (abs(point.at_ms - at_ms), point.at_ms), default=None)


_DEGREES = {"latitude": f"latitude_e7 / {E7}.0", "longitude": f"longitude_e7 / {E7}.0"}
_POINT = columns(Point, **_DEGREES)
_SELECT = f"select {_POINT} from location_points"

_SPREAD = f"""
select {_POINT}
from (
    select *, row_number() over (order by at_ms, id) as n
    from location_points
    where at_ms >= :start and at_ms < :end
)
where (n - 1) % :step = 0
order by at_ms, id
limit :limit
"""


# -- places --------------------------------------------------------------------------------

RADIUS_M = 100.0
"""How far a place reaches when its file does not say."""

_EARTH_M = 6_371_008.8
"""Mean radius R1 of the Earth, in metres (Moritz, "Geodetic Reference System 1980")."""
_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    latitude: float
    longitude: float
    category: str = ""
    address: str = ""
    note: str = ""
    radius_m: float = RADIUS_M


@dataclass(frozen=True, slots=True)
class PlaceRecord(_Place):
    """A place as a file tells it. Without an `external_id` name and position are the key."""

    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Place(_Place):
    id: int = 0


_PLACES = UpsertTable(
    "places", ["natural_key"],
    ["name", "category", "address", "note", "latitude_e7", "longitude_e7", "radius_m"],
)  # fmt: skip


def upsert_places(connection: apsw.Connection, import_id: int, records: Iterable[PlaceRecord]) -> Upserted:
    """Put places; at most `store.sources.imports.BATCH` at once, inside `Database.write()`.

    The first ones switch ``places_enabled`` on. Raises `ValueError` for a position that is not on the
    globe, and for a radius that is not positive.
    """
    had_some = scalar(connection, "select 1 from places limit 1") is not None
    done = imports.put(connection, import_id, _PLACES, ((record, _own_columns(record)) for record in records))
    if done.added and not had_some:
        preferences.put_preference(connection, PLACES_ENABLED, True)
    return done


def _own_columns(record: PlaceRecord) -> dict[str, str | int]:
    if not 0 < record.radius_m < math.inf:
        raise ValueError(f"a place reaches further than {record.radius_m} m")
    where = _where(record)
    known_by = record.external_id or f"{record.name}\n{where['latitude_e7']} {where['longitude_e7']}"
    return {**where, "natural_key": natural_key("id" if record.external_id else "place", known_by)}


def are_enabled(database: Database) -> bool:
    """Whether the person wants places to be looked up."""
    return preferences.get_preference(database, PLACES_ENABLED, False) is True


def nearest(
    database: Database, latitude: float, longitude: float, limit: int = 3, deadline_s: float | None = None
) -> list[tuple[float, Place]]:
    """(metres, place) of the places nearest to a position. Raises `ValueError` off the globe."""
    latitude_e7, longitude_e7 = to_e7(latitude, longitude)
    values = {
        "latitude": latitude_e7, "longitude": longitude_e7, "turn": 360 * E7,
        "narrowing": math.cos(math.radians(latitude)), "candidates": max(_CANDIDATES, limit),
    }  # fmt: skip
    found = database.records(Place, _NEAR, values, deadline_s=deadline_s)
    away = [(distance_m(latitude, longitude, each.latitude, each.longitude), each) for each in found]
    return sorted(away, key=lambda pair: (pair[0], pair[1].id))[:limit]


def place_of(database: Database, point: Point) -> str:
    """The name of the nearest place that a point lies in; "" for none, and where places are switched off."""
    if not are_enabled(database):
        return ""
    near = nearest(database, point.latitude, point.longitude, _CANDIDATES)
    return next((place.name for away_m, place in near if away_m <= place.radius_m), "")


def distance_m(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Metres between two positions on a sphere: the haversine formula (Sinnott, "Virtues of the
    Haversine", Sky and Telescope 68, 1984), at most 0.6 % from the ellipsoid.
    """
    a, b = math.radians(latitude), math.radians(other_latitude)
    turn = math.radians(other_longitude - longitude)
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(turn / 2) ** 2
    return 2 * _EARTH_M * math.asin(min(1.0, math.sqrt(h)))


def browse(database: Database, name: str = "", limit: int = 100, offset: int = 0) -> list[Place]:
    """Places whose name, address or category holds `name`, in the order of their names."""
    return database.records(
        Place,
        f"""
        {_SELECT_PLACES}
        where :name = ''
            or instr(recollect_normal(name || char(10) || address || char(10) || category), :name) > 0
        order by name collate nocase, id
        limit :limit offset :offset
        """,
        {"name": tokenizer.normalise(name), "limit": limit, "offset": offset},
    )


_SELECT_PLACES = f"select {columns(Place, **_DEGREES)} from places"

# A flat map around the position chooses; the haversine formula puts them in order.
_NEAR = f"""
{_SELECT_PLACES}
order by
    pow(latitude_e7 - :latitude, 2) + pow(
        :narrowing * min(
            abs(longitude_e7 - :longitude), :turn - abs(longitude_e7 - :longitude)
        ),
        2
    )
limit :candidates
"""
