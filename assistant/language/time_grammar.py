"""How times are composed: rules that join neighbouring pieces, in rounds, until nothing joins.

A text is a row of pieces, each of a kind that one letter names (see `time_tables`), so a rule is a
pattern over letters and a function that makes one piece of those it joined. In a pattern a space
stands for words between that say nothing ("on", "the", "at"), ``_`` for those and commas. Rules run
in order, each over the whole row until nothing joins.

What is composed has the kind D (a day), P (a part of the day), C (a clock time), R (a day with a time
of day), V (an amount of a unit), Z (spans) or % (a word of time that is no range: "every morning"). Clock
times that an answer spells out are read by the same rules (`assistant.language.values`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assistant.language.time_lexer import Piece
from assistant.language.time_said import PARTS, Clock, Date, Mode, Point, Span

_GAP, _LOOSE = "[fijg@]{0,4}", "[fijg@,]{0,5}"  # bounded, so that every rule is linear
_POINT = "[DPCR!]"
_SPARE = frozenset("fijg@,")

Build = Callable[[list[Piece]], "Piece | list[Piece] | None"]
Rule = tuple[re.Pattern[str], Build, bool]
"""What pieces look like, what is built of them (or None), and whether the words between are built in."""


def compose(pieces: Sequence[Piece]) -> list[Piece]:
    """The row of pieces after every rule."""
    row, kinds = list(pieces), letters(pieces)
    for rule in _RULES:
        before = len(row) + 1
        while len(row) < before and rule[0].search(kinds):  # until nothing joins
            before, row = len(row), _applied(rule, row, kinds)
            kinds = letters(row)
    return row


def letters(pieces: Sequence[Piece]) -> str:
    """The kinds of pieces, a letter each."""
    return "".join([piece.kind for piece in pieces])


def _applied(rule: Rule, row: list[Piece], kinds: str) -> list[Piece]:
    pattern, build, is_whole = rule
    joined, at, done = list[Piece](), 0, 0
    while match := pattern.search(kinds, at):
        used = [p for p in row[match.start() : match.end()] if is_whole or p.kind not in _SPARE]
        made = build(used) if used else None
        at = match.start() + 1 if made is None else match.end()
        if made is not None:
            joined += row[done : match.start()]
            joined += made if isinstance(made, list) else [made]
            done = at
    return joined + row[done:]


def _made(kind: str, value: Any, used: Sequence[Piece]) -> Piece:
    """A piece over others; it is weak when all of them are."""
    weak = all(piece.is_weak for piece in used)
    return Piece(kind, value, used[0].start, used[-1].end, weak)


def _no_range(used: list[Piece]) -> Piece:
    return _made("%", None, used)


def _unit(unit: str) -> Build:
    return lambda used: [*used[:-1], used[-1]._replace(kind="U", value=unit)]


def _value(used: Sequence[Piece], kinds: str) -> Any:
    return next((piece.value for piece in used if piece.kind in kinds), None)


def _has(used: Sequence[Piece], kinds: str) -> bool:
    return any(piece.kind in kinds for piece in used)


# -- amounts ------------------------------------------------------------------------------


def _amount(used: list[Piece]) -> Piece | None:
    """ "two and a half hours", "three quarters of an hour", "an hour and a quarter", 一个半小时."""
    at = next(index for index, piece in enumerate(used) if piece.kind == "U")
    unit, before = used[at].value, used[:at]
    count = float(sum(abs(piece.value) for piece in used if piece.kind in "nq"))
    if _has(used, "K"):
        count = count / 4 if _has(before, "n") and not _has(used, "&") else count + 0.25
    count += not _has(before, "nqK") and _has(used, "1qK")
    for whole, part, size in (("year", "month", 12), ("month", "day", 30)):
        if unit == whole and not count.is_integer():
            unit, count = part, count * size
    return _made("V", (count, unit), used) if count else None


def _spans(
    mode: Mode, used: list[Piece], start: Point | None = None, end: Point | None = None, **of: Any
) -> Piece:
    return _made("Z", (Span(mode, start, end, **of),), used)


def _ahead(used: list[Piece]) -> Piece:
    return _spans("ahead", used)


def _rolling(used: list[Piece]) -> Piece | None:
    amount, unit = _value(used, "V") or (float(_value(used, "n") or 1), _value(used, "U"))
    return None if unit == "weekend" else _spans("rolling", used, amount=amount, unit=unit)


def _ago(used: list[Piece], sign: int = 1) -> Piece | None:
    """So long before now, or with the other `sign` after it."""
    amount, unit = _value(used, "V") or (1.0, _value(used, "U"))
    if unit in ("second", "minute", "hour", "quarter_hour"):
        return _spans("ago" if sign > 0 else "ahead", used, amount=amount, unit=unit)
    if not float(amount).is_integer() or not amount < 10_000:
        return None
    count = sign * int(amount)
    if unit in ("week", "fortnight"):
        return _day(used, weeks=count * (2 if unit == "fortnight" else 1), size="ago")
    return _day(used, **{f"{unit}s": count}) if unit in ("day", "month", "year") else None


# -- days ---------------------------------------------------------------------------------


def _day(used: list[Piece], **said: Any) -> Piece:
    return _made("D", Point(Date(**said)), used)


def _back(used: list[Piece]) -> Piece | None:
    """ "last week", "this Friday", "the month before last", 上上周五, "next year"."""
    counts = {"b": 1, "p": 1, "<": 1, "N": -1}
    count = sum(piece.value if piece.kind in "lL" else counts.get(piece.kind, 0) for piece in used)
    weekday, unit = _value(used, "W"), _value(used, "Ums")
    if weekday is not None and count == 1 and _has(used, "lLp"):
        return _day(used, weekday=weekday, is_last=True)
    match unit:
        case "week" | None:
            return _day(used, weekday=weekday, weeks=count)
        case "month" | "":
            return _day(used, months=count)
        case "year":
            return _day(used, years=count)
        case "weekend":
            return _day(used, weeks=count, size="weekend")
        case "second" | "minute" | "quarter_hour" | "hour" | "fortnight" if count == 1:
            return _rolling(used)
        case "quarter":
            return _day(used, months=3 * count, size="quarter")
    return None


def _this_part(used: list[Piece]) -> Piece | None:
    """ "this morning", "letzte Nacht"."""
    days = _value(used, "lL") or 0
    return _made("R", Point(Date(days=days), part=_value(used, "P").part), used) if days < 2 else None


def _written(used: list[Piece]) -> Piece | None:
    """A month, its day, its year, or its second or last Tuesday."""
    names = {"M": "month", "n": "day", "o": "day", "y": "year", "W": "weekday"}
    said: Date | None = Date()
    for piece in used:
        if piece.kind == "o" and _has(used, "W"):
            part = Date(nth=piece.value)
        elif piece.kind in names:
            part = Date(**{names[piece.kind]: piece.value})
        else:
            part = piece.value.date if piece.kind == "D" else Date(is_last=True)
        said = said and said.merged(part)
    if not said or said.days is not None or (said.month is None and said.months is None):
        return None
    is_weak = any(piece.is_weak for piece in used if piece.kind == "M")
    return _made("D", Point(said), used)._replace(is_weak=is_weak)


def _each(used: list[Piece], kinds: str, make: Callable[[Piece], Piece]) -> list[Piece]:
    """What is made of the pieces of some kinds, with what stands between them kept.

    Behind "from", the word for "at" means "to": "du 2 au 5", "de 14h à 16h".
    """
    is_from = used[0].kind in "Fg"
    kept = [p._replace(kind="T", value="") if is_from and p.kind == "@" else p for p in used]
    return [make(piece) if piece.kind in kinds else piece for piece in kept]


def _month(used: list[Piece]) -> list[Piece] | None:
    """Months that stand for themselves."""
    if len(used) == 1 and used[0].is_weak:
        return None
    if any(piece.kind == "N" or piece.value == -1 for piece in used):
        return [_ahead(used)]
    return _each(used, "M", lambda piece: _day([piece], month=piece.value))


def _as_days(used: list[Piece]) -> list[Piece]:
    return _each(used, "no", lambda piece: _day([piece], day=piece.value))


def _numbered_days(used: list[Piece]) -> list[Piece] | None:
    """ "5 to 9 October", "Oct 5-7": numbers beside a written date are days of its month."""
    dates = [piece.value.date for piece in used if piece.kind == "D"]
    is_written = all(said.day is not None and (said.month or said.months) is not None for said in dates)
    return _as_days(used) if is_written else None


def _numbered(used: list[Piece]) -> Piece | None:
    """ "le 12", "miércoles 7"."""
    number, weekday = used[1].value, _value(used, "W")
    if not 1 <= number <= 31 or (weekday is None and used[0].value != "day"):
        return None
    return _day(used, weekday=weekday, day=number)


def merged(used: list[Piece]) -> Piece | None:
    """Two that complete each other: days, clock times, and spans of them."""
    if _has(used, "Z"):
        return _placed(used)
    point: Point | None = used[0].value.merged(used[1].value)
    if point is None:
        return None
    return _made(_kind(point), point, used)


def _kind(point: Point) -> str:
    return "R" if point.date and point.has_time else "D" if point.date else "C" if point.clock else "P"


def _of(used: list[Piece]) -> Piece | None:
    """ "lundi de la semaine dernière", "le soir du 3": but not "last week from Monday"."""
    is_from = used[0].kind == "D" and used[1].value != "of"
    return None if is_from else merged([used[0], used[2]])


def _third(used: list[Piece]) -> Piece | None:
    """ "early March", "Ende letzten Monats": ten days of a month, and what is left of it at its end."""
    said, third = _value(used, "D").date, _value(used, "8r").rpartition("/")[2]
    is_month = (said.month is not None or said.months is not None) and said.day is said.weekday is said.size
    return _made("D", Point(replace(said, size=third)), used) if is_month and _is_named(used) else None


def _half(used: list[Piece]) -> Piece | None:
    """ "late evening", "mattina presto"."""
    point = _value(used, "PR")
    return _made(_kind(point), replace(point, half=_value(used, "r")), used) if point.part else None


def _the_day(used: list[Piece]) -> Piece | None:
    """ "dia 3/2", "el día 3": the word for a day before its number tells nothing more."""
    return used[0]._replace(kind="f", value="day") if used[0].value == "day" else None


def _week_number(used: list[Piece]) -> Piece | None:
    """ "week 6 2027", KW 6, 第六周."""
    number = _value(used, "n")
    is_week = _value(used, "U") == "week" and 1 <= number <= 53
    return _day(used, nth=number, size="week", year=_value(used, "y")) if is_week else None


def _is_named(used: list[Piece]) -> bool:
    """Whether a stretch stands behind the word for its end: not "when did it end today"."""
    return not str(_value(used, "8")).startswith("of") or _has(used, "gF")


def _unit_of(used: list[Piece]) -> Piece | None:
    """ "the week of the 5th", "le mois d'octobre"."""
    unit, said = _value(used, "U"), _value(used, "D").date
    is_day = said.day is not None or said.weekday is not None
    if is_day and unit == ("week" if used[0].kind == "U" else "that_week"):
        return _made("D", Point(replace(said, size="week")), used)
    is_month = unit == "month" and said.month is not None and said.day is None and used[0].kind == "U"
    return _made("D", Point(said), used) if is_month else None


def _weekend(used: list[Piece]) -> list[Piece] | None:
    """A weekend by itself, and not "weekend trip"."""
    if used[0].value != "weekend" or is_noun_behind(used):
        return None
    return [_day(used[:1], size="weekend"), *used[1:]]


def _own(used: list[Piece]) -> list[Piece] | None:
    """ "my week" is this one, and not "my week plan"."""
    return None if is_noun_behind(used) else [used[0]._replace(kind="c"), *used[1:]]


def is_noun_behind(used: Sequence[Piece]) -> bool:
    """Whether the second of two pieces is the noun that the first tells more of, as in English."""
    if len(used) < 2 or used[1].kind not in "xX":
        return False
    return used[1].start - used[0].end == 1 and used[1].value == "en"


def _quarter(used: list[Piece]) -> Piece | None:
    number, year = _value(used, "Qno"), _value(used, "D")
    if not 1 <= number <= 4 or _value(used, "U") not in (None, "quarter"):
        return None
    said = year.date if year else Date(year=_value(used, "y"))
    return _made("D", Point(replace(said, month=3 * number - 2, size="quarter")), used)


def _with_slashes(used: list[Piece]) -> Piece | None:
    """Alone, a date that reads as day and month and as month and day may be a fraction or a score."""
    said = used[0].value.date
    is_two = said.is_slash and said.day != said.month and max(said.day, said.month) <= 12
    return None if is_two else used[0]._replace(kind="D")


# -- clocks -------------------------------------------------------------------------------


def _clock(hour: int, minute: int, used: list[Piece], half: str = "", *, is_weak: bool = False) -> Piece:
    clock = Clock(hour or 24 if minute < 0 else hour, minute, half, is_bare=True)
    return _made("C", Point(clock=clock), used)._replace(is_weak=is_weak)


def _digits(used: list[Piece]) -> Piece:
    """Digits that are a clock time where one is meant: 1430, 14.30."""
    return _made("C", used[0].value, used)


def _bare_clocks(used: list[Piece]) -> list[Piece]:
    """Whole numbers where clock times are meant, with what stands between them kept."""
    if used[0].kind == "g" and used[0].value != "from":
        return used  # "5 of 3 to 4"
    weak = all(piece.kind in "n@fij" for piece in used)
    made = _each(used, "n", lambda piece: _clock(piece.value, 0, [piece], is_weak=weak))
    return [piece._replace(kind="C") if piece.kind == "µ" else piece for piece in made]


def _minutes_beside(used: list[Piece], *, is_behind: bool = False) -> Piece | None:
    """ "quarter past nine", "ten to five", 差一刻五点; and behind: 九点三刻, "neuf heures et quart"."""
    hour_at = 0 if is_behind else max(at for at, piece in enumerate(used) if piece.kind in "nC")
    told = used[hour_at]
    clock = Clock(told.value) if told.kind == "n" else told.value.clock
    rest = [piece for at, piece in enumerate(used) if at != hour_at and piece.kind in "nqKV"]
    minutes, is_named = 0, _has(used, "u")
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
    sign = -1 if _has(used, "-" if is_behind else "-<T") else 1
    is_weak = not rest and _value(used, "k") == ""
    return _clock(clock.hour, clock.minute + sign * minutes, used, is_weak=is_weak)


_minutes_behind = partial(_minutes_beside, is_behind=True)


def _to_the_hour(used: list[Piece]) -> Piece | None:
    """ "at five to three", um zehn nach acht: with "at" before it this is no range."""
    is_dash = any(piece.kind == "T" and piece.value != "" for piece in used)
    return None if is_dash else _minutes_beside(used)


def _not_past_midnight(used: list[Piece]) -> Piece | None:
    """ "five to one on Friday", "twenty to six": hours would run past midnight, so these are minutes."""
    first, last = used[0].value, used[2].value
    start = first + 12 if first < 8 else first
    is_past = start > 24 or not any(start < each <= 24 for each in (last, last + 12))
    return _to_the_hour(used) if is_past and first % 5 == 0 and first < 30 and 1 <= last <= 12 else None


def _spoken(used: list[Piece]) -> Piece | None:
    """ "three forty-five"."""
    hour, minute = used[0].value, used[1].value
    return _clock(hour, minute, used) if hour <= 24 and 10 <= minute <= 59 else None


def _with_half(used: list[Piece]) -> Piece | None:
    clock = Clock(used[0].value, is_bare=True) if used[0].kind == "n" else used[0].value.clock
    return None if clock.half else _made("C", Point(clock=replace(clock, half=used[1].value)), used)


# -- spans --------------------------------------------------------------------------------


def _range(used: list[Piece]) -> Piece:
    start, end = [piece for piece in used if piece.kind in _POINT]
    made = _spans("range", used, start.value, end.value)
    return made._replace(is_weak=start.is_weak and end.is_weak)


def _open(mode: Mode) -> Build:
    return lambda used: _spans(mode, used, _value(used, "DPCR"))


def _from(used: list[Piece]) -> Piece | list[Piece]:
    """ "from 2pm" runs to the end of its day, "from Monday on" up to now; "from Monday" is that day."""
    point, is_since = used[1].value, used[0].value == "since"
    if point.clock:
        return _spans("from", used, point)
    if is_since or len(used) > 2:
        return _spans("since", used, point)
    return [used[0]._replace(kind="j"), used[1]]


def _placed(used: list[Piece]) -> Piece | None:
    """Spans of clock times with the day or the part of the day that stands beside them."""
    is_before = used[0].kind != "Z"
    point, spans = (used[0].value, used[1].value) if is_before else (used[1].value, used[0].value)
    placed = [span.placed(point, is_before=is_before) for span in spans]
    return None if None in placed else _made("Z", tuple(placed), used)


def _listed(used: list[Piece]) -> Piece:
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
    return _made("Z", tuple(spans), used)


def _rule(pattern: str, build: Build, *, whole: bool = False) -> Rule:
    return re.compile(pattern.replace(" ", _GAP).replace("_", _LOOSE)), build, whole


_MEANT = "[MDRUlcbWyPC]"
_ENDS = "([Fg] [nCPµ] [T@]|B [nCPµ] &) [nCPµ!](?! ?[UMmd])"
_RULES: tuple[Rule, ...] = (
    # what is no time, and what repeats
    _rule("y Y? #? n U|D#?nU|Q_y|o [UK] g? y|(?<=[iFSTB<>])Q", _quarter),
    _rule("7nY", lambda used: _made("y", used[0].value + used[1].value, used)),
    _rule("nY(?=n[ms])", lambda used: _made("y", 2000 + used[0].value, used)),
    _rule("# n U(?! ?[<>JOa])|(?<![#nqo1lcNbpv])Un(_y)?(?! ?[nuUMmd])", _week_number),
    _rule("# [no1] [dUkx]?", lambda used: _made("x", None, used)),
    _rule(f"(oU|[o1f]q|3f?)g[gf]{{0,3}}{_MEANT}|c3|[blcN]h|hL|hy", _no_range),
    _rule(f"3[fF]{{0,3}}n?{_MEANT}", lambda used: None if used[0].value else _no_range(used)),
    _rule("v [nq1ox]?[gf]{0,2}[UWPMDRmt]( P)?|% P", _no_range),
    _rule("(?<=[ij])f?oU|U [<>](?=[;,z]|$)|[nMbcl]%|6(?=[<>JO])", _no_range),
    _rule("9[UP][xX]?", _own),
    _rule("(?<![nq1])U(?= ?[n/])", _the_day),
    _rule("5(?=[gf1]{0,2}[Ud])", lambda used: used[0]._replace(kind="n")),
    _rule("[nq]Y", _unit("year")),
    _rule(
        "[nq]@(?= ?[aJ])",  # "iki saat önce": in Turkish one word is for the hour and for "at"
        lambda used: [used[0], used[1]._replace(kind="U")] if used[1].value == "hour" else None,
        whole=True,
    ),
    # hours as amounts, months as units, the words for tomorrow and morning
    _rule("[Alp] n?[nq1] k|n?[nq1] k(?= a)|(n )?[lLpcN] k|n3", _unit("hour")),
    _rule("[bcN]+[ms]", _back),
    _rule("[lcN] K(?! ?[gp])", _unit("quarter")),
    _rule("(?<=[DWcRr])f{0,4}t", lambda used: _made("P", Point(part=PARTS["morning"]), used)),
    _rule("t", lambda used: _day(used, days=-1)),
    # amounts
    _rule("(?<!k)nu(?=[JO2])|p nu", _unit("minute")),
    _rule("1?[n1]?( & 1?)?( [qK])? 1? U((?: &)? 1? [qK](?! ?[Unp]))?", _amount),
    _rule("n L U", lambda used: _ahead(used) if used[1].value < 0 else None),
    _rule("fn l U|c?n L U", _rolling),
    _rule("[bc]+ [UW]|[lc] [UW]|N[fg]{0,4}[UW]|c?pW|U [<] l|[UW] L|L [UW]", _back),
    _rule("c P|lP|PL", _this_part),
    _rule("(?<![mM])n d J", lambda used: _day(used, days=used[0].value) if used[1].value else None),
    _rule("A V a|V[aJ]|A V|V a|<V", _ago),
    _rule(
        "U a|A U", lambda used: _ago(used) if used[0].is_weak or used[1].is_weak else None
    ),  # "godzinę temu"
    _rule("JV|[WP] < l", _no_range),
    _rule("N V|V F [DW]", _ahead),
    _rule("V w|VO|i[f]*V(?! g)", partial(_ago, sign=-1)),
    _rule(
        "(?<=[i<>@~])[fg]{0,4}x[U3]|(?<=[DPRWU])g?x3|(?<=[DPRWUL])[fg]{0,4}([<>]|Bx&)x(?=[;z~,]|$)",
        lambda used: _made("h", None, used),
    ),
    _rule("@x", lambda used: _made("h", None, used) if used[0].value == "hour" else None, whole=True),
    # written dates
    _rule("nm(?=z)|ns", lambda used: _day(used, month=used[0].value)),
    _rule("nm", lambda used: _made("M", used[0].value, used)),
    _rule("M[h%]|[3h]T?M|a", _no_range),
    _rule("(?<=z)nd", lambda used: _day(used, day=used[0].value)),
    _rule("nd(?!m)", lambda used: _made("o", used[0].value, used)),
    _rule("yY", lambda used: _day(used, year=used[0].value)),
    _rule("M o(_y)?|M n(_y)?(?! ?[kH])|[no][gfF]{0,4}M(_y)?|M y|y M o?|D M|M[gfF,]{0,2}D", _written),
    _rule(
        "[lcN] M|M L|(?<=[ij@])[ijf]{0,4}M|(?<=[SB<>])f{0,4}M(?!X)|(?<=[DWU])[gfF]{1,3}M|(?<=U)M"
        "|(?<=[8r])M|(?<=8[gF])M|(?<=8[gF]f)M|M(?=g?8)|[MD] [T&] [MD]",
        _month,
    ),
    _rule("(?<=[iS])f{0,4}y", lambda used: _day(used, year=used[0].value)),
    _rule("n [T&] D|[FS] n [T@] D|D [T&] n(?! ?[kHUMmdux4X])", _numbered_days, whole=True),
    _rule(
        "(?<=[jFSTB<>~&DPCRWi])[f@,j]{0,4}/|f/(?=[;z,]|$)|/(?=_[DPCRW/jT]|[f,]{0,2}@)",
        lambda used: used[0]._replace(kind="D"),
    ),
    _rule("^f{0,4}/f{0,4}$", _with_slashes),
    _rule("o W[gfij]+D|l W[gfij]+D", _written),
    _rule("[Do] [T&] o", _as_days),
    _rule("Wn(?![fijg@]{0,4}[nkKHUMTmdu&]|if?P)", _numbered),
    _rule("W", lambda used: _day(used, weekday=used[0].value)),
    _rule("fn(?=[;@<>S]|$)", _numbered, whole=True),
    _rule("(?<=[jST<>])f{1,2}o(?! ?[xXUWKq])", lambda used: _day(used, day=used[0].value)),
    _rule("o(?![xXUW])", lambda used: None if used[0].is_weak else _day(used, day=used[0].value)),
    _rule("U[gF] D|DU", _unit_of),
    _rule("(?<![nxX])U[xX]?", _weekend),
    _rule("[lpcb] c?V|c l V|V [2I]|S V|p U", _rolling),
    _rule("[8r][gfF]{0,3}D|Dg?8", _third, whole=True),
    _rule("8[gfF]{0,3}[DPCRUW]", lambda used: _no_range(used) if _is_named(used) else None, whole=True),
    # clock times
    _rule("(?<=[@FBS<>~DPRW])f{0,2}4|(?<![n4]T)(?<=T)4|(?<=C&)4|(?<=C[T&])[fijg@]?4", _digits),
    _rule("@µ(?=_[DPRW])|(?<=[DPRW])[fij,@]{1,4}µ|[µC] k", _digits),
    _rule("[nCµ] H", _with_half),
    _rule(
        "P(?= [&-] [qK])",  # "midi et demi"
        lambda used: _clock(12, 0, used) if used[0].value.part == PARTS["noon"] else None,
    ),
    _rule("-n?[Ku]nk|(?<![nkC])-[nK] n", _minutes_beside),
    # "all'una", "à uma": not "at a"
    _rule("(?<=@)1(?=[;z,]?$|_[DP]|&[qK])", lambda used: _clock(1, 0, used)),
    _rule(
        "nknu?(?!f?[UmdkK])|n k n? K|n k - (n u?|K)|n k q|n k nu?(?! ?[xXUTmdk])|n k",
        _minutes_behind,
    ),
    _rule("1? [Kq] p [nC]( k)?|[nV] p [nC]( k)?|1? K [T<>] [nC]( k)?", _minutes_beside),
    _rule("(?<=[@S<>~T])f{0,4}[nV] T n( k)?|(?<=[@DPR])f{0,4}n [<>] n( k)?", _to_the_hour),
    _rule("(?<=[DPR])[@ij]?n T n( k)?|(?<![xXFgBn])n T n( k)?(?=_[DPR])", _not_past_midnight),
    # "tjugo i fyra": Scandinavians say so many minutes in the hour for before it
    _rule(
        "[nK]jn(?! ?[UMmdkXx])",
        lambda used: _minutes_beside([used[0], used[1]._replace(kind="-"), used[2]]),
        whole=True,
    ),
    # half nine is half past nine, halb neun half an hour before it, dreiviertel neun a quarter
    _rule("qf{0,2}n(?! ?[UkMmdu])", lambda used: _clock(used[1].value, round(60 * used[0].value), used)),
    _rule("B [nC] & n T n|F C T n T n", lambda used: [*used[:3], _minutes_beside(used[3:]) or used[3]]),
    _rule("(?<=[@~<>SFTB&])f{0,2}nn(?! ?[UMmdk])", _spoken),
    _rule("[nC] & 1?[qK]|[nC] - 1?[nK]|C [qK]|(?<=@)[nC]&n(?! ?[UMmdkTx])", _minutes_behind),
    _rule(
        f"{_ENDS}(?! ?[xX])|(?<=[DPR,])[fij]{{0,4}}{_ENDS}|{_ENDS}(?=_[DPR])"
        "|(?<=[DPR])_[nCPµ] T [nCPµ]( & [nCPµ] T [nCPµ])?(?! ?[UMmd])|(?<![xX])[nCµ] T [nCPµ](?=_[DPR])"
        "|[nC] & [nC](?= ?e)|n T C|[CP] T n(?! ?[UMmdxX])|C & n(?! ?[xXUMmdkT])"
        "|(?<=@)f{0,4}n(?! ?[UMmdpT])|F n(?=_I)|n(?=if?P|R|=)|([~<>S]|(?<![nC])T) n(?! ?[xXUMmdk])",
        _bare_clocks,
        whole=True,
    ),
    # a day and a time of day
    _rule("D F D|[PC] F D(?! [T@])", _of),
    _rule("r [PR]|[PR] r|[DPCR]_[DPCR]", lambda used: _half(used) if _has(used, "r") else merged(used)),
    # spans
    _rule(
        f"B {_POINT} & {_POINT}|[FS]? {_POINT} T(?!j) {_POINT} e?|i?{_POINT} & {_POINT} e"
        f"|F {_POINT} @ {_POINT}|{_POINT} G {_POINT} e?",
        _range,
    ),
    _rule("F D j(?=[;z,]|$)|S [DPCR] I?", _open("since")),
    _rule("F [DPCR] I?", _from),
    _rule("[DPCR] I|[DPR] G", _open("since")),
    _rule("C G", _open("from")),
    _rule("T(?!j) [DPCR]", lambda used: _open("until")(used) if used[0].value == "until" else None),
    _rule("(T )?[DPCR] e", _open("until")),
    _rule("< [DPCR]|[DPCR] J", _open("before")),
    _rule("> [DPCR]|[DPCR] O", _open("after")),
    _rule("~ [PCR] =?|[PCR] =", _open("around")),
    _rule("[DPR]_Z|Z_[DPR]", merged),
    _rule("[DPCRZ]( (,|&|, &) [DPCRZ]){1,9}", _listed),
    # what is left of a time that was begun, or is taken out
    _rule("U(?=[gfFij]{0,3}D)", lambda used: _no_range(used) if used[0].value in ("week", "quarter") else None),
    _rule("E [DRPCZ]|B [nC] &|[nqK] p|[<>]h", _no_range),
)
