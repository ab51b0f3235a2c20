"""Tools over imported sources: messages, calendars, places; and what they share with those over memory.

Like the tools about the screen they read past today's exclusion rules, leave an audit row, and show
nothing outside of a given range. What they tell is no frame, so it has no id to cite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.read_api import answers, calls
from assistant.read_api.answers import Time, TimeOrNone, Words
from assistant.read_api.calls import ReadCall, ReadRefused, asking
from assistant.tools.context import ToolContext, reading
from assistant.tools.screen import outside_range
from assistant.tools.tool import Risk, Tool, ToolFailed, described
from store.chats.tool_permissions import Mode
from store.frames.frames import FrameRow
from store.memory.retrievers import RetrievalQuery
from store.sources import calendars, locations, messages
from store.sources.locations import Place
from store.sources.messages import SMS_DAYS_RADIUS, Filters, Message


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """One call of one of these tools."""

    call: ReadCall
    context: ToolContext

    def local(self, at_ms: int) -> str:
        """A moment in words for the model; from now on an answer may name it."""
        self.context.findings.moments.add(at_ms)
        return self.call.local(at_ms)

    def within(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """A span cut to the range of the turn. Raises `ToolFailed` when nothing of it is left."""
        low, high = self.context.range_ms or (start_ms, end_ms)
        if max(start_ms, low) >= min(end_ms, high):
            raise ToolFailed(outside_range((low, high), self.context.zone))
        return max(start_ms, low), min(end_ms, high)

    def frame(self, frame_id: int) -> FrameRow:
        """A frame that may be seen. Raises `ReadRefused`, `FrameNotFound`; `ToolFailed` out of range."""
        frame = calls.frame(self.call, frame_id)
        self.within(frame.captured_ms, frame.captured_ms + 1)
        self.context.findings.shown(frame.captured_ms, frame.captured_ms + 1)
        return frame

    def told(self, key: str, rows: Sequence[dict[str, Any]], note: str, **more: Any) -> dict[str, Any]:
        """The rows under their `key`, and `more` of them; `note` where there are none."""
        self.call.returned = len(rows)
        return {key: filled(rows), **more, **({} if rows else {"note": note})}


def source_tool(
    mode: Mode, reaches: str, source: str, *, risk: Risk = "looks", tells: Callable[..., str] | None = None
) -> Callable[[Callable[..., object]], Tool]:
    """Make a `Tool` of a function whose first parameter is a `SourceQuery`; its docstring is the description.

    A turn that was given rows names their `source`.
    """

    def make(function: Callable[..., object]) -> Tool:
        def run(context: ToolContext, **values: Any) -> object:
            with reading(context, function.__name__) as call:
                answer = function(SourceQuery(call, context), **values)
            if call.returned and risk == "looks":
                context.findings.sources.add(source)
            return answer

        made = described(function, run, name=function.__name__, mode=mode, reaches=reaches)
        return replace(made, risk=risk, tells=tells)

    return make


def filled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without what is empty."""
    return [{key: value for key, value in row.items() if value not in ("", None, [])} for row in rows]


def truncated(text: str, chars: int) -> str:
    """A text of at most `chars` characters; one that is cut ends in …"""
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


# -- messages ---------------------------------------------------------------------------------

REACHES = "the messages you imported"
_DAY_MS = 86_400_000
_TEXT_CHARS = 500

ContactId = Annotated[int | None, Field(ge=1, description="`contact_id` of a result.")]
Contact = Annotated[
    str | None, Field(min_length=1, max_length=200, description="Part of a name, number or address.")
]
Radius = Annotated[int, Field(ge=1, le=366, description="Days before and after `date`.")]
Limit = Annotated[int, Field(ge=1, le=100, description="Messages at most.")]
UnixSeconds = Annotated[float | None, Field(ge=0, le=1e11, description="Real-UTC Unix seconds.")]


@source_tool(mode="auto", reaches=REACHES, source="messages")
def get_sms_messages(
    lookup: SourceQuery,
    date: TimeOrNone = None,
    contact_id: ContactId = None,
    contact: Contact = None,
    days_radius: Radius = SMS_DAYS_RADIUS,
    limit: Limit = 50,
) -> object:
    """Gives the person's imported messages around a date, in the order of time; call it to see what was
    written at that time, or with somebody. The window runs from `date` (now, when left out) minus
    `days_radius` days to `date` plus `days_radius` days, half-open. `contact` is looked up and may not be
    given beside `contact_id`; of too many messages those nearest to `date` are given. For words in
    messages use search_messages. Examples: {"date": "2023-11-16T19:00:00+01:00"};
    {"date": 1700000000, "contact_id": 42, "days_radius": 1}"""
    at_ms = lookup.call.now_ms if date is None else answers.parse(date, "date")
    contact_or_choice = _contact(lookup, contact_id, contact)
    if isinstance(contact_or_choice, dict):
        return contact_or_choice
    start_ms, end_ms = lookup.within(at_ms - days_radius * _DAY_MS, at_ms + days_radius * _DAY_MS)
    shown, total = messages.nearest_to(
        lookup.call.database,
        at_ms,
        Filters(start_ms, end_ms, contact_or_choice),
        limit,
        lookup.context.timeout_s,
    )
    answer = _message_rows(lookup, shown)
    answer["total"] = total
    answer["window"] = [lookup.local(start_ms), lookup.local(end_ms)]
    if not shown:
        answer["note"] = _why_none(lookup, contact_or_choice)
    return answer


