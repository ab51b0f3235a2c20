"""Which words and lines stand out in what was on the screen, in any language; pure.

A screen repeats itself: menus and side bars stand on every frame. What they say stands in other places of
the same person, too, and what a stretch of work was about does not. So a word counts by how few of the other
places have it (`Background`), and no list of words says what matters. Chinese has no blanks: there pairs of
characters are compared, and runs that come again are the words, without the longer run they are a part of.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import NamedTuple

from store.core import tokenizer
from store.ocr.readings import MIN_CONFIDENCE

MAX_CONCEPTS = 8
MAX_FACTS = 5
_MAX_BOXES = 8
_TITLE_WEIGHT = 3
_MIN_CHARS = 4
_CJK_SIZES = range(2, 7)
_LINE_CHARS = range(16, 241)
_LINE_WORDS = 4
_LINE_CJK = 8
_LIKE_A_TITLE = 0.9  # of the signs of a line and a title stand in both in the same order
_MIN_WEIGHT = 0.5
"""Of a concept, and of the words of a fact on average: more of it is elsewhere than here below this."""
_WORDS_OF_LINE = 8
"""More words do not make a line more telling."""
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_BOX = re.compile(r"^\W*?(?:\[(?P<mark>[ xX✓✔])\]|(?P<sign>[☐☑☒✅✓✔]))\s*(?P<what>\w.*)$")

Weight = Callable[[str], float]
"""How telling a word is, from 0 (it is everywhere) to 1."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, the first frame it stands on, and how sure the reader was of it there."""

    text: str
    frame_id: int
    confidence: float = 1.0


class Window(NamedTuple):
    """A window as it is told from others; `where` is its site or app."""

    app: str
    where: str
    title: str


class Background:
    """What stands in the windows of a person. A window counts once, however long it was open."""

    def __init__(self, shown: Iterable[tuple[Window, str]] = ()) -> None:
        """`shown` are windows with texts that stood in them."""
        self._words: dict[Window, set[str]] = {}
        for window, text in shown:
            self._words.setdefault(window, set()).update(word for word, _ in words_of(text, (2,)))
        self._groups: dict[tuple[str, ...], Counter[str]] = {}
        for window, words in self._words.items():
            for group in _groups_of(window):
                self._groups.setdefault(group, Counter()).update(words)
        self._sizes = Counter(group for window in self._words for group in _groups_of(window))

    def weight(self, windows: Collection[Window]) -> Weight:
        """How telling words are in the windows of one place: by the share of other windows without them.

        Of all windows, of those of the app, and of those of the site, the smallest share counts.
        """
        known = [window for window in windows if window in self._words]
        own = Counter(word for window in known for word in self._words[window])
        groups = {group for window in windows for group in _groups_of(window)}
        counted = [(self._groups[group], self._sizes[group]) for group in groups if group in self._groups]

        def weight(word: str) -> float:
            pairs = [word[at : at + 2] for at in range(len(word) - 1)] if _CJK.match(word) else [word]
            # One window more than there are, which has none of the words: of few, none is sure to have all.
            shares = (
                (counts[pair] - own[pair]) / (size - len(known) + 1)
                for pair in pairs
                for counts, size in counted
            )
            return (1.0 - max(shares, default=0.0)) ** 2

        return weight


def _groups_of(window: Window) -> tuple[tuple[str, ...], ...]:
    """The groups of windows that one is of: all, those of its app, those of its site."""
    return (), ("app", window.app), ("where", window.where)


def distinct_lines(lines: Iterable[Line]) -> list[Line]:
    """Each different line once, in order."""
    found: dict[str, Line] = {}
    for line in lines:
        if form := " ".join(line.text.casefold().split()):
            found.setdefault(form, replace(line, text=line.text.strip()))
    return list(found.values())


def concepts(titles: Sequence[str], lines: Sequence[Line], weight: Weight) -> list[str]:
    """Words that stand out as they are written there, the strongest first, at most `MAX_CONCEPTS`."""
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    of_titles = [(words_of(title, ()), _TITLE_WEIGHT) for title in dict.fromkeys(titles)]
    for words, times in [*of_titles, *((words_of(line.text), 1) for line in lines)]:
        for word, spelling in dict(words).items():
            counts[word] += times
            written.setdefault(word, Counter())[spelling] += 1
    weights = {word: weight(word) for word, count in counts.items() if count > 1}
    scores = {word: counts[word] * each for word, each in weights.items() if each >= _MIN_WEIGHT}
    ranked = sorted(scores, key=lambda word: (-scores[word], -len(word), word))
    chosen: list[str] = []
    for word in ranked:
        if len(chosen) == MAX_CONCEPTS:
            break
        if not any(word in other and scores[other] * 2 > scores[word] for other in ranked if other != word):
            chosen.append(word)
    return [written[word].most_common(1)[0][0] for word in chosen]


