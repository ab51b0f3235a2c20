"""The dates, weekdays and clock times of a text, in digits and in words, as values that can be compared.

4 March is 2027-03-04 and 3月4日, 2:30 pm is 14:30 and 14 h 30; ``03/04`` has both its readings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache
from itertools import pairwise

from assistant.language import cldr
from assistant.language.cldr import Unit, integer
from assistant.language.figures import HAN, Day, Value, is_day, units_behind
from assistant.language.time_grammar import compose
from assistant.language.time_lexer import pieces_of
from assistant.language.time_said import PARTS, Point, Span
from assistant.language.time_tables import LATIN, folded, latin

_TELLING = frozenset("nqKRPC")
"""Kinds of words, one of which is in each clock time in words: numbers, halves, parts of a day."""
_HAN_HOUR = re.compile("[点點時时零午]")
_CLOCK_KINDS = frozenset("CPRZ")
"""Pieces of the grammar of times that may hold a clock time: of a day or alone, and spans."""
_JOINTS = frozenset("T&G-")  # pieces between the two ends of a span
NOON = range(690, 780)  # minutes after midnight that people call noon
MAX_SPOKEN_CHARS = 1_000  # of a sentence in which clock times in words are looked for
MAX_BETWEEN = 15  # signs between the hours and the minutes of a length: " Stunden und "
SHORT_MONTH = 3  # letters of a month's name that may be a word of another language: "sie", "out"
_COUNT = rf"(?:\d{{1,2}}|[{HAN}]{{1,3}})"
_FULL = re.compile(
    rf"(?P<y>\d{{4}}|[{HAN}]{{4}})\s?[-/.年년]\s?(?P<m>{_COUNT})\s?[-/.月월]\s?(?P<d>{_COUNT})\s?[日号號일]?"
)
_CJK = re.compile(
    rf"(?:(?P<y>\d{{4}}|[{HAN}]{{4}})\s?[年년]\s?|\d{{1,2}}年)?(?P<m>{_COUNT})\s?[月월](?:\s?(?P<d>\d{{1,2}}|[{HAN}]{{1,3}}(?=[日号號일]))\s?[日号號일]?)?"
)
_MONTH = re.compile(
    r"(?<![\d./-])(?:(?P<y>\d{4})[-/](?P<m>\d{2})|(?P<m2>\d{1,2})[./](?P<y2>\d{4}))(?![\d/-])"
)
_DOTTED = re.compile(r"(?<![\d./,-])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?!\d)")
_EITHER_ORDER = re.compile(
    r"(?<![\d./-])(?<!\d,)(?P<a>\d{1,2})(?:/(?P<b>\d{1,2})(?![\d/])"
    r"|(?P<sep>[./-])(?P<c>\d{1,2})(?P=sep)(?P<y>\d{4}|\d{2})(?!\d))"
)
_CLOCK = re.compile(
    rf"(?<![\d.,:])(?P<h>\d{{1,2}})\s?(?:[:：]|[hH]\s?)(?P<m>\d{{2}})(?:[:：](?P<s>\d{{2}}))?(?!\d|\s?min\b)"
    rf"|(?<![\d.,:])(?P<bare>\d{{1,2}})\s?[hH](?![^\W\d_])"
    rf"|(?P<han>{_COUNT})\s?[点點时時시](?![间間])(?:(?P<half>半)|(?:\s(?=\d{{1,2}}분))?(?P<past>\d{{1,2}}|[{HAN}]{{2,3}}|{_COUNT}(?=[分분]))[分분]?)?"
)
_WHOLE = re.compile(r"(?<![\d.,:])\d{1,2}(?![\d.,:])")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:['’.-](?=[^\W\d_])[^\W\d_]+)*")
_DAY_LEFT = re.compile(
    r"(?<![\d.,:/-])(\d{1,2})(?:[^\W\d_]{1,2}|[.º°])?,?\s{0,2}(?:[^\W\d_]{1,3}\s|[^\W\d_]['’])?\Z"
)
_DAY_RIGHT = re.compile(r"\.?,?\s{0,2}(\d{1,2})(?![\d:/-]|[.,]\d)(?:[^\W\d_]{1,2}\b)?")
_NEXT_WORD = re.compile(r"\.?\s{1,2}([^\W\d_]+)")
_YEAR = re.compile(r"\.?,?\s{1,2}(?:[^\W\d_]{1,3}\s)?((?:19|20)\d\d)(?!\d)")
_LONG = re.compile(r"\d{3}|[:.]\d")


def dates(text: str, is_read: bool, language: str) -> Iterator[Value]:
    for pattern in (_FULL, _MONTH, _CJK, _DOTTED):
        for found in pattern.finditer(text):
            parts = found.groupdict()
            written = (parts.get(part) or parts.get(f"{part}2") for part in "ymd")
            year, month, of_month = (integer(part) if part else None for part in written)
            yield from _day(*found.span(), {(year, month, of_month)})
    for found in _EITHER_ORDER.finditer(text):
        a, b = int(found["a"]), int(found["b"] or found["c"])
        year = int(found["y"]) + 2000 * (len(found["y"]) == 2) if found["y"] else None
        yield from _day(*found.span(), {(year, b, a), (year, a, b)})


def _day(start: int, end: int, days: Iterable[Day]) -> Iterator[Value]:
    if real := frozenset(day for day in days if is_day(day)):
        yield Value(start, end, "date", real)


def named_days(text: str, is_read: bool, language: str) -> Iterator[Value]:
    """``4 March 2027``, ``March 4th``, ``le 4 mars``, ``juin 2027``, ``Monday``, ``周一``."""
    of_language, all_months, weekdays = cldr.months(language), cldr.months(), cldr.weekdays()
    for found in _WORD.finditer(text):
        name = cldr.key(re.sub("['’]s$", "", found[0]))  # "Tuesday's shift"
        if months := (of_language if len(name) <= SHORT_MONTH else all_months).get(name):
            yield from _of_month(text, found, months, is_read)
        days = weekdays.get(name) if is_read or len(name) > cldr.SHORT_WEEKDAY else None
        if is_read and not days and not found[0][0].islower():
            days = cldr.short_weekdays().get(name)
        if days:
            yield Value(found.start(), found.end(), "weekday", days)


def _of_month(text: str, found: re.Match[str], months: frozenset[int], is_read: bool) -> Iterator[Value]:
    before = _DAY_LEFT.search(text, max(0, found.start() - 10), found.start())
    after = _DAY_RIGHT.match(text, found.end())
    following = _NEXT_WORD.match(text, after.end()) if after and not before else None
    if following and cldr.key(following[1]) in cldr.months():
        return  # "Sun 9 May": a weekday's name is a month's in another language
    year = _YEAR.match(text, found.end() if before or not after else after.end())
    if not (before or after or year or is_read):
        return
    of_month = before or after
    last = max(year.end() if year else 0, found.end(), after.end() if after and not before else 0)
    day = int(of_month[1]) if of_month else None
    days = {(int(year[1]) if year else None, month, day) for month in months}
    yield from _day(before.start() if before else found.start(), last, days)


def clocks(text: str, is_read: bool, language: str) -> Iterator[Value]:
    for found in cldr.halves().finditer(text):
        minutes = int(found["h"]) % 12 * 60 + 720 * bool(found["late"]) + int(found["m"] or 0)
        yield Value(found.start(), found.end(), "clock", frozenset([minutes]))
    for found in (*cldr.hours().finditer(text), *_CLOCK.finditer(text)):
        told = defaultdict(str, {name: part for name, part in found.groupdict().items() if part})
        hour = integer(told["h"] or told["bare"] or told["han"])
        past = 30 if told["half"] else integer(told["m"] or told["past"] or "0")
        if hour <= 24 and past < 60:
            readings = _of_dial(hour * 60 + past, is_open=0 < hour <= 12 and not told["h"].startswith("0"))
            if told["s"] and not hour:  # or minutes and seconds, of a recording
                readings |= {past * 60 + int(told["s"])}
            yield Value(found.start(), found.end(), "clock", readings)


_IN_MINUTES = frozenset([Unit("duration", "minute", Decimal(1))])


def lengths(text: str, is_read: bool, language: str) -> Iterator[Value]:
    """``10 Stunden 26 Minuten``, ``1 hour and 20 minutes``: a clock shows them as 10:26 and 1:20."""
    for hours, minutes in pairwise(_WHOLE.finditer(text)):
        between = text[hours.end() : minutes.start()]
        if len(between) > MAX_BETWEEN or int(hours[0]) > 24 or int(minutes[0]) > 59:
            continue
        if _is_in(text, hours.end(), language, "hour") and _is_in(text, minutes.end(), language, "minute"):
            told = frozenset([int(hours[0]) * 60 + int(minutes[0])])
            yield Value(hours.start(), minutes.end(), "clock", told, _IN_MINUTES)


def _is_in(text: str, end: int, language: str, base: str) -> bool:
    return any(unit.base == base and unit.size == 1 for unit in units_behind(text, end, language))


def _of_dial(minutes: int, *, is_open: bool) -> frozenset[int]:
    """The minutes after midnight of a clock time; two where nothing says which half of the day."""
    return frozenset([minutes % 1440, (minutes + 720) % 1440] if is_open else [minutes % 1440])


def composed_clocks(text: str, is_read: bool = False, language: str = "") -> Iterator[Value]:
    """``half past nine``, ``à 3 heures de l'après-midi``: what the grammar of times makes of a sentence."""
    if is_read or len(text) > MAX_SPOKEN_CHARS:
        return
    may_tell = _HAN_HOUR.search(text) or not _telling_words().isdisjoint(_LETTERS.findall(folded(text)))
    pieces = pieces_of(text) if may_tell else []
    for piece in compose(pieces):
        spans = piece.value if isinstance(piece.value, tuple) else ()
        points = spans[0].points if len(spans) == 1 and isinstance(spans[0], Span) else [piece.value]
        if piece.is_weak or piece.kind not in _CLOCK_KINDS or not all(isinstance(p, Point) for p in points):
            continue
        # In words: "de 7412,60" holds no 74:12.
        if any(map(_is_told, points)) and not _LONG.search(text, piece.start, piece.end):
            joints = [p.start for p in pieces if piece.start < p.start < piece.end and p.kind in _JOINTS]
            middle = joints[-1] if joints and len(points) > 1 else piece.end
            places = (piece.start, middle), (middle, piece.end)
            for (start, end), point in zip(places, points, strict=False):
                if end - start > 1:  # 一直到 is no hour
                    yield Value(start, end, "clock", _on_dial(point))


