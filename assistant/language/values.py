"""What of a text can be compared with another text: numbers, dates, clock times.

``18,430`` is ``18.430,00`` and ``18 430``, 4 March is 2027-03-04 and 3月4日, 2:30 pm is 14:30 and 14 h 30.
Where a text may be read in two ways it has both readings (``1.250``, ``03/04``): two texts agree when one
reading of the one is a reading of the other. Units are compared where CLDR knows them: 845 g is 0.845 kg, and
3 cm are not 3 mm.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import text_to_num

from assistant.language import cldr
from assistant.language.cldr import Unit, integer
from assistant.language.time_grammar import compose
from assistant.language.time_lexer import pieces_of
from assistant.language.time_said import PARTS, Point, Span
from assistant.language.time_tables import LATIN, folded, latin

Kind = Literal["number", "spelled", "date", "clock", "weekday"]
Day = tuple[int | None, int | None, int | None]
"""Year, month and day of the month, each None when it is not said."""

_TELLING = frozenset("nqKRPC")
"""Kinds of words, one of which is in each clock time in words: numbers, halves, parts of a day."""

_HAN_HOUR = re.compile("[点點時时零午]")

_CLOCK_KINDS = frozenset("CPRZ")
"""Pieces of the grammar of times that may hold a clock time: of a day or alone, and spans."""

_JOINTS = frozenset("T&G-")  # pieces between the two ends of a span


NOON = range(690, 780)  # minutes after midnight that people call noon
MAX_SPOKEN_CHARS = 1_000  # of a sentence in which clock times in words are looked for
_LEAP_DAY = (2024, 1, 1)

SMALL = 2  # numbers in Han signs up to here mostly count, and are compared only beside a unit of time
COUNTED = 12
"""Numbers in words up to here count what a writer counts himself ("on all three days"): never warned of."""


PERCENT = 100  # alone this number in words is mostly a part of another word: ``pour cent``
SPELLED_IN = ("en", "de", "fr", "es", "pt", "it", "nl", "da")  # languages whose numbers in words are known
_HAN = "〇零一二三四五六七八九十百千万亿億两兩壹贰叁肆伍陆柒捌玖拾廿卅"
WEEKDAY_ALONE = 0.7  # how much a weekday says of one of its days: there is one each week
MAX_BETWEEN = 15  # signs between the hours and the minutes of a length: " Stunden und "
MAX_UNIT = 4  # signs of a unit in Han or kana
SHORT_MONTH = 3  # letters of a month's name that may be a word of another language: "sie", "out"
SPACE = "[ \u00a0\u202f\u2009]"
_NUMBER = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:{SPACE}\d{{3}})+(?:[.,]\d+)?(?![\d])|(?<!\d)\d{{1,20}}(?!\d)(?:[.,'’]\d{{1,20}}(?!\d)){{0,8}}"
)
_COUNT = rf"(?:\d{{1,2}}|[{_HAN}]{{1,3}})"
_FULL = re.compile(
    rf"(?P<y>\d{{4}}|[{_HAN}]{{4}})\s?[-/.年년]\s?(?P<m>{_COUNT})\s?[-/.月월]\s?(?P<d>{_COUNT})\s?[日号號일]?"
)
_CJK = re.compile(
    rf"(?:(?P<y>\d{{4}}|[{_HAN}]{{4}})\s?[年년]\s?|\d{{1,2}}年)?(?P<m>{_COUNT})\s?[月월](?:\s?(?P<d>\d{{1,2}}|[{_HAN}]{{1,3}}(?=[日号號일]))\s?[日号號일]?)?"
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
    rf"|(?P<han>{_COUNT})\s?[点點时時시](?![间間])(?:(?P<half>半)|(?:\s(?=\d{{1,2}}분))?(?P<past>\d{{1,2}}|[{_HAN}]{{2,3}}|{_COUNT}(?=[分분]))[分분]?)?"
)
_WHOLE = re.compile(r"(?<![\d.,:])\d{1,2}(?![\d.,:])")
_LETTERS = re.compile(r"[^\W\d_]+")
_SPELLED_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’.-](?=[^\W\d_])[^\W\d_]+)*")
_DAY_LEFT = re.compile(
    r"(?<![\d.,:/-])(\d{1,2})(?:[^\W\d_]{1,2}|[.º°])?,?\s{0,2}(?:[^\W\d_]{1,3}\s|[^\W\d_]['’])?\Z"
)
_DAY_RIGHT = re.compile(r"\.?,?\s{0,2}(\d{1,2})(?![\d:/-]|[.,]\d)(?:[^\W\d_]{1,2}\b)?")
_NEXT_WORD = re.compile(r"\.?\s{1,2}([^\W\d_]+)")
_YEAR = re.compile(r"\.?,?\s{1,2}(?:[^\W\d_]{1,3}\s)?((?:19|20)\d\d)(?!\d)")
_MISREAD = re.compile(r"(?<=[\d.,:/-])[OoQ]|[OoQ](?=[\d:])|(?<=\d[lI|])[OoQ](?![A-Za-z])")
_MISREAD_ONE = re.compile(r"(?<=\d)[lI|](?=[\d\s.,:/-]|\Z)|(?<![^\W\d_])[lI|](?=\d)")
_HAN_NUMBER = re.compile(f"(?<![{_HAN}])(?:[{_HAN}]{{2,12}}|(?<=分之)[{_HAN}])(?![{_HAN}])")
_HAN_TAIL = re.compile(r" ?(?:[百千万萬亿億](?:\d,\d{3}(?!\d)|\d{1,4}(?!\d))?)+")
_POWER = re.compile(r"\s?([^\W\d_]+)")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")  # "the 23rd" is no 23 rods
_LONG = re.compile(r"\d{3}|[:.]\d")


@dataclass(frozen=True, slots=True)
class Value:
    """``text[start:end]`` and its readings: of a number `Decimal`, of a date `Day`, of a clock time
    the minutes after midnight, of a weekday its number (Monday is 0).
    """

    start: int
    end: int
    kind: Kind
    readings: frozenset[Any]
    units: frozenset[Unit] = frozenset()
    """Of a number, and of a length in hours and minutes; none where nothing behind it is surely one."""

    @property
    def quantities(self) -> frozenset[tuple[str, Decimal]]:
        """The readings of a number in the bases of its units."""
        return frozenset((unit.base, unit.size * each) for unit in self.units for each in self.readings)


@lru_cache(maxsize=64)
def values(text: str, *, is_read: bool = False, language: str = "") -> tuple[Value, ...]:
    """The values of a text in order, without overlap. `is_read` says that a reader of pictures made the
    text: names of months count there however they are written. Names, units and numbers in words are those of
    `language`, names and units else of any.
    """
    flat = flattened(text)
    taken = bytearray(len(flat))
    found: list[Value] = []
    for finder in (_dates, _named_days, composed_clocks, _lengths, _clocks, _numbers, _spelled):
        is_composed = finder is composed_clocks
        free = without(flat, [(value.start, value.end) for value in found]) if is_composed else flat
        for value in finder(free, is_read, language):
            if not any(taken[value.start : value.end]):
                taken[value.start : value.end] = b"\x01" * (value.end - value.start)
                found.append(value)
    return tuple(sorted(found, key=lambda value: value.start))


@dataclass(frozen=True, slots=True)
class DaysMeant:
    """The days, as stretches from the first to the last, that a `word` of a question means; `weekdays` are
    those of single ones so near that a weekday alone means them.
    """

    word: str = ""
    stretches: tuple[tuple[date, date], ...] = ()
    weekdays: frozenset[int] = frozenset()

    def named_in(self, text: str) -> float:
        """How surely (0..1) a text that was read off a picture names one of them, in whatever way: by its
        date, or where it has none by its weekday.
        """
        found = values(text, is_read=True)
        dates = {day for value in found if value.kind == "date" for day in value.readings if day[2]}
        if dates:
            return float(any(_lies(day, *stretch) for day in dates for stretch in self.stretches))
        said = {number for value in found if value.kind == "weekday" for number in value.readings}
        return WEEKDAY_ALONE if said & self.weekdays else 0.0


NO_DAYS = DaysMeant()


def _lies(day: Day, first: date, last: date) -> bool:
    """Whether a day lies in a stretch, in its year or in any."""
    year, month, of_month = day
    years = range(first.year, last.year + 1) if year is None else (year,)
    real = (each for each in years if is_day((each, month, of_month)))
    return any(first <= date(each, month or 1, of_month or 1) <= last for each in real)


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text, as long as it was, with signs that mean nothing in place of some parts."""
    signs = list(text)
    for start, end in spans:
        signs[start:end] = "\u0001" * (end - start)
    return "".join(signs)