@source_tool(mode="auto", reaches=REACHES, source="messages")
def search_messages(
    lookup: SourceQuery,
    query: Annotated[Words, Field(description="What to look for.")],
    mode: Literal["fts5", "semantic", "hybrid"] = "hybrid",
    start_ts: UnixSeconds = None,
    end_ts: UnixSeconds = None,
    contact_id: ContactId = None,
    limit: Limit = 20,
) -> object:
    """Searches what the person's imported messages say, best match first; call it when something was
    probably written to or by somebody. `mode` fts5 takes words (all must be there), "phrases", prefix*,
    AND, OR, NOT and NEAR(a b, 5); semantic goes by meaning and needs embeddings; hybrid, recommended, joins
    both by reciprocal rank fusion and is fts5 where there are no embeddings. `start_ts` and `end_ts`
    (half-open, real-UTC Unix seconds) and `contact_id` are applied inside the query, so no match in them is
    lost. For pure date or contact browsing without keywords, prefer get_sms_messages. Examples:
    {"query": "trader joe's"};
    {"query": "dinner", "contact_id": 42, "start_ts": 1700000000, "end_ts": 1700604800};
    {"query": "NEAR(meeting work, 5)"}"""
    filters = _filters(lookup, start_ts, end_ts, contact_id)
    asked = asking(lookup.call, query) if mode != "fts5" else RetrievalQuery(calls.searched_for(query))
    page = messages.search_messages(
        lookup.call.database, asked, filters, mode=mode, limit=limit, deadline_s=lookup.context.timeout_s
    )
    answer = _message_rows(lookup, [hit.message for hit in page.hits], [hit.snippet for hit in page.hits])
    answer |= {"strategy": page.strategy, "read_as": page.reading}
    if page.fallback_reason:
        answer["fallback_reason"] = page.fallback_reason
    if not page.hits:
        answer["note"] = _why_none(lookup, contact_id)
    return answer


MESSAGE_TOOLS = (search_messages, get_sms_messages)


# -- support ------------------------------------------------------------------------------


def _filters(
    lookup: SourceQuery, start_ts: float | None, end_ts: float | None, contact_id: int | None
) -> Filters:
    start_ms = None if start_ts is None else answers.parse(start_ts, "start_ts")
    end_ms = None if end_ts is None else answers.parse(end_ts, "end_ts")
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise ReadRefused("invalid", "end_ts must be later than start_ts")
    if lookup.context.range_ms:
        low, high = lookup.context.range_ms
        start_ms, end_ms = lookup.within(
            low if start_ms is None else start_ms, high if end_ms is None else end_ms
        )
    return Filters(start_ms, end_ms, contact_id)


def _contact(lookup: SourceQuery, contact_id: int | None, contact: str | None) -> int | dict[str, Any] | None:
    """The contact that is meant, or what to tell where that is not clear."""
    if contact is None:
        return contact_id
    if contact_id is not None:
        raise ToolFailed("Give `contact_id` or `contact`, not both.")
    contacts = messages.contacts(lookup.call.database, contact, limit=10)
    if len(contacts) == 1:
        return contacts[0].id
    rows = [
        {
            "contact_id": entry.id,
            "name": entry.name,
            "addresses": list(entry.addresses),
            "messages": entry.messages,
        }
        for entry in contacts
    ]
    note = "Several contacts fit: choose a contact_id." if contacts else "No contact fits; leave it out."
    return {"messages": [], "contacts": filled(rows), "note": note}


def _message_rows(
    lookup: SourceQuery, items: list[Message], snippets: list[str] | None = None
) -> dict[str, Any]:
    rows = []
    for n, item in enumerate(items):
        body = item.body
        if snippets and len(body) > _TEXT_CHARS:
            body = f"…{snippets[n]}…"
        rows.append(
            {
                "id": item.id,
                "time": lookup.local(item.sent_ms),
                "to" if item.is_outgoing else "from": item.contact or "unknown",
                "contact_id": item.contact_id,
                "conversation": item.conversation,
                "service": item.service,
                "subject": truncated(item.subject, _TEXT_CHARS),
                "text": truncated(body, _TEXT_CHARS),
            }
        )
    lookup.call.returned = len(rows)
    return {"messages": filled(rows)}


