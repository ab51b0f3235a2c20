"""The lines of frames and of other sources that answer a question best, chosen by code alone.

Every line of what was selected is weighed by what it and its surroundings have of the question:

* each word counts by how rare it is among the lines (inverse document frequency): a word on every screen says
  little. It counts whole in the line itself, less the further off it stands, and in the window's title. Forms
  of a word and parts of compounds count by how much of the word they share, words that mean the same, in
  whatever language, by how near they are;
* what the line means counts by how near it is to the question, beyond what it is to any text, and so do the
  lines of its frame that are nearest: a question in other words than the screen's is near to several;
* the sum is lowered where the line has not the kind of thing asked for.

Lines that say the same are one fact, told as it was last shown; frames that show the same are one moment.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, lru_cache
from heapq import nlargest
from itertools import pairwise
from types import MappingProxyType

from assistant.core.query_embedder import QueryEmbedder
from assistant.core.texts import HAN, asked_in, normalize, terms_of
from assistant.language import cldr
from assistant.language.questions import Form, asks_for_latest, words_beside_sources
from assistant.language.small_words import bare, is_plain, language_of, languages_of
from assistant.language.values import NO_DAYS, DaysMeant, values
from assistant.retrieval.furniture import Furniture, lines_of, title_of
from assistant.retrieval.retrieval import Entry
from store.ocr.layout import CELL, line_boxes, stand_together

MIN_SHARED = 4
"""Letters that two forms of a word begin with alike, or that a part of a compound has."""
ENOUGH = 0.5
"""A frame with more than this part of a question, by weight, is about it."""
BEARS = 0.5
"""Lines with less than this part of the best line's weight are not told."""
NEARLY, NEARLY_ALL = 0.7, 0.95
"""Parts of the weight of the best line, and of what it has of the question: one with less is not as good."""
SURE = 0.8
"""The weight with which the first line of what was found answers, though a word of the question is nowhere.
Nearness alone does not: it is as great in some questions of what is on no screen.
"""
MOST = 0.7
"""The part of what the best line has of the question with which a later line says how things stand now."""
LOOKED_AT = 300
"""So many lines that are about the matter are looked at closely: is it the kind of thing asked for?"""
MAX_TERMS = 600
"""Words of the screens that are compared with those of a question in meaning: 0.5 s, once."""
LINES = (8, 3, 2, 2, 1)
"""How many lines are told of each moment, of the best one most: it may be a list."""
BESIDE = (5, 4, 4, 3, 3)
"""So many of each with others of its frame: the answer stands there, if not in a line that names it."""
STAGES = (4,) * 6
"""The same of what there was of a matter, which is told in order of time."""
CONCERNS = 0.35
"""The same of a matter, and of its latest state: what belongs to it may have few of its words."""
MAX_FACTS = 60
"""Of a matter; much of what is said of it may stand on one frame."""
_SAME_WORD = 0.7  # of the longer one
_UNSEEN = 0.5  # lines that a word is on which is on none, so that it is rarer than any
_FADES = 0.7  # a line further off, each time
_TITLE = 0.5
_MEANING = 0.8  # of the line, and of its frame
_NEAREST = 3  # lines of a frame that tell how near it is
_WRONG_KIND = 0.4

_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]|[^\\W_\u3400-\u9fff]+")
_SAYS = re.compile("[^\\W_]{2}|[\u3040-\u9fff]")  # a word or a figure; a cursor may be read as "(0"
_SPEAKER = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)?[:：]")
_DIGITS = re.compile(r"\d+")
_NUMBERS: tuple[str, ...] = ("number", "spelled")
_KINDS = dict.fromkeys((Form.FIGURE, Form.DURATION, Form.VISITS), _NUMBERS)
_KINDS[Form.MOMENT] = "date", "clock", "weekday"

