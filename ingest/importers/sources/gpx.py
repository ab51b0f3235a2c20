"""Points of a GPX file, 1.0 or 1.1: of tracks, routes and waypoints, where they have a time.

https://www.topografix.com/GPX/1/1/. Times are UTC; elevations are metres.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import End, Start, xml_elements
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.telling import made
from ingest.importers.sources.values import BadRecord, optional_number, past_ms, position, written_ms
from store.sources.locations import PointRecord

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
