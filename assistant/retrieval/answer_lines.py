"""The lines of the frames that answer a specific question, chosen by code alone.

Every line of the selected frames is weighed:

* each word of the question it names counts by how rare that word is among the lines (inverse document
  frequency, ``ln(1 + N / n)``): "buoy" on every screen says little, "serial" on one says much. Words
  are compared by their stems;
* words that only stand around it, in the lines just before, in the line after or in the window's title,
  count for a part. What follows a question on the screen is likely its answer;
* the sum is lowered where the line has not the kind of thing asked for (`assistant.retrieval.wanted`),
  where it is a question itself, and where it says nothing that the question does not say.

Only the best lines are returned, each with the same weight in every run.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assistant.core.texts import normalize, position, question_words
from assistant.language import lexical_overlap
from assistant.retrieval.wanted import NUMBERED, AnswerType, answer_type, fitness

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
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
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
        elif _HAN.search(word):
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
        if len(word) > 2 or not word.isalpha() or _HAN.search(word)
    ]
    known = lexical_overlap.named(words, form)
    return any(
        any(sign not in form for sign in word) if _HAN.search(word) else word not in known for word in words
    )
