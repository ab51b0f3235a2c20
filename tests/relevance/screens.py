"""A relevance set by construction: screens, questions, and how well each screen answers each one.

The same seed gives the same set. A screen is about one thing (a concept and a name) in some of its
wordings, between the furniture of windows, sometimes with a mention of another thing, and with a few
letters misread as OCR misreads them. So the judgments are known without judges: 2 for a screen that
is about what was asked, 1 for one that mentions it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.relevance.concepts import CHINESE, CHINESE_NAMES, ENGLISH, ENGLISH_NAMES, FURNITURE, Concept

SCREENS_PER_THING = 36
_QUESTIONS_PER_CONCEPT = 9
_MISREAD = (("rn", "m"), ("l", "1"), ("o", "0"), ("m", "rn"), ("未", "末"), ("己", "已"))
_MISREAD_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    kind: str  # "words", "more words" or "meaning"
    language: str
    grades: dict[int, int]  # by the number of the screen


@dataclass(frozen=True, slots=True)
class RelevanceSet:
    texts: tuple[str, ...]
    questions: tuple[Question, ...]


Thing = tuple[Concept, str, str]  # with a name, in a language


def relevance_set(seed: int = 5) -> RelevanceSet:
    """All screens in a mixed order, and all questions."""
    rng = random.Random(seed)
    things: list[Thing] = [(concept, name, "en") for concept in ENGLISH for name in ENGLISH_NAMES]
    things += [(concept, name, "zh") for concept in CHINESE for name in CHINESE_NAMES]
    made = [
        _screen(rng, thing, rng.choice(things) if number % 4 == 0 else None)
        for thing in things
        for number in range(SCREENS_PER_THING)
    ]
    rng.shuffle(made)
    grades: dict[tuple[int, str], dict[int, int]] = {}
    for number, (_, about, mentioned) in enumerate(made):
        if mentioned is not None:
            grades.setdefault(_key(mentioned), {})[number] = 1
        grades.setdefault(_key(about), {})[number] = 2
    return RelevanceSet(tuple(text for text, _, _ in made), tuple(_questions(grades)))


def _screen(rng: random.Random, about: Thing, mentioned: Thing | None) -> tuple[str, Thing, Thing | None]:
    concept, name, _ = about
    lines = [wording.format(e=name) for wording in rng.sample(concept.wordings, rng.randint(1, 2))]
    if mentioned is not None:
        lines.append(rng.choice(mentioned[0].wordings).format(e=mentioned[1]))
    lines = [_misread(rng, line) for line in lines]
    furniture = rng.sample(FURNITURE, rng.randint(3, 6))
    for line in lines:
        furniture.insert(rng.randint(1, len(furniture)), line)
    return "\n".join(furniture), about, mentioned


def _misread(rng: random.Random, line: str) -> str:
    if rng.random() < _MISREAD_SHARE:
        found = [(right, wrong) for right, wrong in _MISREAD if right in line]
        if found:
            right, wrong = rng.choice(found)
            return line.replace(right, wrong, 1)
    return line


def _questions(grades: dict[tuple[int, str], dict[int, int]]) -> list[Question]:
    questions = []
    for language, concepts, names in (("en", ENGLISH, ENGLISH_NAMES), ("zh", CHINESE, CHINESE_NAMES)):
        for concept in concepts:
            for number in range(_QUESTIONS_PER_CONCEPT):
                at = number % len(concept.questions)
                name = names[(number // len(concept.questions)) % len(names)]
                questions.append(
                    Question(
                        text=concept.questions[at].format(e=name),
                        kind=("words", "more words", "meaning")[at],
                        language=language,
                        grades=grades[_key((concept, name, language))],
                    )
                )
    return questions


def _key(thing: Thing) -> tuple[int, str]:
    concept, name, _ = thing
    return (ENGLISH + CHINESE).index(concept), name
