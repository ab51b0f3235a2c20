"""Calendars in iCalendar files (RFC 5545): a record for each time an event takes place.

An event that repeats is worked out (`recurrence`); an occurrence that was moved or changed stands in an
event of its own with RECURRENCE-ID, and takes the place of the one it changes. So events that repeat are
kept until the file was read to its end; the others pass straight through.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from dateutil.rrule import rrule, rrulestr

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.ics_parser import (
    Component,
    Moment,
    Property,
    Zones,
    components,
    duration,
    moments,
)
from ingest.importers.sources.source_file import (
    EARLIEST_MS,
    MAX_NAME_CHARS,
    BadRecord,
    Options,
    Source,
    local_ms,
    made,
    name_of,
    sensible_ms,
    text_of,
)
from store.sources.calendars import EventRecord

_EVENT = frozenset(
    {
        "UID", "DTSTART", "DTEND", "DURATION", "SUMMARY", "DESCRIPTION", "LOCATION", "ATTENDEE", "STATUS",
        "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID",
    }
)  # fmt: skip
_CALENDAR = frozenset({"X-WR-CALNAME", "NAME", "X-WR-TIMEZONE"})
_MAX_REPEATING = 50_000
_MAX_CHANGED = 200_000
_MAX_OCCURRENCES = 2_000_000
_MAX_NEVER = 20
_MAX_ATTENDEES = 100
_MAX_DATES = 5_000


@dataclass(frozen=True, slots=True)
class _Event:
    """An event as it was read, before it is worked out."""

    record: EventRecord  # with the times of its first occurrence
    start: Moment
    length: timedelta
    rule: str
    more: tuple[Moment, ...]
    without: frozenset[int]
    line: int


def read(source: Source, options: Options) -> Iterator[EventRecord | Skipped]:
    zones = Zones(options.zone)
    calendar = ""
    repeating: list[_Event] = []
    changed: set[tuple[str, int]] = set()
    has_any = False
    for component in components(source, _EVENT, _CALENDAR):
        if component.name == "VTIMEZONE":
            zones.describe(component.source)
            continue
        if component.name == "VCALENDAR":
            found = component.properties[0]
            if found.name == "X-WR-TIMEZONE":
                zones.prefer(found.value)
            else:
                calendar = calendar or name_of(found.text()[:MAX_NAME_CHARS])
            continue
        has_any = True
        where = f"line {component.line}"
        event = made(where, _event, component, calendar, zones, changed)
        if isinstance(event, Skipped):
            yield event
        elif event.rule or event.more:
            repeating.append(event)
            if len(repeating) > _MAX_REPEATING or len(changed) > _MAX_CHANGED:
                raise CannotImport(f"more than {_MAX_REPEATING:,} of its events repeat")
        else:
            yield made(where, _checked, event.record)
    if not has_any:
        raise CannotImport("there are no events in it")
    yield from _occurrences(repeating, changed, options)


def _occurrences(
    repeating: list[_Event], changed: set[tuple[str, int]], options: Options
) -> Iterator[EventRecord | Skipped]:
    total = never = 0
    for event in repeating:
        try:
            for record in _worked_out(event, changed, options):
                total += 1
                if total > _MAX_OCCURRENCES:
                    raise CannotImport(f"its events take place more than {_MAX_OCCURRENCES:,} times")
                yield record
        except BadRecord as error:
            never += str(error) == NEVER
            if never > _MAX_NEVER:  # each takes a second or two to find out
                raise CannotImport(f"more than {_MAX_NEVER} of its rules never come true") from error
            yield Skipped(f"line {event.line}", str(error))


def _worked_out(event: _Event, changed: set[tuple[str, int]], options: Options) -> list[EventRecord]:
    zone = event.start.zone
    until = datetime.fromtimestamp(options.now_ms / 1000, zone).replace(tzinfo=None) + AHEAD
    found = list(starts(event.rule, event.start.local, zone, until)) if event.rule else [event.start.local]
    found += [_on_clock(moment, zone) for moment in event.more]
    records: list[EventRecord] = []
    for local in dict.fromkeys(found):
        start_ms = round(local_ms(local, zone))
        uid = event.record.uid
        if start_ms < EARLIEST_MS or start_ms in event.without or (uid and (uid, start_ms) in changed):
            continue
        end = _end_ms(local, event.length, zone, event.start.is_date)
        records.append(
            _checked(replace(event.record, start_ms=start_ms, end_ms=end, recurrence=str(start_ms)))
        )
    return records


def _on_clock(moment: Moment, zone: tzinfo) -> datetime:
    if moment.zone is zone:
        return moment.local
    return moment.local.replace(tzinfo=moment.zone).astimezone(zone).replace(tzinfo=None)


# -- one event ----------------------------------------------------------------------------


def _event(component: Component, calendar: str, zones: Zones, changed: set[tuple[str, int]]) -> _Event:
    begin = component.first("DTSTART")
    if begin is None:
        raise BadRecord("it has no start")
    start = moments(begin, zones)[0]
    length = _length(component, start, zones)
    uid = text_of(_text(component, "UID"), MAX_NAME_CHARS)
    rule = component.first("RRULE")
    recurrence = ""
    if changes := component.first("RECURRENCE-ID"):
        if changes.parameters.get("RANGE", "").upper() == "THISANDFUTURE":
            raise BadRecord("it changes all that come after it (THISANDFUTURE), which is not read")
        original_ms = round(moments(changes, zones)[0].at_ms())
        changed.add((uid, original_ms))
        recurrence = str(original_ms)
    status = _text(component, "STATUS").strip().lower()
    if recurrence and status == "cancelled":
        raise BadRecord("this occurrence was cancelled")
    record = EventRecord(
        title=name_of(_text(component, "SUMMARY")),
        start_ms=round(start.at_ms()),
        end_ms=_end_ms(start.local, length, start.zone, start.is_date),
        uid=uid,
        recurrence=recurrence,
        calendar=calendar,
        description=text_of(_text(component, "DESCRIPTION")),
        location=name_of(_text(component, "LOCATION")),
        attendees=tuple(_person(each) for each in component.every("ATTENDEE")[:_MAX_ATTENDEES]),
        is_all_day=start.is_date,
        status=status if status in ("confirmed", "tentative", "cancelled") else "",
    )
    repeats = rule is not None and not recurrence
    return _Event(
        record,
        start,
        length,
        rule.value if rule and repeats else "",
        _dates(component, "RDATE", zones) if not recurrence else (),
        frozenset(round(each.at_ms()) for each in _dates(component, "EXDATE", zones)),
        component.line,
    )


def _dates(component: Component, name: str, zones: Zones) -> tuple[Moment, ...]:
    found = [each for listed in component.every(name) for each in moments(listed, zones)]
    if len(found) > _MAX_DATES:
        raise BadRecord(f"it lists more than {_MAX_DATES:,} dates")
    return tuple(found)


def _length(component: Component, start: Moment, zones: Zones) -> timedelta:
    """How long it lasts: on the clock for whole days, else in time that passes."""
    if ending := component.first("DTEND"):
        end = moments(ending, zones)[0]
        if start.is_date and end.is_date:
            length = end.local - start.local
        else:
            length = timedelta(milliseconds=end.at_ms() - start.at_ms())
        if length < timedelta(0):
            raise BadRecord("it ends before it begins")
        return length
    if lasting := component.first("DURATION"):
        return duration(lasting.value)
    return timedelta(days=1) if start.is_date else timedelta(0)


def _end_ms(local: datetime, length: timedelta, zone: tzinfo, is_date: bool) -> int:
    try:
        if is_date:
            return round(local_ms(local + length, zone))
        return round(local_ms(local, zone)) + round(length / timedelta(milliseconds=1))
    except OverflowError as error:
        raise BadRecord("its time is not between 1970 and 2100") from error


def _checked(record: EventRecord) -> EventRecord:
    sensible_ms(record.start_ms)
    sensible_ms(record.end_ms)
    return record


def _text(component: Component, name: str) -> str:
    found = component.first(name)
    return "" if found is None else found.text()


def _person(found: Property) -> str:
    return name_of(found.parameters.get("CN") or found.value.removeprefix("mailto:").removeprefix("MAILTO:"))


# ---- recurrence
# When an event happens again: the rules of RFC 5545, worked out by dateutil, within bounds.
#
# Rules work on the clock of the event's zone, so that nine o'clock stays nine o'clock when the clocks
# change. An event without an end is worked out until two years from now; importing again goes on.

AHEAD = timedelta(days=731)
MAX_OCCURRENCES = 20_000
"""Every day of 54 years."""
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_PARTS = frozenset(
    {
        "FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO",
        "BYMONTH", "BYSETPOS", "BYHOUR", "BYMINUTE", "BYSECOND",
    }
)  # fmt: skip


def starts(text: str, first: datetime, zone: tzinfo, until: datetime) -> Iterator[datetime]:
    """Starts after a rule, on the clock of `zone`, from `first` on and before `until`, earliest first.

    `first` is one of them whatever the rule says. Raises `BadRecord` for a rule that is none, that
    cannot ever come true, and for one that has more than `MAX_OCCURRENCES`.
    """
    parts = _parts(text)
    last = _last(parts.pop("UNTIL", None), zone)
    most = int(parts.pop("COUNT", MAX_OCCURRENCES + 1))
    yield first
    # Neither UNTIL nor COUNT is left to dateutil: then a rule that ends is one that ran to the year 9999.
    for count, at in enumerate(_rule(parts, first), 1):
        if at >= until or at > last:
            return
        if count > MAX_OCCURRENCES:
            raise BadRecord(f"it happens more than {MAX_OCCURRENCES:,} times")
        if at != first:
            yield at
        if count >= most:
            return
    raise BadRecord(NEVER)


def _parts(text: str) -> dict[str, str]:
    parts = dict(part.partition("=")[::2] for part in text.upper().strip(";").split(";"))
    if parts.get("FREQ") not in _FREQUENCIES:
        raise BadRecord("it repeats more often than daily" if "LY" in parts.get("FREQ", "") else _NOT_READ)
    whole = (parts.get("INTERVAL", "1"), parts.get("COUNT", "1"))
    if not parts.keys() <= _PARTS or any(not _COUNT.fullmatch(each) for each in whole):
        raise BadRecord(_NOT_READ)
    _check_possible(parts)
    return parts


def _rule(parts: dict[str, str], first: datetime) -> rrule:
    try:
        return rrulestr(";".join("=".join(pair) for pair in parts.items()), dtstart=first)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise BadRecord(_NOT_READ) from error


NEVER = "the rule by which it repeats never comes true"
# Zero would keep dateutil busy for ever.
_COUNT = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)
_NOT_READ = "the rule by which it repeats cannot be read"


def _check_possible(parts: dict[str, str]) -> None:
    """Refuse what would be looked for until the year 9999 and not found (RFC 5545 forbids most of it)."""
    frequency = parts["FREQ"]
    days, months = _numbers(parts, "BYMONTHDAY"), _numbers(parts, "BYMONTH")
    if any(not 1 <= month <= 12 for month in months):
        raise BadRecord(_NOT_READ)
    longest = max((calendar.monthrange(2024, month)[1] for month in months), default=31)
    if days and all(abs(day) > longest or day == 0 for day in days):
        raise BadRecord(NEVER)
    if frequency != "YEARLY" and ("BYYEARDAY" in parts or "BYWEEKNO" in parts):
        raise BadRecord(_NOT_READ)
    if "BYMONTH" in parts and ("BYYEARDAY" in parts or "BYWEEKNO" in parts):
        raise BadRecord(_NOT_READ)
    if "BYSETPOS" in parts and frequency in ("DAILY", "WEEKLY"):
        most = 7 if frequency == "WEEKLY" else 1
        if any(abs(place) > most for place in _numbers(parts, "BYSETPOS")):
            raise BadRecord(NEVER)


def _numbers(parts: dict[str, str], name: str) -> list[int]:
    try:
        return [int(part) for part in parts[name].split(",")] if name in parts else []
    except ValueError as error:
        raise BadRecord(_NOT_READ) from error


def _last(until: str | None, zone: tzinfo) -> datetime:
    """UNTIL, which is included, on the clock of `zone`."""
    if until is None:
        return datetime.max
    try:
        if until.endswith("Z"):
            at = datetime.strptime(until, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            return at.astimezone(zone).replace(tzinfo=None)
        return datetime.strptime(until if "T" in until else f"{until}T235959", "%Y%m%dT%H%M%S")
    except (ValueError, OverflowError) as error:
        raise BadRecord(_NOT_READ) from error