@cache
def _telling_words() -> frozenset[str]:
    """One of which a text has that tells a clock time; most have none, and need no grammar."""
    entries = (entry for language in LATIN for entry in latin(language).items())
    return frozenset(
        _LETTERS.findall(words)[-1] for words, (kind, value, _) in entries if kind in _TELLING and value != 1
    )


def _is_told(point: Point) -> bool:
    """Whether words surely tell a clock time: a number alone may count anything."""
    clock, part = point.clock, point.part
    if not clock:
        return part == PARTS["noon"]
    return clock.minute != 0 or clock.is_midnight or (part is not None and clock.hour <= 12)


def _on_dial(point: Point) -> frozenset[int]:
    """The minutes after midnight that a clock time means; two when nothing says which half of the day. What
    is at noon may be a while before or after.
    """
    clock, part = point.clock, point.part
    if not clock:
        return frozenset(NOON if part == PARTS["noon"] else range(1440))
    minutes = clock.at
    if part and clock.hour <= 12:
        minutes = part.clock_min + (minutes - part.clock_min) % 720
    elif clock.half:
        minutes = minutes % 720 + 720 * (clock.half == "pm")
    is_open = clock.is_bare and clock.hour <= 12 and not part and not clock.half
    return _of_dial(minutes, is_open=is_open)
