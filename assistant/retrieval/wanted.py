"""What kind of answer a question asks for, and whether a line of the screen has one of that kind.

"How many" wants a number, "how far" one with a unit, "how long" a duration, "when" a time or a date,
"why" a reason. A line that names the same things and has none of it is about the matter, but does not
answer. Nothing here decides alone: it is one weight among others (`assistant.retrieval.answer_lines`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from assistant.language.figures import figures, figures_at, units
from assistant.language.numerals import in_digits


class AnswerType(Enum):
    """What the words of a question ask for; `ANYTHING` when they do not tell."""

    DURATION = "duration"
    MOMENT = "moment"
    MEASURE = "measure"
    FIGURE = "figure"
    REASON = "reason"
    ANYTHING = "anything"


_TIME_UNIT = r"(?:ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?)"
_HAN_TIME_UNIT = "(?:毫秒|秒|分钟|个?小时|天|周|个?星期|个月|年)"
# "Which version", "what is the grand total": the noun may have some words of its own before it.
_WHAT = (
    r"\b(?:what|which)(?:'s)?\s+(?:(?:is|are|was|were)\s+)?"
    r"(?:(?!(?:about|of|for|in|on|with|from)\b)[\w-]+\s+){0,3}?"
)
_ASKING = {
    AnswerType.DURATION: rf"\bhow\s+(?:long|many\s+{_TIME_UNIT}|much\s+time)\b"
    rf"|多久|多长时间|(?:几|多少)(?:{_HAN_TIME_UNIT})",
    AnswerType.MOMENT: r"(?:^|[,;]|\b(?:and|or|by|since|until|till|from|so))\s*when\b"
    rf"|{_WHAT}(?:time|day|date|weekday|month|year|deadline)\b"
    r"|什么时候|什么时间|何时|几点|几号|哪一?天|星期几|周几|截止",
    AnswerType.MEASURE: r"\bhow\s+(?:far|high|low|deep|wide|fast|slow|heavy|tall|thick|strong|loud|hot|cold"
    r"|exact(?:ly)?|accurate(?:ly)?|precise(?:ly)?|late|early)\b|多(?:高|低|远|深|宽|快|慢|重|厚|长)",
    AnswerType.FIGURE: r"\bhow\s+(?:many|much|often|large|big|small|old|expensive)\b|\bset\s+to\b"
    rf"|{_WHAT}(?:versions?|numbers?|totals?|sum|prices?|costs?|amount|size|serial|percent(?:age)?|score|rate"
    r"|latency|value|budget|temperature|voltage|drift|offset|p\d\d|id|code|port|limit|threshold|ticket)\b"
    r"|多少|多[大贵]|几[个条次名人台份页行种项]|号码|编号|版本|金额|价格|合计|总数|总额",
    AnswerType.REASON: r"^why\b|\bhow\s+come\b|\bwhat\s+caused\b|\breasons?\b|[,;]\s*why\b|为什么|为何|为啥|原因",
}
_PATTERNS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _ASKING.items()}
_MEASURED = re.compile(
    r"(?<![\w.])\d[\d.,]*\s*(?:%|％|‰|°|(?:ms|µs|ns|s|min|h|mm|cm|m|km|kg|g|t|l|ml|v|mv|a|ma|w|kw|kwh|hz|khz|mhz"
    r"|ghz|kb|mb|gb|tb|kib|mib|gib|px|pt|ppm|bar|hpa|kn|milliseconds?|seconds?|minutes?|hours?|days?|weeks?"
    r"|months?|years?)(?![\w])|毫秒|秒|分钟|小时|天|周|个月|年|米|公里|千克|公斤|吨|升|度)",
    re.IGNORECASE,
)
_LASTING = re.compile(
    rf"(?<![\w.])\d[\d.,]*\s*(?:{_TIME_UNIT}|s|min|h)(?![\w])|\d\s*{_HAN_TIME_UNIT}", re.IGNORECASE
)
_BECAUSE = re.compile(
    r"\b(?:because|since|due\s+to|caused?|reason|so\s+that|therefore|went\s+(?:up|down)|rose|fell)\b"
    r"|因为|由于|原因|所以|导致",
    re.IGNORECASE,
)
_NAME_WITH_DIGITS = re.compile(r"(?<![\w-])[^\W\d_][\w-]*\d[\w.-]*")
NUMBERED = re.compile(r"\b[^\W\d_]{2,} \d{1,4}\b(?![:.]\d)")
"""Something named by a word and its number: "buoy 7", "room 12"."""

_MOMENTS = ("clock ", "date ", "weekday ", "ordinal ")

_COUNTED = re.compile(r"\bhow\s+many\s+([^\W\d_]{2,})", re.IGNORECASE)
_COUNTED_HAN = re.compile(f"(?:多少|几)({_HAN_TIME_UNIT}|[个条次元名人台份页行种项米度])")
_TIME_OF_DAY = re.compile(rf"{_WHAT}time\b|几点", re.IGNORECASE)

_FULL, _MOSTLY, _PARTLY, _LITTLE = 1.0, 0.8, 0.6, 0.35


def answer_type(question: str) -> AnswerType:
    """The first kind, in the order of `Wanted`, that the question's words ask for."""
    return next((kind for kind, words in _PATTERNS.items() if words.search(question)), AnswerType.ANYTHING)


