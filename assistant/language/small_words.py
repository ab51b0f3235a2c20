"""Which language a text is written in, by its small words, and what follows for its capitals."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache

from babel import localedata
from babel.units import format_unit
from stopwordsiso import langs, stopwords

_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The language of whose small words a text has most; "" of a text without any."""
    found = Counter(
        language for word in _WORD.findall(text.casefold()) for language in _by_word().get(word, ())
    )
    # Of two with as many the one whose nouns have capitals, so that less is taken for a name; then the one
    # with the shorter list.
    return max(found, key=lambda each: (found[each], has_capital_nouns(each), -_size(each)), default="")


def is_small(word: str, language: str) -> bool:
    """Whether a word is a small word of a language."""
    return language in _by_word().get(word.casefold(), ())


@cache
def has_capital_nouns(language: str) -> bool:
    """Whether a language writes its nouns with capitals: as CLDR writes its units of time."""
    if not localedata.exists(language):
        return False
    return format_unit(2, "duration-hour", "long", locale=language).split()[-1][0].isupper()


@lru_cache(maxsize=8192)
def bare(word: str) -> str:
    """A word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    return "".join(
        c for c in unicodedata.normalize("NFKD", word.casefold()) if unicodedata.category(c) != "Mn"
    )


@cache
def _by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language in sorted(langs()):
        for word in stopwords(language):
            found[word.casefold()] = (*found.get(word.casefold(), ()), language)
    return found


@cache
def _size(language: str) -> int:
    return len(stopwords(language))