Synonyms = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: its words of content, and the form of the answer. `nearness` is that of lines, by their
    normal form; `synonyms` are of each word the terms of the screens that mean the same, with their nearness.
    `days` are what one of its words means, however a line names them. `around` are other windows, which tell
    what is furniture.
    """

    text: str
    form: Form
    words: tuple[str, ...]
    nearness: Mapping[str, float]
    synonyms: Synonyms = field(default_factory=dict)
    days: DaysMeant = NO_DAYS
    around: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a frame as it stands there, its place on it, and its weight. `coverage` (0..1) is how much of
    the question its frame has.
    """

    entry: Entry
    at: int
    text: str
    weight: float
    coverage: float


Moment = list[Line]
"""Lines that answer and stand on the frame of the first one, the best first."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The moments that answer, the best first, and the words of the question that are on no frame.

    `is_found` when some frame by itself has enough of the question.
    """

    moments: tuple[Moment, ...]
    missing: tuple[str, ...]
    is_found: bool

    @property
    def is_sure(self) -> bool:
        """Whether the first line is the answer, though a word of the question is nowhere: its own frame has
        enough of it.
        """
        first = self.moments[0][0] if self.moments else None
        return first is not None and first.coverage > ENOUGH and first.weight >= SURE

    @property
    def has_words(self) -> bool:
        """Whether any of it has a word of the question, and not only sounds near to it."""
        return any(line.coverage for moment in self.moments for line in moment)


def answering(question: Question, entries: Sequence[Entry]) -> Answers:
    """At most as many as `LINES`, of a matter that is summed up as `STAGES`, each fact once. The same for the
    same frames.
    """
    weighing = _Weighing(question, entries)
    about = nlargest(LOOKED_AT, weighing.lines(), key=_by_weight)
    best_first = sorted(map(weighing.likely, about), key=_by_weight, reverse=True)
    missing = [word for word in weighing.weights if not weighing.counts[word]]
    is_found = any(line.coverage > ENOUGH for line in best_first)
    is_summary = question.form is Form.SUMMARY
    if is_summary:
        moments = _moments(_facts(best_first, MAX_FACTS, CONCERNS), weighing, STAGES)
        moments.sort(key=_shown_at)
    else:
        least = CONCERNS if asks_for_latest(question.text) else BEARS
        moments = _moments(_facts(best_first, sum(LINES), least), weighing, LINES)
        moments = _latest_first(moments, weighing)
    for moment, least in zip(moments, STAGES if is_summary else BESIDE, strict=False):
        if not _answers_alone(question, moment[0]):
            moment += weighing.beside(moment)[: max(0, least - len(moment))]
    return Answers(tuple(moments), tuple(missing), is_found)


def _answers_alone(question: Question, line: Line) -> bool:
    """Whether a line has each word of the question and the kind of thing that it asks for."""
    is_whole = {word for word, _ in _named(question, line.text)}.issuperset(question.words)
    has_kind = question.form in _KINDS or question.form is Form.PERSON
    return is_whole and has_kind and fits(question.form, line.text, question.text)


def about(question: Question, entries: Sequence[Entry]) -> list[Entry]:
    """Those that have nearly as much of the question as any, in their order, where that is enough."""
    weighing = _Weighing(question, entries)
    covered = {line.entry.id: line.coverage for line in weighing.lines()}
    most = max(covered.values(), default=0.0)
    enough = max(ENOUGH, NEARLY_ALL * most)
    return [entry for entry in entries if covered.get(entry.id, 0.0) >= enough > 0]


def same_in_meaning(
    embedder: QueryEmbedder | None,
    message: str,
    words: Sequence[str],
    lines: Iterable[str],
    nearness: Mapping[str, float] = MappingProxyType({}),
) -> Synonyms:
    """Of each word of a message the words of these lines that mean the same; none where nobody knows words,
    and of letters that stand for words, which nobody knows either ("MOT").
    """
    letters = {normalize(word) for word in _WORD.findall(message) if word.isupper() and word.isalpha()}
    words = [word for word in words if word not in letters or message.isupper()]
    found = embedder.same_in_meaning(words, terms(lines, nearness)) if embedder else {}
    # A pair of Chinese signs is seldom just one word: alike with other pairs means little. Nor does a short
    # small word: "der" is near to many.
    return {
        word: {
            term: near
            for term, near in terms.items()
            if not (HAN.match(word) and HAN.match(term))
            and (len(term) >= MIN_SHARED or not languages_of(term))
        }
        for word, terms in found.items()
    }


