"""The figures in a text, as things that can be compared: clock times, dates, durations, numbers.

"14" the hour, "14" the day and "14" the number of days are three things; a citation at 14:32 proves
nothing about 14 days. So the text is read once, what is longest first, and each figure becomes a
word that says its kind: ``2:32 pm`` is ``clock 14:32``, ``11月20日`` is ``date 11-20``, ``1 h 20
min`` is ``minutes 80``, and what is left are plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_HOURS, _MINUTES, _SECONDS = (
    r"(?:hours?|hrs?|h|小时)",
    r"(?:minutes?|mins?|m|分钟|分)",
    r"(?:seconds?|secs?|s|秒)",
)
_END = r"(?![a-z])"

_FIGURE = re.compile(
    rf"""
      (?P<iso>\d{{4}}[-/年]\d{{1,2}}[-/月]\d{{1,2}}日?)
    | (?P<han>\d{{1,2}}月\d{{1,2}}[日号])
    | (?P<named>{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?{_END}(?!:)(?:,?\s+\d{{4}})?
        |\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:\s+\d{{4}})?{_END})
    | (?P<part>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)?(?P<clock>\d{{1,2}}[:：]\d{{2}}(?:[:：]\d{{2}})?)
        (?:\s*(?P<half>[ap]\.?m\b\.?))?
    | (?P<part2>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上)?(?P<hour>\d{{1,2}})
        (?:\s*(?P<half2>[ap]\.?m\b\.?)|点(?P<past>半|\d{{1,2}}分?)?(?!\d))
    | (?P<span>\d+(?:\.\d+)?\s*{_HOURS}(?:\s*(?:and\s+)?\d+\s*{_MINUTES})?{_END}
        |\d+(?:\.\d+)?\s*{_MINUTES}{_END}|\d+(?:\.\d+)?\s*{_SECONDS}{_END})
    | (?P<number>\d+(?:[.,]\d+)*)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LATE = ("下午", "傍晚", "晚上")


def figures(text: str) -> set[str]:
    """The figures of a text, each as a word with its kind."""
    return {word for found in _FIGURE.finditer(text) for word in _words(found)}


def of_moment(local_time: str) -> set[str]:
    """Every way in which a moment (RFC 3339) may be told: clock to the second or the minute, date."""
    day, _, clock = local_time.partition("T")
    year, month, date = (int(part) for part in day.split("-"))
    hour, minute = int(clock[:2]), clock[3:5]
    told = {f"clock {hour}:{minute}", f"clock {hour}:{clock[3:8]}", f"date {month}-{date}", f"number {year}"}
    return told | {f"date {year}-{month}-{date}"} | ({f"clock {hour}"} if minute == "00" else set())


def _words(found: re.Match[str]) -> Iterator[str]:
    text = found[0]
    if found["iso"]:
        year, month, date = (int(part) for part in re.findall(r"\d+", text))
        yield f"date {year}-{month}-{date}"
    elif found["han"]:
        yield "date {}-{}".format(*(int(part) for part in re.findall(r"\d+", text)))
    elif found["named"]:
        yield from _named_date(text)
    elif found["clock"]:
        hour, *rest = re.split("[:：]", found["clock"])
        yield f"clock {_hour(int(hour), found['half'], found['part'])}:{':'.join(rest)}"
    elif found["hour"]:
        hour_of_day = _hour(int(found["hour"]), found["half2"], found["part2"])
        past = found["past"]
        minute = "30" if past == "半" else past.rstrip("分").zfill(2) if past else ""
        yield f"clock {hour_of_day}:{minute}" if minute else f"clock {hour_of_day}"
    elif found["span"]:
        yield _duration(text)
    else:
        yield "number " + re.sub(r",(?=\d{3}(?!\d))", "", text)


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
    numbers = [float(part) for part in re.findall(r"\d+(?:\.\d+)?", text)]
    if re.search(rf"\d\s*{_HOURS}", text, re.IGNORECASE):
        minutes = numbers[0] * 60 + (numbers[1] if len(numbers) > 1 else 0)
    elif re.search(rf"\d\s*{_MINUTES}{_END}", text, re.IGNORECASE):
        minutes = numbers[0]
    else:
        return f"seconds {numbers[0]:g}"
    return f"minutes {minutes:g}"
