"""Google's location history, old and new: positions with a time.

``Records.json`` of Takeout until 2024, its ``Semantic Location History``, and what the phone exports since:
``Timeline.json`` of Android and ``location-history.json`` of iOS. Google publishes no schema; the fields
are those collected at https://locationhistoryformat.com/.
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
    optional_number,
    parse_number,
    past_ms,
    position,
    position_written,
    written_ms,
)
from store.sources.locations import PointRecord

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