def _facts(best_first: Iterable[Line], most: int, least: float) -> list[Line]:
    """What the lines say, each once: `most` that have at `least` this part of the weight of the best one."""
    facts: list[Line] = []
    for line in best_first:
        if len(facts) == most or (facts and line.weight < least * facts[0].weight):
            break
        said = (n for n, fact in enumerate(facts) if _is_said_by(line.text, fact.text))
        same = next(said, None)
        if same is None:
            facts.append(line)
        elif line.entry.frame.captured_ms > facts[same].entry.frame.captured_ms and _is_said_by(
            facts[same].text, line.text
        ):
            # "[x] call them" of "[ ] call them"
            facts[same] = replace(line, weight=facts[same].weight)
    return facts


def _moments(facts: Iterable[Line], weighing: _Weighing, most: Sequence[int]) -> list[Moment]:
    """The facts under the frames that show them, `most` of each: a run of frames that look alike is one."""
    moments: list[Moment] = []
    for line in facts:
        at = next((n for n, m in enumerate(moments) if weighing.shows(m[0].entry, line.text)), len(moments))
        if at == len(moments) < len(most):
            moments.append([line])
        elif at < len(moments) and len(moments[at]) < most[at] and weighing.belongs(line, moments[at][0]):
            moments[at].append(line)
    return moments


def _latest_first(moments: list[Moment], weighing: _Weighing) -> list[Moment]:
    """Those that bear on the question nearly as much as the best one, the latest first; then the others.

    What is shown later may say otherwise than what was shown before: it does where it has the kind of thing
    asked for, and is about most of what the best one is about.
    """

    def bears(moment: Moment) -> bool:
        best, line = moments[0][0], moment[0]
        is_later = line.entry.frame.captured_ms > best.entry.frame.captured_ms
        is_about = line.coverage >= (MOST if is_later else NEARLY_ALL) * best.coverage
        is_as_good = is_later or line.weight >= NEARLY * best.weight
        return is_about and is_as_good and any(map(weighing.fits, moment))

    bearing = [moment for moment in moments if moment is moments[0] or bears(moment)]
    others = [moment for moment in moments if moment not in bearing]
    return sorted(bearing, key=_shown_at, reverse=True) + others


