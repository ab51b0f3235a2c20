"""What the home remembers beside frames, as lines that answer a question: messages, events, what was stated.

Each is an entry like a frame: its text in lines, where it says who or what it is of in place of the window's
title, when it was, and the address of its page. Few are taken as they are; of many those that have the words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from assistant.core.strings import bracketed, clock, day, duration, text
from assistant.core.texts import Language
from assistant.retrieval.retrieval import Entry
from store.core import times
from store.core.database import Database
from store.embeddings.knn import RetrievalQuery
from store.search.sample import SampledFrame
from store.sources import calendars, entities, inventory, messages
from store.sources.calendars import Event
from store.sources.messages import Filters, Message

ALL = 300
"""So many rows of a source are looked at as they are; of more, those that a search finds."""
FOUND = 60

TOOL_OF = {"messages": "search_messages", "calendar": "get_calendar_events", "remembered": "recall_entities"}
"""The tool by which a model looks into each: where the person switched it off, nobody looks."""

_TABLES: dict[str, inventory.Source] = {
    "messages": "text_messages", "calendar": "calendar_events", "remembered": "facts",
}  # fmt: skip

Range = tuple[int, int]
_EVER: Range = (0, times.MAX_MS)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked for: words, and their meaning where that is known; of `ranges`, none for any time."""

    words: tuple[str, ...]
    meaning: RetrievalQuery
    ranges: tuple[Range, ...]
    now_ms: int
    zone: tzinfo
    language: Language
    is_last: bool = False
    """Whether what is to come is left out."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What of a source may answer, and how much of it was looked through."""

    kind: str
    entries: tuple[Entry, ...]
    total: int


def look(database: Database, kinds: Collection[str], asked: Asked) -> list[Looked]:
    """Each of these sources that has anything at all, then or at another time."""
    found = {"messages": _messages, "calendar": _events, "remembered": _remembered}
    looked = (found[kind](database, asked) for kind in kinds)
    return [each for each in looked if each.total or inventory.is_present(database, _TABLES[each.kind])]


def counted(looked: Iterable[Looked], language: Language) -> str:
    """``60 messages, 40 events``"""
    names = [text(each.kind, language, "looked", count=each.total) for each in looked if each.total]
    return ("、" if language == "zh" else ", ").join(names)


def _entry(kind: str, number: int, at_ms: int, title: str, lines: Iterable[str], **more: str) -> Entry:
    said = "\n".join(line.strip() for line in lines if line.strip())
    frame = SampledFrame(0, at_ms, None, title, None, None, "", None, said)
    return Entry(f"{kind} {number}", frame, said, **more)


# -- messages -----------------------------------------------------------------------------


def _messages(database: Database, asked: Asked) -> Looked:
    found: dict[int, Message] = {}
    total = 0
    for start_ms, end_ms in asked.ranges or (_EVER,):
        among = Filters(start_ms, end_ms)
        rows, count = messages.nearest_to(database, asked.now_ms, among, ALL)
        total += count
        found |= {row.id: row for row in (rows if count <= ALL else _searched(database, among, asked))}
    by_time = sorted(found.values(), key=lambda message: message.sent_ms)
    return Looked("messages", tuple(_of_message(each, asked) for each in by_time), total)


def _searched(database: Database, among: Filters, asked: Asked) -> Iterator[Message]:
    """Those that say any of the words, those near in meaning, and those of whom the words name."""
    query = replace(asked.meaning, text=" OR ".join(asked.words))
    yield from (hit.message for hit in messages.search_messages(database, query, among, limit=FOUND).hits)
    for word in asked.words:
        for contact in messages.contacts(database, word, limit=3):
            yield from messages.browse(database, replace(among, contact_id=contact.id), FOUND)


def _of_message(message: Message, asked: Asked) -> Entry:
    who = message.contact or message.conversation
    name = ("to" if message.is_outgoing else "from") + ("_mail" if message.service == "email" else "")
    at = f"{_day(message.sent_ms, asked)} {clock(message.sent_ms, asked.zone)}"
    lines = [message.subject, *message.body.split("\n")]
    told = "" if message.is_outgoing or not who else f"{who}:"
    return replace(
        _entry("messages", message.id, message.sent_ms, f"{who} {message.conversation}".strip(), lines),
        told=told,
        excerpt=text(
            name, asked.language, "looked", when=at, who=who or text("somebody", asked.language, "looked")
        ),
        address=f"/sources/messages/rows/{message.id}",
    )


# -- events -------------------------------------------------------------------------------


