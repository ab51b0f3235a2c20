"""What of a text can be compared with another text: numbers, dates, clock times.

``18,430`` is ``18.430,00`` and ``18 430``, 4 March is 2027-03-04 and 3月4日, 2:30 pm is 14:30 and 14 h 30.
Where a text may be read in two ways it has both readings (``1.250``, ``03/04``): two texts agree when one
reading of the one is a reading of the other. A unit is no part of a figure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import text_to_num

from assistant.language import cldr
from assistant.language.cldr import integer
from assistant.language.small_words import language_of
from assistant.language.time_grammar import compose
from assistant.language.time_lexer import pieces_of
from assistant.language.time_said import PARTS, Point, Span
from assistant.language.time_tables import LATIN, latin, plain

Kind = Literal["number", "spelled", "date", "clock", "weekday"]
Day = tuple[int | None, int | None, int | None]
"""Year, month and day of the month, each None when it is not said."""

_TELLING = frozenset("nqKRPC")
"""Kinds of words, one of which is in each clock time in words: numbers, halves, parts of a day."""

_HAN_HOUR = re.compile("[点點時时零午]")

_CLOCK_KINDS = frozenset("CPRZ")
"""Pieces of the grammar of times that may hold a clock time: of a day or alone, and spans."""

_JOINTS = frozenset("T&G-")
"""Pieces between the two ends of a span."""

HUNDREDTHS = (100, Decimal("0.01"))
"""What a fraction may count in another place: cents and percent."""

NOON = range(690, 780)
"""Minutes after midnight that people call noon."""

MAX_SPOKEN_CHARS = 1_000
"""Of a sentence in which clock times in words are looked for."""

_LEAP_DAY = (2024, 1, 1)

SMALL = 2
"""Numbers in words or Han signs up to here mostly count, and are compared only beside a unit of time."""

LONG_NUMBER = 7
"""Digits of a number that nobody counts by, and that is written in parts."""

PERCENT = 100
"""Alone this number in words is mostly a part of another word: ``pour cent``."""

SPELLED_IN = ("en", "de", "fr", "es", "pt", "it", "nl", "da")
"""Languages whose numbers in words are known."""

_HAN = "〇零一二三四五六七八九十百千万亿億两兩壹贰叁肆伍陆柒捌玖拾廿卅"
UNIT = 2
"""Letters that a unit may have: "640 Mo" are no millions for sure."""

_SPACE = "[ \u00a0\u202f\u2009]"
_NUMBER = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:{_SPACE}\d{{3}})+(?:[.,]\d+)?(?![\d])|(?<!\d)\d{{1,20}}(?!\d)(?:[.,'’]\d{{1,20}}(?!\d)){{0,8}}"
)
_COUNT = rf"(?:\d{{1,2}}|[{_HAN}]{{1,3}})"
_FULL = re.compile(
    rf"(?P<y>\d{{4}}|[{_HAN}]{{4}})\s?[-/.年년]\s?(?P<m>{_COUNT})\s?[-/.月월]\s?(?P<d>{_COUNT})\s?[日号號일]?"
)
_CJK = re.compile(
    rf"(?:(?P<y>\d{{4}}|[{_HAN}]{{4}})\s?[年년]\s?|\d{{1,2}}年)?(?P<m>{_COUNT})\s?[月월](?:\s?(?P<d>{_COUNT})\s?[日号號일]?)?"
)
_MONTH = re.compile(r"(?<![\d./-])(?P<y>\d{4})[-/](?P<m>\d{2})(?![\d/-])")
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
_LETTERS = re.compile(r"[^\W\d_]+")
_SPELLED_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’.-](?=[^\W\d_])[^\W\d_]+)*")
_DAY_LEFT = re.compile(
    r"(?<![\d.,:/-])(\d{1,2})(?:[^\W\d_]{1,2}|[.º°])?,?\s{0,2}(?:[^\W\d_]{1,3}\s|[^\W\d_]['’])?\Z"
)
_DAY_RIGHT = re.compile(r"\.?,?\s{0,2}(?:[^\W\d_]{1,3}\s)?(\d{1,2})(?![\d:/-]|[.,]\d)(?:[^\W\d_]{1,2}\b)?")
_DAY_BEHIND = re.compile(r"[.,]?\s{1,2}(\d{1,2})(?![\d:/]|[.,]\d)")
_DAY_BEFORE = re.compile(r"(?<![\d:/.,-])(\d{1,2})日?[\s(（]{0,2}\Z")
_NEXT_WORD = re.compile(r"\.?\s{1,2}([^\W\d_]+)")
_LINK = re.compile(r"(?<![^\W_])[^\W\d_]{1,3}(?![^\W_])")
_YEAR = re.compile(r"\.?,?\s{1,2}(?:[^\W\d_]{1,3}\s)?((?:19|20)\d\d)(?!\d)")
_MISREAD = re.compile(r"(?<=[\d.,:/-])[OoQ]|[OoQ](?=[\d:])")
_MISREAD_ONE = re.compile(r"(?<=\d)[lI|](?=[\d\s.,:/-]|\Z)|(?<![^\W\d_])[lI|](?=\d)")
_HAN_NUMBER = re.compile(f"(?<![{_HAN}])(?:[{_HAN}]{{2,12}}|(?<=分之)[{_HAN}])(?![{_HAN}])")
_HAN_TAIL = re.compile(r"(?:[百千万萬亿億](?:\d,\d{3}(?!\d)|\d{1,4}(?!\d))?)+")
_POWER = re.compile(r"\s?([^\W\d_]+)")
_POINTED_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d")
_LONG = re.compile(r"\d{3}|[:.]\d")
_PARTED = re.compile(r"\d(?:[ ()./-]{0,2}\d){6,19}(?!\d)")
_DIGITS = re.compile(r"(?<!\d)\d{1,20}(?!\d)")  # longer ones are no figures


@dataclass(frozen=True, slots=True)
class Value:
    """``text[start:end]`` and its readings: of a number `Decimal`, of a date `Day`, of a clock time
    the minutes after midnight, of a weekday its number (Monday is 0).
    """

    start: int
    end: int
    kind: Kind
    readings: frozenset[Any]


@lru_cache(maxsize=64)
def values(text: str, *, is_read: bool = False, language: str = "") -> tuple[Value, ...]:
    """The values of a text in order, without overlap. `is_read` says that a reader of pictures made the
    text: names of months count there however they are written. Numbers in words are those of `language`.
    """
    flat = flattened(text)
    taken = bytearray(len(flat))
    found: list[Value] = []
    for finder in (_dates, _named_days, _composed_clocks, _clocks, _numbers):
        is_composed = finder is _composed_clocks
        free = without(flat, [(value.start, value.end) for value in found]) if is_composed else flat
        for value in finder(free, is_read):
            # The word behind a figure may be a day in one language and a thousand in another: "90 min".
            end = taken.find(1, value.start, value.end) if value.kind == "number" else -1
            value = replace(value, end=end) if end > value.start else value
            if value.start < value.end and not any(taken[value.start : value.end]):
                taken[value.start : value.end] = b"\x01" * (value.end - value.start)
                found.append(value)
    for value in _spelled(flat, language):
        if not any(taken[value.start : value.end]):
            found.append(value)
    return tuple(sorted(found, key=lambda value: value.start))


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text, as long as it was, with signs that mean nothing in place of some parts."""
    signs = list(text)
    for start, end in spans:
        signs[start:end] = "\u0001" * (end - start)
    return "".join(signs)


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