def facts(lines: Sequence[Line], titles: Sequence[str], weight: Weight) -> list[Line]:
    """The lines that say most of what no other line and no title says, the most telling first; what was read
    unsurely comes last.
    """
    of_titles = {word for title in titles for word, _ in words_of(title, (2,))}
    scored = [
        (line, {word: weight(word) for word in words}, _interest(line, lines[0]))
        for line in lines
        if (_is_sentence(line.text) or box(line.text))
        and (words := {word for word, _ in words_of(line.text, (2,))}) - of_titles
        and not (words & of_titles and _repeats(line.text, titles))
    ]
    said: set[str] = set()
    chosen: list[Line] = []
    for _ in range(MAX_FACTS + min(_MAX_BOXES, sum(box(line.text) is not None for line in lines))):
        scores = [interest * _score(words, said) for _, words, interest in scored]
        telling = [
            (scored[at][0].confidence >= MIN_CONFIDENCE, each, at) for at, each in enumerate(scores) if each
        ]
        if not telling:
            break
        _, _, best = max(telling)
        line, words_of_line, _ = scored.pop(best)
        chosen.append(line)
        said.update(words_of_line)
    return chosen


def _repeats(line: str, titles: Sequence[str]) -> bool:
    """Whether it is a title as it was read: of one in ten signs taken for another."""
    matcher = SequenceMatcher(b="".join(line.casefold().split()), autojunk=False)
    for title in titles:
        matcher.set_seq1("".join(title.casefold().split()))
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= _LIKE_A_TITLE <= matcher.ratio():
            return True
    return False


def _interest(line: Line, first: Line) -> float:
    """How likely a line is to tell of work: what was read well, came while somebody looked, and looks like no
    menu.
    """
    has_form = any(unicodedata.category(sign)[0] in "PN" for sign in line.text)
    return line.confidence * (1.5 if line.frame_id != first.frame_id else 1.0) * (1.0 if has_form else 0.6)


def _score(words: Mapping[str, float], said: set[str]) -> float:
    """How much some words say that was not said; 0 for what stands in other places as well."""
    fresh = sorted((each for word, each in words.items() if word not in said), reverse=True)
    is_special = sum(words.values()) >= _MIN_WEIGHT * len(words)
    return sum(fresh[:_WORDS_OF_LINE]) if is_special and len(fresh) * 2 > len(words) else 0.0


@dataclass(frozen=True, slots=True)
class Box:
    """A line with a box to tick: what is to be done, and whether it is."""

    what: str
    is_ticked: bool

    def begins_as(self, others: Collection[str]) -> bool:
        """Whether it is one of these, or one with more written behind it."""
        return any(self.what.startswith(other) for other in others)


def box(line: str) -> Box | None:
    """The box that a line begins with, None for a line without."""
    match = _BOX.match(line)
    if match is None:
        return None
    return Box(match["what"], (match["mark"] or match["sign"]) not in " ☐")


def _is_sentence(line: str) -> bool:
    if len(_CJK.findall(line)) >= _LINE_CJK and len(line) in range(_LINE_CJK, _LINE_CHARS.stop):
        return True
    return len(line) in _LINE_CHARS and len(line.split()) >= _LINE_WORDS


def words_of(text: str, cjk_sizes: Sequence[int] = _CJK_SIZES) -> list[tuple[str, str]]:
    """The words of a text that may be concepts, in normal form and as they are written there.

    Of Chinese all pieces of these sizes, or without any size the runs as a whole.
    """
    words: list[tuple[str, str]] = []
    run: list[str] = []
    end = -1
    for token in tokenizer.tokens(text):
        is_cjk = _CJK.match(token.text) is not None
        if not is_cjk or token.start != end:
            words += _grams(run, cjk_sizes)
            run = []
        if is_cjk:
            run.append(token.text)
        elif len(token.text) >= _MIN_CHARS and token.text.isalpha():
            words.append((token.text, text[token.start : token.end]))
        end = token.end
    return words + _grams(run, cjk_sizes)


def _grams(run: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, str]]:
    sizes = sizes or [max(len(run), 2)]
    grams = ("".join(run[at : at + size]) for size in sizes for at in range(len(run) - size + 1))
    return [(gram, gram) for gram in grams]
