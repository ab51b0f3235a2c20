from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.importers.items import CannotImport
from store.sources.locations import PlaceRecord, PointRecord
from tests.ingest.importers.sources.reading import at, read

WHEN = "2025-11-20T12:00:00Z"
WHEN_MS = at("2025-11-20T12:00:00+00:00")
LATITUDE, LONGITUDE = 48.137154, 11.576124

GPX = f"""<?xml version="1.0"?>
<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://example.org/t">
<wpt lat="1" lon="2"><name>no time</name></wpt>
<trk><trkseg><trkpt lat="{LATITUDE}" lon="{LONGITUDE}"><ele>519.5</ele><time>{WHEN}</time>
<extensions><gpxtpx:hr>60</gpxtpx:hr></extensions></trkpt>
<trkpt lat="91" lon="0"><time>{WHEN}</time></trkpt></trkseg></trk></gpx>"""


def test_points_of_a_track_are_read_where_they_have_a_time(tmp_path: Path) -> None:
    records, skipped = read(tmp_path, "location", "t.gpx", GPX)
    assert records == [PointRecord(WHEN_MS, LATITUDE, LONGITUDE, None, 519.5, "gpx")]
    assert skipped == [("record 1", "it has no time"), ("record 3", "its position is not on the globe")]


def feature(geometry: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": geometry, "coordinates": coordinates},
        "properties": properties,
    }


def collection(*features: Any) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features})


def test_geojson_has_longitude_first_and_lines_with_a_time_for_each_point(tmp_path: Path) -> None:
    line = [[LONGITUDE, LATITUDE], [LONGITUDE + 1, LATITUDE]]
    text = collection(
        feature("Point", [LONGITUDE, LATITUDE, 5], time=WHEN, accuracy=12),
        feature("LineString", line, coordTimes=[WHEN, WHEN]),
        feature("LineString", line),
        feature("Polygon", [], time=WHEN),
        None,
    )
    records, skipped = read(tmp_path, "location", "p.geojson", text)
    assert records == [
        PointRecord(WHEN_MS, LATITUDE, LONGITUDE, 12, 5, "geojson"),
        PointRecord(WHEN_MS, LATITUDE, LONGITUDE, None, None, "geojson"),
        PointRecord(WHEN_MS, LATITUDE, LONGITUDE + 1, None, None, "geojson"),
    ]
    assert [where for where, _ in skipped] == ["record 3", "record 4", "record 5"]


E7 = {"latitudeE7": 481371540, "longitudeE7": 115761240}
GOOGLE: dict[str, Any] = {
    "records, with a time as text": {"locations": [{**E7, "accuracy": 20, "timestamp": WHEN}]},
    "records, with milliseconds": {"locations": [{**E7, "timestampMs": str(WHEN_MS)}]},
    "semantic history": {
        "timelineObjects": [{"placeVisit": {"location": E7, "duration": {"startTimestamp": WHEN}}}]
    },
    "Android, a path": {
        "semanticSegments": [
            {"startTime": WHEN, "timelinePath": [{"point": "48.137154°, 11.576124°", "time": WHEN}]}
        ]
    },
    "Android, a visit": {
        "semanticSegments": [
            {
                "startTime": WHEN,
                "visit": {"topCandidate": {"placeLocation": {"latLng": "48.137154°, 11.576124°"}}},
            }
        ]
    },
    "Android, a signal": {
        "rawSignals": [
            {"wifiScan": {}},
            {"position": {"LatLng": "48.137154°, 11.576124°", "timestamp": WHEN, "accuracyMeters": 9}},
        ]
    },
    "iOS, a path": [
        {
            "startTime": "2025-11-20T11:55:00Z",
            "timelinePath": [{"point": "geo:48.137154,11.576124", "durationMinutesOffsetFromStartTime": "5"}],
        }
    ],
    "iOS, a visit": [
        {"startTime": WHEN, "visit": {"topCandidate": {"placeLocation": "geo:48.137154,11.576124"}}}
    ],
}


@pytest.mark.parametrize("name", GOOGLE)
def test_every_form_of_googles_history_gives_its_positions(tmp_path: Path, name: str) -> None:
    records, skipped = read(
        tmp_path, "location", "Timeline.json", json.dumps(GOOGLE[name], ensure_ascii=False)
    )
    assert [(each.at_ms, each.latitude, each.longitude) for each in records] == [
        (WHEN_MS, LATITUDE, LONGITUDE)
    ]
    assert skipped == []


def test_a_way_of_googles_history_has_two_ends(tmp_path: Path) -> None:
    way = {"duration": {"startTimestamp": WHEN, "endTimestamp": WHEN}, "startLocation": E7, "endLocation": {}}
    records, skipped = read(
        tmp_path, "location", "2022.json", json.dumps({"timelineObjects": [{"activitySegment": way}]})
    )
    assert len(records) == 1
    assert skipped == [("record 1", "its position cannot be read")]


def test_json_that_is_no_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="no location history"):
        read(tmp_path, "location", "x.json", '{"something": 1}')


def test_points_and_places_of_a_table(tmp_path: Path) -> None:
    table = f"timestamp;lat;lon;accuracy\n{WHEN};{LATITUDE};{LONGITUDE};12.5\n{WHEN};x;1;\n"
    records, skipped = read(tmp_path, "location", "p.csv", table)
    assert records == [PointRecord(WHEN_MS, LATITUDE, LONGITUDE, 12.5, None, "csv")]
    assert skipped == [("line 3", "latitude is no number")]
    table = f"Title,Latitude,Longitude,Address,Radius\nOffice,{LATITUDE},{LONGITUDE},Am Platz 1,250\n,1,2,,\n"
    records, skipped = read(tmp_path, "places", "p.csv", table)
    assert records == [PlaceRecord("Office", LATITUDE, LONGITUDE, "", "Am Platz 1", radius_m=250)]
    assert skipped == [("line 3", "it has no name")]


def test_places_of_geojson_and_of_googles_saved_places(tmp_path: Path) -> None:
    text = collection(
        feature("Point", [LONGITUDE, LATITUDE], name="Office", category="work", radius=-1),
        feature(
            "Point", [LONGITUDE, LATITUDE],
            google_maps_url="http://maps.google.com/?cid=1", location={"name": "Café", "address": "Street 1"},
        ),
        feature("Point", [LONGITUDE, LATITUDE]),
    )  # fmt: skip
    records, skipped = read(tmp_path, "places", "p.geojson", text)
    assert records == [
        PlaceRecord("Office", LATITUDE, LONGITUDE, "work"),
        PlaceRecord(
            "Café", LATITUDE, LONGITUDE, address="Street 1", external_id="http://maps.google.com/?cid=1"
        ),
    ]
    assert skipped == [("record 3", "it has no name")]
