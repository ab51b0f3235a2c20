"""The words of time phrases, English and Chinese, as tokens.

`lex` cuts a text into tokens, at each place the longest word it knows; what it does not know is an
`UNKNOWN` token, so that nothing is skipped silently. Latin words count only as whole words: there is
no "mon" in "month".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Literal


class Kind(Enum):
    DAY = auto()  # int: days ago
    EVENING = auto()  # int: days ago
    FUTURE = auto()  # a day, week or month ahead
    PART = auto()  # Part
    WEEKDAY = auto()  # int: 0 = Monday
    WEEK_WEEKDAY = auto()  # (weeks back, weekday): 上周五
    WEEK = auto()  # int: weeks back
    MONTH = auto()  # int: months back
    DATE = auto()  # (year or None, month, day)
    CLOCK = auto()  # Clock
    ELAPSED = auto()  # int: milliseconds back from now
    NUMBER = auto()  # float
    UNIT = auto()  # minute, hour, day, week, month
    LAST = auto()  # the one before ("last week"), or a stretch up to now ("last 3 hours")
    PAST = auto()  # only a stretch up to now ("past 3 hours")
    THIS = auto()
    NEXT = auto()
    DASH = auto()
    SINCE = auto()
    FROM = auto()
    AFTER = auto()
    BEFORE = auto()
    FILL = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the day in minutes after midnight. A clock time of its second half gets 12 hours."""

    start_min: int
    end_min: int
    adds_twelve: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock time as written; `half` is am, pm or nothing, `is_han` where 点 stood."""

    hour: int
    minute: int
    half: str = ""
    is_han: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A word; ``[start, end)`` in the original text, `size` in its normal form."""

    kind: Kind
    value: Any
    start: int
    end: int
    size: int
    text: str


def lex(text: str) -> list[Token]:
    """All tokens of a text, in order; white space is between them."""
    normal, origin = _normal(text)
    tokens = []
    at = 0
    while at < len(normal):
        if normal[at] == " ":
            at += 1
            continue
        kind, value, end = _longest(normal, at)
        first, last = origin[at], origin[end - 1] + 1
        tokens.append(Token(kind, value, first, last, end - at, text[first:last]))
        at = end
    return tokens


def _normal(text: str) -> tuple[str, list[int]]:
    """NFKC, lower case (as a browser can), white space collapsed; and where each character was."""
    characters: list[str] = []
    origin: list[int] = []
    for at, raw in enumerate(text):
        for character in unicodedata.normalize("NFKC", raw).lower():
            space = character.isspace()
            if space and (not characters or characters[-1] == " "):
                continue
            characters.append(" " if space else character)
            origin.append(at)
    return "".join(characters), origin


def _longest(text: str, at: int) -> tuple[Kind, Any, int]:
    best: tuple[Kind, Any, int] | None = None
    for kind, pattern, read in _WORDS:
        found = pattern.match(text, at)
        if found and (best is None or found.end() > best[2]):
            best = kind, read(found), found.end()
    if best:
        return best
    unknown = _ANYTHING.match(text, at)
    return Kind.UNKNOWN, None, unknown.end() if unknown else at + 1


_ANYTHING = re.compile(r"[a-z]+|\d+(?:[./:-]\d+)*|.", re.DOTALL | re.ASCII)

Reader = Callable[[re.Match[str]], Any]


def _word(kind: Kind, pattern: str, read: Reader | Any = None) -> tuple[Kind, re.Pattern[str], Reader]:
    """Latin letters and digits must not run on before or behind the pattern."""
    reader = read if callable(read) else lambda _: read
    bounded = (
        rf"(?:(?<![a-z0-9])(?=[a-z0-9])|(?![a-z0-9]))(?:{pattern})(?:(?<=[a-z0-9])(?![a-z0-9])|(?<![a-z0-9]))"
    )
    return kind, re.compile(bounded, re.VERBOSE | re.ASCII), reader


