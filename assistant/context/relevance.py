"""Which earlier chats bear on a question, and which of their sentences say most of it.

A chat bears on a question by its meaning (cosine) and by the question's rare words in it, and by how near
it is to the chats that do: what goes on from them need not name what it is about. One with a single word of
the question, which is near to none of the others, is of something else, and is not told.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from assistant.core.texts import CJK, normalize, question_words
from assistant.evidence.particulars import particulars
from assistant.language.small_words import is_small, language_of
from assistant.language.statements import split_statements
from store.core.database import Database
from store.memory import chat_digests
from store.memory.chat_digests import Candidates
from store.memory.observations import MODEL_SAYS

Likeness = npt.NDArray[np.float64]
"""``float64[n, n]``: how near each two of some chats are."""
Terms = Mapping[str, int]
"""How often each term stands in a text."""

FLOOR = 0.45
"""Cosine and share of the question's words together: of a week of 60 foreign chats the best on a subject had
at least 0.54 for its question, the best on others 0.33 on average and 0.48 at most."""
_WORDS = 2.0
"""How much shared words count beside meaning: their cosines spread about half as wide."""
_PRIOR_CHATS = 20
"""How near a chat is to just any is known well from more than so many, and hardly from a few."""
_SUPPORT = 0.5
"""How much it counts to be near chats that bear on the question, beside bearing on it oneself."""
_SHARE_OF_BEST = 0.55
"""Told are chats that come to this part of what the best one does. Of 60 short chats on 12 subjects it told
what was settled of all, and nothing else; half told of another, and 0.6 left out more of its own."""
MAX_RELATED = 12
_POOL = 64
"""Chats nearest to a question, by meaning and by words each, of which those that bear on it are chosen."""
_STEM = 5
"""Letters by which forms of one word meet ("tile", "tiles", "łazienka", "łazienkę")."""
_WORD = re.compile(r"[^\W_]+")
_SIGNS = re.compile(f"[{CJK}]{{2,}}")


def terms(text: str) -> Counter[str]:
    """The words of a text without the small ones of its language, shortened; signs in pairs."""
    form = normalize(text)
    language, found = language_of(form), Counter[str]()
    for word in _WORD.findall(_SIGNS.sub(" ", form)):
        if len(word) > 1 and not is_small(word, language):
            found[word[:_STEM]] += 1
    for run in _SIGNS.findall(form):
        found.update(question_words(run))
    return found


def is_told_of(sentence: str, text: Terms) -> bool:
    """Whether half of the words of a sentence stand in a text."""
    own = terms(sentence)
    return bool(own) and 2 * len(own.keys() & text.keys()) >= len(own)


def related(
    database: Database, candidates: Candidates, question: str, vector: npt.NDArray[np.floating] | None
) -> dict[int, tuple[float, str]]:
    """The chats that bear on a question, best first: how much each does, and by what, in words."""
    asked = terms(question)
    if not candidates.ids:
        return {}
    by_words = _shares(database, asked, candidates.ids)
    cosines = candidates.cosines(vector)
    total = cosines + np.array([by_words[number] for number in candidates.ids])
    pool = np.argsort(-total, kind="stable")[:_POOL]
    best = int(pool[0])
    if total[best] < FLOOR:
        return {}
    ids = [candidates.ids[at] for at in pool]
    likeness = _beyond_chance(_WORDS * _links(database, ids) + candidates.cosines_among(pool))
    score = total[pool] + _SUPPORT * _supported(total[pool], likeness)
    told = [at for at in np.argsort(-score, kind="stable") if score[at] >= _SHARE_OF_BEST * score.max()]
    return {
        ids[at]: (
            round(float(max(total[pool[at]], 0.01)), 4),
            f"meaning {cosines[pool[at]]:.2f} + words {total[pool[at]] - cosines[pool[at]]:.2f}",
        )
        for at in told[:MAX_RELATED]
    }


def _supported(bearing: npt.NDArray[np.float64], likeness: Likeness) -> npt.NDArray[np.float64]:
    """How near each chat is to the others, those counting most that bear most on the question."""
    counts = np.clip(bearing, 0.0, None) ** 2
    return np.asarray(likeness @ counts / counts.sum(), np.float64)


def _beyond_chance(likeness: Likeness) -> Likeness:
    """How near each two chats are beyond what each of them is to just any other: one in a rarer language or
    of many words is near to all of them.
    """
    np.fill_diagonal(likeness, 0.0)
    usual = np.median(likeness, axis=1)
    usual -= np.median(usual)
    known = len(usual) / (len(usual) + _PRIOR_CHATS)
    beyond = np.asarray(likeness - known * (usual[:, None] + usual[None, :]) / 2, np.float64)
    np.fill_diagonal(beyond, 0.0)
    return beyond


def _shares(database: Database, asked: Terms, ids: Collection[int]) -> dict[int, float]:
    """The part of a question's weight that each chat's terms are: one says the more the fewer chats have it,
    and something where all do.
    """
    among = set(ids)
    holders = {term: among & chats for term, chats in chat_digests.with_terms(database, asked).items()}
    weight = {term: max(1.0, _rarity(len(holders.get(term, ())), len(ids))) for term in asked}
    whole = sum(weight.values())
    shares = dict.fromkeys(among, 0.0)
    for term, chats in holders.items():
        for number in chats:
            shares[number] += weight[term] / whole
    return shares


def _links(database: Database, ids: Sequence[int]) -> Likeness:
    """The cosine of each two chats by the terms that more than one of them has."""
    rows = chat_digests.terms_of(database, ids)
    chats = Counter(term for _, term, _ in rows)
    columns = {term: at for at, term in enumerate(term for term, number in chats.items() if number > 1)}
    places = {number: at for at, number in enumerate(ids)}
    table = np.zeros((len(ids), max(1, len(columns))))
    for number, term, count in rows:
        if term in columns:
            value = (1 + math.log(count)) * _rarity(chats[term], len(ids))
            table[places[number], columns[term]] = value
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(lengths > 0, lengths, 1.0)
    return np.asarray(table @ table.T, np.float64)


def _rarity(chats: int, of: int) -> float:
    """Of a few chats nobody knows what is rare: they count as some of many."""
    return math.log((max(of, _POOL) + 1) / (max(chats, 1) + 0.5))


# -- sentences --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of a summary: of which chat, the how many-th there, and whether the person said it."""

    session_id: int
    place: int
    text: str
    is_person: bool


