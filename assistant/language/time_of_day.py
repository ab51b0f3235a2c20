"""Clock times and parts of the day in minutes after midnight; ends of a range tell each other's half."""

from __future__ import annotations

from assistant.language.time_said import Clock, Part, Point, Refused


def minute_of(clock: Clock, part: Part | None) -> int:
    """Minutes after midnight. Raises `Refused` for what no clock shows."""
    if clock.minute > 59 or clock.at > 1440 or (clock.half and not 1 <= clock.hour <= 12):
        raise Refused("no_such_time")
    if clock.half:
        return clock.at % 720 + (720 if clock.half == "pm" else 0)
    if part and clock.hour <= 12:
        return (clock.at - part.clock_min) % 720 + part.clock_min
    return clock.at + 720 if clock.is_bare and 1 <= clock.hour <= 7 else clock.at


def is_fixed(point: Point) -> bool:
    """Whether a time of day says in which half of the day it lies."""
    clock = point.clock
    return clock is None or bool(point.part or clock.half or not clock.is_bare or clock.hour > 12)


def ends_of(start: Point, end: Point) -> tuple[int, int]:
    """Both ends of a range in minutes; what one leaves open follows from the other."""
    first, last = edge_of(start, is_end=False), edge_of(end, is_end=True)
    if not is_fixed(end):
        last = first + ((last - first) % 720 or 720)
    elif not is_fixed(start):
        last += 0 if first % 720 < last else 1440
        first = last - ((last - first) % 720 or 720)
    elif last < first:
        last += 1440
    if last == first:
        raise Refused("no_such_time")
    return first, last


def edge_of(point: Point, *, is_end: bool) -> int:
    if point.clock is None:
        assert point.part
        opens_closes = bounds_of(point) if point.half else (point.part.opens, point.part.closes)
        return opens_closes[is_end]
    if point.clock.is_midnight and (is_end or point.part):
        return 1440
    return minute_of(point.clock, point.part)


def bounds_of(point: Point) -> tuple[int, int]:
    """A part of the day in minutes, or its early or late half."""
    assert point.part
    start, end = point.part.start_min, point.part.end_min
    middle = (start + end) // 2
    return (middle if point.half == "late" else start), (middle if point.half == "early" else end)
