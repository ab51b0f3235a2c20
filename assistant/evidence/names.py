"""Names in a sentence, told by how they are written, and what a sentence has otherwise than its frame.

In alphabets a word with a capital inside a sentence is a name; at its beginning a capital tells nothing.
Where nouns are written so, as in German, one is a name that is no noun, or that ends a row of capitals
("Firma Keller"). A word in letters inside Han or kana is one, too.

In Han and kana no capital shows them. A name is *altered* when what is around it on the frame stands in the
sentence with other signs in between, as in an altered quote: one sign anywhere ("王建军" beside "王建国"), or
up to three at the head of a run ("北海市法院" beside "南京市法院"). An end of the run counts as a sign that
stays. What was put in is no word of grammar, and what stays is no word that the frame has elsewhere, too.
That needs no dictionary. A wholly different name is told in Japanese only, before an honorific, and where
family names are long enough to be known: the two thousand commonest.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import takewhile
from typing import NamedTuple

from stopwordsiso import stopwords

from assistant.core.texts import CJK
from assistant.language import cldr
from assistant.language.small_words import bare, has_capital_nouns, is_german_name, is_german_noun, is_small
from assistant.language.time_tables import latin
from assistant.language.values import flattened

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


# -- in Han and kana -------------------------------------------------------------------------

Span = tuple[int, int]

MOST_ALTERED = 3  # signs at the head of a run that may be others
AROUND = 4  # signs and ends of a run that stay around those that are altered
AROUND_IN_KANA = 6
"""The same where a sentence has kana: there another sign in a run of Han mostly makes another word."""

MOST_AROUND = 8  # so far around them is looked
MOST_LIKE = 8  # places of a frame that are compared with one place of a sentence
_NAMED = re.compile("[々ー\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3041-\u30fa]")
_HAN_RUN = re.compile("[々\u3400-\u4dbf\u4e00-\u9fff]+")
_RUN = re.compile(f"[々{CJK}]+")
_HONOURED = re.compile(
    "(?<![おごー々\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff])"
    "([ー\u30a1-\u30fa]{2,9}|[々\u3400-\u4dbf\u4e00-\u9fff]{1,4})(?=さん|さま|くん|ちゃん)"
)
"""A name before an honorific, but not "okyakusan", a customer; a longer run says what somebody is, too."""
_SPELLINGS = {"B": "BV", "H": "HF", "K": "KCQ", "R": "RL", "S": "SC", "T": "TC", "U": "UW", "Z": "ZJG"}
"""Letters that a name in kana may begin with in Latin ones, by that of its first sign's name in Unicode."""
_CAPITAL = re.compile(r"(?<![^\W_])[A-Z](?=[a-z])")
_HIRAGANA = {sign: sign - 0x60 for sign in range(0x30A1, 0x30F7)}
_SPACE = re.compile(r"[^\S\n]")


def family_names(text: str) -> Iterator[Span]:
    """Where a Japanese sentence has names: before an honorific, and family names at the head of a run."""
    if not _KANA.search(text):
        return
    for run in _HAN_RUN.finditer(text):
        name = next((run[0][:size] for size in (4, 3, 2) if run[0][:size] in _family_names()), "")
        if name:
            yield run.start(), run.start() + len(name)
    for found in _HONOURED.finditer(text):
        if found[1] not in _family_names():
            yield found.span(1)


class _Place(NamedTuple):
    """``run[at:end]``, signs of a screen that may be others in a sentence."""

    run: str
    at: int
    end: int