@lru_cache(maxsize=512)
def flattened(text: str) -> str:
    """The text in the forms of NFKC, character by character, as long as it was."""
    return text if text.isascii() else "".join(map(_flat, text))


@lru_cache(maxsize=8192)
def _flat(character: str) -> str:
    flat = unicodedata.normalize("NFKC", character)
    return flat if len(flat) == 1 else character


def mended(text: str) -> str:
    """A text that was read off a picture with its letters inside figures as digits: ``2O27``."""
    return _MISREAD_ONE.sub("1", _MISREAD.sub("0", text))


# -- dates ------------------------------------------------------------------------------------


def _dates(text: str, is_read: bool, language: str) -> Iterator[Value]:
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


def is_day(day: Day) -> bool:
    with suppress(ValueError):
        return bool(
            date(*(given if part is None else part for part, given in zip(day, _LEAP_DAY, strict=True)))
        )
    return False


def _named_days(text: str, is_read: bool, language: str) -> Iterator[Value]:
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


# -- clock times ------------------------------------------------------------------------------


def _clocks(text: str, is_read: bool, language: str) -> Iterator[Value]:
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


def _lengths(text: str, is_read: bool, language: str) -> Iterator[Value]:
    """``10 Stunden 26 Minuten``, ``1 hour and 20 minutes``: a clock shows them as 10:26 and 1:20."""
    for hours, minutes in pairwise(_WHOLE.finditer(text)):
        between = text[hours.end() : minutes.start()]
        if len(between) > MAX_BETWEEN or int(hours[0]) > 24 or int(minutes[0]) > 59:
            continue
        if _is_in(text, hours.end(), language, "hour") and _is_in(text, minutes.end(), language, "minute"):
            told = frozenset([int(hours[0]) * 60 + int(minutes[0])])
            yield Value(hours.start(), minutes.end(), "clock", told, _IN_MINUTES)


