"""Tools over imported sources: messages, calendars, places.

Like the tools about the screen they read past today's exclusion rules, leave an audit row, and show
nothing outside of a given range. What they tell is no frame, so it has no id to cite.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.read_api import calls
from assistant.read_api.answers import TimeOrNone, Words
from assistant.read_api.calls import asking
from assistant.tools.context import SourceQuery, row, source_tool, truncated
from assistant.tools.tool import ToolFailed
from store.core.translation import N_
from store.embeddings.knn import RetrievalQuery
from store.sources import calendars, locations, messages
from store.sources.locations import Place
from store.sources.messages import SMS_DAYS_RADIUS, Filters, Message

# -- messages ---------------------------------------------------------------------------------

REACHES = N_("the messages you imported")
_DAY_MS = 86_400_000
_TEXT_CHARS = 500

ContactId = Annotated[int | None, Field(ge=1, description="`contact_id` of a result.")]
Contact = Annotated[
    str | None, Field(min_length=1, max_length=200, description="Part of a name, number or address.")
]
Radius = Annotated[int, Field(ge=1, le=366, description="Days before and after `date`.")]
Limit = Annotated[int, Field(ge=1, le=100, description="Messages at most.")]
UnixSeconds = Annotated[float | None, Field(ge=0, le=1e11, description="Unix seconds.")]


@source_tool(reaches=REACHES, source="messages")
def get_sms_messages(
    lookup: SourceQuery,
    date: TimeOrNone = None,
    contact_id: ContactId = None,
    contact: Contact = None,
    days_radius: Radius = SMS_DAYS_RADIUS,
    limit: Limit = 50,
) -> object:
    """Gives the person's imported messages and mails around a date, in the order of time; call it for what
    was written then, or with somebody. The window runs from `date` minus `days_radius` days to `date` plus
    `days_radius` days, half-open; without `date` around the moment that the conversation is about, else now.
    Give `contact` or `contact_id`, not both; of too many messages those nearest to `date` are given. For
    words in messages use search_messages. Examples: {"date": "2023-11-16T19:00:00+01:00"};
    {"date": 1700000000, "contact_id": 42, "days_radius": 1}"""
    call = lookup.call
    at_ms = call.at_ms if date is None else calls.parse(date, "date", call.zone)
    contact_or_choice = _contact(lookup, contact_id, contact)
    if isinstance(contact_or_choice, dict):
        return contact_or_choice
    start_ms, end_ms = call.within(at_ms - days_radius * _DAY_MS, at_ms + days_radius * _DAY_MS)
    filters = Filters(start_ms, end_ms, contact_or_choice)
    shown, total = messages.nearest_to(call.database, at_ms, filters, limit, lookup.timeout_s)
    note = "" if shown else _why_none(lookup, contact_or_choice)
    window = [lookup.local(start_ms), lookup.local(end_ms)]
    return lookup.told("messages", _rows(lookup, shown), note, total=total, window=window)


@source_tool(reaches=REACHES, source="messages")
def search_messages(
    lookup: SourceQuery,
    query: Annotated[Words, Field(description="What to look for.")],
    mode: Literal["fts5", "semantic", "hybrid"] = "hybrid",
    start_ts: UnixSeconds = None,
    end_ts: UnixSeconds = None,
    contact_id: ContactId = None,
    limit: Limit = 20,
) -> object:
    """Searches what the person's imported messages and mails say, best match first; call it for what was
    written to or by somebody. `mode` fts5 takes words (all must be there), "phrases", prefix*, AND, OR, NOT
    and NEAR(a b, 5); semantic goes by meaning and needs embeddings; hybrid, recommended, joins both by
    reciprocal rank fusion. `start_ts` and `end_ts` (half-open, real-UTC Unix seconds) and `contact_id` are
    applied inside the query; without them all up to half a day after the moment that the conversation is
    about is searched, else up to now. For pure date or contact browsing without keywords, prefer
    get_sms_messages. Examples:
    {"query": "trader joe's"};
    {"query": "dinner", "contact_id": 42, "start_ts": 1700000000, "end_ts": 1700604800};
    {"query": "NEAR(meeting work, 5)"}"""
    call = lookup.call
    start_ms, end_ms = call.span_or_none(start_ts, end_ts)
    filters = Filters(start_ms, end_ms, contact_id)
    asked = asking(call, query) if mode != "fts5" else RetrievalQuery(calls.searched_for(query))
    page = messages.search_messages(
        call.database, asked, filters, mode=mode, limit=limit, deadline_s=lookup.timeout_s
    )
    rows = _rows(lookup, [hit.message for hit in page.hits], [hit.snippet for hit in page.hits])
    note = "" if rows else _why_none(lookup, contact_id)
    how = {"strategy": page.strategy, "read_as": page.reading}
    return lookup.told("messages", rows, note, **how, fallback_reason=page.fallback_reason or None)


def _contact(lookup: SourceQuery, contact_id: int | None, contact: str | None) -> int | dict[str, Any] | None:
    """The contact that is meant, or what to tell where that is not clear."""
    if contact is None:
        return contact_id
    if contact_id is not None:
        raise ToolFailed("Give `contact_id` or `contact`, not both.")
    contacts = messages.contacts(lookup.call.database, contact, limit=10)
    if len(contacts) == 1:
        return contacts[0].id
    names = ("name", "messages", "addresses")
    rows = [row(entry, *names, chars=_TEXT_CHARS, contact_id=entry.id) for entry in contacts]
    note = "Several contacts fit: choose a contact_id." if contacts else "No contact fits; leave it out."
    return {"messages": [], "contacts": rows, "note": note}


def _rows(
    lookup: SourceQuery, items: Sequence[Message], snippets: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Messages as a model is told; of a long one its snippet, where there is one."""
    rows = []
    for item, snippet in zip_longest(items, snippets):
        is_cut = snippet is not None and len(item.body) > _TEXT_CHARS
        more = {
            "time": lookup.local(item.sent_ms),
            "to" if item.is_outgoing else "from": item.contact or "unknown",
            "text": f"…{snippet}…" if is_cut else item.body,
        }
        names = ("id", "contact_id", "conversation", "service", "subject")
        rows.append(row(item, *names, chars=_TEXT_CHARS, **more))
    return rows


