"""Which earlier chats bear on a question, and which of their sentences say most of it.

A chat bears on a question by its meaning (cosine) and by the question's rare words in it, and by the words
and the meaning that it shares with the chats that do, and with those near these: what goes on from them need
not name what it is about.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assistant.core.texts import CJK, normalize, question_words
from assistant.evidence.particulars import particulars
from assistant.language.questions import without_settling
from assistant.language.small_words import is_small, language_of
from assistant.language.statements import split_statements
from store.core.database import Database
from store.core.translation import N_
from store.memory import chat_digests
from store.memory.chat_digests import Candidates
from store.memory.observations import MODEL_SAYS

Likeness = npt.NDArray[np.float64]
"""``float64[n, n]``: how near each two of some chats are."""
Terms = Mapping[str, int]
"""How often each term stands in a text."""

FLOOR = 0.36
"""Cosine and words of a question together: the best chat of a week had as much for 55 of 60 questions on it,
and for one in five about another person's week."""
_WORDS = 0.3
"""How much the share of the question's words counts beside the cosine, which knows which of them matter: as
much as it, 52 of 60 questions had a chat of their subject first, and with this 55."""
_LINK_WORDS, _LINK_MEANING = 3.0, 4.0
"""How much the words that two chats share count, and their cosine above that of strangers."""
_STRANGERS = 8
"""So many chats on nothing count with those there are: what a few have in common is what they are about."""
_STEPS = 3
"""How many chats on it is at most from one that bears on a question to one that goes on from it."""
_LATER, _STATED, _STATED_CHARS = 0.5, 0.5, 100
"""How much more the last of some chats counts than the first, since it says what holds now, and one in which
the person stated so much than one in which they only asked."""
_SHARE_OF_BEST = 0.6
"""Told are chats that come to this part of what the best one does. Of nine weeks of 60 chats on 12 subjects a
smaller part told of other subjects, and a larger one left out more of its own."""
_POOL = 64
"""Chats nearest to a question, by meaning and by words each, of which those that bear on it are chosen."""
_STEM = 5
"""Letters by which forms of one word meet ("kitchen", "kitchens", "łazienka", "łazienkę")."""
_COMPOUNDING = ("da", "de", "nl", "no", "sv")
_VOWELS = "aeiouyąęåäöüаеиоуыюяії"
_WORD = re.compile(r"[^\W_]+")
_SIGNS = re.compile(f"[{CJK}]{{2,}}")


def terms(text: str) -> Counter[str]:
    """The words of a text without the small ones of its language, shortened; signs in pairs."""
    found, form = Counter(word[:_STEM] for word in _words(text)), normalize(text)
    for run in _SIGNS.findall(form):
        found.update(question_words(run))
    return found


def _words(text: str) -> list[str]:
    form = normalize(text)
    language = language_of(form)
    words = _WORD.findall(_SIGNS.sub(" ", form))
    return [word for word in words if len(word) > 1 and not is_small(word, language)]


def forms_of(text: str) -> dict[str, set[str]]:
    """For each term of a text those of other forms of its word: with and without the s of a plural, of a
    short word with another ending ("дачи", "даче"), and of a compound its head ("hundvalpen", "valpen").
    """
    found, language = {term: {term} for term in terms(text)}, language_of(normalize(text))
    for word in _words(text):
        stem = word[:_STEM]
        forms = {f"{stem}s", stem.removesuffix("s")} if len(word) > 2 else set()
        if len(word) == _STEM - 1 and word[-1] in _VOWELS and language != "en":
            forms |= {word[:-1] + vowel for vowel in _VOWELS}
        if language in _COMPOUNDING:
            forms |= {word[at : at + _STEM] for at in range(3, len(word) - _STEM + 1)}
        found[stem] |= forms
    return found


def is_told_of(sentence: str, text: Terms) -> bool:
    """Whether half of the words of a sentence stand in a text; figures are none. Signs that stand together
    are one word, which does where half of its pairs do: a short one is not to speak for all beside it.
    """
    runs = filter(None, map(question_words, _SIGNS.findall(normalize(sentence))))
    stems = {word[:_STEM] for word in _words(sentence) if not word.isdecimal()}
    told = [stem in text for stem in stems]
    told += [2 * sum(pair in text for pair in run) >= len(run) for run in runs]
    return bool(told) and 2 * sum(told) >= len(told)


