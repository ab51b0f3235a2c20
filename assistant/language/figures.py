"""The figures in a text, as things that can be compared: clock times, dates, durations, numbers.

"14" the hour, "14" the day and "14" the number of days are three things; a citation at 14:32 proves
nothing about 14 days. So the text is read once, what is longest first, and each figure becomes a
word that says its kind: ``2:32 pm`` is ``clock 14:32``, ``11月20日`` is ``date 11-20``, ``1 h 20
min`` is ``minutes 80``, ``Friday`` is ``weekday 5``, and what is left are plain numbers. Figures in
words count as figures: "three hours", "半小时", "两个文件". The same
length of time is the same figure in any unit: ``500 ms`` and "half a second" are ``seconds 0.5``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

# ---- numerals
# Numbers written in words, as digits: "three hours" and "3 hours" are one claim.
#
# Only where a number is meant: "one" and "一" are mostly articles, so they count before a unit of
# time alone; a Chinese numeral counts before a measure word or a unit.

_ONES_TEXT = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
_TENS_TEXT = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES, _TENS = _ONES_TEXT.split(), _TENS_TEXT.split()
_VALUES = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_LARGE = {"hundred": 100, "thousand": 1000, "dozen": 12}
_ENGLISH = re.compile(
    rf"\b(?P<words>(?:{'|'.join([*_TENS, *_ONES[::-1]])})(?:[\s-](?:{'|'.join(_ONES[1:10])}))?)"
    rf"(?P<large>\s+(?:{'|'.join(_LARGE)}))?\b"
    r"|\b(?P<article>an?)\s+(?P<many>hundred|thousand|dozen)\b",
    re.IGNORECASE,
)
_TIME_UNIT = re.compile(
    r"[\s-]+(?:hours?|hrs?|minutes?|mins?|seconds?|days?|weeks?|months?|years?)\b", re.IGNORECASE
)
_HALF = re.compile(r"\bhalf\s+an?\s+hour\b|\ba\s+half[\s-]hour\b|半个?小时|半个钟头", re.IGNORECASE)
_TWICE = re.compile(r"\btwice\b", re.IGNORECASE)
_QUARTER = re.compile(r"\b(?:a\s+)?quarter\s+of\s+an\s+hour\b|一刻钟", re.IGNORECASE)
_A_YEAR = re.compile(r"\b(within|for|after)\s+an?\s+(?=(?:day|week|month|year)\b)", re.IGNORECASE)
_AN_HOUR = re.compile(r"\b(?:an|a|one)\s+(?P<unit>hour|minute)(?P<half>\s+and\s+a\s+half)?\b", re.IGNORECASE)
_HAN_VALUES = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN = re.compile(
    r"(?<![周期拜十百千第])(?P<sign>[一二两三四五六七八九十百]{1,5})"
    r"(?=(?P<unit>个?小时|分钟|天|个月|个|份|封|次|页|元|块|条|名|位|张|行|周|年|月|点|人|件|篇|段|帧|秒|毫秒|号|级|期|米"
    r"|度|倍|台|组|项|步|章|岁|日))"
)
_HALF_UNIT = re.compile(
    r"\bhalf\s+an?\s+(?=(?:milli)?second\b|day\b|year\b|met(?:re|er)\b|million\b)|半(?=秒|天|年)",
    re.IGNORECASE,
)
_HAN_CLOCK = re.compile(
    r"(?:(?<=[午晨晚上间里])|(?=[一二两三四五六七八九十]{1,3}点[半整钟一二三四五十\d]))(?P<hour>[一二两三四五六七八九十]{1,3})点"
    r"(?P<past>[一二三四五]?十[一二三四五六七八九]?|[零〇][一二三四五六七八九])?"
)
_HAN_PERCENT = re.compile(r"百分之(?P<sign>[一二两三四五六七八九十百]{1,5}|\d+(?:\.\d+)?)")
_MULTIPLE = re.compile(
    r"(?<![\d.,])(?P<number>\d+(?:[.,]\d+)*)\s?(?:(?P<k>[kK])\b|(?P<m>[mM]illion\b)|(?P<wan>万)|(?P<qian>千)(?![克米]))"
)
_NAMED_UNIT = re.compile(
    r"(?<=[A-Za-z\d])_(?P<unit>MS|SEC|S|MIN)\b\W{0,5}(?:to|is|at|of)?\s*\d+(?:\.\d+)?(?![\w.]|\s*[a-z])",
    re.IGNORECASE,
)
_FACTORS = {"k": 1_000, "m": 1_000_000, "wan": 10_000, "qian": 1_000}
_MONEY = r"(?:EUR|USD|CNY|RMB|[€$£¥]|euros?|dollars?|yuan|欧元|美元|元)"
# A plain space parts thousands beside money only: in a table it parts two cells.
_SPACED = re.compile(
    rf"(?P<sign>{_MONEY}\s?)(?P<signed>\d{{1,3}}(?: \d{{3}})+)(?!\d)"
    rf"|(?<![\d.,])(?P<named>\d{{1,3}}(?: \d{{3}})+)(?=\s?{_MONEY})"
    rf"|(?<![\d.,])(?P<plain>\d{{1,3}}(?:[\u202f']\d{{3}})+)(?!\d)",
    re.IGNORECASE,
)
_AND_HALF = re.compile(r"\b(\d+)\s+and\s+a\s+half\b", re.IGNORECASE)
_HAN_AND_HALF = re.compile(r"([一二两三四五六七八九十]{1,3})个半(?=小时|钟头)")
_HAN_TIME = ("小时", "个小时", "分钟", "天", "个月", "周", "年", "秒")


@lru_cache(maxsize=8192)
def in_digits(text: str) -> str:
    """The text with its numbers in words written as digits, whole: without spaces, "k" or 万. A number
    whose name tells its unit gets it: ``TIMEOUT_S = 20`` is 20 s.
    """
    text = _SPACED.sub(_unspaced, unicodedata.normalize("NFKC", text))
    text = _TWICE.sub("2 times", text)
    text = _HAN_AND_HALF.sub(lambda found: f"{_han_value(found[1])}.5 ", text)
    text = _HALF_UNIT.sub("0.5 ", _HALF.sub("30 min", _QUARTER.sub("15 min", text)))
    text = _AN_HOUR.sub(_an_hour, _A_YEAR.sub(r"\1 1 ", text))
    text = _AND_HALF.sub(r"\1.5", _ENGLISH.sub(_english, text))
    text = _HAN_CLOCK.sub(_han_clock, _HAN_PERCENT.sub(_han_percent, text))
    text = _NAMED_UNIT.sub(lambda found: f"{found[0]} {found['unit'].lower()}", text)
    return in_clock_digits(_MULTIPLE.sub(_multiplied, _HAN.sub(_han, text)))


def _unspaced(found: re.Match[str]) -> str:
    digits = found["signed"] or found["named"] or found["plain"]
    return (found["sign"] or "") + re.sub(r"\D", "", digits)


def _multiplied(found: re.Match[str]) -> str:
    factor = next(times for name, times in _FACTORS.items() if found[name])
    number = Decimal(re.sub(r",(?=\d{3}(?!\d))", "", found["number"]).replace(",", "."))
    return f"{(number * factor).normalize():f}"


def _han_clock(found: re.Match[str]) -> str:
    past = found["past"]
    return f"{_han_value(found['hour'])}点{_han_value(past.replace('〇', '零')) if past else ''}"


def _han_percent(found: re.Match[str]) -> str:
    sign = found["sign"]
    return f"{sign if sign[0].isdigit() else _han_value(sign)}%"


def _an_hour(found: re.Match[str]) -> str:
    minutes = 60 if found["unit"].lower() == "hour" else 1
    return f"{minutes * 1.5 if found['half'] else minutes:g} min"


def _english(found: re.Match[str]) -> str:
    if found["article"]:
        return str(_LARGE[found["many"].lower()])
    words = re.split(r"[\s-]", found["words"].lower())
    if words == ["one"] and not found["large"] and not _TIME_UNIT.match(found.string, found.end()):
        return found[0]
    large = _LARGE[found["large"].strip().lower()] if found["large"] else 1
    return str(sum(_VALUES[word] for word in words) * large)


def _han(found: re.Match[str]) -> str:
    sign = found["sign"]
    if sign == "一" and found["unit"] not in _HAN_TIME:
        return sign
    return str(_han_value(sign))


def _han_value(sign: str) -> int:
    """``三`` is 3, ``十四`` 14, ``二十`` 20, ``一百二十`` 120; signs side by side are digits."""
    if not re.search("[十百]", sign):
        return int("".join(str(_HAN_VALUES[each]) for each in sign))
    value, last = 0, 0
    for each in sign:
        if each in "十百":
            value += (last or 1) * (10 if each == "十" else 100)
            last = 0
        else:
            last = _HAN_VALUES[each]
    return value + last


# ---- spoken clocks
# Clock times in words, as digits: "half past two", "a quarter to six in the evening", "noon".
#
# Without a part of the day nobody knows which half of it is meant: such a time is marked with ``EITHER``
# and stands for both.

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


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_HOURS, _MINUTES, _SECONDS = (
    r"(?:hours?|hrs?|h|个?小时|个?钟头)",
    r"(?:minutes?|mins?|m|分钟|分)",
    r"(?:milliseconds?|millis|msecs?|ms|毫秒|seconds?|secs?|s|秒)",
)
_END = r"(?![a-z])"

_FIGURE = re.compile(
    rf"""
      (?P<iso>\d{{4}}[-/年]\d{{1,2}}[-/月]\d{{1,2}}日?)
    | (?P<han>\d{{1,2}}\s?月\s?\d{{1,2}}\s?[日号])
    | (?P<named>{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?{_END}(?!:)(?:,?\s+\d{{4}})?
        |\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:\s+\d{{4}})?{_END})
    | (?P<part>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)?(?P<clock>\d{{1,2}}[:：]\d{{2}}(?:[:：]\d{{2}})?)
        (?:\s*(?P<half>[ap]\.?m\b\.?|{EITHER}))?
    | (?P<part2>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)?(?P<hour>\d{{1,2}})
        (?:\s*(?P<half2>[ap]\.?m\b\.?)|\s?点(?P<past>半|\d{{1,2}}分?)?(?!\d))
    | (?P<span>\d+(?:\.\d+)?\s*{_HOURS}(?:\s*(?:and\s+)?\d+\s*{_MINUTES})?{_END}
        |(?!\d+\.\d+\s*m{_END})\d+(?:\.\d+)?\s*{_MINUTES}{_END}|\d+(?:\.\d+)?\s*{_SECONDS}{_END})
    | (?P<weekday>\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天1-6])
    | (?P<ordinal>\b\d{{1,2}}(?:st|nd|rd|th)\b)
    | (?P<number>\d+(?:[.,]\d+)*)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LATE = ("下午", "傍晚", "晚上")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_RELATIVE = re.compile(
    r"\b(?:today|tonight|this\s+(?:morning|afternoon|evening)|yesterday|last\s+night)\b|今[天早晚]|昨[天晚]|前天",
    re.IGNORECASE,
)
# Words for a part of the day, and its hours, generously.
_PARTS = {
    "morning": (re.compile(r"(?<!good )\bmornings?\b|上午|早上|早晨|今早|清晨", re.IGNORECASE), 4, 13),
    "afternoon": (re.compile(r"(?<!good )\bafternoons?\b|下午", re.IGNORECASE), 12, 19),
    "evening": (re.compile(r"(?<!good )\bevenings?\b|傍晚|晚上", re.IGNORECASE), 17, 24),
    "night": (
        re.compile(r"\bat\s+night\b|\btonight\b|\blast\s+night\b|深夜|夜里|半夜|今晚|昨晚", re.IGNORECASE),
        18,
        24,
    ),
}
_UNITS = {
    "percent": r"%|％|percent\b|per\s+cent\b",
    "day": r"days?\b|天",
    "week": r"weeks?\b|周(?![一二三四五六日])|个?星期",
    "month": r"months?\b|个月",
    "year": r"years?\b|年",
    "dollar": r"dollars?\b|usd\b|美元",
    "euro": r"€|euros?\b|eur\b|欧元",
    "yuan": r"yuan\b|rmb\b|cny\b|元|块",
    "kilobyte": r"kb\b|kilobytes?\b",
    "megabyte": r"mb\b|megabytes?\b",
    "gigabyte": r"gb\b|gigabytes?\b",
}
_LENGTHS = ("minutes ", "seconds ")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNS = {"€": "euro", "eur": "euro", "$": "dollar", "usd": "dollar"}
_SIGNS |= dict.fromkeys(("￥", "¥", "cny", "rmb"), "yuan")
_UNIT = "|".join(f"(?P<{name}>{words})" for name, words in _UNITS.items())
_WITH_UNIT = re.compile(
    rf"(?P<sign>[€$￥¥]|\b(?:EUR|USD|CNY|RMB)\b)?\s?(?<![A-Za-z0-9_.])(?P<number>\d+(?:[.,]\d+)*)[\s-]*(?:{_UNIT})?",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def figures(text: str) -> frozenset[str]:
    """The figures of a text, each as a word with its kind."""
    return frozenset(word for _, word in figures_at(in_digits(text)))


@lru_cache(maxsize=8192)
def shown(text: str) -> frozenset[str]:
    """The figures that a text proves: those of `figures`, and the bare number of each length of time,
    since "from 909 to 387 ms" leaves a unit out.
    """
    digits = in_digits(text)
    found = set(figures(text) | figures(text.replace("_", " ")))
    for (start, end), word in figures_at(digits):
        if word.startswith(_LENGTHS):
            found |= {f"number {_plain(number)}" for number in _NUMBER.findall(digits[start:end])}
    return frozenset(found)


def is_among(figure: str, proven: Collection[str]) -> bool:
    """Whether a figure of a sentence is among those that a text shows (`shown`)."""
    if not (figure.startswith("clock ") and figure.endswith(EITHER)):
        return figure in proven
    hour, minute = figure.removeprefix("clock ").rstrip(EITHER).split(":")
    return any(f"clock {of_day}:{minute}" in proven for of_day in (int(hour), (int(hour) + 12) % 24))


def figures_at(digits: str) -> Iterator[tuple[tuple[int, int], str]]:
    """((start, end), figure) in a text whose numbers are in digits (`in_digits`)."""
    for found in _FIGURE.finditer(digits):
        for word in _words(found):
            yield found.span(), word


def units(text: str) -> set[tuple[str, str]]:
    """(number, unit) of the plain numbers of a text; the unit is '' for a bare number."""
    found = set()
    for each in _WITH_UNIT.finditer(in_digits(text)):
        named = [name for name in _UNITS if each[name]]
        unit = named[0] if named else _SIGNS.get((each["sign"] or "").lower(), "")
        found.add((_plain(each["number"]), unit))
    return found


def days_told(text: str, today: date | None) -> set[str]:
    """The dates that "today" or "昨天" stand for; none when the asker's day is not known."""
    back = {"y": 1, "l": 1, "昨": 1, "前": 2}
    told = (
        today - timedelta(back.get(found[0][0].lower(), 0)) for found in _RELATIVE.finditer(text) if today
    )
    return {f"date {day.year}-{day.month}-{day.day}" for day in told}


def relative_days(text: str) -> set[str]:
    """The words of a text that count from the day they were said: "yesterday", 昨晚."""
    return {found[0] for found in _RELATIVE.finditer(text)}


def of_moment(local_time: str) -> set[str]:
    """Every way in which a moment (RFC 3339) may be told: clock to the second or the minute, date."""
    day, _, clock = local_time.partition("T")
    year, month, day_of_month = (int(part) for part in day.split("-"))
    hour, minute = int(clock[:2]), clock[3:5]
    told = {
        f"clock {hour}:{minute}",
        f"clock {hour}:{clock[3:8]}",
        f"date {month}-{day_of_month}",
        f"number {year}",
    }
    told |= {f"date {year}-{month}-{day_of_month}", f"ordinal {day_of_month}"}
    told.add(f"weekday {date(year, month, day_of_month).isoweekday()}")
    told |= {f"part {name}" for name, (_, first, last) in _PARTS.items() if first <= hour < last}
    told |= {"part night"} if hour < 6 else set()
    return told


def parts_told(text: str) -> set[str]:
    """The parts of the day a text names, such as ``part morning``."""
    return {f"part {name}" for name, (words, _, _) in _PARTS.items() if words.search(text)}


def parts_of_clocks(told: Iterable[str]) -> set[str]:
    """The parts of the day in which some clock times lie."""
    hours = {
        int(figure.removeprefix("clock ").split(":")[0]) for figure in told if figure.startswith("clock ")
    }
    return {
        f"part {name}"
        for name, (_, first, last) in _PARTS.items()
        if any(first <= hour < last for hour in hours)
    }


def _words(found: re.Match[str]) -> Iterator[str]:
    text = found[0]
    if found["iso"]:
        yield "date {}-{}-{}".format(*(int(part) for part in re.findall(r"\d+", text)))
    elif found["han"]:
        yield "date {}-{}".format(*(int(part) for part in re.findall(r"\d+", text)))
    elif found["named"]:
        yield from _named_date(text)
    elif found["clock"]:
        hour, *rest = re.split("[:：]", found["clock"])
        either = EITHER if found["half"] == EITHER else ""
        yield f"clock {_hour(int(hour), found['half'], found['part'])}:{':'.join(rest)}{either}"
    elif found["hour"]:
        hour_of_day = _hour(int(found["hour"]), found["half2"], found["part2"])
        past = found["past"]
        minute = "30" if past == "半" else past.rstrip("分").zfill(2) if past else "00"
        yield f"clock {hour_of_day}:{minute}"
    elif found["span"]:
        yield _duration(text)
    elif found["weekday"]:
        yield f"weekday {_weekday(text)}"
    elif found["ordinal"]:
        yield f"ordinal {int(text[:-2])}"
    else:
        yield f"number {_plain(text)}"


def _plain(number: str) -> str:
    whole = re.sub(r",(?=\d{3}(?!\d))", "", number)
    return whole.removesuffix(".00") if whole.count(".") == 1 else whole


def _weekday(text: str) -> int:
    """1 for Monday to 7 for Sunday, as ISO 8601 counts."""
    if text[:3].lower() in _WEEKDAYS:
        return _WEEKDAYS.index(text[:3].lower()) + 1
    return "一二三四五六日".find(text[-1].replace("天", "日")) + 1 or int(text[-1])


def _hour(hour: int, half: str | None, part: str | None) -> int:
    late = (half or "").lower().startswith("p") or part in _LATE
    if hour == 12 and (half or "").lower().startswith("a"):
        return 0
    return hour + 12 if late and hour < 12 else hour


def _named_date(text: str) -> Iterator[str]:
    name = re.search(_MONTH, text, re.IGNORECASE)
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    if name:
        month = _MONTHS.index(name[0][:3].lower()) + 1
        day = next(number for number in numbers if number < 1000)
        years = [number for number in numbers if number >= 1000]
        yield f"date {years[0]}-{month}-{day}" if years else f"date {month}-{day}"


def _duration(text: str) -> str:
    """``minutes N`` from a minute up when they are whole or told in hours or minutes, else ``seconds N``."""
    numbers = [float(part) for part in re.findall(r"\d+(?:\.\d+)?", text)]
    if re.search(rf"\d\s*{_HOURS}", text, re.IGNORECASE):
        seconds = numbers[0] * 3600 + (numbers[1] * 60 if len(numbers) > 1 else 0)
    elif re.search(rf"\d\s*{_MINUTES}{_END}", text, re.IGNORECASE):
        seconds = numbers[0] * 60
    else:
        seconds = numbers[0] / (1000 if re.search(r"\d\s*(?:m|毫)", text, re.IGNORECASE) else 1)
    return f"minutes {seconds / 60:g}" if seconds >= 60 and seconds % 6 == 0 else f"seconds {seconds:g}"
