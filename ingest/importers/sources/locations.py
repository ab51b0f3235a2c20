"""Google's location history, old and new: positions with a time.

``Records.json`` of Takeout until 2024, its ``Semantic Location History``, and what the phone exports since:
``Timeline.json`` of Android and ``location-history.json`` of iOS. Google publishes no schema; the fields
are those collected at https://locationhistoryformat.com/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import End, Start, csv_rows, json_records, xml_elements
from ingest.importers.sources.source_file import (
    BadRecord,
    Options,
    Source,
    made,
    name_of,
    optional_number,
    parse_number,
    past_ms,
    position,
    position_written,
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
            yield made(where, _of_record, raw, options)
        else:
            yield from _several(where, _SOURCES[path](raw), options)
    if not count:
        raise CannotImport("there is no location history in it; see what Google calls Timeline")


def _several(where: str, parts: Iterator[_Part], options: Options) -> Iterator[PointRecord | Skipped]:
    """A record for each position of a segment. One of another kind (Wi-Fi, motion) has none."""
    for part in parts:
        yield made(where, _of_part, part, options)


def _of_part(part: _Part, options: Options) -> PointRecord:
    at, time, accuracy, altitude = part
    return _point(position_written(at), _ms(time, options), accuracy, altitude, options)


def _of_record(raw: dict[str, Any], options: Options) -> PointRecord:
    old = raw.get("timestampMs")
    at_ms = _ms(raw.get("timestamp"), options) if old is None else parse_number(old, "its time")
    latitude = parse_number(raw.get("latitudeE7"), "latitude") / _E7
    longitude = parse_number(raw.get("longitudeE7"), "longitude") / _E7
    at = position(latitude, longitude)
    return _point(at, at_ms, raw.get("accuracy"), raw.get("altitude"), options)


def _point(
    at: tuple[float, float], at_ms: float, accuracy: Any, altitude: Any, options: Options
) -> PointRecord:
    return PointRecord(
        at_ms=past_ms(at_ms, options),
        latitude=at[0],
        longitude=at[1],
        accuracy_m=optional_number(accuracy),
        altitude_m=optional_number(altitude),
        source="google",
    )


def _ms(time: Any, options: Options) -> float:
    if isinstance(time, tuple):  # a start, and minutes after it
        return written_ms(str(time[0]), options.zone) + parse_number(time[1], "its time") * 60_000
    if not isinstance(time, str):
        raise BadRecord("it has no time")
    return written_ms(time, options.zone)


def _deep(raw: Any, *keys: str) -> Any:
    for key in keys:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw


def _of_signal(raw: dict[str, Any]) -> Iterator[_Part]:
    if isinstance(found := raw.get("position"), dict):
        at = found.get("LatLng") or found.get("latLng")
        yield at, found.get("timestamp"), found.get("accuracyMeters"), found.get("altitudeMeters")


def _of_segment(raw: dict[str, Any]) -> Iterator[_Part]:
    """Of Android and iOS: a path, a visit, or a way from one place to another."""
    start, end = raw.get("startTime"), raw.get("endTime")
    path = raw.get("timelinePath")
    for each in path if isinstance(path, list) else ():
        offset = _deep(each, "durationMinutesOffsetFromStartTime")
        yield _deep(each, "point"), (start, offset) if offset is not None else _deep(each, "time"), None, None
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
    latitude, longitude = (
        optional_number(_deep(raw, "latitudeE7")),
        optional_number(_deep(raw, "longitudeE7")),
    )
    return None if latitude is None or longitude is None else f"{latitude / _E7:.7f},{longitude / _E7:.7f}"


_SOURCES = {_OBJECTS: _of_object, _SEGMENTS: _of_segment, _SIGNALS: _of_signal, _IOS: _of_segment}


# Features of a GeoJSON file (RFC 7946): points in time, or places with a name.
#
# Positions are longitude first. A time is in the properties; a line may have one for each of its points in
# ``coordTimes``, as togeojson and others write it.

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
            yield made(where, _geojson_point, geometry, properties, options)


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


def _geojson_point(geometry: dict[str, Any], properties: dict[str, Any], options: Options) -> PointRecord:
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


# Points of a GPX file, 1.0 or 1.1: of tracks, routes and waypoints, where they have a time.
#
# https://www.topografix.com/GPX/1/1/. Times are UTC; elevations are metres.

_POINTS = frozenset({"trkpt", "rtept", "wpt"})


def read_gpx(source: Source, options: Options) -> Iterator[PointRecord | Skipped]:
    count = 0
    point: dict[str, str] | None = None
    is_first = True
    for each in xml_elements(source):
        if is_first and each.name != "gpx":
            raise CannotImport(f"this is no GPX file: it begins with <{each.name[:40]}>")
        is_first = False
        if isinstance(each, Start):
            if each.name in _POINTS:
                count += 1
                point = dict(each.values)
        elif isinstance(each, End) and point is not None:
            if each.name in _POINTS:
                yield made(f"record {count}", _record, point, options)
                point = None
            elif each.name in ("time", "ele"):
                point[each.name] = each.text
    if not count:
        raise CannotImport("there are no points in it")


def _record(values: dict[str, str], options: Options) -> PointRecord:
    if "time" not in values:
        raise BadRecord("it has no time")
    latitude, longitude = position(values.get("lat"), values.get("lon"))
    return PointRecord(
        at_ms=past_ms(written_ms(values["time"], options.zone), options),
        latitude=latitude,
        longitude=longitude,
        altitude_m=optional_number(values.get("ele")),
        source="gpx",
    )


# Points and places of CSV files.
#
# time,latitude,longitude,accuracy            name,latitude,longitude,address
# 2026-11-21T14:03:00Z,48.1371,11.5761,12     Office,48.1371,11.5761,Am Platz 1

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
        yield made(f"line {line}", _location_tables_point, row, options)


def read_csv_places(source: Source, options: Options) -> Iterator[PlaceRecord | Skipped]:
    for line, row in csv_rows(source, PLACE_COLUMNS, PLACE_NEEDED):
        yield made(f"line {line}", _location_tables_place, row)


def _location_tables_point(row: dict[str, str], options: Options) -> PointRecord:
    latitude, longitude = position(row["latitude"], row["longitude"])
    return PointRecord(
        at_ms=past_ms(written_ms(row["time"], options.zone), options),
        latitude=latitude,
        longitude=longitude,
        accuracy_m=optional_number(row["accuracy"]),
        altitude_m=optional_number(row["altitude"]),
        source="csv",
    )


def _location_tables_place(row: dict[str, str]) -> PlaceRecord:
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
