"""Calendars in iCalendar files (RFC 5545): a record for each time an event takes place.

icalendar reads the events, and recurring-ical-events works out when they take place. Both hold a whole
calendar and know no bounds, so the file is cut into its events first, and a rule is looked at before it is
worked out. Events that repeat, and those that change one occurrence of another, wait until the file was
read to its end; the others pass straight through.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from time import process_time
from typing import Any

import icalendar
from icalendar.error import GloballyUniqueTZIDGuessed
from icalendar.timezone import tzp
from recurring_ical_events import CalendarQuery

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.source_file import (
    EARLIEST_MS,
    LATEST_MS,
    MAX_NAME_CHARS,
    BadRecord,
    Options,
    Source,
    decoded,
    local_ms,
    name_of,
    record_or_skipped,
    sensible_ms,
    text_of,
)
from store.sources.calendars import EventRecord

MAX_OCCURRENCES = 20_000
"""Of one event: every day of 54 years."""
_AHEAD = timedelta(days=731)
"""An event without an end is worked out until two years from now; importing again goes on."""
_FIRST = datetime.fromtimestamp(EARLIEST_MS / 1000, UTC)
_MAX_DEPTH = 8
_MAX_COMPONENT_BYTES = 1_000_000
_MAX_ZONE_BYTES = 20_000
_MAX_ZONE_PARTS = 20
_MAX_ZONES = 500
_MAX_ATTENDEES = 100
_MAX_REPEATING = 50_000
_MAX_REPEATING_BYTES = 100_000_000
_MAX_ALL_BYTES = 1_000_000_000
_OCCURRENCE_BYTES = 500
"""What an occurrence is counted as, beside its description."""
_MAX_REPEATING_S = 120.0
"""Processor time for all that repeats. A thousand events take a second; one whose rule never comes true
takes several, because dateutil looks for it until the year 9999."""
_MAX_CHANGES = 5_000
_MAX_RULES = 5
_MAX_RULE_VALUES = 400
_MAX_TIMES_A_DAY = 24

_REPEATS = frozenset({"RRULE", "RDATE", "RECURRENCE-ID"})
_TIMES = ("DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "RRULE", "RDATE", "EXDATE")
_KEPT = {
    b"VCALENDAR": re.compile(rb"(?:X-WR-CALNAME|NAME|X-WR-TIMEZONE)[;:\s]", re.IGNORECASE),
    b"VEVENT": re.compile(
        rb"(?:UID|DTSTART|DTEND|DURATION|SUMMARY|DESCRIPTION|LOCATION|ATTENDEE|STATUS|SEQUENCE"
        rb"|RRULE|RDATE|EXDATE|RECURRENCE-ID)[;:\s]",
        re.IGNORECASE,
    ),
}
_EDGE = re.compile(rb"(?:\xef\xbb\xbf)?(BEGIN|END):([^\r\n]*)", re.IGNORECASE)
_NOT_YEARLY = re.compile(rb"^RRULE:(?!.*FREQ=YEARLY)", re.IGNORECASE | re.MULTILINE)
_LONG_AGO = re.compile(rb"^(DTSTART[^:\r\n]*:)(?:0\d\d\d|1[0-8]\d\d|19[0-6]\d)", re.IGNORECASE | re.MULTILINE)
_PART = re.compile(rb"^BEGIN:", re.IGNORECASE | re.MULTILINE)
_DAMAGED = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What the libraries raise for damaged values."""

Event = Any
"""An `icalendar.Event`, whose types are unions of all that any property may be."""