class _Weighing:
    """The lines of some frames, weighed for one question."""

    def __init__(self, question: Question, entries: Sequence[Entry]) -> None:
        self._question = question
        self._entries = entries
        self._lines = {entry.id: lines_of(entry.frame.text) for entry in entries}
        self._boxes = cache(line_boxes)
        told = told_by(entries)
        self._named = {text: dict(_named(question, text)) for text in told}
        self.counts = Counter(word for words in self._named.values() for word in words)
        self._furniture = Furniture([each for each in entries if not each.address], question.around)
        self.weights = self._weights()
        self.total = sum(self.weights.values()) or 1.0

    def _weights(self) -> dict[str, float]:
        """What each word counts."""
        words = without_miscuts(self._question.words, self.counts)
        # What did Ann write: a verb of what messages are for stands in the question alone.
        own = words_beside_sources(self._question.text)
        telling = [word for word in words if self.counts[word] or word in own]
        return {
            word: math.log(1 + len(self._named) / (self.counts[word] or _UNSEEN)) for word in telling or words
        }

    def shows(self, entry: Entry, line: str) -> bool:
        """Whether a line stands on a frame."""
        return line in self._lines[entry.id]

    def lines(self) -> Iterator[Line]:
        """Every line that has something of the question."""
        return (line for entry in self._entries for line in self._weighed(entry))

    def belongs(self, line: Line, lead: Line) -> bool:
        """Whether a line of the same frame has a word of the question, or stands over, under or beside this
        one: what was read next may be of another pane.
        """
        frame = lead.entry.frame
        if self._named[line.text] or not frame.layout:
            return True
        boxes = self._boxes(frame.text, frame.layout)
        return stand_together(boxes[line.text], boxes[lead.text])

    def beside(self, moment: Moment) -> list[Line]:
        """The other lines of its frame, those first that bear most on the question: what answers a message,
        or sums up an order, names it no more, but stands over, under or beside it. The window's title stands
        with the source of them all.
        """
        lead, told = moment[0], {line.text for line in moment}
        title = title_of(lead.entry)
        others = [
            self.likely(line)
            for line in self._weighed(lead.entry)
            if line.text not in told and not _is_said_by(line.text, title) and self.belongs(line, lead)
        ]
        return sorted(others, key=_by_weight, reverse=True)

    def _weighed(self, entry: Entry) -> Iterator[Line]:
        lines = self._lines[entry.id]
        title = self._named[title_of(entry)]
        # Who a message is from is as much of it as what it says; a frame has its window's title beside it.
        part = 1.0 if entry.address else _TITLE
        around = {word: self._shares(word, lines, part * title.get(word, 0.0)) for word in self.weights}
        coverage = sum(self.weights[word] * max(shares, default=0.0) for word, shares in around.items())
        shown = [
            (at, line, _nearness(self._question.nearness, line))
            for at, line in enumerate(lines)
            if _SAYS.search(line) and (entry.address or not self._furniture.has(entry, at, line))
        ]
        of_frame = sum(nlargest(_NEAREST, (near for *_, near in shown))) / _NEAREST
        for at, line, near in shown:
            words = sum(self.weights[word] * shares[at] for word, shares in around.items()) / self.total
            weight = words + _MEANING * (near + of_frame)
            if weight > 0:
                yield Line(entry, at, line, weight, coverage / self.total)

    def _shares(self, word: str, lines: Sequence[str], in_title: float) -> list[float]:
        """How much of a word each line has, by itself, from lines around it and from the title."""
        own = [self._named[line].get(word, 0.0) for line in lines]
        for order in (range(1, len(own)), range(len(own) - 2, -1, -1)):
            for at in order:
                own[at] = max(own[at], _FADES * own[at - order.step])
        return [max(share, in_title) for share in own]

    def fits(self, line: Line) -> bool:
        """Whether a line, with what code knows of it, has the kind of thing asked for."""
        return fits(self._question.form, f"{line.entry.told} {line.text}".strip(), self._question.text)

    def likely(self, line: Line) -> Line:
        """With less weight where it has not the kind of thing asked for."""
        return line if self.fits(line) else replace(line, weight=_WRONG_KIND * line.weight)


def _shown_at(moment: Moment) -> int:
    return moment[0].entry.frame.captured_ms


def _by_weight(line: Line) -> tuple[float, int, int]:
    """The order of lines: of equal ones the latest first."""
    return line.weight, line.entry.frame.captured_ms, -line.at


def _is_said_by(text: str, other: str) -> bool:
    """Whether a line has the same figures as another one, and nearly all its words stand there, which may say
    more: a heading is said by a sentence, and not the sentence by it.

    A reading may put a sign before a line or lose one, so words of a letter do not count.
    """
    if _DIGITS.findall(text) != _DIGITS.findall(other):
        return False
    words, others = (
        {word for word in _tokens(each) if len(word) > 1 or HAN.match(word)} for each in (text, other)
    )
    return len(words & others) >= _SAME_WORD * max(1, len(words))


@lru_cache(maxsize=8192)
def _tokens(text: str) -> frozenset[str]:
    """The words of a text in normal form, and its Chinese signs."""
    return frozenset(_TOKEN.findall(normalize(text)))


def _nearness(of_cells: Mapping[str, float], line: str) -> float:
    """That of a line: of a row the most of its cells, which may have been cut apart."""
    return max(0.0, *(of_cells.get(normalize(cell), 0.0) for cell in line.split(CELL)))


def terms(lines: Iterable[str], nearness: Mapping[str, float]) -> list[str]:
    """Words of the screens that a word of a question may be said by, at most `MAX_TERMS`: those of the lines
    nearest to it first. Chinese in pairs of signs, as questions are cut.
    """
    found: dict[str, None] = {}
    for line in sorted(set(lines), key=lambda line: (-_nearness(nearness, line), normalize(line))):
        found.update(dict.fromkeys(terms_of(line)))
        if len(found) >= MAX_TERMS:
            break
    return list(found)[:MAX_TERMS]