@lru_cache(maxsize=4_096)
def weight(text: str) -> tuple[int, frozenset[str]]:
    """How many figures, dates, names and quotations a sentence has, and its terms."""
    found = particulars(text, language_of(normalize(text)))
    return sum(not each.is_weak for each in found), frozenset(terms(text))


def says_enough(text: str) -> bool:
    """Whether what a person says is more than a word of thanks."""
    named, own = weight(text)
    return named > 0 or len(own) > 1


def ranked(sentences: Sequence[Said], question: str, score: Mapping[int, float]) -> list[Said]:
    """The sentences that say most first: they take up what others say, name things and answer the question.

    What was settled is told by what was weighed before it, so the words of several sentences stand in it;
    the person's own words decide. `score` is how much each chat counts. A model's words come last.
    """
    asked = weight(question)[1]
    known = {said: weight(said.text) for said in sentences}
    common = Counter(term for _, own in known.values() for term in own)

    def worth(said: Said) -> float:
        named, own = known[said]
        shared = sum(min(common[term], 4) - 1 for term in own) / math.sqrt(len(own) + 3)
        worth = 0.35 * min(named, 4) + 0.3 * shared + 1.5 * len(own & asked) / max(1, len(asked))
        return (worth + 0.5 * said.is_person) * score[said.session_id]

    return sorted(sentences, key=lambda said: (said.text.startswith(MODEL_SAYS), -worth(said)))


def salient(texts: Iterable[str], most: int) -> list[str]:
    """Those of some sentences that say most, in their order."""
    listed = list(texts)
    by_weight = sorted(range(len(listed)), key=lambda at: -_own_weight(listed[at]))[:most]
    return [listed[at] for at in sorted(by_weight)]


def _own_weight(text: str) -> float:
    named, own = weight(text)
    return min(named, 4) + 0.25 * min(len(own), 12)


def sentences_of(field: str) -> list[str]:
    """The sentences of a field of a summary: its lines, or what stands in them where a person or model
    wrote several.
    """
    if "\n" in field:
        return [line for line in field.split("\n") if line.strip()]
    return [field[each.start : each.end] for each in split_statements(field)]
