"""Plain functions over frames, for every door and the chat: find, look closer, sum up the time.

Their first parameter is the call they read through; signatures and docstrings become the schemas
and descriptions that a model is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from assistant.read_api import answers, calls
from assistant.read_api.answers import Hole, Stretch, Time, TimeOrNone, Usage, Words
from assistant.read_api.calls import ReadCall
from store.frames.activity_intervals import Segment
from store.frames.frames import captured_ms_of
from store.ocr import readings
from store.search import sample
from store.search.filters import Filters
from store.search.hits import Hit
from store.search.sample import SampledFrame
from store.timeline import gaps, segments
from store.timeline.totals import Total, of_segments

_MINUTE_MS = 60_000
_SNIPPET_CHARS = 200


def _number(frame_id: object) -> object:
    """A frame's id as a person is shown it (``#17``), or with its kind, without either."""
    return frame_id.strip().removeprefix("frame:").lstrip("#") if isinstance(frame_id, str) else frame_id


FrameId = Annotated[
    int, BeforeValidator(_number), Field(ge=0, le=2**63 - 1, description="`frame_id` of a list.")
]


def search_frames(
    call: ReadCall,
    query: Annotated[Words, Field(description="Words; blank gives the newest frames.")] = "",
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    app_name: Annotated[Words | None, Field(description="Part of the app's name.")] = None,
    window_name: Annotated[Words | None, Field(description="Part of the window's title.")] = None,
    browser_url: Annotated[Words | None, Field(description="Part of the browser's address.")] = None,
    order: Literal["relevance", "newest", "oldest"] | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Field(description="`next_cursor` of the page before.")] = None,
) -> answers.FramesFound:
    """Find what was on the screen, as small rows; call it first for anything seen, read or written.

    All words have to be there; phrases in quotes, prefix*, AND, OR and NOT work. Of a question the words of
    asking are not looked for, and one that finds nothing gives frames from all over the range. Without
    `start` everything is searched; `end` is now. Look at a row with get_frame_context.
    """
    start_ms, end_ms = answers.span(start, end, call.now_ms)
    filters = Filters(
        start_ms=start_ms,
        # With an open end the first page settles it, for all pages after it.
        end_ms=None if end is None else end_ms,
        app_name=app_name,
        window_name=window_name,
        browser_url=browser_url,
    )
    is_question, words = calls.is_question(query), calls.searched_for(query)
    if is_question and not words:
        return _spread(call, filters, end_ms, limit)
    result = calls.find(call, words, filters, limit=limit, order=order, cursor=cursor, fold=True)
    if is_question and not cursor and not result.page.hits:
        return _spread(call, filters, end_ms, limit)
    return answers.FramesFound(
        now=call.local(call.now_ms),
        withheld=call.withheld,
        frames=[_row(call, hit.frame_id, hit, hit.snippet, len(hit.alike)) for hit in result.hits],
        next_cursor=result.next_cursor,
        total=result.page.total,
        total_is_exact=result.page.total_is_exact,
        near_total=result.page.near.total,
        strategy=result.page.strategy,
        fallback_reason=result.page.fallback_reason,
        meaning_since=_local_or_none(call, result.page.meaning_since_ms),
        index_fresh_to=_local_or_none(call, result.page.index_fresh_to_ms),
    )


