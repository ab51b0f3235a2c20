"""Which earlier chats bear on a question, and which of their sentences say most of it.

The chats near a question fall into groups, each nearer to its own than to any other: by meaning (cosine)
and by the rare words that two of them share, beyond what each chat has in common with just any. How near
is near enough is measured on the person's own chats. Told is the group of the chat that bears most on the
question; what is of another group is of something else, and is not told.
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

Likeness = npt.NDArray[np.float64]
"""``float64[n, n]``: how near each two of some chats are."""
Terms = Mapping[str, int]
"""How often each term stands in a text."""

FLOOR = 0.45
"""Cosine and share of the question's words together: of a week of 60 foreign chats the best on a subject had
at least 0.54 for its question, the best on others 0.33 on average and 0.48 at most."""
_WORDS = 2.0
"""How much shared words count beside meaning: their cosines spread about half as wide."""
_PRIOR_CHATS, _KIN, _STRANGERS = 20, 1.15, 0.14
"""What a person's own chats say of how near two on one subject and on two are begins from this, which counts
as much as so many chats: few of them say little."""
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
    return {
        ids[at]: (
            round(float(max(total[pool[at]], 0.01)), 4),
            f"meaning {cosines[pool[at]]:.2f} + words {total[pool[at]] - cosines[pool[at]]:.2f}",
        )
        for at in _group(likeness)[:MAX_RELATED]
    }


def _beyond_chance(likeness: Likeness) -> Likeness:
    """How near each two chats are beyond what each of them is to just any other: one in a rarer language or
    of many words is near to all of them.
    """
    np.fill_diagonal(likeness, 0.0)
    usual = np.median(likeness, axis=1)
    usual -= np.median(usual)
    known = len(usual) / (len(usual) + _PRIOR_CHATS)
    return np.asarray(likeness - known * (usual[:, None] + usual[None, :]) / 2, np.float64)


def _group(likeness: Likeness) -> list[int]:
    """The places of the first chat's group, in order, by average linkage: the two nearest groups become one
    until they are nearer to strangers than to kin, in proportion.
    """
    near, members = likeness.copy(), [[at] for at in range(len(likeness))]
    np.fill_diagonal(near, -np.inf)
    enough = _near_enough(near)
    while near.max() >= enough:
        kept, gone = (int(at) for at in np.unravel_index(near.argmax(), near.shape))
        sizes = len(members[kept]), len(members[gone])
        joined = (sizes[0] * near[kept] + sizes[1] * near[gone]) / sum(sizes)
        near[kept], near[:, kept] = joined, joined
        near[gone], near[:, gone], near[kept, kept] = -np.inf, -np.inf, -np.inf
        members[kept] += members[gone]
        members[gone] = []
    return sorted(next(group for group in members if 0 in group))


def _near_enough(near: Likeness) -> float:
    """Between what a chat and the one nearest to it usually have, and what two of them do."""
    number, part = len(near), _PRIOR_CHATS / (len(near) + _PRIOR_CHATS)
    if number < 2:
        return math.sqrt(_KIN * _STRANGERS)
    kin = np.median(near.max(axis=1)) * (1 - part) + _KIN * part
    strangers = np.median(near[np.triu_indices(number, 1)]) * (1 - part) + _STRANGERS * part
    return math.sqrt(max(0.0, kin * strangers))


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
    the person's own words decide. `score` is how much each chat counts.
    """
    asked = weight(question)[1]
    known = {said: weight(said.text) for said in sentences}
    common = Counter(term for _, own in known.values() for term in own)

    def worth(said: Said) -> float:
        named, own = known[said]
        shared = sum(min(common[term], 4) - 1 for term in own) / math.sqrt(len(own) + 3)
        worth = 0.35 * min(named, 4) + 0.3 * shared + 1.5 * len(own & asked) / max(1, len(asked))
        return (worth + 0.5 * said.is_person) * score[said.session_id]

    return sorted(sentences, key=worth, reverse=True)


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
    return [line for line in field.split("\n") if line.strip()] if "\n" in field else _split(field)


def _split(text: str) -> list[str]:
    return [text[each.start : each.end] for each in split_statements(text)] or [text]
