"""When an event happens again: the rules of RFC 5545, worked out by dateutil, within bounds.

Rules work on the clock of the event's zone, so that nine o'clock stays nine o'clock when the clocks
change. An event without an end is worked out until two years from now; importing again goes on.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from dateutil.rrule import rrule, rrulestr

from ingest.importers.sources.values import BadRecord

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