def get_frame_context(
    call: ReadCall,
    frame_id: FrameId,
    text_start: Annotated[int, Field(ge=0, description="First character of the text to give.")] = 0,
    text_chars: Annotated[int, Field(ge=0, le=50_000)] = 4_000,
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
    call.returned = 1
    return answers.FrameContext(
        now=call.local(call.now_ms),
        frame_id=frame.id,
        time=call.local(frame.captured_ms),
        last_seen=call.local(frame.ended_ms),
        app_name=frame.app_name,
        window_name=frame.window_name,
        browser_url=frame.browser_url,
        monitor=frame.monitor,
        focused=frame.focused,
        status=frame.status,
        text=text[text_start : text_start + text_chars],
        text_start=text_start,
        text_length=len(text),
        urls=readings.urls(call.database, frame_id),
        previous_frame_id=previous,
        next_frame_id=following,
        activity=_stretch(call, segment) if segment and call.shows(segment) else None,
        withheld=call.withheld,
    )


def activity_summary(
    call: ReadCall,
    start: Time,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=100, description="Rows of each list.")] = 20,
) -> answers.ActivitySummary:
    """Tell how long which app, window and address was used in a range, longest first, and the gaps in it;
    call it for every question about time spent.

    The range is half-open, and `end` is now when left out.
    """
    start_ms, end_ms = answers.span(start, end, call.now_ms)
    totals = of_segments(calls.segments(call, start_ms, end_ms), start_ms, end_ms)
    holes = gaps.gaps(call.database, start_ms, end_ms, call.now_ms)
    holes = sorted(holes, key=lambda gap: gap.start_ms - gap.end_ms)[:limit]
    call.returned = len(totals.by_app)
    return answers.ActivitySummary(
        now=call.local(call.now_ms),
        withheld=call.withheld,
        start=call.local(start_ms),
        end=call.local(end_ms),
        wall_minutes=_minutes(totals.wall_ms),
        covered_minutes=_minutes(totals.covered_ms),
        apps=_usage(call, totals.by_app[:limit]),
        windows=_usage(call, totals.by_window[:limit]),
        urls=_usage(call, totals.by_url[:limit]),
        gaps=[
            Hole(start=call.local(gap.start_ms), end=call.local(gap.end_ms), reason=gap.reason)
            for gap in holes
        ],
    )


def _spread(call: ReadCall, filters: Filters, end_ms: int, limit: int) -> answers.FramesFound:
    """Frames from all over a range, in the order of time."""
    filters = replace(filters, end_ms=end_ms)
    ids: list[int] = []
    with call.database.read() as connection:
        total = sample.count(connection, filters)
        for _, first, last in sample.ends_per_bucket(connection, filters, end_ms - filters.start_ms):
            start_ms, end_ms = captured_ms_of(first), captured_ms_of(last) + 1
            # More parts than rows: stretches without frames leave their place to the others.
            part_ms = -(-(end_ms - start_ms) // (4 * limit))
            within = replace(filters, start_ms=start_ms, end_ms=end_ms)
            ends = sample.ends_per_bucket(connection, within, part_ms)
            ids = sorted({number for _, *both in ends for number in both})
        loaded = sample.load(connection, sample.evenly(ids, limit))
    shown = [frame for frame in loaded if call.shows(frame)]
    call.returned = len(shown)
    return answers.FramesFound(
        now=call.local(call.now_ms),
        withheld=call.withheld,
        frames=[_row(call, frame.id, frame, frame.text) for frame in shown],
        next_cursor=None,
        total=total,
        total_is_exact=True,
        near_total=0,
        strategy="spread",
        fallback_reason=None,
        meaning_since=None,
        index_fresh_to=_local_or_none(call, readings.index_fresh_to_ms(call.database)),
    )


# -- shaping --------------------------------------------------------------------------------


def _row(
    call: ReadCall, frame_id: int, shown: Hit | SampledFrame, text: str, alike: int = 0
) -> answers.FrameRow:
    return answers.FrameRow(
        frame_id=frame_id,
        time=call.local(shown.captured_ms),
        app_name=shown.app_name,
        window_name=shown.window_name,
        browser_url=shown.browser_url,
        snippet=" ".join(text[: 2 * _SNIPPET_CHARS].split())[:_SNIPPET_CHARS],
        alike=alike,
    )


def _local_or_none(call: ReadCall, at_ms: int | None) -> str | None:
    return None if at_ms is None else call.local(at_ms)


def _stretch(call: ReadCall, segment: Segment) -> Stretch:
    return Stretch(
        start=call.local(segment.start_ms),
        end=call.local(segment.end_ms),
        app_name=segment.app_name,
        window_name=segment.window_name,
        browser_url=segment.browser_url,
        frames=segment.frames,
    )


def _usage(call: ReadCall, totals: tuple[Total, ...]) -> list[Usage]:
    return [
        Usage(
            name=total.name,
            app_name=total.app_name,
            minutes=_minutes(total.duration_ms),
            first_seen=call.local(total.first_ms),
            last_seen=call.local(total.last_ms),
        )
        for total in totals
    ]


def _minutes(duration_ms: int) -> float:
    return round(duration_ms / _MINUTE_MS, 2)
