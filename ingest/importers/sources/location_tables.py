"""Points and places of CSV files.

time,latitude,longitude,accuracy            name,latitude,longitude,address
2026-11-21T14:03:00Z,48.1371,11.5761,12     Office,48.1371,11.5761,Am Platz 1
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.importers.items import Skipped
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.tables import csv_rows
from ingest.importers.sources.telling import made
from ingest.importers.sources.values import (
    BadRecord,
    name_of,
    optional_number,
    past_ms,
    position,
    text_of,
    written_ms,
)
from store.sources.locations import RADIUS_M, PlaceRecord, PointRecord

_POSITION = {"latitude": ("lat", "y"), "longitude": ("lon", "lng", "long", "x")}
POINT_COLUMNS = {
    "time": ("timestamp", "date", "datetime", "utc", "recorded_at", "date_time"),
    **_POSITION,
    "accuracy": ("accuracy_m", "horizontal_accuracy", "hdop_m"),
    "altitude": ("altitude_m", "elevation", "ele", "alt"),
}
POINT_NEEDED = ("time", "latitude", "longitude")
PLACE_COLUMNS = {
    "name": ("title", "place", "label"),
    **_POSITION,
    "category": ("type", "kind"),
    "address": ("location",),
    "note": ("notes", "description", "comment"),
    "radius": ("radius_m",),
    "id": (),
}
PLACE_NEEDED = ("name", "latitude", "longitude")


def read_csv_points(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    for line, row in csv_rows(source, POINT_COLUMNS, POINT_NEEDED):
        yield made(f"line {line}", _point, row, options)


def read_csv_places(source: Source, options: Options) -> Iterator[PlaceRecord | Skipped]:
    for line, row in csv_rows(source, PLACE_COLUMNS, PLACE_NEEDED):
        yield made(f"line {line}", _place, row)


def _point(row: dict[str, str], options: Options) -> PointRecord:
    latitude, longitude = position(row["latitude"], row["longitude"])
    return PointRecord(
        at_ms=past_ms(written_ms(row["time"], options.zone), options),
        latitude=latitude,
        longitude=longitude,
        accuracy_m=optional_number(row["accuracy"]),
        altitude_m=optional_number(row["altitude"]),
        source="csv",
    )


def _place(row: dict[str, str]) -> PlaceRecord:
    name = name_of(row["name"])
    if not name:
        raise BadRecord("it has no name")
    latitude, longitude = position(row["latitude"], row["longitude"])
    radius = optional_number(row["radius"])
    return PlaceRecord(
        name=name,
        latitude=latitude,
        longitude=longitude,
        category=name_of(row["category"]),
        address=name_of(row["address"]),
        note=text_of(row["note"]),
        radius_m=radius if radius and radius > 0 else RADIUS_M,
        external_id=name_of(row["id"]),
    )