def _dates(text: str, is_read: bool) -> Iterator[Value]:
    for pattern in (_FULL, _MONTH, _CJK, _DOTTED):
        for found in pattern.finditer(text):
            parts = found.groupdict()
            year, month, of_month = (integer(parts[part]) if parts.get(part) else None for part in "ymd")
            yield from _day(found, {(year, month, of_month)})
    for found in _EITHER_ORDER.finditer(text):
        a, b = int(found["a"]), int(found["b"] or found["c"])
        year = int(found["y"]) if found["y"] else None
        year = year + 2000 if year is not None and year < 100 else year
        yield from _day(found, {(year, b, a), (year, a, b)})


def _day(found: re.Match[str], days: Iterable[Day]) -> Iterator[Value]:
    real = frozenset(day for day in days if _is_day(day))
    if real:
        yield Value(found.start(), found.end(), "date", real)


def _is_day(day: Day) -> bool:
    year, month, of_month = (
        given if part is None else part for part, given in zip(day, _LEAP_DAY, strict=True)
    )
    try:
        date(year, month, of_month)
    except ValueError:
        return False
    return True


def _named_days(text: str, is_read: bool) -> Iterator[Value]:
    """``4 March 2027``, ``March 4th``, ``le 4 mars``, ``juin 2027``, ``Monday``, ``周一``."""
    for found in _WORD.finditer(text):
        name = cldr.key(found[0])
        if months := cldr.months().get(name):
            yield from _of_month(text, found, months, is_read)
        days = cldr.weekdays().get(name) if is_read or len(name) > cldr.SHORT_WEEKDAY else None
        if is_read and not days and not found[0][0].islower():
            days = cldr.short_weekdays().get(name)
        if days:
            yield Value(found.start(), found.end(), "weekday", days)
    pattern, names = cldr.unspaced_weekdays()
    for found in pattern.finditer(text):
        yield Value(found.start(), found.end(), "weekday", names[found[0]])


