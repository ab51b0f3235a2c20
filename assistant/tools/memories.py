"""Tools over what is remembered: entities and facts, tags of frames, summaries of days, earlier chats.

What was learned from the screen is told under the rules of today: an entity or a fact is kept back when the
frames it was learned from are left out now, and a day when a window in use in it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.core.texts import neutralized
from assistant.language.questions import asked_words
from assistant.read_api import memory as gate
from assistant.read_api.answers import TimeOrNone, Words
from assistant.read_api.calls import asking
from assistant.read_api.frames import FrameId
from assistant.retrieval.excerpts import excerpt
from assistant.tools.context import SourceQuery, ToolContext, reading, row, source_tool
from assistant.tools.tool import ToolFailed
from store.core.errors import NotFound
from store.core.translation import N_, Deferred
from store.core.translation import deferred as _
from store.frames import frames
from store.frames import tags as frame_tags
from store.frames.frames import captured_ms_of
from store.memory import chat_summaries, daily_summaries, search
from store.memory.chat_summaries import ChatSummary
from store.memory.entries import MemoryFilters
from store.ocr import readings
from store.sources import entities, fact_curation, proposals
from store.sources.entities import Entity, Fact, Provenance

REMEMBERED = N_("what you let Recollect remember")
_REMEMBERS = {
    "person": N_("Remembers the person “%(name)s”"),
    "place": N_("Remembers the place “%(name)s”"),
    "event": N_("Remembers the event “%(name)s”"),
    "thing": N_("Remembers the thing “%(name)s”"),
}
_TEXT_CHARS = 500
_AT_MOST = 100

EntityId = Annotated[int, Field(ge=1, description="`entity_id` of a result.")]
Name = Annotated[str, Field(min_length=1, max_length=entities.MAX_NAME_CHARS)]
Text = Annotated[str, Field(max_length=entities.MAX_TEXT_CHARS)]


@source_tool(reaches=REMEMBERED, source="remembered")
def recall_facts_for_frame(lookup: SourceQuery, frame_id: FrameId) -> object:
    """Recalls the facts that are remembered about the subjects of a frame: the entities found on it, and
    those whose name stands on it; call it before writing about a frame, to know who and what is on it.
    For entities by name use recall_entities."""
    frame = lookup.frame(frame_id)
    read = readings.current_reading(lookup.call.database, frame_id)
    words = "\n".join(
        part for part in (frame.app_name, frame.window_name, frame.browser_url, read and read.text) if part
    )
    subjects = entities.on_frame(lookup.call.database, frame_id, words)
    none = "Nobody and nothing on this frame is remembered yet."
    return _entity_rows(lookup, subjects, none, _AT_MOST)


@source_tool(reaches=REMEMBERED, source="remembered")
def recall_entities(
    lookup: SourceQuery,
    name: Annotated[str, Field(max_length=200, description="Words of name or description; blank: all.")] = "",
    kind: Literal["person", "place", "event", "thing"] | None = None,
    limit: Annotated[int, Field(ge=1, le=_AT_MOST, description="Entities at most.")] = 20,
) -> object:
    """Recalls people, places, events and things that are remembered, with their facts, last changed first;
    call it to load prior knowledge about anybody or anything named. Every word of `name` has to occur. For
    those on a frame use recall_facts_for_frame."""
    known = entities.find_entities(lookup.call.database, name, kind, _AT_MOST)
    none = "Nothing of this is remembered yet. That is informative: go on with other sources."
    return _entity_rows(lookup, known, none, limit)


def _tells_entity(
    context: ToolContext, kind: str, name: str, description: str, frame_id: int | None
) -> Deferred:
    _check_frame(context, frame_id)
    if not entities.name_key(name):
        raise ToolFailed("A name has a word.")
    named = _(_REMEMBERS[kind], name=" ".join(name.split()))
    if frame_id is not None:
        named = _("%(remembered)s, found on frame %(number)s", remembered=named, number=frame_id)
    if words := " ".join(description.split()).rstrip("."):
        named = _("%(remembered)s: %(description)s", remembered=named, description=words)
    return _("%(sentence)s.", sentence=named)


def _tells_fact(
    context: ToolContext,
    subject_id: int,
    predicate: str,
    object_entity_id: int | None,
    object_value: str | None,
    source_frame_id: int | None,
) -> Deferred:
    if (object_entity_id is None) == (object_value is None):
        raise ToolFailed("Give exactly one of object_entity_id and object_value.")
    _check_frame(context, source_frame_id)
    what = object_value if object_entity_id is None else _entity_name(context, object_entity_id)
    relation = " ".join(predicate.replace("_", " ").split())
    if not relation or not (what or "").strip():
        raise ToolFailed("A predicate and a value have text.")
    fact = f"{_entity_name(context, subject_id)} {relation} {what}"
    if source_frame_id is None:
        return _("Remembers: %(fact)s.", fact=fact)
    return _("Remembers: %(fact)s, as frame %(number)s shows.", fact=fact, number=source_frame_id)


def _check_frame(context: ToolContext, frame_id: int | None) -> None:
    """Raises `ToolFailed` for a frame that nothing may be learned from."""
    if frame_id is not None:
        with reading(context, "get_frame") as lookup:
            lookup.frame(frame_id)


def _entity_name(context: ToolContext, entity_id: int) -> str:
    """An entity as a person knows it, also a proposed one. Raises `ToolFailed` when there is none."""
    database = context.library.database
    call = proposals.proposed_entity(database, entity_id)
    if call and call.chat_id == context.chat_id and call.is_proposed:
        return str(json.loads(call.arguments)["name"])
    try:
        entity = entities.get(database, proposals.real_id(database, entity_id))
    except NotFound as error:
        raise ToolFailed(f"Nothing was stored: {error}.") from error
    _note(context, entity)
    return entity.name


@source_tool(reaches=REMEMBERED, risk="changes", tells=_tells_entity)
def store_entity(
    lookup: SourceQuery,
    kind: Literal["person", "place", "event", "thing"],
    name: Annotated[Name, Field(description="As the person would say it.")],
    description: Annotated[Text, Field(description="One sentence that tells it from others.")] = "",
    frame_id: FrameId | None = None,
) -> object:
    """Remembers a person, place, event or thing for later conversations and gives its `entity_id`; call it
    when one was identified that is not remembered yet. The same kind and name is the same entity,
    and a new `description` replaces the old one. `frame_id` is the frame it was found on. Say more about
    it with store_fact."""
    store = partial(entities.store_entity, description=description)
    return _stored(lookup, "entity_id", frame_id, store, kind, name)


@source_tool(reaches=REMEMBERED, risk="changes", tells=_tells_fact)
def store_fact(
    lookup: SourceQuery,
    subject_id: EntityId,
    predicate: Annotated[Name, Field(description="A verb or relation, such as works at.")],
    object_entity_id: EntityId | None = None,
    object_value: Annotated[Text, Field(min_length=1)] | None = None,
    source_frame_id: FrameId | None = None,
) -> object:
    """Remembers one fact about an entity; call it for what was learned and will still be true later. Give
    exactly one object: `object_entity_id` when it is an entity itself (store it with store_entity first), or
    `object_value` for a text, a date or a number. `source_frame_id` is the frame that shows it. Examples:
    {"subject_id": 3, "predicate": "works at", "object_entity_id": 7};
    {"subject_id": 3, "predicate": "birthday", "object_value": "12 May"}"""
    real_id = partial(proposals.real_id, lookup.call.database)
    linked_id = None if object_entity_id is None else real_id(object_entity_id)
    store = partial(entities.store_fact, object_entity_id=linked_id, object_value=object_value)
    return _stored(lookup, "fact_id", source_frame_id, store, real_id(subject_id), predicate)


def _stored(
    lookup: SourceQuery,
    key: str,
    frame_id: int | None,
    store: Callable[..., tuple[int, bool]],
    *values: object,
) -> dict[str, object]:
    """The id of what is remembered now, learned from a frame that may be seen, or from the person."""
    if frame_id is not None:
        lookup.frame(frame_id)
    learned = Provenance(lookup.call.now_ms, lookup.context.turn_id, frame_id)
    try:
        with lookup.call.database.write() as connection:
            number, is_new = store(connection, *values, learned)
    except (NotFound, ValueError) as error:
        raise ToolFailed(f"Nothing was stored: {error}.") from error
    lookup.call.returned = 1
    return {key: number, "is_new": is_new}


@source_tool(reaches=N_("tags of frames, past your exclusion rules"), source="remembered")
def get_frame_tags(lookup: SourceQuery, frame_id: FrameId) -> object:
    """Gives the tags that a frame was marked with; call it to see how the person sorted a frame. For what
    stands on it use get_frame."""
    lookup.frame(frame_id)
    tags = frame_tags.of_frame(lookup.call.database, frame_id)
    return lookup.told("tags", tags, "The frame has no tags.", frame_id=frame_id)


def _entity_rows(lookup: SourceQuery, found: Sequence[Entity], note: str, limit: int) -> dict[str, Any]:
    """Entities that may be told, with their facts; `note` where there are none."""
    call, context = lookup.call, lookup.context
    known = [entity for entity in found if _may_tell(lookup, entity)][:limit]
    about: dict[int, list[Fact]] = {entity.id: [] for entity in known}
    for fact in entities.facts_of(call.database, list(about)):
        if _may_tell(lookup, fact):
            for entity_id in about.keys() & {fact.subject_id, fact.object_entity_id}:
                about[entity_id].append(fact)
    rows = []
    for entity in known:
        facts = [_fact(fact) for fact in about[entity.id]]
        names = ("kind", "name", "description")
        rows.append(row(entity, *names, chars=_TEXT_CHARS, entity_id=entity.id, facts=facts))
        _note(context, entity, *about[entity.id])
    if context.turn_id is not None and rows:  # so that a person finds the answers that it went into
        fact_ids = {fact.id for facts in about.values() for fact in facts}
        with call.database.write() as connection:
            fact_curation.use(connection, context.turn_id, list(about), sorted(fact_ids))
    return lookup.told("entities", rows, note, withheld=call.withheld)


def _shown_on(learned: Entity | Fact) -> Sequence[int]:
    """The frames that it was learned from."""
    if isinstance(learned, Entity):
        return learned.frames
    return () if learned.source_frame_id is None else (learned.source_frame_id,)


def _spans(learned: Entity | Fact) -> Iterator[tuple[int, int]]:
    """The times of the screen that it was learned from; none for what the person stated."""
    for at_ms in map(captured_ms_of, _shown_on(learned)):
        yield at_ms, at_ms + 1
    if learned.shown_from_ms is not None and learned.shown_until_ms is not None:
        yield learned.shown_from_ms, learned.shown_until_ms


def _may_tell(lookup: SourceQuery, learned: Entity | Fact) -> bool:
    """Whether it was learned from something in the range, and one of its frames may be seen; what the person
    stated holds at any time. What rules keep back is counted.
    """
    call, shown_on = lookup.call, _shown_on(learned)
    spans = list(_spans(learned))[: len(shown_on) or 1]  # its frames, else the turn that it was learned in
    if spans and not any(call.holds(*span) for span in spans):
        return False
    rows = frames.get_many(call.database, shown_on).values()
    is_shown = not shown_on or any(call.permits(frame) for frame in rows)
    call.withheld += not is_shown
    return is_shown


def _note(context: ToolContext, *learned: Entity | Fact) -> None:
    """Note of what time of the screen this may tell: it is forgotten with a frame of that time."""
    for record in learned:
        for span in _spans(record):
            context.findings.shown(*span)


def _fact(fact: Fact) -> dict[str, Any]:
    names = ("subject", "predicate", "object_entity_id", "source_frame_id")
    what = fact.object_entity or fact.object_value
    return row(fact, *names, chars=_TEXT_CHARS, fact_id=fact.id, object=what)


# -- summaries of days ------------------------------------------------------------------------

_DAY_CHARS = 2_000


@source_tool(reaches=N_("the summaries of your days, past your exclusion rules"), source="days")
def search_rag(
    lookup: SourceQuery,
    query: Annotated[Words, Field(description="What to look for, by meaning and words; blank: the latest.")],
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=31, description="Days at most.")] = 5,
) -> object:
    """Searches the summaries of whole days, best match first; call it to learn on which day something was, or
    what surrounded it. `start` and `end` are half-open, and a day counts when it overlaps them; without
    them all days up to the moment that the conversation is about are searched, else up to now. Only frames
    prove what a day's summary says: find them with search_ocr. Examples: {"query": "budget meeting"};
    {"query": "", "start": "2026-11-16", "end": "2026-11-21"}"""
    call, span = lookup.call, lookup.call.span_or_none(start, end)
    asked = asking(call, query)
    days, strategy, reason = daily_summaries.search(
        call.database, asked, *span, limit=_AT_MOST, deadline_s=lookup.timeout_s
    )
    rows = []
    for day in days:
        if not call.holds(day.start_ms, day.end_ms):
            continue
        if not gate.permits_windows(call, day.start_ms, day.end_ms, None):
            call.withheld += 1
            continue
        rows.append({"day": day.day, "zone": day.zone, "summary": _excerpt(day.text, query)})
        lookup.context.findings.shown(day.start_ms, day.end_ms)
        if len(rows) == limit:
            break
    told = {"strategy": strategy, "withheld": call.withheld, "fallback_reason": reason or None}
    return lookup.told("days", rows, "No summary of a day fits.", **told)


def _excerpt(text: str, query: str) -> str:
    """A day's first line, and lines with words of the query before the others; … stands for the rest."""
    first, _, rest = text.partition("\n")
    room = _DAY_CHARS - len(first)
    shown = excerpt(rest, asked_words(query), limit=room, limit_tokens=room)
    return "\n".join(part for part in (first, shown, "…" if len(shown) < len(rest) else "") if part)


