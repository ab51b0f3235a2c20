"""The tool over imported calendars."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assistant.read_api.answers import Time, Words
from assistant.tools.sources import SourceQuery, rows_that_fit, source_tool, span, truncated
from store.sources import calendars

_TEXT_CHARS = 300


@source_tool(mode="auto", reaches="the calendars you imported", source="calendar")
def get_calendar_events(
    look: SourceQuery,
    start: Time,
    end: Time,
    query: Annotated[Words, Field(description="Part of title, description, place or attendees.")] = "",
    limit: Annotated[int, Field(ge=1, le=100, description="Events at most, the earliest.")] = 50,
) -> object:
    """Gives the person's calendar events that overlap a range, earliest first; call it for what was planned,
    also in the future. `start` and `end` are half-open. An event that was planned need not have taken
    place: look with search_ocr or get_sms_messages for what was done."""
    start_ms, end_ms = span(look, start, end)
    found, total = calendars.events_between(
        look.call.database, start_ms, end_ms, query, limit, look.context.timeout_s
    )
    rows = [
        {
            "title": truncated(event.title, _TEXT_CHARS),
            "start": look.local(event.start_ms),
            "end": look.local(event.end_ms),
            "all_day": event.is_all_day or None,
            "location": truncated(event.location, _TEXT_CHARS),
            "attendees": [truncated(each, 100) for each in event.attendees[:10]],
            "status": event.status,
            "calendar": event.calendar,
            "description": truncated(event.description, _TEXT_CHARS),
        }
        for event in found
    ]
    kept, _ = rows_that_fit(rows)
    look.call.returned = len(kept)
    return {"events": kept, "total": total, **({} if kept else {"note": "No event overlaps this range."})}


CALENDAR_TOOLS = (get_calendar_events,)