def related(
    database: Database, candidates: Candidates, question: str, vector: npt.NDArray[np.floating] | None
) -> dict[int, tuple[float, str]]:
    """The chats that bear on a question, best first: how much each does, and by what, in words."""
    if not candidates.ids:
        return {}
    about, cosines = without_settling(question), candidates.cosines(vector)
    words = _shares(database, forms_of(about), candidates.ids)
    total = cosines + (_WORDS if cosines.any() else 1.0) * words
    pool = np.argsort(-total, kind="stable")[:_POOL]
    if total[pool[0]] < FLOOR:
        return {}
    ids = [candidates.ids[at] for at in pool]
    likeness = _LINK_WORDS * _links(database, ids) + _LINK_MEANING * _nearness(candidates, pool)
    np.fill_diagonal(likeness, 0.0)
    np.fill_diagonal(likeness, likeness.max(axis=1))
    score = bearing = np.clip(total[pool], 0.0, None)
    for _ in range(_STEPS):  # how near each is to all, those counting most that bear most on the question
        score = bearing + likeness @ score**3 / (score**3).sum()
    score *= 1 + _STATED * np.minimum(1.0, candidates.stated[pool] / _STATED_CHARS)
    score *= 1 + _LATER * np.argsort(np.argsort(-pool)) / len(pool)  # candidates begin with the newest
    order = np.argsort(-score, kind="stable")
    told = [at for at in order if score[at] >= _SHARE_OF_BEST * score.max()]
    why = N_("meaning %(meaning)s + words %(words)s")
    parts = {at: {"meaning": f"{cosines[pool[at]]:.2f}", "words": f"{words[pool[at]]:.2f}"} for at in told}
    return {ids[at]: (round(float(score[at]), 4), why % parts[at]) for at in told}


def _shares(database: Database, asked: Mapping[str, set[str]], ids: Sequence[int]) -> npt.NDArray[np.float64]:
    """The part of a question's weight that each chat's terms are: one says the more the fewer chats have it,
    and something where all do.
    """
    places = {number: at for at, number in enumerate(ids)}
    found = chat_digests.with_terms(database, set[str]().union(*asked.values()))
    shares, total = np.zeros(len(ids)), 0.0
    for forms in asked.values():
        chats = [places[each] for form in forms for each in found.get(form, ()) if each in places]
        weight = max(1.0, _rarity(len(set(chats)), len(ids)))
        shares[chats] += weight
        total += weight
    return shares / max(total, 1.0)


def _links(database: Database, ids: Sequence[int]) -> Likeness:
    """The cosine of each two chats by the terms that more than one of them has."""
    rows = chat_digests.terms_of(database, ids)
    chats = Counter(term for _, term, _ in rows)
    rare = {term: _rarity(number, len(ids)) for term, number in chats.items() if number > 1}
    columns = {term: at for at, term in enumerate(rare)}
    places = {number: at for at, number in enumerate(ids)}
    table = np.zeros((len(ids), max(1, len(columns))))
    for number, term, count in rows:
        if term in columns:
            table[places[number], columns[term]] = (1 + math.log(count)) * rare[term]
    return _cosines(table)


def _nearness(candidates: Candidates, places: npt.NDArray[np.intp]) -> Likeness:
    """How much nearer in meaning each two of some chats are than strangers: the cosine once what all chats
    have in common is taken off; 0 without a model.
    """
    if candidates.vectors is None:
        return np.zeros((len(places), len(places)))
    common = candidates.vectors.sum(axis=0, dtype=np.float64) / (len(candidates.ids) + _STRANGERS)
    own = candidates.vectors[places]
    return np.clip(_cosines(np.where(own.any(axis=1, keepdims=True), own - common, 0.0)), 0.0, None)


def _cosines(table: npt.NDArray[np.float64]) -> Likeness:
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table = table / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(table @ table.T, np.float64)


def _rarity(chats: int, of: int) -> float:
    """Of a few chats nobody knows what is rare: they count as some of many."""
    return math.log((max(of, _POOL) + 1) / (max(chats, 1) + 0.5))


# -- sentences --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of a summary: of which chat, the how many-th there, whether the person said it, and
    whether it is of an answer without a source.
    """

    session_id: int
    place: int
    text: str
    is_person: bool
    is_unsourced: bool = False


@lru_cache(maxsize=4_096)
def weight(text: str) -> tuple[int, frozenset[str]]:
    """How many figures, dates, names and quotations a sentence has, and its terms."""
    found = particulars(text, language_of(normalize(text)))
    return sum(not each.is_weak for each in found), _stems(text)


@lru_cache(maxsize=4_096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def says_enough(text: str) -> bool:
    """Whether what a person says is more than a word of thanks."""
    named, own = weight(text)
    return named > 0 or len(own) > 1


def ranked(sentences: Sequence[Said], question: str, score: Mapping[int, float]) -> list[Said]:
    """The sentences that say most first: those with the question's words, the person's own before what was
    answered, and of as good ones what was said last. `score` is how much each chat counts. A model's words
    come last.
    """
    asked = terms(question).keys()

    def worth(said: Said) -> float:
        answers = len(_stems(said.text) & asked) / max(1, len(asked))
        return (0.5 + answers + 0.5 * said.is_person) * score[said.session_id]

    return sorted(sentences, key=lambda said: (said.text.startswith(MODEL_SAYS), -worth(said), -said.place))


def salient(texts: Iterable[str], most: int) -> list[str]:
    """Those of some sentences that say most, in their order."""
    listed = list(texts)
    weights = [min(named, 4) + 0.25 * min(len(own), 12) for named, own in map(weight, listed)]
    return [listed[at] for at in sorted(sorted(range(len(listed)), key=lambda at: -weights[at])[:most])]


def sentences_of(field: str) -> list[str]:
    """The sentences of a field of a summary: its lines, or what stands in them where a person or model
    wrote several.
    """
    if "\n" in field:
        return [line for line in field.split("\n") if line.strip()]
    return [field[each.start : each.end] for each in split_statements(field)]
