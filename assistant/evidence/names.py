"""Names in alphabets, told by how they are written, never by a list.

A word with a capital inside a sentence is a name; at its beginning a capital tells nothing. Where nouns are
written so, as in German, one is a name that is no noun, or that ends a row of capitals ("Firma Keller"). A
word in letters inside Han or kana is one, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assistant.core.texts import CJK
from assistant.evidence.sign_names import shared
from assistant.language import cldr
from assistant.language.small_words import bare, has_capital_nouns, is_german_name, is_german_noun, is_small
from assistant.language.time_tables import latin

SHORT_NAME = 3  # letters of a word with a capital that is mostly a title or an abbreviation, and not compared
ENDING, ENDING_OF_CASE, CHANGED = 2, 4, 2
"""So many letters a name may have more in one text than in the other ("Wagners"), where names have cases
("Weberowa"), and so many there the shorter form may have of its own ("Anny" is "Anna")."""

_CODES = "az be bs cs el et eu fi hr hu hy is ka kk ky la lt lv mn pl ro ru sk sl sq sr tk tr uk uz"
DECLINED = frozenset(_CODES.split())
"""Languages in which a name has cases or an article at its end (WALS, features 49A and 51A)."""

_ARTICLES = frozenset("fnc9v")  # kinds of words of the grammar of times among which articles are
CJK_RUN = re.compile(f"[{CJK}]+")
WORD = re.compile(r"[^\W\d_]+(?:['’-](?=[^\W\d_])[^\W\d_]+)*")
_ENDING = re.compile("(?<=[^\\W\\d_]{3})['’][^\\W\\d_A-ZÀ-ÖØ-Þ][^\\W\\d_]*\\Z")
"""Behind an apostrophe: "Anna's", "Erbaş'tan"."""
_JOINTS = re.compile("['’-]")
_JOINS = re.compile(r"[ .]{1,2}| ?[&+] ?")
_OPENS = re.compile(r"(?:\A|[!?:;—–(\[|>/•]|[-*•]\s|\*\*|[\"“‘„«»「『])\W*\Z")


def names(text: str, sentence: str, language: str, has_signs: bool) -> Iterator[tuple[int, int, bool]]:
    """Where a sentence has words that may be names, and whether one may have its capital from its place;
    `text` is what is left of it, `has_signs` says that it is in Han or kana.
    """
    words = list(WORD.finditer(CJK_RUN.sub(lambda run: "\n" * len(run[0]), text)))
    for at, found in enumerate(words):
        leads = at + 1 < len(words) and _is_row(found, words[at + 1], sentence)
        if found[0][0].isupper() and _may_name(found[0], language):
            yield *found.span(), not (has_signs or _is_name(words, at, leads, sentence, language))


def parts(word: str) -> list[str]:
    """What a name is compared by: its parts in normal form, without what stands behind an apostrophe."""
    form = bare(_ENDING.sub("", word))
    return [part for part in _JOINTS.split(form) if len(part) >= SHORT_NAME] or [form]


def is_form(name: str, other: str, language: str) -> bool:
    """Whether two words may be forms of one name."""
    same = shared(name, other)
    less, more = sorted((len(name) - same, len(other) - same))
    if language in DECLINED and same >= SHORT_NAME + (less == 0):
        return less <= CHANGED and more <= ENDING_OF_CASE
    return same > SHORT_NAME and less == 0 and more <= ENDING


def _may_name(word: str, language: str) -> bool:
    """Whether a word with a capital may be a name: neither "PDF" nor "I'll", a month or a country."""
    is_word = is_small(word.replace("’", "'"), language) or cldr.is_common(word)
    return len(word) > SHORT_NAME and not is_word


def _is_name(words: Sequence[re.Match[str]], at: int, leads: bool, sentence: str, language: str) -> bool:
    if _opens(sentence, words[at].start()):
        return False
    if not has_capital_nouns(language):
        return True
    if not at:
        return False
    before = words[at - 1]
    if not is_german_noun(words[at][0]):
        return latin("de").get(bare(before[0]), ("",))[0] not in _ARTICLES
    is_last = _is_row(before, words[at], sentence) and not _opens(sentence, before.start()) and not leads
    # "Dr. Weber", "Weber & Keller", "Anna Kutscher"; but not "weil die Frau Schuhe trägt"
    return is_last and (sentence[before.end() : words[at].start()] != " " or is_german_name(words[at][0]))


def _is_row(first: re.Match[str], second: re.Match[str], sentence: str) -> bool:
    """Whether two words with capitals stand side by side, or joined as those of a firm are."""
    between = sentence[first.end() : second.start()]
    return first[0][0].isupper() and second[0][0].isupper() and bool(_JOINS.fullmatch(between))


def _opens(sentence: str, at: int) -> bool:
    """Whether a word stands where every word has a capital."""
    return bool(_OPENS.search(sentence, max(0, at - 12), at))
