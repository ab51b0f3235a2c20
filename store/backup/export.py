"""Everything of a range, or all there is, as one zip of open formats: for other programs and for people.

``frames.json`` has each frame with its text, ``pictures/`` each picture as PNG, ``days/`` Markdown of what
each day was about, with the text that stood there last in each stretch. As iCalendar ``calendar.ics`` has
imported events and ``activity.ics`` those stretches. Chats are Markdown, too, and with all other records
JSON. It is written as it is read, batch by batch.

What a privacy rule of today leaves out is left out of all of it, and counted: the frames of a window, its
stretches, and as a whole what may tell of them. That is a day's summary, an insight or a fact of a time in
which such a window was shown, and an answer that looked at such a frame or time, with those after it in its
chat and those that were told what came of it.
"""

from __future__ import annotations

import json
import re
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from store.backup.backup import DELETED, refuse_deletion_since, replacing
from store.core import copies, times
from store.core.database import Database
from store.core.errors import MediaGone, StoreBusy
from store.core.paths import FILE_MODE
from store.core.preferences import day_clock
from store.deletion.chat_hooks import telling
from store.frames import frames, visible_windows
from store.frames.activity_intervals import Segment
from store.frames.frames import MAX_CAPTURED_MS, FrameRow
from store.frames.media import Media
from store.privacy.rules import RuleSet
from store.timeline import segments
from store.timeline.gaps import Interval, merge_intervals

if TYPE_CHECKING:
    import icalendar

EXCLUDED = "Left out: a privacy rule of today covers what it may tell of."
_AT_ONCE = 200
_WINDOWS_KNOWN = 100_000
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")

_TOLD = "monitor", "app_name", "window_name", "browser_url", "sha256"
_HIDDEN = (
    "select 1 from frames h left join visible_windows v on v.id = h.visible_id "
    "where is_hidden(h.app_name, h.window_name, h.browser_url, v.windows) and h.id"
)
# Turns that may tell of a hidden window.
_LOOKED = f"""
was_hidden(t.start_ms, t.end_ms)
or exists ({_HIDDEN} in (select e.frame_id from evidence e where e.turn_id = t.id))
or exists (
    select 1 from tool_calls k where k.turn_id = t.id and was_hidden(k.shown_from_ms, k.shown_until_ms)
)
or exists (
    select 1 from anchors a
    where a.conversation_id = t.conversation_id
        and (was_hidden(a.start_ms, a.end_ms) or exists ({_HIDDEN} = a.frame_id))
)
"""
_OPEN_TURNS = f"""
{telling(_LOOKED)}
select id from turns
where status <> 'running' and id not in (select turn from telling where turn is not null)
"""
_TURNS = """
select c.id as chat, c.title, t.n, t.created_ms, t.model, t.status, t.question, t.answer_md,
    tells(t.id) as is_hidden
from turns t join conversations c on c.id = t.conversation_id
"""
# Columns that end in _ms become times as people and programs write them. What `is_hidden` stays out.
_RECORDS = {
    "chats": f"""
        {_TURNS} where t.created_ms >= :start and t.created_ms < :end order by chat, n
    """,
    "insights": """
        select i.id, i.title, i.summary, i.frame_id, i.start_ms, i.end_ms, i.created_ms,
            was_hidden(i.start_ms, i.end_ms) or tells(i.turn_id) as is_hidden
        from insights i
        where i.is_current = 1 and i.start_ms < :end and i.end_ms >= :start order by i.start_ms, i.id
    """,
    "summaries": """
        select day, zone, start_ms, end_ms, text, was_hidden(start_ms, end_ms) as is_hidden
        from daily_summaries where start_ms < :end and end_ms > :start order by start_ms
    """,
    "facts": f"""
        select s.kind, s.name as subject, f.predicate, coalesce(o.name, f.object_value) as object,
            f.source_frame_id, f.created_ms,
            exists ({_HIDDEN} = f.source_frame_id)
            or was_hidden(f.shown_from_ms, f.shown_until_ms) as is_hidden
        from facts f join entities s on s.id = f.subject_id left join entities o on o.id = f.object_entity_id
        where f.retracted_ms is null and f.created_ms >= :start and f.created_ms < :end order by f.id
    """,
    "messages": """
        select m.id, m.service, m.conversation, c.name as contact, m.is_outgoing, m.sent_ms, m.subject, m.body
        from text_messages m left join contacts c on c.id = m.contact_id
        where m.sent_ms >= :start and m.sent_ms < :end order by m.sent_ms, m.id
    """,
    "locations": """
        select at_ms, latitude_e7 / 1e7 as latitude, longitude_e7 / 1e7 as longitude, accuracy_m, altitude_m
        from location_points where at_ms >= :start and at_ms < :end order by at_ms
    """,
    "places": """
        select name, category, address, note, latitude_e7 / 1e7 as latitude, longitude_e7 / 1e7 as longitude
        from places order by id
    """,
}