def _of_month(text: str, found: re.Match[str], months: frozenset[int], is_read: bool) -> Iterator[Value]:
    before = _DAY_LEFT.search(text, max(0, found.start() - 10), found.start())
    after = _DAY_RIGHT.match(text, found.end())
    is_whole = cldr.key(found[0]) in cldr.whole_months()
    if not is_whole and (near := before or after) and _LINK.search(near[0]):
        return  # "set to 14": no day has a word before its abbreviated month
    following = _NEXT_WORD.match(text, after.end()) if after and not before else None
    if following and cldr.key(following[1]) in cldr.months():
        return  # "Sun 9 May": a weekday's name is a month's in another language
    year = _YEAR.match(text, found.end() if before or not after else after.end())
    if not (before or after or year or is_read):
        return
    is_sure = is_read or is_whole or found[0][0].isupper() or text[found.end() : found.end() + 1] == "."
    if not is_sure and not year:
        return
    of_month = before or after
    last = max(year.end() if year else 0, found.end(), after.end() if after and not before else 0)
    day = int(of_month[1]) if of_month else None
    days = {(int(year[1]) if year else None, month, day) for month in months}
    real = frozenset(each for each in days if _is_day(each))
    if real:
        yield Value(before.start() if before else found.start(), last, "date", real)


# -- clock times ------------------------------------------------------------------------------


def _clocks(text: str, is_read: bool) -> Iterator[Value]:
    for found in cldr.halves().finditer(text):
        minutes = int(found["h"]) % 12 * 60 + 720 * bool(found["late"]) + int(found["m"] or 0)
        yield Value(found.start(), found.end(), "clock", frozenset([minutes]))
    for found in cldr.hours().finditer(text):
        if int(found["h"]) <= 24:
            readings = _of_dial(int(found["h"]) % 24 * 60 + int(found["m"] or 0), found["h"])
            yield Value(found.start(), found.end(), "clock", readings)
    for found in _CLOCK.finditer(text):
        hour = integer(found["h"] or found["bare"] or found["han"])
        past = integer(found["m"] or found["past"] or "0") if not found["half"] else 30
        if hour <= 24 and past < 60:
            readings = _of_dial(hour % 24 * 60 + past, found["h"] or "")
            if found["s"] and not hour:  # or minutes and seconds, of a recording
                readings |= {past * 60 + int(found["s"])}
            yield Value(found.start(), found.end(), "clock", readings)


def _of_dial(minutes: int, written: str) -> frozenset[int]:
    """The times that a clock time without a half of the day means: two, unless its hour tells."""
    is_open = 0 < minutes // 60 <= 12 and not written.startswith("0")
    return frozenset([minutes, (minutes + 720) % 1440] if is_open else [minutes])