def without_miscuts(words: Iterable[str], found: Container[str]) -> list[str]:
    """The words but for pairs of signs that were not found and cross one that was: cuts in a wrong place."""
    words = list(words)
    pairs = [word for word in words if word in found and HAN.match(word)]
    return [
        word
        for word in words
        if word in found
        or not HAN.match(word)
        or not any(word[0] == pair[-1] or word[-1] == pair[0] for pair in pairs)
    ]


def named(words: Sequence[str], line: str, synonyms: Synonyms = MappingProxyType({})) -> dict[str, float]:
    """The words that a line names, each with how much of it (0..1)."""
    form = normalize(line)
    tokens = frozenset(_WORD.findall(form))
    shares = {word: _share(word, form, tokens, synonyms.get(word, {})) for word in words}
    return {word: share for word, share in shares.items() if share}


def _named(question: Question, line: str) -> Iterator[tuple[str, float]]:
    """The words of a question that a line names; a day by any way to write it."""
    days = question.days
    yield from named([w for w in question.words if w != days.word], line, question.synonyms).items()
    if days.stretches and (share := days.named_in(line)):
        yield days.word, share


def _share(word: str, form: str, tokens: frozenset[str], synonyms: Mapping[str, float]) -> float:
    own = _own_share(word, form, tokens)
    said = (near for term, near in synonyms.items() if (term in form if HAN.search(term) else term in tokens))
    return max(own, *said, 0.0) if own < 1 else own


def _own_share(word: str, form: str, tokens: frozenset[str]) -> float:
    if HAN.search(word):
        return float(word in form)
    if not word.isalpha():
        parts = _WORD.findall(word)
        return float(tokens.issuperset(parts) and (len(parts) > 1 or word in form))
    return max((_alike(word, token) for token in tokens), default=0.0)


@lru_cache(maxsize=65536)
def _alike(word: str, other: str) -> float:
    """How much two words are forms of one, or one is a part of the other: 0..1. Accents do not part them."""
    if word == other:
        return 1.0
    word, other = bare(word), bare(other)
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) < MIN_SHARED:
        return 0.0
    shared = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(shorter))
    if shared >= MIN_SHARED:
        share = SequenceMatcher(None, word, other, autojunk=False).ratio()
        if share >= _SAME_WORD:
            return share
    is_part = len(shorter) > MIN_SHARED and (longer.startswith(shorter) or longer.endswith(shorter))
    return _SAME_WORD if is_part else 0.0


def fits(form: Form, line: str, question: str) -> bool:
    """Whether a line has the kind of thing that a form asks for, beyond what the question says itself."""
    if form is Form.PERSON:
        return names_somebody(line, question)
    kinds = _KINDS.get(form)
    if kinds is None:
        return True
    language = asked_in(question) if kinds is _NUMBERS else ""
    told = values(line, language=language and (language_of(line) or language))
    said = {reading for value in values(question, language=language) for reading in value.readings}
    return any(value.kind in kinds and not said.issuperset(value.readings) for value in told)


def names_somebody(line: str, question: str) -> bool:
    """Whether a line has two words with capitals beside each other, or what somebody says behind a name."""
    known = _tokens(question)
    words = (word.strip(".,;:<>()") for word in line.split())
    is_name = [w.istitle() and not cldr.is_common(w) and normalize(w) not in known for w in words]
    speaker, language = _SPEAKER.match(line), language_of(line)
    # "Next meeting:" and "Betreff:" name nobody.
    speaks = speaker is not None and not all(is_plain(w, language) for w in speaker[0][:-1].split())
    return speaks or any(map(all, pairwise(is_name)))


def told_by(entries: Iterable[Entry]) -> set[str]:
    """The lines and the titles."""
    return {line for entry in entries for line in (*lines_of(entry.frame.text), title_of(entry))}
