"""The lines of the frames that answer a specific question, chosen by code alone.

Every line of the selected frames is weighed:

* each word of the question it names counts by how rare that word is among the lines (inverse document
  frequency, ``ln(1 + N / n)``): "buoy" on every screen says little, "serial" on one says much. Words
  are compared by their stems;
* words that only stand around it, in the lines just before, in the line after or in the window's title,
  count for a part. What follows a question on the screen is likely its answer;
* the sum is lowered where the line has not the kind of thing asked for (`AnswerType`),
  where it is a question itself, and where it says nothing that the question does not say.

Only the best lines are returned, each with the same weight in every run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from assistant.core.texts import HAN, normalize, position, question_words
from assistant.language import lexical_overlap
from assistant.language.figures import figures, figures_at, in_digits, units

ENOUGH = 0.8
"""Lines with this part of the best line's weight are returned beside it."""

_BEFORE = (0.4, 0.3, 0.2)  # the line before, the one before that, ...
_AFTER = 0.2
_TITLE = 0.4
_ANSWERING = 0.6  # for words of a question that stands a line or two before
_ASKED_FOR_COUNTS = 1.3
_IS_QUESTION = 0.3
_SAYS_NOTHING_NEW = 0.3
_LOOKED_AT_CHARS = 1_000
_SHORT = 3  # letters; so short a word is no beginning of another: "off" is not in "offset"