def _composed_clocks(text: str, is_read: bool = False) -> Iterator[Value]:
    """``half past nine``, ``à 3 heures de l'après-midi``: what the grammar of times makes of a sentence."""
    is_told = not is_read and len(text) <= MAX_SPOKEN_CHARS and _may_tell(text)
    pieces = pieces_of(text) if is_told else []
    telling = "".join(piece.kind for piece in pieces if piece.kind in _TELLING)
    for piece in compose(pieces) if len(telling) > 1 or telling in ("C", "P") else ():
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


def _may_tell(text: str) -> bool:
    """Whether a text has a word that tells a clock time; most have none, and need no grammar."""
    return bool(_HAN_HOUR.search(text)) or not _telling_words().isdisjoint(
        _LETTERS.findall("".join(map(plain, text)))
    )


@cache
def _telling_words() -> frozenset[str]:
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
    minutes = clock.hour * 60 + clock.minute
    if part and clock.hour <= 12:
        return frozenset([(part.clock_min + (minutes - part.clock_min) % 720) % 1440])
    if clock.half:
        return frozenset([minutes % 720 + 720 * (clock.half == "pm")])
    is_open = clock.is_bare and clock.hour <= 12
    return frozenset([minutes % 1440, (minutes + 720) % 1440] if is_open else [minutes % 1440])


# -- numbers ----------------------------------------------------------------------------------


def _numbers(text: str, is_read: bool) -> Iterator[Value]:
    for found in _NUMBER.finditer(text):
        yield _counted(text, found)
    for found in _HAN_NUMBER.finditer(text):
        number = integer(found[0])
        if number > SMALL:
            yield Value(found.start(), found.end(), "number", frozenset([Decimal(number)]))


def _counted(text: str, found: re.Match[str]) -> Value:
    """A figure with its power of ten: ``1.2万``, ``3万8千``, ``2.4M``. A frame may have the power in a
    heading ("in 万円"), so that the figure alone is a reading, too.
    """
    readings, end = set(_decimals(found[0])), found.end()
    if tail := _HAN_TAIL.match(text, end):
        counted = {cldr.amount(f"{value}{tail[0]}".replace(",", "")) for value in readings}
        readings, end = readings | counted if len(tail[0]) == 1 else counted, tail.end()
    elif (word := _POWER.match(text, end)) and (powers := cldr.powers().get(cldr.key(word[1]), ())):
        readings |= {value * power for value in readings for power in powers}
        end = word.end() if len(word[1]) > UNIT else end
    return Value(found.start(), end, "number", frozenset(readings))


class _SpelledWord(NamedTuple):
    """A word as `text_to_num` asks for it: what stands between two may part their numbers."""

    found: re.Match[str]

    def text(self) -> str:
        return self.found[0].lower()

    def nt_separated(self, previous: _SpelledWord) -> bool:
        return not self.found.string[previous.found.end() : self.found.start()].isspace()

    def not_a_number_part(self) -> bool:
        return False


def _spelled(text: str, language: str) -> Iterator[Value]:
    """``seventeen``, ``fünfzehntausend``, ``mil doscientos cincuenta``."""
    if language not in SPELLED_IN or text_to_num.alpha2digit(text, language, SMALL + 1) == text:
        return
    words = [_SpelledWord(found) for found in _SPELLED_WORD.finditer(text)]
    for number in text_to_num.find_numbers(words, language, 0):
        if number.value > SMALL and number.value != PERCENT:
            start, end = words[number.start].found.start(), words[number.end - 1].found.end()
            kind: Kind = "number" if number.is_ordinal else "spelled"
            yield Value(start, end, kind, frozenset([Decimal(str(number.value))]))


def _decimals(figure: str) -> Iterator[Decimal]:
    """``1.250`` is 1250 and 1.25; ``1.250,00`` and ``1 250`` are 1250 only."""
    if figure.isdecimal():
        yield Decimal(figure)
        return
    plain = re.sub(rf"{_SPACE}|['’]", "", figure)
    signs = [sign for sign in plain if sign in ".,"]
    parts = re.split("[.,]", plain)
    if len(set(signs)) == 2:
        yield Decimal("".join(parts[:-1]) + "." + parts[-1])
        return
    is_grouped = bool(signs) and len(parts[-1]) == 3 and len(parts[0]) <= 3 and parts[0].strip("0") != ""
    if len(signs) != 1 or is_grouped:
        yield Decimal("".join(parts))
    if len(signs) == 1:
        yield Decimal(".".join(parts))


