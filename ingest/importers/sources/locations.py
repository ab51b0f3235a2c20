"""Positions with a time and places with a name: Google's history, GeoJSON, GPX and CSV.

Of Google ``Records.json`` of Takeout until 2024, its ``Semantic Location History``, and what the phone
exports since: ``Timeline.json`` of Android and ``location-history.json`` of iOS. Google publishes no schema;
the fields are those collected at https://locationhistoryformat.com/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.core.xml_elements import Start
from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import by_our_names, csv_rows, json_records, xml_elements
from ingest.importers.sources.source_file import (
    BadRecord,
    Options,
    Source,
    name_of,
    optional_number,
    parse_number,
    past_ms,
    position,
    position_written,
    record_or_skipped,
    text_of,
    written_ms,
)
from store.sources.locations import RADIUS_M, PlaceRecord, PointRecord

_E7 = 1e7
_RECORDS = ("locations", "[]")
_OBJECTS = ("timelineObjects", "[]")
_SEGMENTS = ("semanticSegments", "[]")
_SIGNALS = ("rawSignals", "[]")
_IOS = ("[]",)

# A position as text, its time, and metres of accuracy and altitude where they are known: as they stand.
_Part = tuple[Any, Any, Any, Any]


def read_takeout(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    count = 0
    for path, raw in json_records(source, {_RECORDS, _OBJECTS, _SEGMENTS, _SIGNALS, _IOS}):
        count += 1
        where = f"record {count}"
        if not isinstance(raw, dict):
            yield Skipped(where, "it is no record of a position")
        elif path == _RECORDS:
            yield record_or_skipped(where, _of_record, raw, options)
        else:
            for part in _SOURCES[path](raw):  # records of another kind (Wi-Fi, motion) have no position
                yield record_or_skipped(where, _of_part, part, options)
    if not count:
        raise CannotImport("there is no location history in it; see what Google calls Timeline")


def _of_part(part: _Part, options: Options) -> PointRecord:
    at, time, accuracy, altitude = part
    latitude, longitude = position_written(at)
    values = {"latitude": latitude, "longitude": longitude, "time": time}
    return _point(values | {"accuracy": accuracy, "altitude": altitude}, "google", options)


def _of_record(raw: dict[str, Any], options: Options) -> PointRecord:
    old = raw.get("timestampMs")
    time = raw.get("timestamp") if old is None else str(old)
    latitude = parse_number(raw.get("latitudeE7"), "latitude") / _E7
    longitude = parse_number(raw.get("longitudeE7"), "longitude") / _E7
    values = {**raw, "time": time, "latitude": latitude, "longitude": longitude}
    return _point(values, "google", options)


def _deep(raw: Any, *keys: str) -> Any:
    for key in keys:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw


def _of_signal(raw: dict[str, Any]) -> Iterator[_Part]:
    if isinstance(signal := raw.get("position"), dict):
        at = signal.get("LatLng") or signal.get("latLng")
        yield at, signal.get("timestamp"), signal.get("accuracyMeters"), signal.get("altitudeMeters")


def _of_segment(raw: dict[str, Any]) -> Iterator[_Part]:
    """Of Android and iOS: a path, a visit, or a way from one place to another."""
    start, end = raw.get("startTime"), raw.get("endTime")
    path = raw.get("timelinePath")
    for point in path if isinstance(path, list) else ():
        offset = _deep(point, "durationMinutesOffsetFromStartTime")
        time = (start, offset) if offset is not None else _deep(point, "time")
        yield _deep(point, "point"), time, None, None
    if "visit" in raw:
        at = _deep(raw, "visit", "topCandidate", "placeLocation")
        yield at if isinstance(at, str) else _deep(at, "latLng"), start, None, None
    if "activity" in raw:
        for side, time in (("start", start), ("end", end)):
            at = _deep(raw, "activity", side)
            yield at if isinstance(at, str) else _deep(at, "latLng"), time, None, None


def _of_object(raw: dict[str, Any]) -> Iterator[_Part]:
    """Of the semantic history: a visit, or a way with its two ends."""
    if visit := raw.get("placeVisit"):
        yield _written(_deep(visit, "location")), _deep(visit, "duration", "startTimestamp"), None, None
    if way := raw.get("activitySegment"):
        for side in ("start", "end"):
            time = _deep(way, "duration", f"{side}Timestamp")
            yield _written(_deep(way, f"{side}Location")), time, None, None


def _written(raw: Any) -> str | None:
    """A position in E7 as the newer files write one; what is no number is refused where it is read."""
    latitude, longitude = (optional_number(_deep(raw, key)) for key in ("latitudeE7", "longitudeE7"))
    return None if latitude is None or longitude is None else f"{latitude / _E7:.7f},{longitude / _E7:.7f}"


_SOURCES = {_OBJECTS: _of_object, _SEGMENTS: _of_segment, _SIGNALS: _of_signal, _IOS: _of_segment}


# Features of a GeoJSON file (RFC 7946): points in time, or places with a name.
#
# Positions are longitude first. A time is in the properties; a line may have one for each of its points in
# ``coordTimes``, as togeojson and others write it.

_FEATURES = ("features", "[]")
_LINE_TIMES = ("coordTimes", "times")


def read_geojson_points(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    for where, feature in _features(source):
        geometry, properties = _parts(feature)
        if geometry.get("type") == "LineString":
            yield from _line(where, geometry, properties, options)
        else:
            yield record_or_skipped(where, _feature_point, geometry, properties, options)


def read_geojson_places(source: Source, options: Options) -> Iterator[PlaceRecord | Skipped]:
    for where, feature in _features(source):
        yield record_or_skipped(where, _feature_place, feature)


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


def _coordinates(geometry: dict[str, Any]) -> list[Any]:
    coordinates = geometry.get("coordinates")
    if geometry.get("type") != "Point" or not isinstance(coordinates, list) or len(coordinates) < 2:
        raise BadRecord("it is not a point")
    return coordinates


def _feature_point(geometry: dict[str, Any], properties: dict[str, Any], options: Options) -> PointRecord:
    values = by_our_names(properties.items(), POINT_COLUMNS)
    return _timed(_coordinates(geometry), values["time"], values, options)


def _timed(at: Any, time: Any, values: Mapping[str, Any], options: Options) -> PointRecord:
    if not isinstance(at, list) or len(at) < 2:
        raise BadRecord("it has no position")
    height = {"altitude": at[2]} if len(at) > 2 else {}
    placed = {**values, "time": time, "latitude": at[1], "longitude": at[0], **height}
    return _point(placed, "geojson", options)


def _line(
    where: str, geometry: dict[str, Any], properties: dict[str, Any], options: Options
) -> Iterator[PointRecord | Skipped]:
    inner = properties.get("coordinateProperties")
    known = {**(inner if isinstance(inner, dict) else {}), **properties}
    times = next((known[name] for name in _LINE_TIMES if known.get(name)), None)
    places = geometry.get("coordinates")
    if not isinstance(times, list) or not isinstance(places, list) or len(times) != len(places):
        yield Skipped(where, "it is a line without a time for each of its points")
        return
    for at, time in zip(places, times, strict=True):
        yield record_or_skipped(where, _timed, at, time, {}, options)


def _feature_place(feature: Any) -> PlaceRecord:
    geometry, properties = _parts(feature)
    at = _coordinates(geometry)
    # Google's "Saved Places" keep name and address one level deeper.
    inner = properties.get("location")
    known = properties | inner | {"location": None} if isinstance(inner, dict) else properties
    values = by_our_names(known.items(), PLACE_COLUMNS)
    external_id = feature.get("id") or values["id"]
    values["id"] = str(external_id) if isinstance(external_id, str | int) else ""
    return _place({**values, "latitude": at[1], "longitude": at[0]})


# Points of a GPX file, 1.0 or 1.1: of tracks, routes and waypoints, where they have a time.
#
# https://www.topografix.com/GPX/1/1/. Times are UTC; elevations are metres.

_POINTS = frozenset({"trkpt", "rtept", "wpt"})


def read_gpx(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    count = 0
    point: dict[str, str] | None = None
    for number, element in enumerate(xml_elements(source)):
        if number == 0 and element.name != "gpx":
            raise CannotImport(f"this is no GPX file: it begins with <{element.name[:40]}>")
        if isinstance(element, Start):
            if element.name in _POINTS:
                count += 1
                lat, lon = (element.values.get(name, "") for name in ("lat", "lon"))
                point = {"latitude": lat, "longitude": lon}
        elif point is not None:
            if element.name in _POINTS:
                yield record_or_skipped(f"record {count}", _point, point, "gpx", options)
                point = None
            elif element.name == "time":
                point["time"] = element.text
            elif element.name == "ele":
                point["altitude"] = element.text
    if not count:
        raise CannotImport("there are no points in it")


# Points and places of CSV files.
#
# time,latitude,longitude,accuracy            name,latitude,longitude,address
# 2026-11-21T14:03:00Z,48.1371,11.5761,12     Office,48.1371,11.5761,Am Platz 1

_POSITION = {"latitude": ("lat", "y"), "longitude": ("lon", "lng", "long", "x")}
POINT_COLUMNS = {
    "time": ("timestamp", "date", "datetime", "utc", "recorded_at", "date_time", "when"),
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
    "id": ("google_maps_url",),
}
PLACE_NEEDED = ("name", "latitude", "longitude")


def read_csv_points(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    for line, row in csv_rows(source, POINT_COLUMNS, POINT_NEEDED):
        yield record_or_skipped(f"line {line}", _point, row, "csv", options)


def read_csv_places(source: Source, options: Options) -> Iterator[PlaceRecord | Skipped]:
    for line, row in csv_rows(source, PLACE_COLUMNS, PLACE_NEEDED):
        yield record_or_skipped(f"line {line}", _place, row)


def _point(values: Mapping[str, Any], source: str, options: Options) -> PointRecord:
    """`values` by the names of `POINT_COLUMNS`; a time as it stands there, or (a start, minutes after it)."""
    latitude, longitude = position(values["latitude"], values["longitude"])
    time = values.get("time")
    start, minutes = time if isinstance(time, tuple) else (time, 0)
    if start in (None, ""):
        raise BadRecord("it has no time")
    at_ms = written_ms(str(start), options.zone) + parse_number(minutes, "its time") * 60_000
    accuracy_m, altitude_m = (optional_number(values.get(name)) for name in ("accuracy", "altitude"))
    return PointRecord(past_ms(at_ms, options), latitude, longitude, accuracy_m, altitude_m, source)


def _place(values: Mapping[str, Any]) -> PlaceRecord:
    """`values` by the names of `PLACE_COLUMNS`."""
    latitude, longitude = position(values["latitude"], values["longitude"])
    name = name_of(values["name"])
    if not name:
        raise BadRecord("it has no name")
    radius = optional_number(values["radius"])
    return PlaceRecord(
        name=name,
        latitude=latitude,
        longitude=longitude,
        category=name_of(values["category"]),
        address=name_of(values["address"]),
        note=text_of(values["note"]),
        radius_m=radius if radius and radius > 0 else RADIUS_M,
        external_id=name_of(values["id"]),
    )