_QUESTION_END = re.compile(r"(?<=[\w)\"'”’])\s?\?(?=\s|[\"'”’)]|$)|？")
_ASKED_FOR = re.compile(r"\b(?:what|which|how\s+many)\s+([^\W\d_]{3,})")
_SEPARATOR = re.compile(r"(?<=\w)[_./+#-]+(?=\w)")
_BETWEEN = r"[\s_./+#-]{1,2}"
_WORD = re.compile(r"[^\W_]+")
_OF_DEGREE = re.compile(
    r"\bhow\s+(?:far|large|big|small|high|low|deep|wide|fast|slow|heavy|old|tall|thick|strong|loud|exactly)\b"
    r"|\b(?:too|very|really|exactly|still|yet|already|currently|altogether)\b"
    r"|多少|几[个条次名人台份页行种项]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Screen:
    """The text of a frame and the title of its window."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Answering:
    """A line of a frame as it stands there, and its weight."""

    screen_id: str
    text: str
    weight: float


class AnswerType(Enum):
    """What the words of a question ask for; `ANYTHING` when they do not tell."""

    DURATION = "duration"
    MOMENT = "moment"
    MEASURE = "measure"
    FIGURE = "figure"
    REASON = "reason"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class _Terms:
    """Words of a question with their weights, and what else counts when a line is weighed."""

    question: str
    words: tuple[str, ...]
    wanted: AnswerType
    weights: Mapping[str, float]


def answering(question: str, screens: Sequence[Screen]) -> tuple[Answering, ...]:
    """The best lines in the order of the frames; none when no line names a word of the question."""
    lines = [[line.strip() for line in screen.text.split("\n") if line.strip()] for screen in screens]
    words = terms(question)
    named = {line: frozenset(_named(words, line)) for line in {line for of in lines for line in of}}
    if not any(named.values()):
        return ()
    asked = _Terms(question, words, answer_type(question), _weights(question, named.values()))
    weighed = [
        Answering(screen.id, line, weight)
        for screen, of in zip(screens, lines, strict=True)
        for line, weight in _weighed(asked, screen, of, named)
    ]
    best = max((one.weight for one in weighed), default=0.0)
    return tuple(one for one in weighed if one.weight >= ENOUGH * best)


def terms(question: str) -> tuple[str, ...]:
    """What a line should name: the words of content, and names with a number ("buoy 7")."""
    plain = _OF_DEGREE.sub(" ", normalize(question))
    words = question_words(plain) or question_words(question)
    numbered = [name for name in NUMBERED.findall(plain) if question_words(name)]
    # "buoy 3" is no answer about buoy 7: with its number a thing counts as one word.
    unnumbered = {name.partition(" ")[0] for name in numbered}
    return tuple(dict.fromkeys(word for word in [*words, *numbered] if word not in unnumbered))


def _named(words: Sequence[str], line: str) -> Iterator[str]:
    """The terms a line names, as they stand or by their stems."""
    form = normalize(line)
    by_stem = lexical_overlap.named(words, form)
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if " " in word:
            if re.search(rf"(?<![^\W_]){re.escape(word)}(?!\d)", form):
                yield word
        elif HAN.search(word):
            if word in form:
                yield word
        elif _SEPARATOR.search(word):
            parts = map(re.escape, _SEPARATOR.split(word))
            if re.search(rf"(?<![^\W_]){_BETWEEN.join(parts)}", form):
                yield word
        elif following.isascii() and following and position(word + following, form) >= 0:
            yield from (word, following)  # "roll back" is named by "rollback"
        elif word in by_stem or (len(word) > _SHORT and position(word, form) >= 0):
            yield word


def _weights(question: str, named: Iterable[frozenset[str]]) -> dict[str, float]:
    """What each word that some line names counts; what is asked for ("which ticket") counts more."""
    every = list(named)
    counts = Counter(word for words in every for word in words)
    asked_for = set(_ASKED_FOR.findall(normalize(question)))
    return {
        word: math.log(1 + len(every) / count) * (_ASKED_FOR_COUNTS if word in asked_for else 1)
        for word, count in counts.items()
    }


def _weighed(
    asked: _Terms, screen: Screen, lines: Sequence[str], named: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, float]]:
    title = frozenset(_named(asked.words, screen.title))
    for at, line in enumerate(lines):
        answers = _answered(lines, at)
        if not named[line] and not answers:
            continue
        shares = dict.fromkeys(title, _TITLE)
        for share, near in _around(lines, at):
            shares.update((word, max(share, shares.get(word, 0.0))) for word in named[near])
        for near in answers:
            shares.update((word, max(_ANSWERING, shares.get(word, 0.0))) for word in named[near])
        shares.update(dict.fromkeys(named[line], 1.0))
        weight = sum(asked.weights[word] * share for word, share in shares.items() if word in asked.weights)
        if weight:
            yield line, weight * _likelihood(asked, screen, line)


def _around(lines: Sequence[str], at: int) -> Iterator[tuple[float, str]]:
    for back, share in enumerate(_BEFORE, 1):
        if at >= back:
            yield share, lines[at - back]
    if at + 1 < len(lines):
        yield _AFTER, lines[at + 1]


def _answered(lines: Sequence[str], at: int) -> list[str]:
    """The question one or two lines before (a name may stand between), if there is one."""
    return [line for line in lines[max(0, at - 2) : at] if _QUESTION_END.search(line)]


def _likelihood(asked: _Terms, screen: Screen, line: str) -> float:
    """0..1: whether a line that is about the matter can be an answer."""
    line = line[:_LOOKED_AT_CHARS]
    factor = fitness(asked.wanted, line, asked.question)
    if _QUESTION_END.search(line):
        factor *= _IS_QUESTION
    if not _says_more(line, asked.question) or normalize(line) in normalize(screen.title):
        factor *= _SAYS_NOTHING_NEW
    return factor


def _says_more(line: str, question: str) -> bool:
    """Whether a line has a word, or signs of Chinese, that are not in the question."""
    form = normalize(question)
    words = [
        word
        for word in _WORD.findall(normalize(line))
        if len(word) > 2 or not word.isalpha() or HAN.search(word)
    ]
    known = lexical_overlap.named(words, form)
    return any(
        any(sign not in form for sign in word) if HAN.search(word) else word not in known for word in words
    )


# -- what kind of answer a question asks for --------------------------------------------------
#
# "How many" wants a number, "how far" one with a unit, "how long" a duration, "when" a time or a date,
# "why" a reason. A line that names the same things and has none of it is about the matter, but does not
# answer. Nothing here decides alone: it is one weight among others.


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
    AnswerType.REASON: r"^why\b|\bhow\s+come\b|\bwhat\s+caused\b|\breasons?\b|[,;]\s*why\b"
    r"|为什么|为何|为啥|原因",
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
