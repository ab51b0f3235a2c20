"""Which words and lines stand out in what was on the screen, in English and in Chinese; pure.

A screen repeats itself: menus and side bars stand on every frame. So each different line counts
once, a word counts by the lines it is on, and a title weighs more. Chinese has no blanks: there
runs of two to four characters that come again are the words, without the longer run they are a
part of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from store.core import tokenizer

MAX_CONCEPTS = 8
MAX_FACTS = 5
_TITLE_WEIGHT = 3
_MIN_CHARS = 4
_CJK_SIZES = range(2, 7)
_LINE_CHARS = range(16, 241)
_LINE_WORDS = 4
_LINE_CJK = 8
_TO_DO = re.compile(r"\bTODO\b|\bFIXME\b|\bnext steps?\b|\bto do:|待办|下一步", re.IGNORECASE)
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
# Particles, pronouns and the like: no word begins or ends with them here.
_CJK_STOPS = frozenset(
    "的了是在和与及或也都就不没有这那个我你他她它们为以于上下中到对把被从而但吗呢吧啊之其等将可能会要还更很一二三"
)
_STOP_WORDS = """
    about above after again against also although always among another anything around back because been
    before being below between both came cannot come could does doing done down during each edit either else
    even ever every everything file files find first from further gets give given goes going good great have
    having help here hers herself himself into itself just keep know last left less like line lines list
    little long look made make many maybe menu more most much must myself name need never next none nothing
    often once only open other ours ourselves over part please previous really right said same save search
    second select selected self settings shall should show since some something still such take tell than
    that their theirs them themselves then there these they thing things think this those through time times
    today together tools under until upon used user users using very view want wants well were what when
    where whether which while whom whose will window windows with within without work would year years
    yesterday your yours yourself http https html true false null return import class def async await const
"""
_STOPS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Line:
    """A line and the first frame it stands on."""

    text: str
    frame_id: int


def distinct_lines(texts: Iterable[tuple[int, str]]) -> list[Line]:
    """Each different line of some (frame id, text) once, in order."""
    lines: dict[str, Line] = {}
    for frame_id, text in texts:
        for line in text.split("\n"):
            stripped = line.strip()
            if stripped:
                lines.setdefault(" ".join(stripped.casefold().split()), Line(stripped, frame_id))
    return list(lines.values())


def concepts(titles: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """Words that stand out, the strongest first, at most `MAX_CONCEPTS`."""
    scores: Counter[str] = Counter()
    weighed = [(title, _TITLE_WEIGHT) for title in dict.fromkeys(titles)]
    for text, weight in [*weighed, *((line.text, 1) for line in lines)]:
        for word in _words(text):
            scores[word] += weight
    kept = {word: score for word, score in scores.items() if score > 1}
    ranked = sorted(kept, key=lambda word: (-kept[word], -len(word), word))
    chosen: list[str] = []
    for word in ranked:
        if len(chosen) == MAX_CONCEPTS:
            break
        if not any(word in other and kept[other] * 2 > kept[word] for other in ranked if other != word):
            chosen.append(word)
    return chosen


def facts(lines: Sequence[Line], about: Sequence[str]) -> list[Line]:
    """The lines that say most about some concepts, and what is still to do; in order."""
    weights = {word: 1 / (rank + 2) for rank, word in enumerate(about)}
    scored = []
    for place, line in enumerate(lines):
        if not _is_sentence(line.text):
            continue
        score = sum(weights.get(word, 0.0) for word in _words(line.text)) + (1 if is_to_do(line.text) else 0)
        if score > 0:
            scored.append((-score, place))
    return [lines[place] for place in sorted(place for _, place in sorted(scored)[:MAX_FACTS])]


def is_to_do(line: str) -> bool:
    """Whether a line says of itself that something is still to be done."""
    return _TO_DO.search(line) is not None


def _is_sentence(line: str) -> bool:
    if len(_CJK.findall(line)) >= _LINE_CJK and len(line) in range(_LINE_CJK, _LINE_CHARS.stop):
        return True
    return len(line) in _LINE_CHARS and len(line.split()) >= _LINE_WORDS


def _words(text: str) -> set[str]:
    """The words of a line that may be concepts."""
    words: set[str] = set()
    run: list[str] = []
    end = -1
    for token in tokenizer.tokens(text):
        is_cjk = _CJK.match(token.text) is not None
        if not is_cjk or token.start != end or token.text in _CJK_STOPS:
            words |= _grams(run)
            run = []
        if is_cjk and token.text not in _CJK_STOPS:
            run.append(token.text)
        elif (
            not is_cjk and len(token.text) >= _MIN_CHARS and token.text.isalpha() and token.text not in _STOPS
        ):
            words.add(token.text)
        end = token.end
    return words | _grams(run)


def _grams(run: Sequence[str]) -> set[str]:
    return {"".join(run[at : at + size]) for size in _CJK_SIZES for at in range(len(run) - size + 1)}
