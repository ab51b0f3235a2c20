"""The values that records are made of, and how each is refused: times, positions, texts."""

from __future__ import annotations

import math
import re
from datetime import datetime, tzinfo

from ingest.importers.sources.source_file import Options

MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 1_000
CUT = " [truncated]"

EARLIEST_MS = 86_400_000
"""1970-01-02: what is earlier is a time that was never set."""
LATEST_MS = 4_102_444_800_000
"""2100-01-01."""
_AHEAD_MS = 86_400_000
"""How far the clock of another device may be ahead."""

_DIGITS = re.compile(r"-?\d{1,20}(\.\d{1,9})?", re.ASCII)
_NUMBER = re.compile(r"\s*-?\d{1,20}(\.\d{1,30})?([eE][-+]?\d{1,3})?\s*", re.ASCII)


class BadRecord(ValueError):
    """One record that cannot be taken; the message says why and quotes nothing private."""


def text_of(value: object, limit: int = MAX_TEXT_CHARS) -> str:
    """A text as it can be stored; one that is far too long is cut, and says so."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRecord("a text is no text")
    if "\0" in value:
        raise BadRecord("it holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadRecord("it is not valid Unicode") from error
    return value if len(value) <= limit else value[: limit - len(CUT)] + CUT


def name_of(value: object) -> str:
    """A name on one line."""
    return " ".join(text_of(value, MAX_NAME_CHARS).split())


# -- times --------------------------------------------------------------------------------


def sensible_ms(at_ms: float) -> int:
    """A time between 1970 and 2100, or `BadRecord`."""
    if not math.isfinite(at_ms) or not EARLIEST_MS <= at_ms < LATEST_MS:
        raise BadRecord("its time is not between 1970 and 2100")
    return round(at_ms)


def past_ms(at_ms: float, options: Options) -> int:
    """A time that has come, or `BadRecord`: messages and positions are not of the future."""
    found = sensible_ms(at_ms)
    if found > options.now_ms + _AHEAD_MS:
        raise BadRecord("its time lies in the future")
    return found


def parse_number(value: object, what: str) -> float:
    """A finite number, or `BadRecord`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadRecord(f"{what} is no number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise BadRecord(f"{what} is no number")
    found = float(value)
    if not math.isfinite(found):
        raise BadRecord(f"{what} is no number")
    return found


def optional_number(value: object) -> float | None:
    """A number where there is a sensible one; what is beside the point of a record does not spoil it."""
    try:
        return None if value in (None, "") else parse_number(value, "it")
    except BadRecord:
        return None


def written_ms(text: str, zone: tzinfo) -> float:
    """Epoch milliseconds of ISO 8601 text (in `zone` where it names none), epoch seconds, or milliseconds.

    Ten digits are seconds and thirteen milliseconds, as everywhere between 2001 and 2286.
    """
    text = text.strip()
    if _DIGITS.fullmatch(text):
        whole = len(text.lstrip("-").partition(".")[0])
        if whole not in (9, 10, 13):
            raise BadRecord("its time is neither seconds nor milliseconds")
        return float(text) * (1 if whole == 13 else 1000)
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadRecord("its time cannot be read; use 2026-11-21T14:00:00 or epoch seconds") from error
    return local_ms(at, zone)


def local_ms(at: datetime, zone: tzinfo) -> float:
    """Epoch milliseconds of a moment, of the first of two where a clock was set back."""
    try:
        return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000
    except (OverflowError, ValueError) as error:
        raise BadRecord("its time is not between 1970 and 2100") from error


# -- positions ----------------------------------------------------------------------------

_DEGREES = r"\s*(-?\d{1,3}(?:\.\d{1,20})?)\s*°?\s*"
_PAIR = re.compile(rf"(?:geo:)?{_DEGREES},{_DEGREES}", re.ASCII)


def position(latitude: object, longitude: object) -> tuple[float, float]:
    """(latitude, longitude) in degrees, WGS 84, or `BadRecord` off the globe."""
    north, east = parse_number(latitude, "latitude"), parse_number(longitude, "longitude")
    if not (-90 <= north <= 90 and -180 <= east <= 180):
        raise BadRecord("its position is not on the globe")
    return north, east


def position_written(text: object) -> tuple[float, float]:
    """A position as one text: ``48.137154°, 11.576124°`` or ``geo:48.137154,11.576124`` (RFC 5870)."""
    found = _PAIR.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise BadRecord("its position cannot be read")
    return position(found[1], found[2])