# -- what earlier chats came to ---------------------------------------------------------------
#
# They are told as background, too, where the person lets them.

_FIELD_CHARS = 400


@source_tool(reaches=N_("what your earlier chats came to"), source="chats")
def search_chats(
    lookup: SourceQuery,
    query: Annotated[str, Field(max_length=400, description="Words or meaning; blank: the newest.")],
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=20, description="Chats at most.")] = 8,
) -> object:
    """Finds earlier chats with the person by what they came to; call it when they refer to one, as in “what
    did we find out about it”. It is background: no chat can be cited, and only frames show what was on the
    screen. For single questions use search_user_prompts. The last 90 days are searched unless a range is
    given."""
    call, context = lookup.call, lookup.context
    # A chat has the time at which it was held, however long ago is what it was about.
    is_bounded = call.range_ms is not None or (start, end) != (None, None)
    filters = MemoryFilters(*(call.span(start, end) if is_bounded else (None, None)))
    asked = asking(call, query)
    page = search.search_memory(call.database, asked, ("chat",), filters, now_ms=call.now_ms, limit=limit + 1)
    bodies = (entry.body for entry in page.entries)
    chats = [chat for chat in bodies if isinstance(chat, ChatSummary) and chat.chat_id != context.chat_id]
    chats = chats[:limit]
    if context.turn_id is not None and chats:
        with call.database.write() as connection:
            chat_summaries.use(connection, context.turn_id, [chat.session_id for chat in chats])
    rows = []
    for chat in chats:
        fields = {name: neutralized(text) for name, text in chat.fields.items() if text}
        ended = lookup.local(chat.ended_ms)
        rows.append(row(chat, "chat_id", "made_by", chars=_FIELD_CHARS, ended=ended, **fields))
    return lookup.told("chats", rows, "No earlier chat fits.")


TOOLS = (
    search_rag,
    recall_facts_for_frame,
    recall_entities,
    store_entity,
    store_fact,
    get_frame_tags,
    search_chats,
)
