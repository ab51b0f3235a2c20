"""Times at the doors: epoch seconds and RFC 3339 together, so that no reader has to guess a zone.

A written time must carry its zone: "today" read in UTC is the oldest mistake of such tools
(lesson SEC-14).
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo

from assistant.read_api.errors import ReadRefused
from store.core.times import MAX_EPOCH_SECONDS, to_ms


def rfc3339(ms: int, zone: tzinfo | None = None) -> str:
    """``2026-11-20T13:00:00+01:00`` on this machine's clock, or on that of `zone`."""
    at = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone)
    return at.isoformat(timespec="milliseconds" if ms % 1000 else "seconds")


def parse(value: float | str, name: str) -> int:
    """Epoch milliseconds of epoch seconds or of an RFC 3339 time with its zone. Raises `Refused`."""
    try:
        seconds = float(value)
    except ValueError:
        return to_ms(_written(str(value), name).timestamp())
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_EPOCH_SECONDS:
        raise _bad(value, name)
    return to_ms(seconds)


def _written(text: str, name: str) -> datetime:
    try:
        at = datetime.fromisoformat(text.strip())
        is_in_range = at.tzinfo is not None and 0 <= at.timestamp() <= MAX_EPOCH_SECONDS
    except (ValueError, OverflowError) as error:
        raise _bad(text, name) from error
    if not is_in_range:
        raise _bad(text, name)
    return at


def _bad(value: object, name: str) -> ReadRefused:
    example = "2026-11-20T13:00:00+01:00 (the zone is needed) or epoch seconds"
    return ReadRefused("invalid", f"{name} must be like {example}, not {str(value)[:40]!r}")


def span(start: float | str | None, end: float | str | None, now_ms: int) -> tuple[int, int]:
    """``[start, end)`` in milliseconds: from the beginning where no start is given, up to now."""
    start_ms = 0 if start is None else parse(start, "start")
    end_ms = now_ms + 1 if end is None else parse(end, "end")
    if end_ms <= start_ms:
        raise ReadRefused("invalid", "end must be later than start")
    return start_ms, end_ms
