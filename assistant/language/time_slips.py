"""Words that may be words of time and that no table has: slips of typing, and other forms of names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import takewhile

from assistant.language.time_tables import LATIN, Entry, folded, from_cldr, latin
from engines.embeddings.multilingual import is_likelier_small

SHORT = 4  # letters by which a word is known
LONG = 8  # letters of a word that has few like it
ENDING, CHANGED = 3, 2  # letters that a form of a name may have of its own, and lack of it
_TELLING = frozenset("DRtPCWMUnoqKkhH@-FTB<>S~lLcNaAJOIe=r5p")
"""Kinds of words without which a time is another one."""
_NAMES = frozenset("DRtPWM")  # those of them that are days, parts of the day or months
_CLEAR = frozenset("DRPW")  # those that no other word begins like


@lru_cache(maxsize=4096)
def like_time(raw: str, language: str | None) -> str:
    """What a word may be that is no word of time in its language, and none that is known: "?" for one with a
    letter too many, too few or at the wrong side of its neighbour; "*" for a name of a day or month with such
    a slip, or, where forms of these are many and not known, for what begins as one does.

    A letter in place of another mostly makes another word.
    """
    word = folded(raw)
    if not language or len(word) < SHORT or not word.replace("-", "").isalpha():
        return ""
    if language not in LATIN and any(
        _is_form(word, name) for name in _by_head(language).get(word[:SHORT], ())
    ):
        return "*"
    if is_likelier_small(raw, 0) is not None:
        return ""
    cuts = [*_cuts(word)]
    forms = (word, *cuts, *_swaps(word))
    for kind, kinds in (("*", _NAMES), ("?", _TELLING)):
        words, cut_short = _near(language, kinds)
        is_long = len(word) >= LONG and not cut_short.isdisjoint(cuts)
        if word in cut_short or is_long or not words.isdisjoint(forms):
            return kind
    return ""


def _is_form(word: str, name: str) -> bool:
    """Whether a word goes on where a name ends, or changes the end of a longer one."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, name, strict=False)))
    return len(word) - same <= ENDING and (same == len(name) or same >= max(SHORT + 1, len(name) - CHANGED))


@cache
def _by_head(language: str) -> dict[str, list[str]]:
    """Names of days and parts of the day by their first letters."""
    found: dict[str, list[str]] = {}
    for word in _words(language, _CLEAR):
        found.setdefault(word[:SHORT], []).append(word)
    return found


@cache
def _near(language: str, kinds: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Words of time, and what is left of them where a letter is forgotten."""
    words = _words(language, kinds)
    return words, frozenset(cut for word in words if len(word) > SHORT for cut in _cuts(word))


def _cuts(word: str) -> Iterator[str]:
    """A word without one of its letters, its first aside; a short one with another end is another."""
    return (word[:at] + word[at + 1 :] for at in range(1, len(word) - (len(word) == SHORT + 1)))


def _swaps(word: str) -> Iterator[str]:
    """A word with two neighbouring letters the other way round."""
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1))


@cache
def _words(language: str, kinds: frozenset[str]) -> frozenset[str]:
    entries: dict[str, Entry] = latin(language) if language in LATIN else from_cldr(language)
    said = (words for words, (kind, _, _) in entries.items() if kind in kinds)
    parts = (words.split() for words in said if " " not in words or not kinds <= _NAMES)
    return frozenset(word for words in parts for word in words if len(word) >= SHORT)
