"""Amounts of time and days, built of the pieces that name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from assistant.language.time_lexer import Piece
from assistant.language.time_pieces import (
    Build,
    has,
    is_noun_behind,
    kind_of,
    made,
    merged,
    spans,
    value_of,
)
from assistant.language.time_said import Date, Point


def as_unit(unit: str) -> Build:
    return lambda used: [*used[:-1], used[-1]._replace(kind="U", value=unit)]


def amount(used: list[Piece]) -> Piece | None:
    """ "two and a half hours", "three quarters of an hour", "an hour and a quarter", 一个半小时."""
    at = next(index for index, piece in enumerate(used) if piece.kind == "U")
    unit, before = used[at].value, used[:at]
    count = float(sum(abs(piece.value) for piece in used if piece.kind in "nq"))
    if has(used, "K"):
        count = count / 4 if has(before, "n") and not has(used, "&") else count + 0.25
    count += not has(before, "nqK") and has(used, "1qK")
    for whole, part, size in (("year", "month", 12), ("month", "day", 30)):
        if unit == whole and not count.is_integer():
            unit, count = part, count * size
    return made("V", (count, unit), used) if count else None


def ahead(used: list[Piece]) -> Piece:
    return spans("ahead", used)


def rolling(used: list[Piece]) -> Piece | None:
    amount, unit = value_of(used, "V") or (float(value_of(used, "n") or 1), value_of(used, "U"))
    return None if unit == "weekend" else spans("rolling", used, amount=amount, unit=unit)


def ago(used: list[Piece], sign: int = 1) -> Piece | None:
    """So long before now, or with the other `sign` after it."""
    amount, unit = value_of(used, "V") or (1.0, value_of(used, "U"))
    if unit in ("second", "minute", "hour", "quarter_hour"):
        return spans("ago" if sign > 0 else "ahead", used, amount=amount, unit=unit)
    if not float(amount).is_integer() or not amount < 10_000:
        return None
    count = sign * int(amount)
    if unit in ("week", "fortnight"):
        return day(used, weeks=count * (2 if unit == "fortnight" else 1), size="ago")
    return day(used, **{f"{unit}s": count}) if unit in ("day", "month", "year") else None


def day(used: list[Piece], **said: Any) -> Piece:
    return made("D", Point(Date(**said)), used)


def back(used: list[Piece]) -> Piece | None:
    """ "last week", "this Friday", "the month before last", 上上周五, "next year"."""
    counts = {"b": 1, "p": 1, "<": 1, "N": -1}
    count = sum(piece.value if piece.kind in "lL" else counts.get(piece.kind, 0) for piece in used)
    weekday, unit = value_of(used, "W"), value_of(used, "Ums")
    if weekday is not None and count == 1 and has(used, "lLp"):
        return day(used, weekday=weekday, is_last=True)
    match unit:
        case "week" | None:
            return day(used, weekday=weekday, weeks=count)
        case "month" | "":
            return day(used, months=count)
        case "year":
            return day(used, years=count)
        case "weekend":
            return day(used, weeks=count, size="weekend")
        case "second" | "minute" | "quarter_hour" | "hour" | "fortnight" if count == 1:
            return rolling(used)
        case "quarter":
            return day(used, months=3 * count, size="quarter")
    return None


def this_part(used: list[Piece]) -> Piece | None:
    """ "this morning", "letzte Nacht"."""
    days = value_of(used, "lL") or 0
    return made("R", Point(Date(days=days), part=value_of(used, "P").part), used) if days < 2 else None


def written(used: list[Piece]) -> Piece | None:
    """A month, its day, its year, or its second or last Tuesday."""
    names = {"M": "month", "n": "day", "o": "day", "y": "year", "W": "weekday"}
    said: Date | None = Date()
    for piece in used:
        if piece.kind == "o" and has(used, "W"):
            part = Date(nth=piece.value)
        elif piece.kind in names:
            part = Date(**{names[piece.kind]: piece.value})
        else:
            part = piece.value.date if piece.kind == "D" else Date(is_last=True)
        said = said and said.merged(part)
    if not said or said.days is not None or (said.month is None and said.months is None):
        return None
    is_weak = any(piece.is_weak for piece in used if piece.kind == "M")
    return made("D", Point(said), used)._replace(is_weak=is_weak)


def each_of(used: list[Piece], kinds: str, make: Callable[[Piece], Piece]) -> list[Piece]:
    """What is made of the pieces of some kinds, with what stands between them kept.

    Behind "from", the word for "at" means "to": "du 2 au 5", "de 14h à 16h".
    """
    is_from = used[0].kind in "Fg"
    kept = [p._replace(kind="T", value="") if is_from and p.kind == "@" else p for p in used]
    return [make(piece) if piece.kind in kinds else piece for piece in kept]


def month(used: list[Piece]) -> list[Piece] | None:
    """Months that stand for themselves."""
    if len(used) == 1 and used[0].is_weak:
        return None
    if any(piece.kind == "N" or piece.value == -1 for piece in used):
        return [ahead(used)]
    return each_of(used, "M", lambda piece: day([piece], month=piece.value))


def as_days(used: list[Piece]) -> list[Piece]:
    return each_of(used, "no", lambda piece: day([piece], day=piece.value))


def numbered_days(used: list[Piece]) -> list[Piece] | None:
    """ "5 to 9 October", "Oct 5-7": numbers beside a written date are days of its month."""
    dates = [piece.value.date for piece in used if piece.kind == "D"]
    is_written = all(said.day is not None and (said.month or said.months) is not None for said in dates)
    return as_days(used) if is_written else None


def numbered(used: list[Piece]) -> Piece | None:
    """ "le 12", "miércoles 7"."""
    number, weekday = used[1].value, value_of(used, "W")
    if not 1 <= number <= 31 or (weekday is None and used[0].value != "day"):
        return None
    return day(used, weekday=weekday, day=number)


def day_of(used: list[Piece]) -> Piece | None:
    """ "lundi de la semaine dernière", "le soir du 3": but not "last week from Monday"."""
    is_from = used[0].kind == "D" and used[1].value != "of"
    return None if is_from else merged([used[0], used[2]])


def third(used: list[Piece]) -> Piece | None:
    """ "early March", "Ende letzten Monats": ten days of a month, and what is left of it at its end."""
    said, third = value_of(used, "D").date, value_of(used, "8r").rpartition("/")[2]
    is_month = (said.month is not None or said.months is not None) and said.day is said.weekday is said.size
    return made("D", Point(replace(said, size=third)), used) if is_month and is_named(used) else None


def half(used: list[Piece]) -> Piece | None:
    """ "late evening", "mattina presto"."""
    point = value_of(used, "PR")
    return made(kind_of(point), replace(point, half=value_of(used, "r")), used) if point.part else None


def the_day(used: list[Piece]) -> Piece | None:
    """ "dia 3/2", "el día 3": the word for a day before its number tells nothing more."""
    return used[0]._replace(kind="f", value="day") if used[0].value == "day" else None


def week_number(used: list[Piece]) -> Piece | None:
    """ "week 6 2027", KW 6, 第六周."""
    number = value_of(used, "n")
    is_week = value_of(used, "U") == "week" and 1 <= number <= 53
    return day(used, nth=number, size="week", year=value_of(used, "y")) if is_week else None


def is_named(used: list[Piece]) -> bool:
    """Whether a stretch stands behind the word for its end: not "when did it end today"."""
    return not str(value_of(used, "8")).startswith("of") or has(used, "gF")


def unit_of(used: list[Piece]) -> Piece | None:
    """ "the week of the 5th", "le mois d'octobre"."""
    unit, said = value_of(used, "U"), value_of(used, "D").date
    is_day = said.day is not None or said.weekday is not None
    if is_day and unit == ("week" if used[0].kind == "U" else "that_week"):
        return made("D", Point(replace(said, size="week")), used)
    is_month = unit == "month" and said.month is not None and said.day is None and used[0].kind == "U"
    return made("D", Point(said), used) if is_month else None


def weekend(used: list[Piece]) -> list[Piece] | None:
    """A weekend by itself, and not "weekend trip"."""
    if used[0].value != "weekend" or is_noun_behind(used):
        return None
    return [day(used[:1], size="weekend"), *used[1:]]


def own(used: list[Piece]) -> list[Piece] | None:
    """ "my week" is this one, and not "my week plan"."""
    return None if is_noun_behind(used) else [used[0]._replace(kind="c"), *used[1:]]


def quarter(used: list[Piece]) -> Piece | None:
    number, year = value_of(used, "Qno"), value_of(used, "D")
    if not 1 <= number <= 4 or value_of(used, "U") not in (None, "quarter"):
        return None
    said = year.date if year else Date(year=value_of(used, "y"))
    return made("D", Point(replace(said, month=3 * number - 2, size="quarter")), used)


def with_slashes(used: list[Piece]) -> Piece | None:
    """Alone, a date that reads as day and month and as month and day may be a fraction or a score."""
    said = used[0].value.date
    is_two = said.is_slash and said.day != said.month and max(said.day, said.month) <= 12
    return None if is_two else used[0]._replace(kind="D")
