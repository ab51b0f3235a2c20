"""Features of a GeoJSON file (RFC 7946): points in time, or places with a name.

Positions are longitude first. A time is in the properties; a line may have one for each of its points in
``coordTimes``, as togeojson and others write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.json_stream import json_records
from ingest.importers.sources.source_file import Options, Source
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

_FEATURES = ("features", "[]")
_TIMES = ("time", "timestamp", "datetime", "date", "when", "recorded_at")
_LINE_TIMES = ("coordTimes", "times")
_NAMES = ("name", "Name", "title", "Title")
_MAX_LINE = 200_000


def read_geojson_points(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    for where, feature in _features(source):
        geometry, properties = _parts(feature)
        if geometry.get("type") == "LineString":
            yield from _line(where, geometry, properties, options)
        else:
            yield made(where, _point, geometry, properties, options)


def read_geojson_places(source: Source, options: Options) -> Iterator[PlaceRecord | Skipped]:
    for where, feature in _features(source):
        yield made(where, _place, feature)


def _features(source: Source) -> Iterator[tuple[str, Any]]:
    count = 0
    for count, (_, feature) in enumerate(json_records(source, {_FEATURES}), 1):
        yield f"record {count}", feature
    if not count:
        raise CannotImport("there are no features in it; this is no GeoJSON FeatureCollection")


def _parts(feature: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    feature = feature if isinstance(feature, dict) else {}
    geometry, properties = feature.get("geometry"), feature.get("properties")
    return geometry if isinstance(geometry, dict) else {}, properties if isinstance(properties, dict) else {}


def _first(properties: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((properties[name] for name in names if properties.get(name) not in (None, "")), None)


def _coordinates(geometry: dict[str, Any]) -> list[Any]:
    found = geometry.get("coordinates")
    if geometry.get("type") != "Point" or not isinstance(found, list) or len(found) < 2:
        raise BadRecord("it is not a point")
    return found


def _point(geometry: dict[str, Any], properties: dict[str, Any], options: Options) -> PointRecord:
    return _timed(_coordinates(geometry), _first(properties, _TIMES), properties, options)


def _timed(at: Any, time: Any, properties: dict[str, Any], options: Options) -> PointRecord:
    if not isinstance(at, list) or len(at) < 2:
        raise BadRecord("it has no position")
    if time is None:
        raise BadRecord("it has no time")
    latitude, longitude = position(at[1], at[0])
    return PointRecord(
        at_ms=past_ms(written_ms(str(time), options.zone), options),
        latitude=latitude,
        longitude=longitude,
        accuracy_m=optional_number(_first(properties, ("accuracy", "horizontal_accuracy"))),
        altitude_m=optional_number(at[2] if len(at) > 2 else properties.get("altitude")),
        source="geojson",
    )


def _line(
    where: str, geometry: dict[str, Any], properties: dict[str, Any], options: Options
) -> Iterator[PointRecord | Skipped]:
    inner = properties.get("coordinateProperties")
    times = _first({**(inner if isinstance(inner, dict) else {}), **properties}, _LINE_TIMES)
    places = geometry.get("coordinates")
    if not isinstance(times, list) or not isinstance(places, list) or len(times) != len(places):
        yield Skipped(where, "it is a line without a time for each of its points")
        return
    for at, time in zip(places, times, strict=True):
        yield made(where, _timed, at, time, {}, options)


def _place(feature: Any) -> PlaceRecord:
    geometry, properties = _parts(feature)
    at = _coordinates(geometry)
    latitude, longitude = position(at[1], at[0])
    # Google's "Saved Places" keep name and address one level deeper.
    inner = properties.get("location")
    known = {**(inner if isinstance(inner, dict) else {}), **properties}
    name = name_of(_first(known, _NAMES))
    if not name:
        raise BadRecord("it has no name")
    radius = optional_number(_first(known, ("radius_m", "radius")))
    return PlaceRecord(
        name=name,
        latitude=latitude,
        longitude=longitude,
        category=name_of(_first(known, ("category", "type", "kind"))),
        address=name_of(_first(known, ("address", "Address"))),
        note=text_of(_first(known, ("note", "description", "Comment", "comment"))),
        radius_m=radius if radius and radius > 0 else RADIUS_M,
        external_id=_id_of(feature, known),
    )


def _id_of(feature: dict[str, Any], known: dict[str, Any]) -> str:
    found = feature.get("id") or _first(known, ("google_maps_url", "id"))
    return name_of(str(found)) if isinstance(found, str | int) else ""
