"""When an event happens again: the rules of RFC 5545, worked out by dateutil, within bounds.

Rules work on the clock of the event's zone, so that nine o'clock stays nine o'clock when the clocks
change. An event without an end is worked out until two years from now; importing again goes on.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from dateutil.rrule import rrule, rrulestr

from ingest.sources.values import BadRecord

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
    rule = _rule(text, first, zone)
    yield first
    count = 1
    for at in rule:
        if at >= until:
            return
        if at == first:
            continue
        count += 1
        if count > MAX_OCCURRENCES:
            raise BadRecord(f"it happens more than {MAX_OCCURRENCES:,} times")
        yield at


def _rule(text: str, first: datetime, zone: tzinfo) -> rrule:
    parts = dict(part.partition("=")[::2] for part in text.upper().strip(";").split(";"))
    if parts.get("FREQ") not in _FREQUENCIES:
        raise BadRecord("it repeats more often than daily" if "LY" in parts.get("FREQ", "") else _NOT_READ)
    if not parts.keys() <= _PARTS:
        raise BadRecord(_NOT_READ)
    _check_possible(parts)
    if "UNTIL" in parts:
        parts["UNTIL"] = _on_the_clock(parts["UNTIL"], zone)
        parts.pop("COUNT", None)
    try:
        return rrulestr(";".join("=".join(pair) for pair in parts.items()), dtstart=first)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise BadRecord(_NOT_READ) from error


_NOT_READ = "the rule by which it repeats cannot be read"


def _check_possible(parts: dict[str, str]) -> None:
    """Refuse what would be looked for until the year 9999 and not found (RFC 5545 forbids most of it)."""
    frequency = parts["FREQ"]
    days, months = _numbers(parts, "BYMONTHDAY"), _numbers(parts, "BYMONTH")
    longest = max((calendar.monthrange(2024, month)[1] for month in months if 1 <= month <= 12), default=31)
    if days and all(abs(day) > longest or day == 0 for day in days):
        raise BadRecord("the rule by which it repeats never comes true")
    if frequency != "YEARLY" and ("BYYEARDAY" in parts or "BYWEEKNO" in parts):
        raise BadRecord(_NOT_READ)
    if "BYMONTH" in parts and ("BYYEARDAY" in parts or "BYWEEKNO" in parts):
        raise BadRecord(_NOT_READ)
    if "BYSETPOS" in parts and frequency in ("DAILY", "WEEKLY"):
        most = 7 if frequency == "WEEKLY" else 1
        if any(abs(place) > most for place in _numbers(parts, "BYSETPOS")):
            raise BadRecord("the rule by which it repeats never comes true")


def _numbers(parts: dict[str, str], name: str) -> list[int]:
    try:
        return [int(part) for part in parts[name].split(",")] if name in parts else []
    except ValueError as error:
        raise BadRecord(_NOT_READ) from error


def _on_the_clock(until: str, zone: tzinfo) -> str:
    """UNTIL as dateutil wants it beside a start without a zone: a local time. It is included."""
    try:
        if until.endswith("Z"):
            at = datetime.strptime(until, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).astimezone(zone)
            return at.strftime("%Y%m%dT%H%M%S")
        return until if "T" in until else f"{until}T235959"
    except (ValueError, OverflowError) as error:
        raise BadRecord(_NOT_READ) from error