class Signs:
    """The signs of a screen."""

    def __init__(self, texts: Iterable[str]) -> None:
        text = flattened("\n".join(texts))
        self.text = _SPACE.sub("", text)
        self._folded = self.text.translate(_HIRAGANA).casefold()
        self._has_kana, self._has_han = bool(_KANA.search(text)), bool(_HAN_RUN.search(text))
        self._initials = set(_CAPITAL.findall(text))
        self._runs = dict.fromkeys(_RUN.findall(text))

    @cached_property
    def _places(self) -> dict[str, list[_Place]]:
        """Signs that may be others: at the head of a run by ``^`` and the sign behind them, and one inside by
        the signs on both sides; not too many of each to compare.
        """
        places = defaultdict[str, list[_Place]](list)
        for run in self._runs:
            for size in range(1, min(MOST_ALTERED + 1, len(run))):
                places[f"^{run[size]}"].append(_Place(run, 0, size))
            for at in range(1, len(run)):
                places[run[at - 1 : at + 2 : 2]].append(_Place(run, at, at + 1))
        return {beside: like[:MOST_LIKE] for beside, like in places.items()}

    def has_family(self, name: str, language: str) -> bool:
        """Whether a name is here; a family name of Japan in Han, kana or Latin letters, and without kana here
        nobody knows. Of one in katakana nobody does, either, where a word in Latin letters begins as it may.
        """
        if name in self.text:
            return True
        if name in _family_names():
            return not self._has_kana or any(map(self._folded.__contains__, _family_names()[name]))
        if language != "ja" or _HAN_RUN.match(name):
            return language == "ja" and not self._has_han
        sound = unicodedata.name(name[0], name).split()[-1][0]
        may_begin = not self._initials.isdisjoint(_SPELLINGS.get(sound, sound))
        return not self._has_kana or may_begin or name.translate(_HIRAGANA) in self._folded

    def altered(self, text: str) -> Iterator[Span]:
        """Where a text has names of the screen otherwise."""
        around = AROUND_IN_KANA if _KANA.search(text) else AROUND
        for run in _RUN.finditer(flattened(text)):
            for at, place in self._alike(run[0]):
                pairs = zip(run[0][at:], place.run[place.at : place.end], strict=False)
                is_other = all(a != b and _is_of_name(a) and _NAMED.match(b) for a, b in pairs)
                if is_other and (span := self._around(run[0], at, place, around)):
                    yield run.start() + span[0], run.start() + span[1]

    def _alike(self, run: str) -> Iterator[tuple[int, _Place]]:
        """Places of the screen, and where in a run their neighbours stand."""
        named = [_is_of_name(sign) for sign in run]
        for at in range(1, len(run)):
            heads = self._places.get(f"^{run[at]}", ()) if named[at - 1] else ()
            yield from ((at - head.end, head) for head in heads if _begins_word(run, at - head.end))
            for beside in {run[at - 1 : at + 2 : 2], run[at - 1]} if named[at] else ():
                yield from ((at, place) for place in self._places.get(beside, ()))

    def _around(self, run: str, at: int, place: _Place, around: int) -> Span | None:
        """The stretch of a run that is altered: the signs at a place with what stays around them."""
        last = at + place.end - place.at
        before = shared(
            run[max(0, at - MOST_AROUND) : at][::-1],
            place.run[max(0, place.at - MOST_AROUND) : place.at][::-1],
        )
        after = shared(run[last : last + MOST_AROUND], place.run[place.end : place.end + MOST_AROUND])
        start, end = at - before, last + after
        opens = before == place.at and _begins_word(run, start)
        closes = place.end + after == len(place.run)
        telling = sum(map(_is_of_name, run[start:at] + run[last:end]))
        if telling + opens + closes < around or before + after < 2 * (last - at):
            return None
        stays = max(run[start:at], run[last:end], key=len)
        is_word = self.text.count(stays) > self.text.count(place.run[place.at - before : place.end + after])
        return None if is_word or run[start:end] in self.text else (start, end)


def _begins_word(run: str, start: int) -> bool:
    """Whether a word may begin at a place: at the start of a run, or behind a word of grammar."""
    return start == 0 or (start > 0 and not _is_of_name(run[start - 1]))


@lru_cache(maxsize=8192)
def _is_of_name(sign: str) -> bool:
    """Whether a sign is of those that names are made of, and no word of grammar."""
    return bool(_NAMED.match(sign)) and sign not in _small_signs()


def shared(a: str, b: str) -> int:
    """How many signs two texts have alike at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


@cache
def _small_signs() -> frozenset[str]:
    return frozenset(word for language in ("zh", "ja") for word in stopwords(language) if len(word) == 1)


@cache
def _family_names() -> dict[str, tuple[str, str]]:
    """Family names of at least two signs, each as it is read in hiragana and in Latin letters."""
    # The package would load first names, too, and keep five megabytes.
    table = files("japanese_personal_name_dataset") / "dataset" / "last_name_org.csv"
    rows = csv.reader(table.read_text("utf-8").splitlines())
    return {name: (kana, letters) for name, _, kana, letters in rows if len(name) > 1}
