"""Plain functions over memory, for programs and the chat: what was done, learned and asked.

Each is a tool whose signature and docstring are its schema. Thin over `store.memory.search`: it ranks, this
asks for its most, lets today's rules take out what they must, and cuts to the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.read_api import answers
from assistant.read_api.answers import MemoryFound, MemoryRow, TimeOrNone, Words
from assistant.read_api.calls import ReadCall, ReadRefused, asking, is_question
from store.embeddings.knn import RetrievalQuery
from store.frames import frames
from store.memory import observations, search, timeline
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import SessionSummary
from store.memory.entries import RECORD_TYPES, EntryType, MemoryEntry, MemoryFilters
from store.memory.insights import Insight
from store.memory.observations import Observation
from store.memory.retrievers import MEMORY_CANDIDATES
from store.memory.search import MemoryPage
from store.memory.timeline import MAX_DEPTH, TIMELINE_DEPTH
from store.search.sample import evenly
from store.timeline import segments

_SPREAD_OVER = 1_000

Asked = Annotated[Words, Field(description="What to look for, by meaning or words; blank: the newest.")]
Project = Annotated[Words | None, Field(description="Only of this project.")]
Limit = Annotated[int, Field(ge=1, le=MEMORY_CANDIDATES)]
Depth = Annotated[int, Field(ge=0, le=MAX_DEPTH, description="Records, or hours with unit=hours.")]


def search_observations(
    call: ReadCall,
    query: Asked,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    project: Project = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find what was done, as observations about one place in one hour each; call it for what somebody
    worked on, also in other words.

    The last 90 days are searched unless a range is given.
    """
    return _search(call, ("observation",), query, start, end, limit, project=project)