def read(source: Source, options: Options) -> Iterator[EventRecord | Skipped]:
    calendar = _Calendar(options)
    repeating: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    has_any, count, size = False, 0, 0
    for name, line, text in _components(source):
        if name != b"VEVENT":
            calendar.learn(name, text)
            continue
        has_any = True
        event = record_or_skipped(f"line {line}", calendar.event, text)
        if isinstance(event, Skipped):
            yield event
        elif event.keys() & _REPEATS:
            repeating[_text(event, "UID") or str(line)].append((line, text))
            count, size = count + 1, size + len(text)
            if count > _MAX_REPEATING or size > _MAX_REPEATING_BYTES:
                raise CannotImport(f"more than {_MAX_REPEATING:,} of its events repeat")
        else:
            yield from calendar.occurrences(line, [event])
    if not has_any:
        raise CannotImport("there are no events in it")
    started = process_time()
    for versions in repeating.values():
        yield from calendar.occurrences(versions[0][0], [calendar.event(text) for _, text in versions])
        if process_time() - started > _MAX_REPEATING_S:
            raise CannotImport("working out when its events repeat takes too long")


class _Calendar:
    """What is known of a calendar so far, its name and its zones, and the records made with that."""

    def __init__(self, options: Options) -> None:
        self._name = ""
        self._zone = options.zone
        self._now_ms = options.now_ms
        self._zone_names: set[str] = set()
        self._size = 0
        tzp.use_zoneinfo()  # forgets the zones that the file before described
        warnings.simplefilter("ignore", GloballyUniqueTZIDGuessed)

    def learn(self, component: bytes, text: bytes) -> None:
        """Take a zone, or the calendar's own name and zone; damaged ones are left out."""
        with suppress(*_DAMAGED):
            if component == b"VTIMEZONE":
                self._learn_zone(text)
                return
            calendar = icalendar.Calendar.from_ical(b"BEGIN:VCALENDAR\n" + text + b"END:VCALENDAR\n")
            self._name = self._name or name_of((calendar.calendar_name or "")[:MAX_NAME_CHARS])
            self._zone = tzp.timezone(str(calendar.get("X-WR-TIMEZONE", ""))) or self._zone

    def _learn_zone(self, text: bytes) -> None:
        named = re.search(rb"^TZID:(.+)$", text, re.MULTILINE | re.IGNORECASE)
        name = named[1].decode().strip() if named else ""
        if not name or tzp.timezone(name) is not None:
            return
        # Rules that change the clock more than once a year would keep dateutil busy for ever, and each
        # time in the zone is looked for from the start of its rules, which Outlook sets to 1601.
        is_simple = len(text) <= _MAX_ZONE_BYTES and len(_PART.findall(text)) <= _MAX_ZONE_PARTS
        if is_simple and not _NOT_YEARLY.search(text) and len(self._zone_names) < _MAX_ZONES:
            self._zone_names.add(name)
            icalendar.Timezone.from_ical(_LONG_AGO.sub(rb"\g<1>1970", text))  # known by its name from now on

    def event(self, text: bytes) -> Event:
        """An event whose times can be worked with. Raises `BadRecord`."""
        try:
            event: Event = icalendar.Event.from_ical(text)
            for name, _ in event.errors:
                if name in _TIMES:
                    raise BadRecord(f"its {name} cannot be read")
                event.pop(name or "", None)
            if event.DTSTART is None:
                raise BadRecord("it has no start")
            if "RECURRENCE-ID" in event:
                for name in ("RRULE", "RDATE", "EXDATE"):
                    event.pop(name, None)
            self._settle_times(event)
            self._check_rules(event)
        except BadRecord:
            raise
        except _DAMAGED as error:
            raise BadRecord("its times cannot be read") from error
        return event

    def _settle_times(self, event: Event) -> None:
        """Put times that name no zone into that of the calendar, and refuse those in an unknown one."""
        for value in [value for name in _TIMES for value in _every(event, name)]:
            name = str(value.params.get("TZID", ""))
            if name:
                self._zone_names.add(name)
            if len(self._zone_names) > _MAX_ZONES:
                raise CannotImport(f"it names more than {_MAX_ZONES} time zones")
            for moment in [] if isinstance(value, icalendar.vRecur) else value.dts:
                if isinstance(moment.dt, datetime) and moment.dt.tzinfo is None:
                    if name:
                        raise BadRecord("its time zone is not known")
                    moment.dt = moment.dt.replace(tzinfo=self._zone)

    def _check_rules(self, event: Event) -> None:
        """Refuse rules that would be worked on for ever."""
        rules = [rule for rule in event.rrules if rule]
        if len(rules) > _MAX_RULES:
            raise BadRecord(f"it repeats by more than {_MAX_RULES} rules")
        event.pop("RRULE", None)
        if rules:
            event["RRULE"] = rules
        for rule in rules:
            times_a_day = math.prod(len(rule.get(part, "0")) for part in ("BYHOUR", "BYMINUTE", "BYSECOND"))
            if times_a_day > _MAX_TIMES_A_DAY or rule["FREQ"][0] in ("SECONDLY", "MINUTELY", "HOURLY"):
                raise BadRecord("it repeats more often than daily")
            if min(rule.get("INTERVAL", [1])) < 1 or sum(map(len, rule.values())) > _MAX_RULE_VALUES:
                raise BadRecord("the rule by which it repeats cannot be read")
            if "UNTIL" in rule:
                rule["UNTIL"] = [self._last(rule["UNTIL"][0], event.DTSTART)]
                rule.pop("COUNT", None)  # there is to be only one of them

    def _last(self, until: date, start: date) -> date:
        """UNTIL as RFC 5545 wants it: a date beside a date, else a time in UTC, of a date the end."""
        if isinstance(until, datetime):
            until = until if until.tzinfo else until.replace(tzinfo=self._zone)
        if not isinstance(start, datetime):
            return until.astimezone(self._zone).date() if isinstance(until, datetime) else until
        if not isinstance(until, datetime):
            until = datetime.combine(until, time(23, 59, 59), start.tzinfo)
        return until.astimezone(UTC)

    def occurrences(self, line: int, versions: list[Event]) -> Iterator[EventRecord | Skipped]:
        """Each time an event takes place; `versions` are itself and what changes some of its occurrences."""
        where = f"line {line}"
        try:
            for record in self._worked_out(versions):
                yield record or Skipped(where, "this occurrence was cancelled")
                self._size += _OCCURRENCE_BYTES + len(record.description if record else "")
        except BadRecord as error:
            yield Skipped(where, str(error))
        except _DAMAGED:
            yield Skipped(where, "when it takes place cannot be worked out")
        if self._size > _MAX_ALL_BYTES:
            raise CannotImport(f"its events worked out are larger than {_MAX_ALL_BYTES // 1_000_000:,} MB")

    def _worked_out(self, versions: list[Event]) -> Iterator[EventRecord | None]:
        """A record for each occurrence, None for one that was cancelled."""
        if len(versions) > _MAX_CHANGES:
            raise BadRecord(f"more than {_MAX_CHANGES:,} of its occurrences were changed")
        repeats = bool(versions[0].keys() & _REPEATS)
        latest_ms = max(self._now_ms, *(self._ms(event.DTSTART) for event in versions))
        until = datetime.fromtimestamp(min(latest_ms, LATEST_MS) / 1000, UTC) + _AHEAD
        whole = icalendar.Calendar()
        whole.subcomponents = versions
        (series,) = CalendarQuery(whole).series
        occurrences = sorted(islice(series.between(_FIRST, until), MAX_OCCURRENCES + 1))
        if len(occurrences) > MAX_OCCURRENCES:
            raise BadRecord(f"it happens more than {MAX_OCCURRENCES:,} times")
        if not occurrences:
            raise BadRecord("its time is before 2 January 1970 or after 2099, or it never takes place")
        for occurrence in occurrences:
            if repeats and self._ms(occurrence.start) < EARLIEST_MS:
                continue
            record = self._record(occurrence.as_component(False), repeats)
            yield None if occurrence.recurrence_ids and record.status == "cancelled" else record

    def _record(self, event: Event, repeats: bool) -> EventRecord:
        start = event["DTSTART"].dt
        start_ms = sensible_ms(self._ms(start))
        original = event["RECURRENCE-ID"]
        # A change to all that come after it leaves its own RECURRENCE-ID with each of them.
        original_ms = start_ms if "RANGE" in original.params else round(self._ms(original.dt))
        status = _text(event, "STATUS").strip().lower()
        return EventRecord(
            title=name_of(_text(event, "SUMMARY")),
            start_ms=start_ms,
            # On a clock that is set forward in between, an end may lie before its start.
            end_ms=max(start_ms, sensible_ms(self._ms(event["DTEND"].dt))),
            uid=text_of(_text(event, "UID"), MAX_NAME_CHARS),
            recurrence=str(original_ms) if repeats else "",
            calendar=self._name,
            description=text_of(_text(event, "DESCRIPTION")),
            location=name_of(_text(event, "LOCATION")),
            attendees=tuple(_person(person) for person in _every(event, "ATTENDEE")[:_MAX_ATTENDEES]),
            is_all_day=not isinstance(start, datetime),
            status=status if status in ("confirmed", "tentative", "cancelled") else "",
        )

    def _ms(self, at: date) -> float:
        """Epoch milliseconds; a date is its midnight, and a time without a zone in that of the calendar."""
        return local_ms(at if isinstance(at, datetime) else datetime.combine(at, time()), self._zone)


