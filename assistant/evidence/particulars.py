"""What a sentence says that code can compare with a screen, and the screen: quotations, addresses, values and
names.

Names in Han are not told by themselves, but by what differs (`assistant.evidence.names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from assistant.core.texts import UNSPACED
from assistant.evidence import quotes
from assistant.evidence.names import CJK_RUN, WORD, Signs, family_names, is_form, names, parts
from assistant.language.figures import COUNTED, Value
from assistant.language.shown_values import Shown
from assistant.language.small_words import bare, has_capital_nouns, is_plain, language_of
from assistant.language.statements import QUOTED
from assistant.language.values import values, without

Kind = Literal["quotation", "address", "value", "name"]

_ADDRESS = re.compile(r"[^\W_](?:[\w\-./\\:@#+&%=?~]*[\w#])?|@\w+|\\\\\w[\w\\.-]*")
_FILE = re.compile(r"[\w-]\.[A-Za-z][A-Za-z\d]{1,4}\Z")
_PIECE = re.compile(r"\w+")
_LATIN_LETTER = re.compile("[A-Za-z\u00c0-\u02af]")
_OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u02af]")


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
    signs = family_names(rest) if has_signs else (run.span() for run in CJK_RUN.finditer(rest))
    spans = (*names(rest, sentence, language, has_signs), *((*span, False) for span in signs))
    found += [
        Particular(start, end, "name", sentence[start:end], None, is_weak, language)
        for start, end, is_weak in spans
    ]
    return sorted(found, key=lambda particular: particular.start)


def is_in_signs(sentence: str, language: str) -> bool:
    """Whether a sentence of an answer in a `language` is in Han or kana, and not only copies such words."""
    signs = 0 if sentence.isascii() else len("".join(CJK_RUN.findall(sentence)))
    return signs > 0 and (language in UNSPACED or 3 * signs > sum(map(str.isalpha, sentence)))


def pieces_of(text: str) -> frozenset[str]:
    """What two texts are compared by: words, figures and pairs of signs."""
    words = {word.casefold() for word in _PIECE.findall(text)}
    return frozenset(
        word[at : at + size]
        for word in words
        for size in (2 if word > "\u2e80" else 4,)
        for at in range(max(1, len(word) - size + 1))
    )


def _quotations(text: str) -> Iterator[Particular]:
    for found in QUOTED.finditer(text):
        inside = found[0][1:-1]
        if quotes.says_enough(inside):
            start = found.start() + 1 + len(inside) - len(inside.lstrip())
            yield Particular(start, start + len(inside.strip()), "quotation", inside.strip())


def _addresses(text: str) -> Iterator[Particular]:
    """URLs, addresses of mail, paths, files and ids: words with something inside that no plain word has."""
    for found in _ADDRESS.finditer(text):
        for part in CJK_RUN.sub("\n", found[0]).split("\n"):
            word = part.strip(".,:;-/&=?%")
            if _is_address(word):
                start = text.index(word, found.start())
                yield Particular(start, start + len(word), "address", word)


def _is_address(word: str) -> bool:
    """``a@b.c``, ``main.py``, ``sheet_2``; "and/or" is none."""
    has_mark = "@" in word or "_" in word or "://" in word or _FILE.search(word)
    return bool(has_mark) and any(map(str.isalpha, word))


def _values(text: str, language: str) -> Iterator[Particular]:
    for value in values(text, language=language):
        is_weak = value.kind == "spelled" and max(value.readings) <= COUNTED
        yield Particular(value.start, value.end, "value", text[value.start : value.end], value, is_weak)


class Screen:
    """What one frame shows, or a text: the lines that were read, its titles and its moment."""

    def __init__(self, texts: Iterable[str], titles: Iterable[str] = (), moment: str = "") -> None:
        self.texts = tuple(dict.fromkeys(text for text in texts if text))
        self.titles = tuple(title for title in titles if title)
        self._all = (*self.texts, *self.titles)
        self._moment = moment

    @cached_property
    def _shown(self) -> Shown:
        rows = next(iter((*self.texts[1:2], *self.texts)), "")
        return Shown((rows, *self.titles), self._moment)

    @cached_property
    def _words(self) -> set[str]:
        words = {word for text in self._all for word in WORD.findall(text)}
        return {part for word in words for part in (bare(word), *parts(word))}

    @cached_property
    def _signs(self) -> Signs:
        return Signs((*self.texts[:1], *self.titles))

    def has(self, particular: Particular) -> bool:
        """Whether a particular of a sentence stands here, or is its moment as people round it."""
        if value := particular.value:
            is_written = value.kind == "spelled" and self.has_text(particular.text.lower())
            return is_written or self._shown.holds(value)
        if particular.kind != "name":
            return self.has_text(particular.text)
        if CJK_RUN.match(particular.text):
            return self._signs.has_family(particular.text, particular.language)
        return self.has_word(particular.text, particular.language) or any(
            True for text in self.texts for _ in quotes.places(text, particular.text)
        )

    def rounds_to(self, value: Value) -> bool:
        """Whether a figure is the rounding of one that stands here: told truly, and proven by nothing."""
        return self._shown.rounds_to(value)

    def has_word(self, word: str, language: str = "") -> bool:
        """Whether the parts of a word stand here, each in a form that its language may give it."""
        return all(
            part in self._words or any(is_form(part, each, language) for each in self._words)
            for part in parts(word)
        )

    def has_text(self, quote: str) -> bool:
        """Whether a quotation or an address stands here."""
        # What begins as a sentence does begins one on the screen: "Do not" may stand before it.
        begins = quote[0].lower() if quote[0].isupper() else ""
        return any(text[spans[0][0]] != begins for text in self._all if (spans := quotes.find(text, quote)))

    def shows(self, particular: Particular) -> bool:
        """Whether a particular stands here as it is: no rounded time, no number in words, which may count
        something else, no part of a date, no other form of a name.
        """
        if value := particular.value:
            return self._shown.writes(value)
        if particular.kind != "name" or CJK_RUN.match(particular.text):
            return self.has(particular)
        return self._words.issuperset(parts(particular.text))

    def bears_out(self, sentence: str, writes_small: bool = False) -> bool:
        """Whether everything in a sentence that can be compared stands here. A word that may have its capital
        from its place is a name unless it is known for none, and also then where the writer begins with a
        small letter (`writes_small`): what a model writes in the background is rather left out than wrong.
        """
        language = language_of(sentence)
        opening = next(iter(WORD.findall(sentence)), "")
        is_name = writes_small and opening[:1].isupper() and not has_capital_nouns(language)
        if is_name and not self.has_word(opening):
            return False
        return not any(self.altered_names(sentence)) and all(
            self.has(each) or (each.is_weak and is_plain(each.text, language))
            for each in particulars(sentence, language)
        )

    def writes_otherwise(self, particular: Particular) -> bool:
        """Whether a name is in Latin letters and most of the screen in others, or the other way round: nobody
        knows how the screen has it.
        """
        own, others = _LATIN_LETTER, _OTHER_LETTER
        if not own.match(particular.text):
            own, others = others, own
        text = "".join(self.texts[:1])
        return particular.kind == "name" and len(own.findall(text)) < len(others.findall(text))

    @property
    def is_blank(self) -> bool:
        """Whether no text was read here."""
        return not any(map(str.strip, self.texts))

    def altered_names(self, sentence: str) -> Iterator[Particular]:
        """Names in Han or kana that a sentence has otherwise than the screen."""
        for start, end in self._signs.altered(sentence):
            yield Particular(start, end, "name", sentence[start:end])

    def nearest(self, pieces: frozenset[str]) -> str:
        """The line or passage that has most of these `pieces_of` a text; "" where none has any."""
        lines = [(sum(piece in form for piece in pieces), line) for line, form in self._lines]
        shared, line = max(lines, key=lambda pair: pair[0], default=(0, ""))
        return line if shared else ""

    @cached_property
    def _lines(self) -> list[tuple[str, str]]:
        return [(line, line.casefold()) for text in self.texts[-1:] for line in text.split("\n")]
