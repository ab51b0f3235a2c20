"""Clock times of a phrase in minutes after midnight: am and pm, 下午 and 晚上, and what ends share.

"9-11am" is in the morning at both ends, "11-2pm" begins before noon; 晚上12点 is midnight. What no
clock shows is refused, never rolled over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assistant.language.time_words import EVENING, Clock, Part

Problem = Literal["unrecognised", "future", "no_such_date", "no_such_time"]


@dataclass(frozen=True, slots=True)
class Times:
    """Minutes after midnight; beyond 1440 is the next day. Without an end, a moment."""

    start_min: int
    end_min: int | None
    is_part_of_day: bool = False


class Refused(Exception):
    """Understood, and not possible."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def clock_range(
    first: Clock, part: Part | None, last: Clock, last_part: Part | None, is_named: bool
) -> Times:
    """Both ends in minutes. What one end leaves open it shares with the other, if that makes sense."""
    end = minute_of(last, last_part)
    start = minute_of(first, part)
    if last.half and not first.half and not first.is_han:
        shared = (
            minute_of(Clock(first.hour, first.minute, last.half), None) if 1 <= first.hour <= 12 else start
        )
        start = shared if shared <= end else start
    elif first.half and not last.half and end <= start:
        later = (
            minute_of(Clock(last.hour, last.minute, half), None)
            for half in ("am", "pm")
            if 1 <= last.hour <= 12
        )
        end = next((each for each in later if each > start), end)
    elif last_part and not is_named and end <= start and last.hour < 12 and not last_part.adds_twelve:
        end += 720 if end + 720 > start else 0
    if end == start:
        raise Refused("no_such_time")
    return Times(start, end if end > start else end + 1440)


def minute_of(clock: Clock, part: Part | None) -> int:
    """Minutes after midnight. Raises `Refused` for what no clock shows."""
    hour, minute = clock.hour, clock.minute
    if minute > 59 or hour > 24 or (hour == 24 and minute) or (clock.half and not 1 <= hour <= 12):
        raise Refused("no_such_time")
    if clock.half:
        return (hour % 12 + (12 if clock.half == "pm" else 0)) * 60 + minute
    return (hour + _shift(hour, part)) * 60 + minute


def _shift(hour: int, part: Part | None) -> int:
    """Hours that a part of the day adds to the hour said with it."""
    if part is None:
        return 0
    if part.end_min <= 360:  # 凌晨12点
        return -12 if hour == 12 else 0
    if part.start_min >= EVENING.start_min and (hour == 12 or hour < 5):  # 晚上12点, 深夜1点
        return 12 if hour == 12 else 24
    is_after_noon = part.adds_twelve or (part.end_min == 780 and hour < 5)  # 中午1点
    return 12 if is_after_noon and hour < 12 else 0