def _why_none(lookup: SourceQuery, contact_id: int | None) -> str:
    """An empty source is an answer, too."""
    database = lookup.call.database
    if not messages.browse(database, limit=1):
        return "No messages were imported, so nothing is known of messages. Go on with other sources."
    if contact_id is not None and not messages.browse(database, Filters(contact_id=contact_id), limit=1):
        return "There is no message with this contact at any time."
    return "Messages were imported, but none fits. That is informative: go on with other sources."


# -- calendars --------------------------------------------------------------------------------


@source_tool(reaches=N_("the calendars you imported"), source="calendar")
def get_calendar_events(
    lookup: SourceQuery,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    query: Annotated[Words, Field(description="Part of title, description, place or attendees.")] = "",
    limit: Annotated[int, Field(ge=1, le=100, description="Events at most, the earliest.")] = 50,
) -> object:
    """Gives the person's calendar events that overlap a range, earliest first; call it for what was planned,
    also in the future. `start` and `end` are half-open; without them it is half a day on each side of the
    moment that the conversation is about, else of now. An event that was planned need not have taken place:
    look with search_ocr or get_sms_messages for what was done."""
    start_ms, end_ms = lookup.span_around(start, end)
    database, timeout_s = lookup.call.database, lookup.timeout_s
    events, total = calendars.events_between(database, start_ms, end_ms, query, limit, timeout_s)
    names, rows = ("title", "location", "status", "calendar", "description"), []
    for event in events:
        more = {
            "start": lookup.local(event.start_ms),
            "end": lookup.local(event.end_ms),
            "all_day": event.is_all_day or None,
            "attendees": [truncated(attendee, 100) for attendee in event.attendees[:10]],
        }
        rows.append(row(event, *names, chars=300, **more))
    return lookup.told("events", rows, "No event overlaps this range.", total=total)


# -- places -----------------------------------------------------------------------------------
#
# Nothing is asked of any network.

PLACES = N_("the places you imported")

North = Annotated[float, Field(ge=-90, le=90, description="Degrees north, WGS 84.")]
East = Annotated[float, Field(ge=-180, le=180, description="Degrees east, WGS 84.")]


@source_tool(reaches=N_("the location history you imported"), source="location")
def get_location_history(
    lookup: SourceQuery,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=200, description="Points at most, spread over the range.")] = 50,
) -> object:
    """Gives where the person's devices were in a range, in the order of time; call it for where something
    happened. `start` and `end` are half-open; without them it is half a day on each side of the moment
    that the conversation is about, else of now. `place` is the person's own place that a position lies in;
    other positions are WGS 84 degrees, accuracy in metres: name one with reverse_geocode."""
    start_ms, end_ms = lookup.span_around(start, end)
    points, total = locations.points_between(lookup.call.database, start_ms, end_ms, limit, lookup.timeout_s)
    rows = []
    for point in points:
        place = locations.place_of(lookup.call.database, point)
        where = {"place": place} if place else {"latitude": point.latitude, "longitude": point.longitude}
        rows.append(row(point, "accuracy_m", chars=200, time=lookup.local(point.at_ms), **where))
    return lookup.told("points", rows, "No position is known of this range.", total=total)


@source_tool(reaches=PLACES, source="places")
def get_place_at(lookup: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's own places that a position lies in, the nearest first; call it to tell whether they
    were at home, at work or at another place of theirs. For a position outside of all places use
    reverse_geocode."""
    near = locations.nearest(lookup.call.database, latitude, longitude, 50, lookup.timeout_s)
    rows = [_place(away_m, place) for away_m, place in near if away_m <= place.radius_m]
    return lookup.told("places", rows, "The position lies in none of the person's places.")


@source_tool(reaches=PLACES, source="places")
def reverse_geocode(lookup: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's places that are nearest to a position, with the distance in metres; call it to put a
    position into words. It knows the imported places only, so a far one says little about the position."""
    near = locations.nearest(lookup.call.database, latitude, longitude, 3, lookup.timeout_s)
    rows = [_place(*pair) for pair in near]
    return lookup.told("places", rows, "No places were imported, so none can be named.")


def _place(away_m: float, place: Place) -> dict[str, Any]:
    return row(place, "name", "category", "address", "note", chars=200, distance_m=round(away_m))


TOOLS = (
    search_messages,
    get_sms_messages,
    get_calendar_events,
    get_location_history,
    get_place_at,
    reverse_geocode,
)