def _every(event: Event, name: str) -> list[Any]:
    values = event.get(name, [])
    return values if isinstance(values, list) else [values]


def _text(event: Event, name: str) -> str:
    return str(next(iter(_every(event, name)), ""))


def _person(address: Any) -> str:
    name = address.params.get("CN")
    if isinstance(name, list):  # a comma that was not quoted
        name = ", ".join(name)
    return name_of(name or re.sub("^mailto:", "", str(address), flags=re.IGNORECASE))


def _components(source: Source) -> Iterator[tuple[bytes, int, bytes]]:
    """(name, line where it begins, its lines) of each event and zone, and of the calendar's own names.

    Of an event only what becomes something is kept, so that attached files cost nothing. Raises
    `CannotImport` for what is no calendar, or ends in the middle of one.
    """
    path: list[bytes] = []
    lines: list[bytes] = []
    begins, size, is_kept = 0, 0, False
    for number, line in enumerate(source.byte_lines(), 1):
        edge = _EDGE.match(line)
        if not path and line.strip() and (edge is None or edge[2].strip().upper() != b"VCALENDAR"):
            raise CannotImport("this is no calendar: it does not begin with BEGIN:VCALENDAR")
        if edge is None:
            if line[:1] not in b" \t":  # else it goes on with the line before
                is_kept = _is_kept(path, line)
            if is_kept:
                lines.append(line)
                size += len(line)
                if size > _MAX_COMPONENT_BYTES:
                    raise CannotImport(f"line {begins} begins more than {_MAX_COMPONENT_BYTES:,} bytes")
            continue
        word, name = edge[1].upper(), edge[2].strip().upper()
        if len(path) < 2:
            if lines:
                yield b"VCALENDAR", begins, _unfolded(lines, begins)
            begins, size, lines = number, 0, []
        if word == b"BEGIN":
            if len(path) >= _MAX_DEPTH:
                raise CannotImport(f"the calendar is nested more than {_MAX_DEPTH} levels deep")
            path.append(name)
        if path[1:] == [b"VEVENT"] or path[1:2] == [b"VTIMEZONE"]:
            lines.append(line)
        if word == b"END":
            if not path or path.pop() != name:
                raise CannotImport(f"line {number} ends what has not begun")
            if len(path) == 1 and lines:
                yield name, begins, _unfolded(lines, begins)
                lines = []
    if path:
        raise CannotImport(f"the file ends in the middle of what begins on line {begins}")


def _is_kept(path: list[bytes], line: bytes) -> bool:
    if path[1:2] == [b"VTIMEZONE"]:
        return True
    return 0 < len(path) <= 2 and path[-1] in _KEPT and _KEPT[path[-1]].match(line) is not None


def _unfolded(lines: list[bytes], begins: int) -> bytes:
    """Lines with those joined that were folded, which counts bytes and may cut through a character."""
    text = re.sub(rb"\r?\n[ \t]", b"", b"".join(lines))
    decoded(text, begins)
    return text