_HAN_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = "[零〇一二两三四五六七八九十]"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY_NUMBER = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR_BEHIND = r"(?:,?\ (?P<y>\d{4}))?(?!:)"
_COUNT = rf"(?:\d{{1,2}}|{_HAN_NUMBER}{{1,3}})"
_PAST_THE_HOUR = rf"(?P<past>半|一刻|{_COUNT}分?)?"
_WEEK = "(?:周|星期|礼拜)"
_HAN_WEEKDAY = "[一二三四五六日天]"


def han_number(text: str) -> float:
    """``12``, ``1.5``, ``十二``, ``二十四``, ``两``."""
    if text[0].isdigit():
        return float(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return float("".join(str(_HAN_DIGITS[c]) for c in text))
    return float(10 * (_HAN_DIGITS.get(tens, 1) if tens else 1) + (_HAN_DIGITS.get(ones, 0) if ones else 0))


def _weekday(found: re.Match[str]) -> int:
    return min("一二三四五六日天".index(found[0][-1]), 6)


def _week_weekday(found: re.Match[str]) -> tuple[int, int]:
    return found["back"].count("上"), _weekday(found)


def _date(found: re.Match[str]) -> tuple[int | None, int, int]:
    year = found.groupdict().get("y")
    month = found["m"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    return (int(year) if year else None), number, int(found["d"])


def _clock(found: re.Match[str]) -> Clock:
    groups = found.groupdict()
    half = (groups.get("half") or "").replace(".", "")
    return Clock(int(found["h"]), int(groups.get("min") or 0), half)


def _han_clock(found: re.Match[str]) -> Clock:
    past = found["past"]
    minute = (
        30 if past == "半" else 15 if past == "一刻" else int(han_number(past.rstrip("分"))) if past else 0
    )
    return Clock(int(han_number(found["h"])), minute, is_han=True)


_DAY_PARTS = (
    ("凌晨", Part(0, 360)),
    ("morning|早上|早晨|上午|清晨", Part(360, 720)),
    ("noon|lunch(?:time)?|中午", Part(660, 780)),
    ("afternoon|下午", Part(720, 1080, True)),
    ("傍晚", Part(1020, 1140, True)),
    ("evening|晚上", Part(1080, 1440, True)),
    ("night|深夜|夜里", Part(1200, 1680, True)),
)
MORNING, EVENING = _DAY_PARTS[1][1], _DAY_PARTS[5][1]
_WEEKDAYS = (
    "monday|mon",
    "tuesday|tues?",
    "wednesday|wed",
    "thursday|thu(?:rs?)?",
    "friday|fri",
    "saturday|sat",
    "sunday|sun",
)
_UNITS = (
    ("minute", r"minutes?|mins?|分钟"),
    ("hour", r"hours?|hrs?|个?小时|个?钟头"),
    ("day", r"days?|天"),
    ("week", r"weeks?|个?星期|个?礼拜|周"),
    ("month", r"months?|个月"),
)

# "@today" in a message, and no part of an address of mail.
_AT = "(?<![a-z0-9_.+-])@"

_WORDS: tuple[tuple[Kind, re.Pattern[str], Reader], ...] = (
    _word(Kind.DAY, "today|今天|今日", 0),
    _word(Kind.DAY, "yesterday|昨天|昨日", 1),
    _word(Kind.DAY, r"day\ before\ yesterday|前天", 2),
    _word(Kind.DAY, "大前天", 3),
    _word(Kind.DAY, f"{_AT}(?:today|今天)", 0),
    _word(Kind.DAY, f"{_AT}(?:yesterday|昨天)", 1),
    _word(Kind.ELAPSED, f"{_AT}(?:last-hour|最近一小时)", 3_600_000),
    _word(Kind.DAY, "今(?=[早晚])", 0),
    _word(Kind.DAY, "昨(?=[晚夜])", 1),
    _word(Kind.EVENING, "tonight", 0),
    _word(Kind.EVENING, r"last\ night", 1),
    _word(Kind.PART, "(?<=今)早", MORNING),
    _word(Kind.PART, "(?<=[今昨])[晚夜]", EVENING),
    _word(Kind.FUTURE, "tomorrow|明[天日早晚]|大?后天"),
    _word(Kind.FUTURE, f"下+个?{_WEEK}{_HAN_WEEKDAY}?|下+个?月"),
    *(_word(Kind.PART, words, part) for words, part in _DAY_PARTS),
    *(_word(Kind.WEEKDAY, words, number) for number, words in enumerate(_WEEKDAYS)),
    _word(Kind.WEEKDAY, f"{_WEEK}{_HAN_WEEKDAY}", _weekday),
    _word(Kind.WEEK_WEEKDAY, f"(?P<back>[本这]|上+)个?{_WEEK}{_HAN_WEEKDAY}", _week_weekday),
    _word(Kind.WEEK, f"(?P<back>[本这]|上+)个?{_WEEK}", lambda found: found["back"].count("上")),
    _word(Kind.MONTH, "(?P<back>[本这]|上+)个?月", lambda found: found["back"].count("上")),
    _word(Kind.DATE, r"(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})", _date),
    _word(Kind.DATE, r"(?:(?P<y>\d{4})年)?(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]", _date),
    _word(Kind.DATE, rf"(?P<m>{_MONTH_NAME})\.?\ {_DAY_NUMBER}{_YEAR_BEHIND}", _date),
    _word(Kind.DATE, rf"{_DAY_NUMBER}\ (?:of\ )?(?P<m>{_MONTH_NAME}){_YEAR_BEHIND}", _date),
    _word(Kind.CLOCK, r"(?P<h>\d{1,2}):(?P<min>\d{2})(?:\ ?(?P<half>[ap]\.?m)\.?)?", _clock),
    _word(Kind.CLOCK, r"(?P<h>\d{1,2})\ ?(?P<half>[ap]\.?m)\.?", _clock),
    _word(Kind.CLOCK, rf"(?P<h>{_COUNT})点{_PAST_THE_HOUR}", _han_clock),
    _word(Kind.NUMBER, rf"\d+(?:\.\d+)?(?![.\d]*[/:\d])|{_HAN_NUMBER}{{1,3}}", lambda m: han_number(m[0])),
    _word(Kind.NUMBER, rf"(?P<n>{_COUNT})个半(?=小时|钟头)", lambda m: han_number(m["n"]) + 0.5),
    _word(Kind.NUMBER, r"half(?:\ an?)?|半个?(?=小时|钟头)", 0.5),
    *(_word(Kind.UNIT, words, name) for name, words in _UNITS),
    _word(Kind.LAST, "last"),
    _word(Kind.PAST, "past|最近|过去|近"),
    _word(Kind.THIS, "this"),
    _word(Kind.NEXT, "next"),
    _word(Kind.DASH, "[-–—~]|到|至|to|until|till"),
    _word(Kind.SINCE, "since|自从"),
    _word(Kind.FROM, "from|从"),
    _word(Kind.AFTER, "after"),
    _word(Kind.BEFORE, "before"),
    _word(Kind.FILL, "the|at|in|on|of|的|在|,"),
    # Not understood, and not to be taken for a shorter word that is.
    _word(Kind.UNKNOWN, f"[本这上下]*个?周末|weekends?|{_WEEK}年"),
    _word(Kind.UNKNOWN, "[早晚]上好|下午好|good\\ (?:morning|afternoon|evening|night)"),
    _word(Kind.UNKNOWN, r"\d+(?:/\d+)+"),
)  # fmt: skip


# ---- phrase clock
# Clock times of a phrase in minutes after midnight: am and pm, 下午 and 晚上, and what ends share.
#
# "9-11am" is in the morning at both ends, "11-2pm" begins before noon; 晚上12点 is midnight. What no
# clock shows is refused, never rolled over.

Problem = Literal["unrecognised", "unread", "ambiguous", "future", "no_such_date", "no_such_time"]


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
        shared = minute_of(replace(first, half=last.half), None) if 1 <= first.hour <= 12 else start
        start = shared if shared <= end else start
    elif first.half and not last.half and end <= start:
        halves = ("am", "pm") if 1 <= last.hour <= 12 else ()
        later = (minute_of(replace(last, half=half), None) for half in halves)
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