@dataclass(slots=True)
class Exported:
    """What went into an export; `left_out` frames are those that a rule of today leaves out, `texts_left_out`
    what may tell of them.
    """

    frames: int = 0
    pictures: int = 0
    left_out: int = 0
    texts_left_out: int = 0


def export(
    database: Database,
    target: Path,
    start_ms: int,
    end_ms: int,
    now_ms: int,
    rules: RuleSet,
    *,
    with_pictures: bool = True,
) -> Exported:
    """Write what was recorded in ``[start_ms, end_ms)``; a file that is there is replaced. Raises `OSError`,
    and `StoreBusy` when something was deleted meanwhile.

    Later deletions name the file on their receipts.
    """
    generation = copies.generation(database)
    permits = lru_cache(_WINDOWS_KNOWN)(rules.permits)
    try:
        with copies.noted_elsewhere(database, target.absolute(), now_ms), replacing(target) as partial:
            span, zone = {"start": start_ms, "end": end_ms}, day_clock(database).zone
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as bundle:
                done = _Export(database, bundle, span, zone, permits, with_pictures).write()
            refuse_deletion_since(database, generation)
    finally:
        permits.cache_clear()  # the connection keeps its functions, and with them titles and addresses
    return done


@dataclass(slots=True)
class _Export:
    """One export under way; `done` is what went into it so far."""

    database: Database
    bundle: zipfile.ZipFile
    span: dict[str, int]
    zone: ZoneInfo
    permits: Callable[..., bool]
    with_pictures: bool
    done: Exported = field(default_factory=Exported)

    def write(self) -> Exported:
        with self.database.read() as connection:
            # What is asked or answered from now on was not looked at, so it does not go out.
            open_turns = _open_turns(self.database, self.permits)
            connection.create_scalar_function("tells", lambda *turn: turn not in open_turns, 1)
        self._json("frames.json", self._frames())
        for name, sql in _RECORDS.items():
            self._json(f"{name}.json", self._records(sql))
        self._chats()
        for name, events in (("calendar", self._events()), ("activity", self._stretches())):
            with self._member(f"{name}.ics") as file:
                _calendar(file, events)
        self._days()
        if self.with_pictures:
            self._pictures()
        return self.done

    @contextmanager
    def _member(self, name: str, kind: int = zipfile.ZIP_DEFLATED) -> Iterator[IO[bytes]]:
        entry = zipfile.ZipInfo(name, datetime.now().timetuple()[:6])
        entry.compress_type, entry.external_attr = kind, FILE_MODE << 16
        with self.bundle.open(entry, "w", force_zip64=True) as file:
            yield file

    def _json(self, name: str, found: Iterator[dict[str, Any]]) -> None:
        """An array, an element a line."""
        with self._member(name) as file:
            before = b"[\n"
            for record in found:
                file.write(before + json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
                before = b",\n"
            file.write(b"\n]\n" if before == b",\n" else b"[]\n")

    def _records(self, sql: str) -> Iterator[dict[str, Any]]:
        with self.database.read() as connection:
            found = connection.execute(sql, self.span)
            for row in found:
                named = dict(zip((each[0] for each in found.get_description()), row, strict=True))
                if named.pop("is_hidden", False):
                    self.done.texts_left_out += 1
                    if "answer_md" not in named:
                        continue
                    named["answer_md"] = EXCLUDED
                yield {name.removesuffix("_ms"): self._readable(name, value) for name, value in named.items()}

    def _readable(self, name: str, value: Any) -> Any:
        return _iso(value, self.zone) if name.endswith("_ms") and value is not None else value

    def _permits(self, what: FrameRow | Segment) -> bool:
        beside = visible_windows.of_frame(self.database, what.id) if isinstance(what, FrameRow) else ()
        front = what.app_name, what.window_name, what.browser_url
        return all(self.permits(*window) for window in (front, *beside))

    # -- frames and their pictures --------------------------------------------------------

    def _rows(self) -> Iterator[FrameRow]:
        """The frames of the range, a batch at a time."""
        last, until = (each - 1 for each in frames.id_range(self.span["start"], self.span["end"]))
        tail = "where id > :last and id <= :until order by id limit :limit"
        while True:
            with self.database.read() as connection:
                values = {"last": last, "until": until, "limit": _AT_ONCE}
                found = frames.select_rows(connection, tail, values)
            if not found:
                return
            yield from found
            last = found[-1].id

    def _frames(self) -> Iterator[dict[str, Any]]:
        for frame in self._rows():
            if not self._permits(frame):
                self.done.left_out += 1
                continue
            self.done.frames += 1
            yield {
                "id": frame.id,
                "time": _iso(frame.captured_ms, self.zone),
                "until": _iso(frame.ended_ms, self.zone),
                **{name: getattr(frame, name) for name in _TOLD},
                "picture": self._picture_name(frame) if self.with_pictures and frame.media_path else None,
                "text": self._text(frame.id),
            }

    def _text(self, frame_id: int) -> str:
        return str(self.database.scalar("select text from frame_texts where id = ?", (frame_id,)) or "")

    def _picture_name(self, frame: FrameRow) -> str:
        at = datetime.fromtimestamp(frame.captured_ms / 1000, self.zone)
        return f"pictures/{at:%Y-%m-%d}/{at:%H%M%S}-{frame.id}.png"

    def _pictures(self) -> None:
        media, seen = Media(self.database.data_dir.media, self.database), 0
        for frame in filter(self._permits, self._rows()):
            seen += 1
            try:
                image = media.image(frame)
            except MediaGone:
                continue
            with self._member(self._picture_name(frame), zipfile.ZIP_STORED) as file:
                image.save(file, "PNG")
            self.done.pictures += 1
        if seen < self.done.frames:  # a deletion is under way
            raise StoreBusy(DELETED)

    # -- for people -----------------------------------------------------------------------

    def _each_day(self) -> Iterator[tuple[times.Day, list[Segment]]]:
        """The days of the range on which something was recorded."""
        sql = "select min(start_ms), max(end_ms) from segments where start_ms < :end and end_ms > :start"
        [(first, last)] = self.database.rows(sql, self.span)
        at = first
        while at is not None and at < last:
            day = times.day_of(at, self.zone)
            start, end = max(day.start_ms, self.span["start"]), min(day.end_ms, self.span["end"])
            found = [each for each in segments.segments(self.database, start, end) if self._permits(each)]
            if found:
                yield day, found
            at = day.end_ms

    def _days(self) -> None:
        for day, found in self._each_day():
            with self._member(f"days/{day.date}.md") as file:
                sql = "select text from daily_summaries where day = ? and not was_hidden(start_ms, end_ms)"
                summary = self.database.scalar(sql, (day.date.isoformat(),))
                _say(file, f"# {day.date}", plain(summary or ""))
                for each in found:
                    start, end = (_iso(ms, self.zone)[11:19] for ms in (each.start_ms, each.end_ms))
                    _say(file, f"## {start} to {end} {escaped(_title(each))}", each.browser_url or "")
                    _say(file, _block(self._text(each.last_frame_id)))

    def _chats(self) -> None:
        asked = "select distinct conversation_id from turns where created_ms >= :start and created_ms < :end"
        for chat in self.database.column(asked, self.span):
            sql = f"select question, answer_md, is_hidden from ({_TURNS} where c.id = ?) order by n"
            with self._member(f"chats/{chat}.md") as file:
                for question, answer, is_hidden in self.database.rows(sql, (chat,)):
                    _say(file, f"## {escaped(question)}", EXCLUDED if is_hidden else plain(answer))

    # -- iCalendar ------------------------------------------------------------------------

    def _events(self) -> Iterator[icalendar.Event]:
        sql = """
            select id, title, description, location, start_ms, end_ms, is_all_day from calendar_events
            where start_ms < :end and end_ms >= :start order by start_ms, id
        """
        for number, title, description, place, *span_ms, is_all_day in self.database.rows(sql, self.span):
            moments = [datetime.fromtimestamp(ms / 1000, self.zone) for ms in span_ms]
            start, end = (each.date() if is_all_day else each for each in moments)
            event = _event(f"event-{number}", title, start, end)
            event.add("description", description)
            event.add("location", place)
            yield event

    def _stretches(self) -> Iterator[icalendar.Event]:
        for _, found in self._each_day():
            for each in found:
                span = [datetime.fromtimestamp(ms / 1000, UTC) for ms in (each.start_ms, each.end_ms)]
                event = _event(f"stretch-{each.start_ms}", _title(each), *span)
                if each.browser_url:
                    event.add("url", each.browser_url)
                yield event


def may_tell(database: Database, rules: RuleSet, chat_id: int, n: int) -> bool:
    """Whether an answer may tell of a window that a rule leaves out: then an export has not its words."""
    permits = lru_cache(_WINDOWS_KNOWN)(rules.permits)
    sql = "select id from turns where conversation_id = ? and n = ?"
    try:
        with database.read():
            return not _open_turns(database, permits).issuperset(database.rows(sql, (chat_id, n)))
    finally:
        permits.cache_clear()


def _open_turns(database: Database, permits: Callable[..., bool]) -> set[tuple[Any, ...]]:
    """The ids of the answers that may go out. The connection has `is_hidden` and `was_hidden` from now on."""

    def is_hidden(*told: Any) -> bool:
        *front, beside = told
        return not all(
            permits(*each) for each in (front, *(visible_windows.decode(beside) if beside else ()))
        )

    with database.read() as connection:
        hidden = _hidden_times(database, permits)
        connection.create_scalar_function("is_hidden", is_hidden, 4)
        connection.create_scalar_function("was_hidden", lambda *span_ms: _meets(hidden, *span_ms), 2)
        return set(database.rows(_OPEN_TURNS))


def _hidden_times(database: Database, permits: Callable[..., bool]) -> list[Interval]:
    """When windows were shown that may not go out, in order and apart."""
    sql = "select app_name, window_name, browser_url, start_ms, end_ms from segments order by start_ms"
    with database.read() as connection:
        found = connection.execute(sql)
        return merge_intervals((start, end) for *window, start, end in found if not permits(*window))


def _meets(times_ms: list[Interval], start_ms: int | None, end_ms: int | None) -> bool:
    """Whether a span, if there is one, touches one of some times."""
    if start_ms is None or end_ms is None:
        return False
    before = bisect_right(times_ms, (end_ms, MAX_CAPTURED_MS))
    return before > 0 and times_ms[before - 1][1] >= start_ms


def _iso(ms: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(ms / 1000, zone).isoformat(timespec="milliseconds")


def _title(each: Segment) -> str:
    return " · ".join(part for part in (each.app_name, each.window_name) if part) or "unknown window"


def _event(uid: str, title: str, start: date, end: date) -> icalendar.Event:
    import icalendar

    event = icalendar.Event()
    event.add("uid", f"{uid}@recollect")
    event.add("summary", title)
    event.add("dtstamp", datetime.now(UTC))
    event.add("dtstart", start)
    event.add("dtend", end)
    return event


def _calendar(file: IO[bytes], events: Iterator[icalendar.Event]) -> None:
    file.write(b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Recollect//EN\r\n")
    for event in events:
        file.write(event.to_ical())
    file.write(b"END:VCALENDAR\r\n")


def _say(file: IO[bytes], *paragraphs: str) -> None:
    for text in filter(None, paragraphs):
        file.write(f"{text}\n\n".encode("utf-8", "replace"))


def escaped(text: str) -> str:
    """Text of the screen or of a person in one line of Markdown, without syntax of its own."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def plain(markdown: str) -> str:
    """Markdown of a model's or our own making; raw HTML must not come to life in whoever renders it."""
    return _TAG.sub(r"\\<", markdown)


def _block(text: str) -> str:
    """Text of the screen as it stood there: code, so that nothing in it is syntax."""
    return "\n".join(f"    {line}" for line in text.splitlines())
