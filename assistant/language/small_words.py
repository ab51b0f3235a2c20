"""Which language a text is written in, by its small words, and what follows for its capitals."""

from __future__ import annotations

import csv
import re
import tomllib
import unicodedata
from collections import Counter
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from babel import localedata
from babel.units import format_unit
from stopwordsiso import langs, stopwords

from engines.embeddings.multilingual import is_likelier_small

HEAD = 4  # letters of a noun by which a compound that ends in it is known
_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = ("", "e", "n", "s", "en", "er", "es", "ern")  # of German nouns in other cases
_OF_SCRIPT = (
    ("ja", re.compile("[\u3041-\u30fa]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
)

_OF_NAMES = frozenset(("Eigenname", "Nachname", "Straßenname", "Toponym", "Vorname"))

_DENYING_SIGNS = re.compile("[不没沒未无無别別勿莫非]|ない|なく|なかっ|ません|なし|ずに|없|않|못")
_DENYING_ENDING = re.compile(r"n['’]t\b")

_STROKED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe"})
"""Letters with a stroke, and joined ones, which Unicode takes apart in no normal form."""

_Hashes = np.ndarray[tuple[int], np.dtype[np.int64]]


def language_of(text: str) -> str:
    """The language of whose small words a text has most; of one without any what its script tells, or ""."""
    by_script = next((language for language, sign in _OF_SCRIPT if sign.search(text)), "")
    # Of two with as many the one whose nouns have capitals, so that less is taken for a name; then the one
    # with the shorter list.
    most = languages_of(text)
    return max(most, key=lambda each: (has_capital_nouns(each), -_size(each)), default=by_script)


def languages_of(text: str) -> list[str]:
    """All languages of whose small words a text has as many, and none has more."""
    found = _counted(text)
    return [language for language, count in found.items() if count == max(found.values())]


def _counted(text: str) -> Counter[str]:
    words = _WORD.findall(text.casefold())
    return Counter(language for word in words for language in _by_word().get(word, ()))


def is_small(word: str, language: str) -> bool:
    """Whether a word is a small word of a language."""
    return language in _by_word().get(word.casefold(), ())


def denies(text: str, language: str = "") -> bool:
    """Whether a text, which may be in a `language`, has a word that denies."""
    form = text.casefold()
    words = set(_WORD.findall(form))
    found = {each for each, denying in _denying().items() if not words.isdisjoint(denying)}
    if _DENYING_ENDING.search(form):
        found.add("en")
    is_told = bool(found) and (language in found or not found.isdisjoint(languages_of(text)))
    return is_told or bool(_DENYING_SIGNS.search(form))


@cache
def _denying() -> dict[str, list[str]]:
    document = tomllib.loads(Path(__file__).with_name("denying_words.toml").read_text("utf-8"))
    return {language: words.split() for language, words in document.items()}


@cache
def has_capital_nouns(language: str) -> bool:
    """Whether a language writes its nouns with capitals: as CLDR writes its units of time."""
    if not localedata.exists(language):
        return False
    return format_unit(2, "duration-hour", "long", locale=language).split()[-1][0].isupper()


@lru_cache(maxsize=8192)
def is_german_noun(word: str) -> bool:
    """Whether a word is a German noun and not only a name, or ends in one as compounds do; yes, where the
    nouns are not installed.
    """
    return _is_listed(word, _german_words()[True], HEAD)


def is_german_name(word: str) -> bool:
    """Whether a word is the name of a person or place that German dictionaries have; likewise."""
    return _is_listed(word, _german_words()[False], len(word))


@lru_cache(maxsize=8192)
def is_plain(word: str, language: str) -> bool:
    """Whether a word with a capital is none that names somebody or something: a small word of the language, a
    noun where these have capitals, or one that texts of many languages have rather without.
    """
    if is_small(word, language):
        return True
    if has_capital_nouns(language) and is_german_noun(word):
        return not is_german_name(word)
    # Of a short stem nobody knows what it is one of.
    return bool(is_likelier_small(word, min(2, max(0, len(word) - HEAD))))


def _is_listed(word: str, listed: _Hashes, head: int) -> bool:
    stems = {bare(word).removesuffix(ending) for ending in _ENDINGS}
    forms = [hash(stem[start:]) for stem in stems for start in range(max(1, len(stem) - head + 1))]
    return not len(listed) or bool((listed.take(listed.searchsorted(forms), mode="clip") == forms).any())


@cache
def _german_words() -> tuple[_Hashes, _Hashes]:
    """The hashes of names and of nouns in their first forms: a megabyte, where the words would take ten."""
    found: tuple[list[int], list[int]] = [], []
    with suppress(ModuleNotFoundError), (files("german_nouns") / "nouns.csv").open(encoding="utf-8") as rows:
        for lemma, kinds, *_ in csv.reader(rows):
            found[_OF_NAMES.isdisjoint(kinds.split(","))].append(hash(bare(lemma)))
    names, nouns = (np.sort(np.array(words, np.int64)) for words in found)
    return names, nouns


@lru_cache(maxsize=8192)
def bare(word: str) -> str:
    """A word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    return "".join(
        c
        for c in unicodedata.normalize("NFKD", word.casefold().translate(_STROKED))
        if unicodedata.category(c) != "Mn"
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
