"""What digits are by their form, in a text about times: a date, a clock time, a year or a number."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from babel import Locale

from assistant.language.time_said import Clock, Date, Point
from assistant.language.time_tables import LATIN

_SHAPES = tuple(
    (kind, re.compile(shape))
    for kind, shape in (
        ("D", r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})"),
        ("D", r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4}|\d{2})?"),
        ("/", r"(?P<d>\d{1,2})/(?P<m>\d{1,2})(?:/(?P<y>\d{4}|\d{2}))?"),
        ("/", r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<y>\d{4}|\d{2})"),
        ("/", r"(?P<m>\d{1,2})/(?P<y>\d{4})"),
        ("y", r"'(?P<y>\d{2})"),
        ("C", r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::\d{2})?(?:(?P<half>[ap]\.?m)?|h)"),
        ("C", r"(?P<h>\d{1,2})(?P<half>[ap]\.?m)"),
        ("C", r"(?P<h>\d{1,2})\.(?P<min>\d{2})(?P<half>[ap]\.?m)"),
        ("C", r"(?P<h>\d{1,2})h(?P<min>\d{2})?"),
        ("µ", r"(?P<h>\d{1,2})\.(?P<min>\d{2})"),
        ("q", r"\d+\.\d+"),
        ("o", r"(?P<d>\d{1,2})(?:st|nd|rd|th|er|o|\.)"),
        ("Q", r"q(?P<q>[1-4])"),
        ("n", r"\d+"),
    )
)


@lru_cache(maxsize=512)
def shape_of(chunk: str, language: str) -> tuple[str, Any] | None:
    """(kind, value) of what digits are by their form."""
    if not chunk[:1].isdigit() and chunk[:1] not in ("q", "'"):
        return None
    for kind, pattern in _SHAPES:
        found = pattern.fullmatch(chunk)
        is_german = kind == "o" and chunk[-1] == "."  # 7. September
        is_french = kind == "C" and chunk[-1] == "h"  # 14h
        if found and not ((is_german and language in ("en", "fr", "es")) or (is_french and language == "en")):
            if (
                kind == "µ"
                and _dots_dates(language)
                and len(found["min"]) == 2
                and 0 < int(found["min"]) <= 12
            ):
                kind, found = "D", re.fullmatch(r"(?P<d>\d{2})\.(?P<m>\d{2})", chunk) or found
            return _read_shape(kind, found, language)
    return None


@cache
def _dots_dates(language: str) -> bool:
    """Whether a language parts dates by full stops and clock times by colons."""
    if language in LATIN:
        return False
    locale = Locale(language)
    return "." in locale.date_formats["short"].pattern and ":" in locale.time_formats["short"].pattern


def _read_shape(kind: str, found: re.Match[str], language: str) -> tuple[str, Any]:
    written = {name: digits for name, digits in found.groupdict().items() if digits}
    part = {name: int(digits) for name, digits in written.items() if digits.isdigit()}
    if "y" in part:
        part["y"] += 2000 if part["y"] < 100 else 0
    if "m" in part:
        # Elsewhere nobody writes the month first; Han is read beside English.
        is_slash = (kind == "/" and "d" in part and language == "en") or None
        return kind, Point(Date(year=part.get("y"), month=part["m"], day=part.get("d"), is_slash=is_slash))
    if "h" in part:
        is_written = "min" in part and (len(written["h"]) == 2 or "h" in found[0])
        half = written.get("half", "").replace(".", "")
        return kind, Point(clock=Clock(part["h"], part.get("min", 0), half, is_bare=not is_written))
    if kind == "q":
        return kind, float(found[0])
    if kind != "n":
        return kind, next(iter(part.values()))
    number = int(found[0][:9])
    if len(found[0]) == 4:
        is_year = 1970 < number < 2200
        return ("y", number) if is_year else ("4", Point(clock=Clock(number // 100, number % 100)))
    return kind, number