def search_sessions(
    call: ReadCall,
    query: Asked,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    project: Project = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find stretches of use by what they were about; call it for what a whole session led to.

    The last 90 days are searched unless a range is given.
    """
    return _search(call, ("session",), query, start, end, limit, project=project)


def search_user_prompts(
    call: ReadCall,
    query: Asked,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    project: Project = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find what the person asked Recollect before; call it when they refer to an earlier question.

    The last 90 days are searched unless a range is given.
    """
    return _search(call, ("prompt",), query, start, end, limit, project=project)


def find_by_concept(
    call: ReadCall,
    concept: Annotated[Words, Field(min_length=1, description="One concept, as observations name it.")],
    query: Asked = "",
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find observations about a concept, those that answer `query` best first; call it when memory names
    the concept already.
    """
    return _search(call, ("observation",), query, start, end, limit, concept=concept)


def find_by_file(
    call: ReadCall,
    file: Annotated[Words, Field(min_length=1, description="A path or a part of one.")],
    query: Asked = "",
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find observations in which a file was seen, those that answer `query` best first; call it for what was
    done with a file.
    """
    return _search(call, ("observation",), query, start, end, limit, file=file)


def find_by_type(
    call: ReadCall,
    kind: Annotated[Words, Field(min_length=1, description="A kind of observation, such as coding or mail.")],
    query: Asked = "",
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Find observations of one kind, those that answer `query` best first; call it for one sort of work."""
    return _search(call, ("observation",), query, start, end, limit, kind=kind)


def get_recent_context(
    call: ReadCall,
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    project: Project = None,
    limit: Limit = 20,
) -> MemoryFound:
    """Give what was done, learned and asked last, newest first; call it first where no time is named.

    The last 90 days are looked at unless a range is given.
    """
    return _search(call, RECORD_TYPES, "", start, end, limit, project=project)


def get_context_timeline(
    call: ReadCall,
    anchor: Annotated[
        int | str,
        Field(
            description="An id with its kind (frame:ID, session:ID, prompt:ID, chat:ID), an observation's "
            "alone, or RFC 3339 with its zone."
        ),
    ],
    depth_before: Depth = TIMELINE_DEPTH,
    depth_after: Depth = TIMELINE_DEPTH,
    unit: Literal["records", "hours"] = "records",
    project: Project = None,
    full: Annotated[bool, Field(description="With the details of every entry.")] = False,
) -> answers.ContextTimeline:
    """Tell what lies around one entry or moment, all types in the order of time; call it to see what came
    before and after.

    `depth_before` and `depth_after` count records, or hours with `unit` hours. With both 0 and `full`, the
    details of the one entry.
    """
    around = timeline.get_context_timeline(
        call.database,
        _with_zone(anchor),
        depth_before=depth_before,
        depth_after=depth_after,
        unit=unit,
        project=project,
    )
    call.within(around.anchor.at_ms, around.anchor.at_ms + 1)
    entries = permitted_entries(call, around.entries)
    if around.anchor.type != "time" and not any(around.is_anchor(entry) for entry in entries):
        raise ReadRefused("withheld", "an exclusion rule of today keeps back the entry that was asked about")
    entries = _in_range(call, entries)
    call.returned = len(entries)
    rows = [
        answers.TimelineRow.of(
            call,
            entry,
            is_anchor=around.is_anchor(entry),
            details=_details(call, entry) if full else None,
        )
        for entry in entries
    ]
    return answers.ContextTimeline.of(call, anchor=around.anchor.at_ms, entries=rows)


TOOLS: tuple[Any, ...] = (
    search_observations,
    search_sessions,
    search_user_prompts,
    find_by_concept,
    find_by_file,
    find_by_type,
    get_recent_context,
    get_context_timeline,
)


# -- asking ---------------------------------------------------------------------------------


def _search(
    call: ReadCall,
    types: Sequence[EntryType],
    query: str,
    start: float | str | None,
    end: float | str | None,
    limit: int,
    **narrowed: str | None,
) -> MemoryFound:
    """Entries of some types, narrowed by a concept, a file, a kind or a project.

    For a question that finds none they are from all over the range.
    """
    # Where nothing bounds it, the store's own window holds.
    filters = MemoryFilters(*call.span_or_none(start, end), **narrowed)  # type: ignore[arg-type]

    def found(asked: RetrievalQuery, most: int) -> MemoryPage:
        # What has the concept, file or kind follows behind what answers the question, too.
        fill = not narrowed.keys() <= {"project"}
        return search.search_memory(
            call.database, asked, types, filters, now_ms=call.until_ms, limit=most, fill=fill
        )

    asked = asking(call, query)
    page = found(asked, MEMORY_CANDIDATES)
    if is_question(query) and not (asked.text and page.entries):
        page = found(RetrievalQuery(""), _SPREAD_OVER)
        page = replace(page, entries=tuple(evenly(page.entries, limit)))
    entries = _in_range(call, permitted_entries(call, page.entries))[:limit]
    call.returned = len(entries)
    return MemoryFound.of(call, page, entries=[MemoryRow.of(call, entry) for entry in entries])


def _with_zone(anchor: int | str) -> int | str:
    """The anchor. Raises `ReadRefused` for a written time that does not say its zone."""
    try:
        at = datetime.fromisoformat(anchor.strip()) if isinstance(anchor, str) else None
    except ValueError:
        return anchor  # an id, or what the store refuses
    if at is not None and at.tzinfo is None and not str(anchor).strip().isdecimal():
        raise ReadRefused("invalid", "anchor: a time needs its zone, as in 2026-11-20T13:00:00+01:00")
    return anchor


def _details(call: ReadCall, entry: MemoryEntry) -> answers.Details:
    match entry.body:
        case Observation() as body:
            return answers.ObservationDetails.of(call, body, facts=[fact.text for fact in body.facts])
        case SessionSummary() as body:
            facts = observations.quoted(call.database, body.start_ms, body.end_ms, body.fields.values())
            return answers.SessionDetails.of(call, body, **body.fields, evidence=facts)
        case Insight() | ChatSummary():
            raise TypeError(f"a {entry.type} is given to no program")
        case body:
            return answers.PromptDetails.of(call, body)


# -- what a call may see ----------------------------------------------------------------------


def permitted_entries(call: ReadCall, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The entries that the rules let out; those they keep back are counted.

    An entry is made of frames and says what they said. So it stays back whole when a rule of today leaves out
    one of the frames it names, or a window of its app (for a session: any window) that was in use within
    its time. A question that the person typed is nobody's window and is always given.
    """
    entries = list(entries)
    permitted = [entry for entry in entries if _permits(call, entry)]
    call.withheld += len(entries) - len(permitted)
    return permitted


def _in_range(call: ReadCall, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The entries of which nothing lies outside of the call's range."""
    return [each for each in entries if call.holds(each.start_ms, max(each.end_ms, each.start_ms + 1))]


def _permits(call: ReadCall, entry: MemoryEntry) -> bool:
    match entry.body:
        case Observation() as body:
            facts = {fact.frame_id for fact in body.facts if fact.frame_id is not None}
            rows = frames.get_many(call.database, {*body.frame_ids, *facts})
            if not all(call.permits(row) for row in rows.values()):
                return False
            return permits_windows(call, body.start_ms, body.end_ms, body.app_name)
        case SessionSummary() as body:
            return permits_windows(call, body.start_ms, body.end_ms, None)
        case Insight() | ChatSummary():  # it may quote any frame it was shown, in words of its own
            return False
    return True


def permits_windows(call: ReadCall, start_ms: int, end_ms: int, app_name: str | None) -> bool:
    """Whether no window in use in that time is left out; of one app where it is named."""
    return all(
        call.permits(segment)
        for segment in segments.segments(call.database, start_ms, end_ms)
        if app_name is None or segment.app_name == app_name
    )
