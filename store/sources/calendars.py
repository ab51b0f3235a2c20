"""Calendar events that a person imported: one row for each occurrence.

Times are milliseconds UTC. An event of whole days runs from midnight to midnight in the zone of its
calendar, which the reader of the file knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from store.core import tokenizer
from store.core.database import Database, change, clean_text, rows, scalar
from store.core.errors import existing
from store.core.records import columns, load
from store.core.times import MAX_MS
from store.sources import imports
from store.sources.imports import Upserted, UpsertTable, natural_key


@dataclass(frozen=True, slots=True)
class _Event:
    """`end_ms` is exclusive, and `start_ms` where the event has no length."""

    title: str
    start_ms: int
    end_ms: int
    calendar: str = ""
    description: str = ""
    location: str = ""
    attendees: tuple[str, ...] = ()
    is_all_day: bool = False
    status: str = ""  # confirmed, tentative or cancelled


@dataclass(frozen=True, slots=True)
class EventRecord(_Event):
    """An occurrence as a file tells it.

    `uid` is the id of the event in its calendar and `recurrence` what sets this occurrence apart from the
    others, such as its original start ("" for an event that happens once). Without a `uid` title and times
    are the key.
    """

    uid: str = ""
    recurrence: str = ""


@dataclass(frozen=True, slots=True)
class Event(_Event):
    id: int = 0


_TABLE = UpsertTable(
    "calendar_events",
    ["natural_key"],
    [
        "calendar", "title", "description", "location", "attendees", "start_ms", "end_ms", "is_all_day",
        "status", "series",
    ],
)  # fmt: skip


def upsert_events(connection: apsw.Connection, import_id: int, records: Iterable[EventRecord]) -> Upserted:
    """Put events; at most `store.sources.imports.BATCH` at once, inside `Database.write()`.

    Raises `ValueError` for one that ends before it begins.
    """
    found = [(record, _own_columns(record)) for record in records]
    done = imports.put(connection, import_id, _TABLE, found)
    connection.execute(_TOLD, (import_id, json.dumps([own["natural_key"] for _, own in found])))
    return done


def _own_columns(record: EventRecord) -> dict[str, str]:
    if record.end_ms < record.start_ms:
        raise ValueError("an event ends before it begins")
    where = record.calendar, record.uid
    key = natural_key("event", record.calendar, record.title, record.start_ms, record.end_ms)
    return {
        "natural_key": natural_key("uid", *where, record.recurrence) if record.uid else key,
        "attendees": json.dumps([clean_text(each) for each in record.attendees], ensure_ascii=False),
        "series": natural_key("series", *where) if record.uid else "",
    }


def replace_series(connection: apsw.Connection, import_id: int) -> int:
    """Remove the occurrences that an import, read to its end, does not tell of events it tells of.

    So an event that was moved or ends earlier now does not stay where it was. Returns how many went. Call
    inside `Database.write()`.
    """
    return change(connection, _REPLACE, {"id": import_id})


_TOLD = """
update calendar_events set told_in = ? where natural_key in (select value from json_each(?))
"""

_REPLACE = """
delete from calendar_events
where series in (select series from calendar_events where told_in = :id and series <> '')
    and told_in is not :id
"""


def events_between(
    database: Database,
    start_ms: int,
    end_ms: int,
    text: str = "",
    limit: int = 100,
    deadline_s: float | None = None,
) -> tuple[list[Event], int]:
    """Events that overlap ``[start_ms, end_ms)``, earliest first, and how many there are in all.

    Each word of `text` is a part of the title, the description, the place, or the attendees, whatever its
    case. An event without a length counts at its moment.
    """
    words = json.dumps(tokenizer.normalise(text).split())
    values = {"start": start_ms, "end": end_ms, "words": words, "limit": limit}
    with database.read(deadline_s) as connection:
        found = rows(connection, f"{_SELECT} {_OVERLAPPING} order by e.start_ms, e.id limit :limit", values)
        total = scalar(connection, f"select count(*) from calendar_events e {_OVERLAPPING}", values)
    return load(Event, found), int(total)


def next_event(database: Database, text: str, now_ms: int) -> Event | None:
    """The first event with the words that is not over, else the last one that is; None for none."""
    words = json.dumps(tokenizer.normalise(text).split())
    values = {"start": 0, "end": MAX_MS, "words": words, "now": now_ms}
    sql = f"{_SELECT} {_OVERLAPPING} order by e.end_ms <= :now, abs(e.start_ms - :now), e.id limit 1"
    return next(iter(database.records(Event, sql, values)), None)


def get(database: Database, event_id: int) -> Event:
    """One event. Raises `NotFound`."""
    found = database.records(Event, f"{_SELECT} where e.id = :id", {"id": event_id})
    return existing(next(iter(found), None), "event", event_id)


_SELECT = f"select {columns(Event, 'e')} from calendar_events e"

_OVERLAPPING = """
where e.start_ms < :end and (e.end_ms > :start or e.start_ms >= :start) and (
    :words = '[]' or (
        with said as materialized (
            select recollect_normal(
                concat_ws(char(10), e.title, e.description, e.location, e.attendees)
            ) as text
        )
        select count(*) = json_array_length(:words)
        from said join json_each(:words) w on instr(said.text, w.value) > 0
    )
)
"""