def _is_in(text: str, end: int, language: str, base: str) -> bool:
    return any(unit.base == base and unit.size == 1 for unit in _units(text, end, language))


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


# -- numbers ----------------------------------------------------------------------------------


def _numbers(text: str, is_read: bool, language: str) -> Iterator[Value]:
    for found in _NUMBER.finditer(text):
        yield _counted(text, found, language)
    for found in _HAN_NUMBER.finditer(text):
        number = integer(found[0])
        if number > SMALL:
            yield Value(found.start(), found.end(), "number", frozenset([Decimal(number)]))


def _counted(text: str, found: re.Match[str], language: str) -> Value:
    """A figure with its power of ten: ``1.2万``, ``3万8千``, ``2.4M``. A frame may have the power in a
    heading ("in 万円"), so that the figure alone is a reading, too.
    """
    readings, end = set(_decimals(found[0])), found.end()
    if tail := _HAN_TAIL.match(text, end):
        signs = tail[0].strip()  # "7.8 万", as some write it
        counted = {cldr.amount(f"{value}{signs}".replace(",", "")) for value in readings}
        readings, end = readings | counted if len(signs) == 1 else counted, tail.end()
    units = _units(text, end, language)
    if (word := _POWER.match(text, end)) and (powers := cldr.powers(language).get(cldr.key(word[1]), ())):
        readings |= {value * power for value in readings for power in powers}
        end = end if units else word.end()
    return Value(found.start(), end, "number", frozenset(readings), units)


def _units(text: str, end: int, language: str) -> frozenset[Unit]:
    """The units that the word behind a figure may be; one in Han or kana is what these begin with."""
    word = None if _ORDINAL.match(text, end) else _POWER.match(text, end)
    signs = cldr.key(word[1]) if word else ""
    lengths = range(min(len(signs), MAX_UNIT), 0, -1) if signs > "\u2e80" else (len(signs),)
    return next((of for n in lengths if (of := cldr.units(language).get(signs[:n]))), frozenset())


class _SpelledWord(NamedTuple):
    """A word as `text_to_num` asks for it: what stands between two may part their numbers."""

    found: re.Match[str]

    def text(self) -> str:
        return self.found[0].lower()

    def nt_separated(self, previous: _SpelledWord) -> bool:
        return not self.found.string[previous.found.end() : self.found.start()].isspace()

    def not_a_number_part(self) -> bool:
        return False


def _spelled(text: str, is_read: bool, language: str) -> Iterator[Value]:
    """``seventeen``, ``fünfzehntausend``, ``mil doscientos cincuenta``."""
    if language not in SPELLED_IN or text_to_num.alpha2digit(text, language, SMALL + 1) == text:
        return
    words = [_SpelledWord(found) for found in _SPELLED_WORD.finditer(text)]
    for number in text_to_num.find_numbers(words, language, 0):
        if number.value > SMALL and number.value != PERCENT:
            start, end = words[number.start].found.start(), words[number.end - 1].found.end()
            yield Value(start, end, "spelled", frozenset([Decimal(str(number.value))]))


def _decimals(figure: str) -> Iterator[Decimal]:
    """``1.250`` is 1250 and 1.25; ``1.250,00`` and ``1 250`` are 1250 only."""
    if figure.isdecimal():
        yield Decimal(figure)
        return
    plain = re.sub(rf"{SPACE}|['’]", "", figure)
    signs = [sign for sign in plain if sign in ".,"]
    parts = re.split("[.,]", plain)
    if len(set(signs)) == 2:
        yield Decimal("".join(parts[:-1]) + "." + parts[-1])
        return
    is_grouped = bool(signs) and len(parts[-1]) == 3 and len(parts[0]) <= 3 and parts[0].strip("0") != ""
    if len(signs) != 1 or is_grouped:
        yield Decimal("".join(parts))
    if len(signs) == 1 and parts[-1] != "000":
        yield Decimal(".".join(parts))
