"""What a sentence says that code can compare with a screen: quotations, addresses, values, names.

A name is told by how it is written, never by a list. A word with a capital inside a sentence is one; at its
beginning a capital tells nothing. Where the answer's language writes its nouns so, as German does, a name
shows only behind another capital ("Firma Keller"). A word in letters inside Han or kana is one: these have
no capitals, and names in them are not compared. In languages whose names decline the beginnings are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal

from assistant.core.texts import CJK, UNSPACED
from assistant.evidence import quotes
from assistant.evidence.clauses import Clauses
from assistant.evidence.sign_names import Signs, family_names
from assistant.evidence.sounds import sounds_like
from assistant.evidence.whole_names import ADDRESSES, DECLINED, is_case, runs, stand_together
from assistant.language import cldr
from assistant.language.shown_values import Shown
from assistant.language.small_words import (
    bare,
    has_capital_nouns,
    is_german_name,
    is_german_noun,
    is_plain,
    is_small,
    language_of,
    languages_of,
)
from assistant.language.statements import QUOTED
from assistant.language.time_tables import latin
from assistant.language.values import COUNTED, Value, values, without

Kind = Literal["quotation", "address", "value", "name"]

SHORT_NAME = 3
"""Letters of a name that is compared only where it is no title or abbreviation; shorter ones never are."""

ENDING = 2
"""So many letters a name may have more in one text than in the other: "Anna's", "Wagners"."""

_ADDRESS = re.compile(r"[^\W_](?:[\w\-./\\:@#+&%=?~]*[\w#])?|@\w+|\\\\\w[\w\\.-]*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-](?=[^\W\d_])[^\W\d_]+)*")
_ENDING = re.compile("(?<=[^\\W\\d_]{3})['’][^\\W\\d_A-ZÀ-ÖØ-Þ][^\\W\\d_]*\\Z")
"""Behind an apostrophe: "Anna's", "Erbaş'tan"."""
_JOINTS = re.compile("['’-]")
_JOINS = re.compile(r"[ .]{1,2}| ?[&+] ?")
_LATIN_LETTER = re.compile("[A-Za-z\u00c0-\u02af]")
_OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u02af]")
_CJK_RUN = re.compile(f"[{CJK}]+")
_FILE = re.compile(r"[\w-]\.[A-Za-z][A-Za-z\d]{1,4}\Z")
_MIXED = re.compile(r"[^\W\d_][\W_]*\d|\d[^\W\d_]+[\W_]*\d")
_OPENS = re.compile(r"(?:\A|[!?:;—–(\[|>/•]|[-*•]\s|\*\*|[\"“‘„«»「『])\W*\Z")


_ARTICLES = frozenset("fnc9v")
"""Kinds of words of the grammar of times among which articles are."""


@dataclass(frozen=True, slots=True)
class Particular:
    """``sentence[start:end]``. `value` is there for values only. One that `is_weak` is marked where it stands
    and never warned of.
    """

    start: int
    end: int
    kind: Kind
    text: str
    value: Value | None = None
    is_weak: bool = False
    language: str = "en"


def particulars(sentence: str, language: str) -> list[Particular]:
    """The particulars of a sentence without its citations, in order, without overlap. `language` is that of
    the answer, as `assistant.language.small_words` tells it.
    """
    found: list[Particular] = []
    rest = sentence
    has_signs = False
    for finder in (_quotations, _addresses, partial(_values, language=language)):
        has_signs = is_in_signs(rest, language)
        here = list(finder(rest))
        found += here
        rest = without(rest, [(each.start, each.end) for each in here])
    found += _names(rest, sentence, language, has_signs)
    signs = family_names(rest) if has_signs else (run.span() for run in _CJK_RUN.finditer(rest))
    found += (Particular(*span, "name", sentence[slice(*span)], language=language) for span in signs)
    return sorted(found, key=lambda particular: particular.start)


def whole_names(said: str, found: Iterable[Particular], language: str) -> Iterator[Particular]:
    """The names of two parts of a sentence. One is weak whose first part has its capital from its place."""
    names = {each.start for each in found if each.kind == "name" and not each.is_weak}
    words = [word for word in _WORD.finditer(_without_signs(said)) if len(word[0]) >= SHORT_NAME]
    rows = [_is_row(*pair, said) and said[pair[0].end() : pair[1].start()] == " " for pair in pairwise(words)]
    for (first, last), is_row, goes_on in zip(pairwise(words), rows, [*rows[1:], False], strict=False):
        opens = is_row and _opens(said, first.start())
        if not is_row or last.start() not in names or (opens and goes_on):
            continue
        if not is_plain(first[0], language) and first[0].casefold() not in ADDRESSES:
            start, end = first.start(), last.end()
            yield Particular(start, end, "name", said[start:end], is_weak=opens, language=language)


def is_in_signs(sentence: str, language: str) -> bool:
    """Whether a sentence of an answer in a `language` is in Han or kana, and not only copies such words."""
    signs = 0 if sentence.isascii() else len("".join(_CJK_RUN.findall(sentence)))
    return signs > 0 and (language in UNSPACED or 3 * signs > sum(map(str.isalpha, sentence)))


def _quotations(text: str) -> Iterator[Particular]:
    for found in QUOTED.finditer(text):
        inside = found[0][1:-1]
        if quotes.says_enough(inside):
            start = found.start() + 1 + len(inside) - len(inside.lstrip())
            yield Particular(start, start + len(inside.strip()), "quotation", inside.strip())


def _addresses(text: str) -> Iterator[Particular]:
    """URLs, addresses of mail, paths, files and ids: words with something inside that no plain word has."""
    for found in _ADDRESS.finditer(text):
        for part in _CJK_RUN.sub("\n", found[0]).split("\n"):
            word = part.strip(".,:;-/&=?%")
            if _is_address(word):
                start = text.index(word, found.start())
                yield Particular(start, start + len(word), "address", word)


def _is_address(word: str) -> bool:
    """``a@b.c``, ``main.py``, ``R-20455``, ``C30/37``, ``77QK``; "28th", "10h15" and "and/or" are none."""
    if not any(map(str.isalpha, word)):
        return False
    if "@" in word or "_" in word or "://" in word or _FILE.search(word):
        return True
    return bool(_MIXED.search(word)) and not any((v.start, v.end) == (0, len(word)) for v in values(word))


def _values(text: str, language: str) -> Iterator[Particular]:
    for value in values(text, language=language):
        is_weak = value.kind == "spelled" and max(value.readings) <= COUNTED
        yield Particular(value.start, value.end, "value", text[value.start : value.end], value, is_weak)


# -- names ------------------------------------------------------------------------------------


def _names(text: str, sentence: str, language: str, has_signs: bool) -> Iterator[Particular]:
    words = list(_WORD.finditer(_without_signs(text)))
    for at, found in enumerate(words):
        leads = at + 1 < len(words) and _is_row(found, words[at + 1], sentence)
        if found[0][0].isupper() and _may_name(found[0], leads, language):
            is_sure = has_signs or _is_name(words, at, leads, sentence, language)
            yield Particular(*found.span(), "name", found[0], is_weak=not is_sure, language=language)


def _without_signs(text: str) -> str:
    """A text, as long as it was, without Han and kana."""
    return _CJK_RUN.sub(lambda run: "\n" * len(run[0]), text)


def _may_name(word: str, leads: bool, language: str) -> bool:
    """Whether a word with a capital may be a name: neither "I'll", nor, where it is short, "PDF" or a title
    before a name ("Mrs Hall"), nor a country, which follows from a place or a tongue.
    """
    is_said = _ENDING.sub("", word).casefold() in ADDRESSES or is_small(word.replace("’", "'"), language)
    if is_said or cldr.is_common(word) or cldr.is_country(word, language):
        return False
    is_name = len(word) == SHORT_NAME and word[1:].islower() and cldr.key(word) not in cldr.weekdays()
    return len(word) > SHORT_NAME or (is_name and not leads)


def _is_name(words: Sequence[re.Match[str]], at: int, leads: bool, sentence: str, language: str) -> bool:
    """Whether a word with a capital is a name: inside a sentence, and where one opens in front of another
    ("Anna Keller called"). Where nouns have capitals, too, only at the end of a row of them: "Firma Keller",
    but not "am Montag Abend".
    """
    if not has_capital_nouns(language):
        return not _opens(sentence, words[at].start())
    before = words[at - 1] if at else None
    if before is None or _opens(sentence, words[at].start()):
        return False
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


# -- what a screen shows ----------------------------------------------------------------------


class Screen:
    """What one frame shows, or a text: the lines that were read, its titles and its moment."""

    def __init__(self, texts: Iterable[str], titles: Iterable[str] = (), moment: str = "") -> None:
        self.texts = tuple(dict.fromkeys(text for text in texts if text))
        self.titles = tuple(title for title in titles if title)
        self._rows = next(iter((*self.texts[1:2], *self.texts)), "")
        self._shown = Shown((self._rows, *self.titles), moment)
        words = {word for text in (*self.texts, *self.titles) for word in _WORD.findall(text)}
        words |= {part for word in words for part in _JOINTS.split(word)}
        self._words = set(map(bare, words))
        self._signs = Signs((*self.texts[:1], *self.titles))

    @cached_property
    def _stems(self) -> set[str]:
        return {stem for word in self._words for stem in _stems(word)}

    def has(self, particular: Particular) -> bool:
        """Whether a particular of a sentence stands here, or is its moment as people round it."""
        if particular.value:
            return self._shown.holds(particular.value) or self._shown.rounds_to(particular.value)
        if particular.kind == "name":
            if _CJK_RUN.match(particular.text):
                return self._signs.has_family(particular.text, particular.language)
            has_word = self.has_word(particular.text) or self._has_otherwise(particular)
            return has_word or any(True for text in self.texts for _ in quotes.places(text, particular.text))
        return self.has_text(particular.text)

    def bears_out(self, sentence: str, writes_small: bool = False) -> bool:
        """Whether everything in a sentence that can be compared stands here. A word that may have its capital
        from its place is a name unless it is known for none, and also then where the writer begins with a
        small letter (`writes_small`): what a model writes in the background is rather left out than wrong.
        """
        language = language_of(sentence)
        opening = next(iter(_WORD.findall(sentence)), "")
        is_name = writes_small and opening[:1].isupper() and not has_capital_nouns(language)
        if is_name and not self.has_word(opening):
            return False
        return not any(self.altered_names(sentence)) and all(
            self.has(each) or (each.is_weak and is_plain(each.text, language))
            for each in particulars(sentence, language)
        )

    def shows(self, particular: Particular, sentence: str) -> bool:
        """Whether a particular stands here as it is. A time that was rounded does not, nor a number in words,
        which may count something else, nor a part of a date, nor what stands in a row of a table that the
        sentence does not name.
        """
        value = particular.value
        if not value:
            is_name = particular.kind == "name" and not _CJK_RUN.match(particular.text)
            has = self.has_word(particular.text) if is_name else self.has(particular)
            return has and self._is_in_row(particular, sentence)
        return value.kind != "spelled" and self._shown.writes(value) and self._is_in_row(particular, sentence)

    def writes_otherwise(self, particular: Particular) -> bool:
        """Whether a name is in Latin letters and most of the screen in others, or the other way round: nobody
        knows how the screen has it.
        """
        latin_letters, others = self._letters
        is_latin = _LATIN_LETTER.match(particular.text)
        return particular.kind == "name" and (latin_letters < others if is_latin else others < latin_letters)

    @cached_property
    def _letters(self) -> tuple[int, int]:
        """How many letters are Latin, and how many are others."""
        text = "".join(self.texts[:1])
        return len(_LATIN_LETTER.findall(text)), len(_OTHER_LETTER.findall(text))

    def has_together(self, name: Particular) -> bool | None:
        """Whether the two parts of a name stand together here; None where nobody knows."""
        if any(True for text in self.texts for _ in quotes.places(text, name.text)):
            return True
        first, last = (bare(_ENDING.sub("", part)) for part in name.text.split(" "))
        return stand_together(first, last, self._whole_names, name.language)

    @cached_property
    def _whole_names(self) -> list[list[str]]:
        texts = (*self.texts[:1], *self.texts[-1:], *self.titles)
        return [run for text in texts for run in runs(text)]

    @property
    def is_blank(self) -> bool:
        """Whether no text was read here."""
        return not any(map(str.strip, self.texts))

    def has_sum(self, value: Value) -> bool:
        """Whether a number, but no small one, is the sum of a column or of two neighbours in it."""
        return max(value.readings) > COUNTED and not value.readings.isdisjoint(self._clauses.sums)

    def altered_names(self, sentence: str) -> Iterator[Particular]:
        """Names in Han or kana that a sentence has otherwise than the screen."""
        for start, end in self._signs.altered(sentence):
            yield Particular(start, end, "name", sentence[start:end])

    def is_of_other_clause(self, value: Value, sentence: str) -> bool:
        """Whether a value may be of something else here than a sentence tells of."""
        return self._clauses.is_of_other(value, sentence)

    def is_of_other_row(self, value: Value, sentence: str) -> bool:
        """Whether a value stands in a row of a table that a sentence does not name, and nowhere else."""
        return self._clauses.is_of_other_row(value, sentence)

    def _is_in_row(self, each: Particular, sentence: str) -> bool:
        form = each.text.casefold()
        return self._clauses.is_in_row(each.value, form[: max(SHORT_NAME, len(form) - ENDING)], sentence)

    @cached_property
    def _clauses(self) -> Clauses:
        return Clauses(self._rows, self._shown.found)

    def nearest(self, pieces: frozenset[str]) -> str:
        """The line or passage that has most of these `pieces_of` a text; "" where none has any."""
        lines = [(sum(piece in form for piece in pieces), line) for line, form in self._lines]
        shared, line = max(lines, key=lambda pair: pair[0], default=(0, ""))
        return line if shared else ""

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        return [(line, line.casefold()) for text in self.texts[-1:] for line in text.split("\n")]

    def has_text(self, quote: str) -> bool:
        texts = (*self.texts, *self.titles)
        if not quotes.says_enough(quote):  # "Q3" stands only where nothing else does
            alone = re.compile(rf"(?<![^\W_]){re.escape(quote)}(?![^\W_])", re.IGNORECASE)
            return any(alone.search(text) for text in texts)
        # What begins as a sentence does begins one on the screen: "Do not" may stand before it.
        begins = quote[0].lower() if quote[0].isupper() else ""
        return any(text[spans[0][0]] != begins for text in texts if (spans := quotes.find(text, quote)))

    def _has_otherwise(self, name: Particular) -> bool:
        """Whether a name stands here in another case or language."""
        form, declines = _JOINTS.split(bare(name.text))[0], name.language in DECLINED
        if declines and any(is_case(form, word) for word in self._names):
            return True
        may_differ = declines or name.language not in self._languages
        return may_differ and any(sounds_like(form, word) for word in self._names)

    @cached_property
    def _names(self) -> set[str]:
        """Words with a capital."""
        words = {word for text in (*self.texts, *self.titles) for word in _WORD.findall(text)}
        return {bare(part) for word in words if word[0].isupper() for part in _JOINTS.split(word)}

    @cached_property
    def _languages(self) -> list[str]:
        return languages_of("\n".join(self.texts[:1]))

    def has_word(self, word: str) -> bool:
        """Whether the parts of a word stand here, each give or take an ending of two letters."""
        form = bare(_ENDING.sub("", word))
        parts = [part for part in _JOINTS.split(form) if len(part) >= SHORT_NAME] or [form]
        return all(
            part in self._words or part in self._stems or any(stem in self._words for stem in _stems(part))
            for part in parts
        )


def _stems(word: str) -> Iterator[str]:
    """A word without what may be its ending."""
    return (word[:-cut] for cut in range(1, ENDING + 1) if len(word) - cut > SHORT_NAME)
