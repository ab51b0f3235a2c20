"""The figures in a text, as things that can be compared: clock times, dates, durations, numbers.

"14" the hour, "14" the day and "14" the number of days are three things; a citation at 14:32 proves
nothing about 14 days. So the text is read once, what is longest first, and each figure becomes a
word that says its kind: ``2:32 pm`` is ``clock 14:32``, ``11月20日`` is ``date 11-20``, ``1 h 20
min`` is ``minutes 80``, ``Friday`` is ``weekday 5``, and what is left are plain numbers. Figures in
words count as figures: "three hours", "半小时", "两个文件" (`assistant.language.numerals`). The same
length of time is the same figure in any unit: ``500 ms`` and "half a second" are ``seconds 0.5``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from assistant.language.numerals import in_digits
from assistant.language.spoken_clocks import EITHER

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
    """((start, end), figure) in a text whose numbers are in digits (`numerals.in_digits`)."""
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