# -- comparing --------------------------------------------------------------------------------


class Shown:
    """The values that a screen shows, for comparison: those of its texts and its moment.

    `moment` is local, RFC 3339; '' for a text that is of no moment.
    """

    def __init__(self, texts: Iterable[str], moment: str = "") -> None:
        self.numbers: set[Decimal | int] = set()
        self._parts: set[Decimal | int] = set()  # of dates
        self.days: set[Day] = set()
        self.clocks: set[int] = set()
        self.weekdays: set[int] = set()
        self._captured: int | None = None
        self._texts = tuple(texts)
        self._units: dict[Decimal, set[str]] = {}
        self._moment = date.fromisoformat(moment[:10]) if moment else None
        if moment:
            self._add_moment(moment)
        for text in self._texts:
            lines = flattened(text).split("\n")
            misread = [line for line, read in zip(map(mended, lines), lines, strict=True) if line != read]
            forms = "\n".join(lines + misread)
            self._add(forms, values(forms, is_read=True))
        # A day without a year is mostly of the year in which it was on the screen.
        this_year = int(moment[:4]) if moment else None
        for year, month, of_month in self.days:
            year = year or this_year
            if year and month and of_month and _is_day((year, month, of_month)):
                self.weekdays.add(date(year, month, of_month).weekday())

    def holds(self, value: Value) -> bool:
        """Whether one reading of a value is shown."""
        if value.kind == "date":
            return any(_same_day(said, shown) for said in value.readings for shown in self.days)
        if value.kind == "clock":
            return bool(value.readings & self.clocks or value.readings & self._spoken_clocks)
        if value.kind == "weekday":
            return bool(value.readings & self.weekdays)
        if any(len(str(number)) >= LONG_NUMBER and str(number) in self._runs for number in value.readings):
            return True
        shown = (self.numbers, self._parts if value.kind == "number" else self._whole_and_rest)
        said = {
            reading * size
            for reading in value.readings
            for size in (1, *HUNDREDTHS)
            if size == 1 or reading % 1
        }
        return any(not said.isdisjoint(numbers) for numbers in (*shown, self._spelled_numbers))

    @cached_property
    def _runs(self) -> frozenset[str]:
        """Long numbers without what parts their digits: of telephones and accounts."""
        parted = (found[0] for text in self._texts for found in _PARTED.finditer(flattened(text)))
        return frozenset(re.sub(r"\D", "", digits).lstrip("0") for digits in parted)

    @cached_property
    def _whole_and_rest(self) -> frozenset[int]:
        """Both sides of the point of figures: in words they are two numbers."""
        whole = {int(number) for number in self.numbers}
        return frozenset(whole | {int(number * 100 % 100) for number in self.numbers if number % 1})

    @cached_property
    def _spelled_numbers(self) -> frozenset[Any]:
        """Numbers in words of the language that it is in, likewise rare."""
        found = (_spelled(text, language_of(text)) for text in self._texts)
        return frozenset(reading for numbers in found for value in numbers for reading in value.readings)

    @cached_property
    def _spoken_clocks(self) -> frozenset[Any]:
        """Clock times in words. They are rare on screens, so none is looked for before one is missed."""
        lines = (_DIGITS.sub("\u0001", line) for text in self._texts for line in flattened(text).splitlines())
        clocks = (value.readings for line in lines for value in _composed_clocks(line))
        return frozenset().union(*clocks)

    def _add_moment(self, moment: str) -> None:
        day = date.fromisoformat(moment[:10])
        self.days.add((day.year, day.month, day.day))
        self._parts |= {day.year, day.day}
        self._captured = int(moment[11:13]) * 60 + int(moment[14:16])
        self._add_clocks({self._captured})

    def rounds_to(self, value: Value) -> bool:
        """Whether a clock time tells the moment as people round it: to five minutes, or half an hour."""
        return value.kind == "clock" and any(map(self._is_about, value.readings))

    def unit(self, value: Value) -> set[str]:
        """The letters that stand at a number everywhere it is shown; none where it stands alone, too."""
        units = [self._units.get(reading, {""}) for reading in value.readings & self.numbers]
        return set() if any("" in each for each in units) else set().union(*units)

    def _is_about(self, said: int) -> bool:
        if self._captured is None or said % 5:
            return False
        off = abs(said - self._captured)
        return min(off, 1440 - off) <= (15 if said % 30 == 0 else 5)

    def _add(self, text: str, found: Sequence[Value]) -> None:
        orders = _orders(text, found)
        is_24 = any(_is_late(value, text) for value in found)
        for value in found:
            written = text[value.start : value.end]
            runs = [int(run) for run in _DIGITS.findall(written)]
            if value.kind == "number":
                self.numbers |= value.readings
                behind = text[value.end : value.end + 1]
                for reading in value.readings:
                    self._units.setdefault(reading, set()).add(behind.casefold() if behind.isalpha() else "")
                if re.search(_SPACE, written):  # it may be two columns
                    self.numbers |= set(runs)
                if _POINTED_CLOCK.fullmatch(written):
                    self.clocks.add(runs[0] * 60 + runs[1])
            elif value.kind == "date":
                self._add_days(value.readings, runs, orders)
            elif value.kind == "clock":
                as_written = {clock for clock in value.readings if clock // 60 in runs[:2]}
                is_bare = is_24 and as_written and not any(map(str.isalpha, written))
                self._add_clocks(as_written if is_bare else value.readings)
            else:
                self.weekdays |= value.readings
                before = _DAY_BEFORE.search(text, max(0, value.start - 6), value.start)
                for of_month in filter(None, (before, _DAY_BEHIND.match(text, value.end))):
                    if self._moment:
                        self.days |= set(_in_calendar(self._moment, value.readings, int(of_month[1])))

    def _add_days(self, days: Set[Day], runs: Sequence[int], orders: Set[str]) -> None:
        """Days, with their parts; one that may be two is read in the order of the others."""
        self.days |= {day for day in days if len(days) == 1 or not orders or _order(runs, day) in orders}
        self._parts |= {*runs, *(part for year, _, of_month in days for part in (year, of_month) if part)}

    def _add_clocks(self, clocks: Set[int]) -> None:
        """Clock times, with their hours as numbers, and as they are written with a point."""
        self.clocks |= clocks
        for hour, past in (divmod(clock, 60) for clock in clocks):
            self.numbers |= {hour, hour % 12 or 12, hour + Decimal(past) / 100}


def _in_calendar(near: date, weekdays: Set[int], of_month: int) -> Iterator[Day]:
    """The days of a calendar's column or line, ``Mon 19``, ``19(月)``: of a day's month or one beside."""
    for month in range(near.month - 2, near.month + 1):
        day = near.year + month // 12, month % 12 + 1, of_month
        if _is_day(day) and date(*day).weekday() in weekdays:
            yield day


def _is_late(value: Value, text: str) -> bool:
    """Whether a clock time can only be of a clock with 24 hours."""
    written = text[value.start : value.end]
    return value.kind == "clock" and min(value.readings) >= 13 * 60 and not any(map(str.isalpha, written))


def _orders(text: str, found: Sequence[Value]) -> set[str]:
    """In which orders a text surely writes day and month: told by days beyond 12."""
    orders = set()
    for value in found:
        if value.kind == "date":
            runs = [int(run) for run in _DIGITS.findall(text[value.start : value.end])]
            if len(value.readings) == 1:
                orders |= {_order(runs, day) for day in value.readings if day[1] != day[2]}
    return orders - {""}


def _order(runs: Sequence[int], day: Day) -> str:
    return "day" if runs[:2] == [day[2], day[1]] else "month" if runs[:2] == [day[1], day[2]] else ""


def _same_day(said: Day, shown: Day) -> bool:
    return all(
        a == b or a is None or (b is None and part == 0)
        for part, (a, b) in enumerate(zip(said, shown, strict=True))
    )
