"""Clock times and spans of time, built of the pieces that name them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from assistant.language.time_days import each_of
from assistant.language.time_lexer import Piece
from assistant.language.time_pieces import POINTS, Build, has, made, spans, value_of
from assistant.language.time_said import Clock, Date, Mode, Point, Span


def clock_at(hour: int, minute: int, used: list[Piece], half: str = "", *, is_weak: bool = False) -> Piece:
    clock = Clock(hour or 24 if minute < 0 else hour, minute, half, is_bare=True)
    return made("C", Point(clock=clock), used)._replace(is_weak=is_weak)


def digits(used: list[Piece]) -> Piece:
    """Digits that are a clock time where one is meant: 1430, 14.30."""
    return made("C", used[0].value, used)


def bare_clocks(used: list[Piece]) -> list[Piece]:
    """Whole numbers where clock times are meant, with what stands between them kept."""
    if used[0].kind == "g" and used[0].value != "from":
        return used  # "5 of 3 to 4"
    weak = all(piece.kind in "n@fij" for piece in used)
    made = each_of(used, "n", lambda piece: clock_at(piece.value, 0, [piece], is_weak=weak))
    return [piece._replace(kind="C") if piece.kind == "µ" else piece for piece in made]


def minutes_beside(used: list[Piece], *, is_behind: bool = False) -> Piece | None:
    """ "quarter past nine", "ten to five", 差一刻五点; and behind: 九点三刻, "neuf heures et quart"."""
    hour_at = 0 if is_behind else max(at for at, piece in enumerate(used) if piece.kind in "nC")
    told = used[hour_at]
    clock = Clock(told.value) if told.kind == "n" else told.value.clock
    rest = [piece for at, piece in enumerate(used) if at != hour_at and piece.kind in "nqKV"]
    minutes, is_named = 0, has(used, "u")
    for piece in rest:
        match piece.kind:
            case "q":
                minutes = 30
            case "K":
                minutes = (minutes or 1) * piece.value
            case "V" if piece.value[1] != "minute":
                return None
            case "n" if is_behind and rest == [piece] and piece.end - piece.start == 1 and not is_named:
                return None  # 七点一直: minutes have two signs, or their word
            case _:
                minutes = int(piece.value[0] if piece.kind == "V" else piece.value)
    sign = -1 if has(used, "-" if is_behind else "-<T") else 1
    is_weak = not rest and value_of(used, "k") == ""
    return clock_at(clock.hour, clock.minute + sign * minutes, used, is_weak=is_weak)


minutes_behind = partial(minutes_beside, is_behind=True)


def to_the_hour(used: list[Piece]) -> Piece | None:
    """ "at five to three", um zehn nach acht: with "at" before it this is no range."""
    is_dash = any(piece.kind == "T" and piece.value != "" for piece in used)
    return None if is_dash else minutes_beside(used)


def not_past_midnight(used: list[Piece]) -> Piece | None:
    """ "five to one on Friday", "twenty to six": hours would run past midnight, so these are minutes."""
    first, last = used[0].value, used[2].value
    start = first + 12 if first < 8 else first
    is_past = start > 24 or not any(start < each <= 24 for each in (last, last + 12))
    return to_the_hour(used) if is_past and first % 5 == 0 and first < 30 and 1 <= last <= 12 else None


def spoken(used: list[Piece]) -> Piece | None:
    """ "three forty-five"."""
    hour, minute = used[0].value, used[1].value
    return clock_at(hour, minute, used) if hour <= 24 and 10 <= minute <= 59 else None


def with_half(used: list[Piece]) -> Piece | None:
    clock = Clock(used[0].value, is_bare=True) if used[0].kind == "n" else used[0].value.clock
    return None if clock.half else made("C", Point(clock=replace(clock, half=used[1].value)), used)


def between(used: list[Piece]) -> Piece:
    start, end = [piece for piece in used if piece.kind in POINTS]
    made = spans("range", used, start.value, end.value)
    return made._replace(is_weak=start.is_weak and end.is_weak)


def open_to(mode: Mode) -> Build:
    return lambda used: spans(mode, used, value_of(used, "DPCR"))


def from_on(used: list[Piece]) -> Piece | list[Piece]:
    """ "from 2pm" runs to the end of its day, "from Monday on" up to now; "from Monday" is that day."""
    point, is_since = used[1].value, used[0].value == "since"
    if point.clock:
        return spans("from", used, point)
    if is_since or len(used) > 2:
        return spans("since", used, point)
    return [used[0]._replace(kind="j"), used[1]]


def listed(used: list[Piece]) -> Piece:
    """Several times; what one leaves out of its day it takes from the one before it."""
    spans: list[Span] = []
    for piece in used:
        if piece.kind in "DPCRZ":
            spans += piece.value if piece.kind == "Z" else (Span("point", piece.value),)
    dates = [point.date for span in spans for point in span.points if point.date]
    month = next((each for each in dates if each.month is not None or each.months is not None), Date())
    said = next(iter(dates), None)
    for at, span in enumerate(spans):
        dated = [point.date for point in span.points if point.date]
        point = span.start
        if not dated and span.points and said:
            spans[at] = span.placed(Point(said), is_before=True) or span
        elif span.mode == "point" and point and point.is_day and spans[-1].has_time:
            spans[at] = spans[-1].on(point.date)  # "Monday and Tuesday from 9 to 11"
        elif span.mode == "point" and point and point.date and point.date.day is not None:
            # "the 5th, 7th and 9th of last month"
            spans[at] = replace(span, start=replace(point, date=point.date.completed(month)))
        said = dated[-1] if dated else said
    return made("Z", tuple(spans), used)
