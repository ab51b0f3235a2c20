"""Plain functions over frames, for every door and the chat: find, look closer, sum up the time.

Their first parameter is the call they read through; signatures and docstrings become the schemas
and descriptions that a model is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assistant.read_api import answers, calls
from assistant.read_api.answers import Time, TimeOrNone, Words
from assistant.read_api.calls import ReadCall
from assistant.retrieval.sampling import spread_in
from store.ocr import readings
from store.search import sample
from store.search.filters import Filters
from store.timeline import gaps, segments
from store.timeline.totals import of_segments


def _number(frame_id: object) -> object:
    """A frame's id as a person is shown it (``#17``), or with its kind, without either."""
    return frame_id.strip().removeprefix("frame:").lstrip("#") if isinstance(frame_id, str) else frame_id


FrameId = Annotated[
    int, Field(ge=0, le=2**63 - 1, description="`frame_id` of a list."), BeforeValidator(_number)
]

Host = Annotated[Words | None, Field(description="Name of another machine, as rows tell it.")]


def search_frames(
    call: ReadCall,
    query: Annotated[Words, Field(description="Words; blank gives the newest frames.")] = "",
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    app_name: Annotated[Words | None, Field(description="Part of the app's name.")] = None,
    window_name: Annotated[Words | None, Field(description="Part of the window's title.")] = None,
    browser_url: Annotated[Words | None, Field(description="Part of the browser's address.")] = None,
    host: Host = None,
    order: Literal["relevance", "newest", "oldest"] | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Field(description="`next_cursor` of the page before.")] = None,
) -> answers.FramesFound:
    """Find what was on the screen, as small rows; call it first for anything seen, read or written.

    All words have to be there; phrases in quotes, prefix*, AND, OR and NOT work. Of a question the words of
    asking are not looked for, and one that finds nothing gives frames from all over the range. Without
    `start` all is searched up to `end`, which is now, or half a day after the moment that a conversation
    is about.
    """
    start_ms, end_ms = call.span(start, end)
    filters = Filters(
        start_ms=start_ms,
        # With an open end the first page settles it, for all pages after it.
        end_ms=None if end is None and call.range_ms is None and end_ms > call.now_ms else end_ms,
        app_name=app_name,
        window_name=window_name,
        browser_url=browser_url,
        host=host or None,
    )
    is_question, words = calls.is_question(query), calls.searched_for(query)
    if is_question and not words:
        return _spread(call, filters, end_ms, limit)
    result = calls.find(call, words, filters, limit=limit, order=order, cursor=cursor, fold=True)
    if is_question and not cursor and not result.page.hits:
        return _spread(call, filters, end_ms, limit)
    return answers.FramesFound.of(
        call,
        result.page,
        frames=[answers.FrameRow.of(call, hit, alike=len(hit.alike)) for hit in result.hits],
        next_cursor=result.next_cursor,
        near_total=result.page.near.total,
    )


def get_frame_context(
    call: ReadCall,
    frame_id: FrameId,
    text_start: Annotated[int, Field(ge=0, description="First character of the text to give.")] = 0,
    text_chars: Annotated[int, Field(ge=0, le=50_000)] = 6_000,
) -> answers.FrameContext:
    """Give one frame in full, with text, window, addresses, neighbours and stretch of activity; call it
    to look closer at a row or to go to the frame before or after.

    `text_start` and `text_chars` choose a piece of a long text.
    """
    frame = calls.frame(call, frame_id)
    reading = readings.current_reading(call.database, frame_id)
    text = reading.text if reading else ""
    previous, following = calls.neighbours(call, frame)
    segment = segments.segment_of(call.database, frame)
    if segment:
        start_ms, end_ms = call.within(segment.start_ms, max(segment.end_ms, frame.captured_ms + 1))
        segment = replace(segment, start_ms=start_ms, end_ms=end_ms)
    call.returned = 1
    return answers.FrameContext.of(
        call,
        frame,
        status=frame.status,
        text=text[text_start : text_start + text_chars],
        text_start=text_start,
        text_length=len(text),
        urls=readings.urls(call.database, frame_id),
        previous_frame_id=previous,
        next_frame_id=following,
        activity=segment if segment and call.shows(segment) else None,
    )


def activity_summary(
    call: ReadCall,
    start: Time,
    end: TimeOrNone = None,
    host: Host = None,
    limit: Annotated[int, Field(ge=1, le=100, description="Rows of each list.")] = 20,
) -> answers.ActivitySummary:
    """Tell how long which app, window and address was used in a range, longest first, and the gaps in it;
    call it for every question about time spent.

    The range is half-open, and `end` is now when left out. `host` narrows the time used; a gap is a
    stretch in which no machine recorded.
    """
    start_ms, end_ms = call.span(start, end)
    totals = of_segments(calls.segments(call, start_ms, end_ms, host or None), start_ms, end_ms)
    holes = gaps.gaps(call.database, start_ms, end_ms, call.now_ms)
    holes = sorted(holes, key=lambda gap: gap.start_ms - gap.end_ms)[:limit]
    call.returned = len(totals.by_app)
    return answers.ActivitySummary.of(
        call,
        totals,
        start=start_ms,
        end=end_ms,
        apps=totals.by_app[:limit],
        windows=totals.by_window[:limit],
        urls=totals.by_url[:limit],
        imported=len(calls.moments(call, start_ms, end_ms, host or None)),
        gaps=holes,
    )


def _spread(call: ReadCall, filters: Filters, end_ms: int, limit: int) -> answers.FramesFound:
    """Frames from all over a range, in the order of time."""
    filters = replace(filters, end_ms=end_ms)
    with call.database.read() as connection:
        total = sample.count(connection, filters)
        loaded = sample.load(connection, spread_in(connection, filters, limit))
    shown = [frame for frame in loaded if call.shows(frame)]
    call.returned = len(shown)
    rows = [answers.FrameRow.of(call, frame, frame_id=frame.id, snippet=frame.text) for frame in shown]
    fresh_to = readings.index_fresh_to_ms(call.database)
    return answers.FramesFound.of(call, frames=rows, total=total, strategy="spread", index_fresh_to=fresh_to)
