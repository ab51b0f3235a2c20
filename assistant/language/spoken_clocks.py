"""Clock times in words, as digits: "half past two", "a quarter to six in the evening", "noon".

Without a part of the day nobody knows which half of it is meant: such a time is marked with ``EITHER``
and stands for both.
"""

from __future__ import annotations

import re

EITHER = "\u2248"
"""Behind a time of the twelve-hour clock that does not say which half of the day it is in."""

_HOUR = r"(?P<hour>1[0-2]|[1-9]|one)"  # "one" stays a word where it counts nothing
_PART = r"(?:\s+(?:in\s+the\s+|at\s+)(?P<part>morning|afternoon|evening|night))?"
_PAST = re.compile(
    rf"\b(?P<minutes>half|(?:a\s+)?quarter|\d{{1,2}}(?:\s+min(?:ute)?s?)?)\s+(?P<way>past|to)\s+{_HOUR}\b(?![:.,]\d){_PART}",
    re.IGNORECASE,
)
_SHARP = re.compile(
    rf"\b{_HOUR}(?P<minutes>:[0-5]\d)?(?:\s*o['\u2019]clock)?\s+(?:in\s+the\s+|at\s+)(?P<part>morning|afternoon|evening|night)\b"
    rf"|\b(?P<bare>1[0-2]|[1-9]|one)\s*o['\u2019]clock\b",
    re.IGNORECASE,
)
_NOON = re.compile(r"\b(?:noon|midday)\b|正午", re.IGNORECASE)
_MIDNIGHT = re.compile(r"\bmidnight\b|午夜|半夜十二点", re.IGNORECASE)


def in_clock_digits(digits: str) -> str:
    """The text, whose numbers are in digits, with its clock times in words as ``14:30``."""
    text = _MIDNIGHT.sub("0:00", _NOON.sub("12:00", digits))
    return _SHARP.sub(_sharp, _PAST.sub(_past, text))


def _past(found: re.Match[str]) -> str:
    minutes = found["minutes"].lower()
    past = 30 if minutes == "half" else 15 if "quarter" in minutes else int(minutes.split()[0])
    if past > 59 or (found["way"].lower() == "to" and minutes == "half"):
        return found[0]
    hour = _number(found["hour"])
    if found["way"].lower() == "to":
        hour, past = (hour - 1) or 12, 60 - past
    return _told(hour, past, found["part"])


def _sharp(found: re.Match[str]) -> str:
    if found["bare"]:
        return _told(_number(found["bare"]), 0, None)
    return _told(_number(found["hour"]), int((found["minutes"] or ":00")[1:]), found["part"])


def _told(hour: int, minutes: int, part: str | None) -> str:
    if part is None:
        return f"{hour}:{minutes:02}{EITHER}"
    is_late = part.lower() in ("afternoon", "evening") or (part.lower() == "night" and 5 < hour < 12)
    hour = hour % 12 + 12 * is_late
    return f"{hour}:{minutes:02}"


def _number(hour: str) -> int:
    return 1 if hour.lower() == "one" else int(hour)