def _why_none(lookup: SourceQuery, contact_id: int | None) -> str:
    """An empty source is an answer, too."""
    database = lookup.call.database
    if not messages.browse(database, limit=1):
        return "No messages were imported, so nothing is known of messages. Go on with other sources."
    if contact_id is not None and not messages.browse(database, Filters(contact_id=contact_id), limit=1):
        return "There is no message with this contact at any time."
    return "Messages were imported, but none fits. That is informative: go on with other sources."


# -- calendars --------------------------------------------------------------------------------

_CALENDARS_TEXT_CHARS = 300


@source_tool(mode="auto", reaches="the calendars you imported", source="calendar")
def get_calendar_events(
    lookup: SourceQuery,
    start: Time,
    end: Time,
    query: Annotated[Words, Field(description="Part of title, description, place or attendees.")] = "",
    limit: Annotated[int, Field(ge=1, le=100, description="Events at most, the earliest.")] = 50,
) -> object:
    """Gives the person's calendar events that overlap a range, earliest first; call it for what was planned,
    also in the future. `start` and `end` are half-open. An event that was planned need not have taken
    place: look with search_ocr or get_sms_messages for what was done."""
    start_ms, end_ms = lookup.within(*answers.span(start, end, lookup.call.now_ms))
    events, total = calendars.events_between(
        lookup.call.database, start_ms, end_ms, query, limit, lookup.context.timeout_s
    )
    rows = [
        {
            "title": truncated(event.title, _CALENDARS_TEXT_CHARS),
            "start": lookup.local(event.start_ms),
            "end": lookup.local(event.end_ms),
            "all_day": event.is_all_day or None,
            "location": truncated(event.location, _CALENDARS_TEXT_CHARS),
            "attendees": [truncated(attendee, 100) for attendee in event.attendees[:10]],
            "status": event.status,
            "calendar": event.calendar,
            "description": truncated(event.description, _CALENDARS_TEXT_CHARS),
        }
        for event in events
    ]
    return lookup.told("events", rows, "No event overlaps this range.", total=total)


# -- places -----------------------------------------------------------------------------------
#
# Nothing is asked of any network.

PLACES = "the places you imported"
_PLACES_TEXT_CHARS = 200

North = Annotated[float, Field(ge=-90, le=90, description="Degrees north, WGS 84.")]
East = Annotated[float, Field(ge=-180, le=180, description="Degrees east, WGS 84.")]


@source_tool(mode="auto", reaches="the location history you imported", source="location")
def get_location_history(
    lookup: SourceQuery,
    start: Time,
    end: Time,
    limit: Annotated[int, Field(ge=1, le=200, description="Points at most, spread over the range.")] = 50,
) -> object:
    """Gives where the person's devices were in a range, in the order of time; call it for where something
    happened. `start` and `end` are half-open; positions are WGS 84 degrees, accuracy is in metres. Name a
    position with reverse_geocode."""
    start_ms, end_ms = lookup.within(*answers.span(start, end, lookup.call.now_ms))
    points, total = locations.points_between(
        lookup.call.database, start_ms, end_ms, limit, lookup.context.timeout_s
    )
    rows = [
        {
            "time": lookup.local(point.at_ms),
            "latitude": point.latitude,
            "longitude": point.longitude,
            "accuracy_m": point.accuracy_m,
        }
        for point in points
    ]
    return lookup.told("points", rows, "No position is known of this range.", total=total)


@source_tool(mode="auto", reaches=PLACES, source="places")
def get_place_at(lookup: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's own places that a position lies in, the nearest first; call it to tell whether they
    were at home, at work or at another place of theirs. For a position outside of all places use
    reverse_geocode."""
    near = locations.nearest(lookup.call.database, latitude, longitude, 50, lookup.context.timeout_s)
    rows = [_row(away_m, place) for away_m, place in near if away_m <= place.radius_m]
    return lookup.told("places", rows, "The position lies in none of the person's places.")


@source_tool(mode="auto", reaches=PLACES, source="places")
def reverse_geocode(lookup: SourceQuery, latitude: North, longitude: East) -> object:
    """Gives the person's places that are nearest to a position, with the distance in metres; call it to put a
    position into words. It knows the imported places only, so a far one says little about the position."""
    places = locations.nearest(lookup.call.database, latitude, longitude, 3, lookup.context.timeout_s)
    rows = [_row(*pair) for pair in places]
    return lookup.told("places", rows, "No places were imported, so none can be named.")


PLACE_TOOLS = (get_location_history, get_place_at, reverse_geocode)


def _row(away_m: float, place: Place) -> dict[str, Any]:
    return {
        "name": truncated(place.name, _PLACES_TEXT_CHARS),
        "distance_m": round(away_m),
        "category": truncated(place.category, _PLACES_TEXT_CHARS),
        "address": truncated(place.address, _PLACES_TEXT_CHARS),
        "note": truncated(place.note, _PLACES_TEXT_CHARS),
    }
