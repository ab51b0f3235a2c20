"""Words that may be words of time and that no table has: slips of typing, and other forms of names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import takewhile

from assistant.language.small_words import is_german_noun
from assistant.language.time_tables import CAPITAL_NAMES, LATIN, Entry, folded, from_cldr, latin
from engines.embeddings.multilingual import is_likelier_small

SHORT = 4  # letters by which a word is known
ENDING = 3  # letters that two forms of a word may have each of its own
_TELLING = frozenset("DRtPCWMUnoqKkhH@-FTB<>S~lLcNaAJOIe=r5")
"""Kinds of words without which a time is another one."""
_NAMES = frozenset("DRPW")  # kinds of words that no other word begins like


@lru_cache(maxsize=4096)
def is_like_time(raw: str, language: str | None) -> bool:
    """Whether a word that is none of time in its language, and none that is known, is one with a letter too
    many, too few or at the wrong side of its neighbour; or, where forms of a name are many and not known,
    begins as it does. A letter in place of another mostly makes another word.
    """
    word = folded(raw)
    if not language or len(word) < SHORT or not word.isalpha():
        return False
    if raw[:1].isupper() and language not in CAPITAL_NAMES:
        return False
    if language not in LATIN and any(_is_form(word, name) for name in _words(language, _NAMES)):
        return True
    if is_likelier_small(raw, 0) is not None or (language == "de" and is_german_noun(raw)):
        return False
    words, cut_short = _near(language)
    return word in cut_short or not words.isdisjoint((*_cuts(word), *_swaps(word)))


def _is_form(word: str, name: str) -> bool:
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name, strict=False)))
    return same >= SHORT and max(len(word), len(name)) - same <= ENDING and 3 * same >= 2 * len(name)


@cache
def _near(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words of time, and what is left of them where a letter is forgotten."""
    words = _words(language, _TELLING)
    return words, frozenset(cut for word in words if len(word) > SHORT for cut in _cuts(word))


def _cuts(word: str) -> Iterator[str]:
    """A word without one of its letters; a short one with another end is another."""
    return (word[:at] + word[at + 1 :] for at in range(len(word) - (len(word) == SHORT + 1)))


def _swaps(word: str) -> Iterator[str]:
    """A word with two neighbouring letters the other way round."""
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1))


@cache
def _words(language: str, kinds: frozenset[str]) -> frozenset[str]:
    entries: dict[str, Entry] = latin(language) if language in LATIN else from_cldr(language)
    said = (words for words, (kind, _, _) in entries.items() if kind in kinds)
    return frozenset(word for words in said for word in words.split() if len(word) >= SHORT)