def fitness(kind: AnswerType, line: str, question: str) -> float:
    """How much a line looks like an answer of this kind: 0.35 (not at all) to 1.

    Figures that the question names itself answer nothing.
    """
    if kind is AnswerType.ANYTHING:
        return _FULL
    if kind is AnswerType.REASON:
        return _FULL if _BECAUSE.search(line) else _PARTLY
    if kind is AnswerType.MOMENT:
        return _moment(figures(line) - figures(question), question)
    digits = in_digits(line)
    if kind is not AnswerType.FIGURE:
        digits = _NAME_WITH_DIGITS.sub(" ", digits)
    if not _has_new_number(digits, question):
        return _LITTLE
    if kind is AnswerType.DURATION and not _LASTING.search(digits):
        return _PARTLY
    if kind is AnswerType.MEASURE and not _MEASURED.search(digits):
        return _PARTLY
    return _FULL if _is_counted(digits, question) else _MOSTLY


def _moment(told: Collection[str], question: str) -> float:
    """For the figures of a line that are not in the question: a time, a date, or neither."""
    if not any(figure.startswith(_MOMENTS) for figure in told):
        return _LITTLE
    is_at_a_time = any(figure.startswith("clock ") for figure in told)
    return _FULL if is_at_a_time or not _TIME_OF_DAY.search(question) else _PARTLY


def _is_counted(digits: str, question: str) -> bool:
    """Whether the number stands at what is to be counted, if the question says what that is."""
    han = _COUNTED_HAN.search(question)
    if han:
        return bool(re.search(rf"\d\s*{han[1]}", digits))
    counted = _COUNTED.search(question)
    if not counted:
        return True
    stem = re.escape(counted[1].lower().removesuffix("s"))
    return bool(re.search(rf"\d\s+(?:[^\W\d_]+\s+){{0,2}}{stem}|\b{stem}\w*\W+\d", digits, re.IGNORECASE))


def _has_new_number(digits: str, question: str) -> bool:
    """Whether a line has a figure that is no time of day, no date, and not in the question.

    What the question names with its number ("buoy 7") is left out of the line as a whole, so that
    "buoy 7: 7 ms" has a new figure.
    """
    for name in NUMBERED.findall(question):
        digits = re.sub(rf"\b{re.escape(name)}(?!\d)", " ", digits, flags=re.IGNORECASE)
    moments = [span for span, figure in figures_at(digits) if figure.startswith(_MOMENTS)]
    for start, end in reversed(moments):
        digits = digits[:start] + " " * (end - start) + digits[end:]
    asked = {number for number, _ in units(NUMBERED.sub(" ", question))}
    return bool(set(re.findall(r"\d+(?:[.,]\d+)*", digits)) - asked)
