"""How a name sounds, so that it is known in another language, case or script: Keulen is Köln, Лидии Lida.

What languages and endings change in a name are its vowels and its end; what stays are the consonants. Letters
of other scripts sound as Unicode calls them: ``CYRILLIC SMALL LETTER EL``, ``HANGUL SYLLABLE RIN``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from assistant.language.small_words import bare

MIN_SOUNDS, MOST_MORE = 3, 2
"""Sounds of a name that is known by them, and so many more one form of it may have, or letters."""

# Consonants that languages write for each other, in narrower groups than Soundex has: p and f, k and s, m and
# n stay apart, since they tell names apart.
_ALIKE = str.maketrans("bvwcgqxzdy", "pffkkkksti", "'’-")
_MUTE = re.compile("(?<=.)[aeiouyhjw]+")  # the first sound stays: Anna is not Nina
_TWICE = re.compile(r"(.)\1+")
# The last word of a letter's name: "SHA" is s, "RHO" r; "EL" and "EM" are called with a vowel before.
_LETTER = re.compile(r"(?:LETTER|CHARACTER) (?:.* )?(?:E(?=.\Z))?(\w)\w*\Z")


def sounds_like(name: str, other: str) -> bool:
    """Whether one may be a form of the other."""
    a, b = sorted((sound(name), sound(other)), key=len)
    more = max(len(b) - len(a), abs(len(name) - len(other)))
    return len(a) >= MIN_SOUNDS and b.startswith(a) and more <= MOST_MORE


@lru_cache(maxsize=8192)
def sound(word: str) -> str:
    """The first sound of a word and its consonants, those that languages exchange as one."""
    said = "".join(map(_said, unicodedata.normalize("NFC", word.casefold())))
    return _TWICE.sub(r"\1", _MUTE.sub("", said.replace("sch", "s")).translate(_ALIKE))


@lru_cache(maxsize=8192)
def _said(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if "SYLLABLE" in name or "KANA LETTER" in name:
        return name.split()[-1].lower()
    plain = bare(sign)
    letter = None if plain.isascii() else _LETTER.search(unicodedata.name(plain[0], ""))
    return plain if plain.isascii() else letter[1].lower() if letter and "SIGN" not in name else ""