def _events(database: Database, asked: Asked) -> Looked:
    """Of what is repeated the next time, or the last one where none is to come."""
    found: dict[int, Event] = {}
    total = 0
    for start_ms, end_ms in asked.ranges or (_EVER,):
        until_ms = min(end_ms, asked.now_ms) if asked.is_last else end_ms
        events, count = calendars.events_between(database, start_ms, until_ms, limit=ALL)
        total += count
        if count > ALL:
            events = []
            for word in asked.words:
                for span in (
                    (max(start_ms, asked.now_ms), until_ms),
                    (start_ms, min(until_ms, asked.now_ms)),
                ):
                    if span[0] < span[1]:
                        events += calendars.events_between(database, *span, word, ALL)[0]
        found |= {event.id: event for event in events}
    same: dict[tuple[str, str], list[Event]] = {}
    for event in sorted(found.values(), key=lambda event: event.start_ms):
        same.setdefault((event.title, event.location), []).append(event)
    nearest = sorted((_nearest(each, asked) for each in same.values()), key=lambda found: found[0].start_ms)
    return Looked("calendar", tuple(_of_event(*each, asked) for each in nearest), total)


def _nearest(times_of: Sequence[Event], asked: Asked) -> tuple[Event, Event | None, int]:
    """(the next time or else the last one, the one before, how many there are)"""
    at = next((n for n, each in enumerate(times_of) if each.end_ms > asked.now_ms), len(times_of) - 1)
    return times_of[at], times_of[at - 1] if at else None, len(times_of)


def _of_event(event: Event, before: Event | None, count: int, asked: Asked) -> Entry:
    # What comes next comes before what comes later; of what is over the latest comes first.
    ahead_ms = event.start_ms - asked.now_ms
    order_ms = event.start_ms if ahead_ms < 0 else asked.now_ms + times.MAX_MS // 2 - ahead_ms
    lines = [event.title, event.location, *event.description.split("\n"), ", ".join(event.attendees)]
    state = event.status if event.status in ("tentative", "cancelled") else ""
    head, joint = [_when(event, asked)], text("joint", asked.language, "scope")
    head += [text(state, asked.language, "looked")] if state else []
    if before:
        last = f"{_day(before.start_ms, asked)} {clock(before.start_ms, asked.zone)}"
        head.append(text("times", asked.language, "looked", count=count, last=last))
    return replace(
        _entry("calendar", event.id, order_ms, event.calendar, lines),
        told=head[0],
        excerpt=text("in_calendar", asked.language, "looked", when=joint.join(head)),
        address=f"/sources/calendar/rows/{event.id}",
    )


def _when(event: Event, asked: Asked) -> str:
    """``Thursday 26 Nov 14:15–15:00 (45 min)``, ``Saturday 28 Nov – Sunday 29 Nov``"""
    first, last = _day(event.start_ms, asked), _day(max(event.start_ms, event.end_ms - 1), asked)
    if event.is_all_day:
        return first if first == last else f"{first} – {last}"
    start, end = clock(event.start_ms, asked.zone), clock(event.end_ms, asked.zone)
    if event.end_ms == event.start_ms:
        return f"{first} {start}"
    if first != last:
        return f"{first} {start} – {_day(event.end_ms, asked)} {end}"
    how_long = duration(event.end_ms - event.start_ms, asked.language)
    return f"{first} {start}–{end}{bracketed(how_long, asked.language)}"


def _day(at_ms: int, asked: Asked) -> str:
    return day(at_ms, asked.zone, asked.now_ms, asked.language)


def place_entry(address: str, at_ms: int, names: Iterable[str]) -> Entry:
    """The places that were reached in a stretch of time."""
    return replace(_entry("location", 0, at_ms, "", names), address=address)


# -- what the person stated ---------------------------------------------------------------


def _remembered(database: Database, asked: Asked) -> Looked:
    """Nothing that was learned from a screen or from a file, so that no deletion of these has to find who was
    told it. What was stated holds at any time.
    """
    known = entities.find_entities(database, limit=ALL)
    told = [
        _stated(
            "fact",
            f"facts/{fact.id}",
            fact.created_ms,
            [fact.subject, fact.predicate, fact.object_value or ""],
            asked,
        )
        for fact in entities.stated_facts(database, ALL)
    ]
    told += [
        _stated("entity", f"entities/{each.id}", each.updated_ms, [each.name, each.description], asked)
        for each in known
        if each.origin == "person" and each.description and not each.frames and each.shown_from_ms is None
    ]
    return Looked("remembered", tuple(told), len(told))


def _stated(kind: str, page: str, at_ms: int, said: Sequence[str], asked: Asked) -> Entry:
    whom, number = said[0], int(page.rpartition("/")[2])
    return replace(
        _entry(f"remembered {kind}", number, at_ms, whom, " · ".join(said).split("\n")),
        told=f"{whom}:",
        excerpt=text("stated", asked.language, "looked", when=_day(at_ms, asked)),
        address=f"/memory/{page}",
    )
