"""Tools over the person's places and where they were. Nothing is asked of any network."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from assistant.read_api.answers import Time
from assistant.tools.sources import (
    Latitude,
    Longitude,
    SourceQuery,
    rows_that_fit,
    source_tool,
    span,
    truncated,
)
from store.sources import locations
from store.sources.locations import Place

PLACES = "the places you imported"
_TEXT_CHARS = 200

North = Annotated[float, Latitude]
East = Annotated[float, Longitude]


@source_tool(mode="auto", reaches="the location history you imported", source="location")
def get_location_history(
    look: SourceQuery,
    start: Time,
    end: Time,
    limit: Annotated[int, Field(ge=1, le=200, description="Points at most, spread over the range.")] = 50,
) -> object:
    """Gives where the person's devices were in a range, in the order of time; call it for where something
    happened. `start` and `end` are half-open; positions are WGS 84 degrees, accuracy is in metres. Name a
    position with reverse_geocode."""
    start_ms, end_ms = span(look, start, end)
    found, total = locations.points_between(
        look.call.database, start_ms, end_ms, limit, look.context.timeout_s
    )
    rows = [
        {
            "time": look.local(point.at_ms),
            "latitude": point.latitude,
            "longitude": point.longitude,
            "accuracy_m": point.accuracy_m,
        }
        for point in found
    ]
    kept, _ = rows_that_fit(rows)
    look.call.returned = len(kept)
    return {
        "points": kept,
        "total": total,
        **({} if kept else {"note": "No position is known of this range."}),
    }


@source_tool(mode="auto", reaches=PLACES, source="places")
def get_place_at(look: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's own places that a position lies in, the nearest first; call it to tell whether they
    were at home, at work or at another place of theirs. For a position outside of all places use
    reverse_geocode."""
    found = [
        (away_m, place)
        for away_m, place in locations.nearest(
            look.call.database, latitude, longitude, 50, look.context.timeout_s
        )
        if away_m <= place.radius_m
    ]
    kept, _ = rows_that_fit([_row(*pair) for pair in found])
    look.call.returned = len(kept)
    return {"places": kept, **({} if kept else {"note": "The position lies in none of the person's places."})}


@source_tool(mode="auto", reaches=PLACES, source="places")
def reverse_geocode(look: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's places that are nearest to a position, with the distance in metres; call it to put a
    position into words. It knows the imported places only, so a far one says little about the position."""
    found = locations.nearest(look.call.database, latitude, longitude, 3, look.context.timeout_s)
    kept, _ = rows_that_fit([_row(*pair) for pair in found])
    look.call.returned = len(kept)
    return {"places": kept, **({} if kept else {"note": "No places were imported, so none can be named."})}


PLACE_TOOLS = (get_location_history, get_place_at, reverse_geocode)


def _row(away_m: float, place: Place) -> dict[str, Any]:
    return {
        "name": truncated(place.name, _TEXT_CHARS),
        "distance_m": round(away_m),
        "category": truncated(place.category, _TEXT_CHARS),
        "address": truncated(place.address, _TEXT_CHARS),
        "note": truncated(place.note, _TEXT_CHARS),
    }
