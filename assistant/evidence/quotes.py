"""Does this quote stand in that text? Deterministic, and says where.

Both sides are compared in normal form: NFKD without accents, case folded, white space collapsed, spaces
between CJK characters dropped (a reader puts them in, a model does not). Where that does not find it, the
place most like it is looked for, because models repair small misreadings; it stands there when nothing
differs but slips of reading. The place is found by Myers' bit-vector algorithm (J. ACM 46(3), 1999), which
takes one pass over the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from assistant.core.texts import CJK
from store.ocr.readings import Box, Line, Reading, Word

MAX_QUOTE_CHARS = 400
EDITS, EDITS_PER_CHAR = 2, 0.15
"""How far away the most like place may be, before its differences are looked at."""

CUT_WORDS = 4
"""So many words a quote has whose last one may be cut off in the middle."""

_WIDE = re.compile(f"[{CJK}]")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3})\s*")
_QUOTE_MARKS = "\"'`“”‘’„«»「」『』 \t\r\n"


@dataclass(frozen=True, slots=True)
class _Normal:
    """A text in normal form; ``origin[i]`` is the position of its character i in the original."""

    text: str
    origin: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that quotes are looked for in."""

    raw: str
    normal: _Normal
    doubted: Collection[Span]


def find(text: str, quote: str, doubted: Collection[Span] = ()) -> tuple[Span, ...]:
    """Where `quote` stands in `text`, in characters of `text`; empty when it does not.

    A quote with an ellipsis has one span for each part, all of which must be found in order.
    `doubted` are the words of `text` that its reader was unsure of.
    """
    haystack = _Text(text, _normal(text), doubted)
    parts = [part for part in _ELLIPSIS.split(quote.strip(_QUOTE_MARKS)) if part.strip(_QUOTE_MARKS)]
    whole = _find_one(haystack, quote, 0)
    if whole or len(parts) < 2:
        return (_original(haystack.normal, whole),) if whole else ()
    spans = []
    start = 0
    for part in parts:
        span = _find_one(haystack, part, start)
        if span is None:
            return ()
        spans.append(_original(haystack.normal, span))
        start = span[1]
    return tuple(spans)


def stands_in(texts: Iterable[str | None], quote: str) -> bool:
    """Whether a quote is found in any of some short texts, such as a title or a URL."""
    return any(find(text, quote) for text in texts if text)


def _find_one(haystack: _Text, quote: str, start: int) -> Span | None:
    quoted = quote.strip(_QUOTE_MARKS)
    needle = _normal(quoted).text
    if not _says_enough(needle) or len(needle) > MAX_QUOTE_CHARS:
        return None
    return _exact(haystack.normal.text, needle, start) or _approximate(haystack, quoted, needle, start)


def _says_enough(needle: str) -> bool:
    """Three letters or digits, or two CJK characters: less would be found anywhere."""
    wide = len(_WIDE.findall(needle))
    return wide >= 2 or sum(character.isalnum() for character in needle) >= 3


def _exact(text: str, needle: str, start: int) -> Span | None:
    """The first occurrence that does not begin or end inside a word: "14" is not in "2014".

    Excerpts are cut to a length, so the last word of a longer quote may be cut off, but no figure.
    """
    may_be_cut = len(needle.split()) >= CUT_WORDS and needle[-1].isalpha()
    at = text.find(needle, start)
    while at >= 0:
        end = at + len(needle)
        ends_well = not _inside_word(text, end) or (may_be_cut and text[end].isalpha())
        if ends_well and not _inside_word(text, at):
            return at, end
        at = text.find(needle, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    pair = text[at - 1 : at + 1]
    return all(character.isalnum() and not _WIDE.match(character) for character in pair)


def _approximate(haystack: _Text, quoted: str, needle: str, start: int) -> Span | None:
    """The place most like a quote, if only slips of reading lie between them."""
    text = haystack.normal.text
    allowed = EDITS + int(len(needle) * EDITS_PER_CHAR)
    end, edits = _best_end(text[start:], needle)
    if edits > allowed:
        return None
    # The beginning is the best end of the reversed needle in the reversed text before it.
    head = text[start : start + end]
    length, _ = _best_end(head[: -len(needle) - allowed - 1 : -1], needle[::-1])
    span = _whole_words(text, start + end - length, start + end)
    if span[0] < start or span[0] >= span[1]:
        return None
    first, last = _original(haystack.normal, span)
    doubted = [(a - first, b - first) for a, b in haystack.doubted if first <= a and b <= last]
    return span if same_but_for_slips(haystack.raw[first:last], quoted, doubted) else None


def _whole_words(text: str, start: int, end: int) -> Span:
    """The span with the words whole at whose inside it begins or ends."""
    while _inside_word(text, start):
        start -= 1
    while _inside_word(text, end):
        end += 1
    return start, end


def _best_end(text: str, needle: str) -> tuple[int, int]:
    """(end, edits) of the occurrence of `needle` in `text` with the fewest edits; the first such."""
    size = len(needle)
    masks: dict[str, int] = {}
    for i, character in enumerate(needle):
        masks[character] = masks.get(character, 0) | 1 << i
    everything, last = (1 << size) - 1, 1 << size - 1
    plus, minus = everything, 0
    edits = best = size
    best_end = 0
    for end, character in enumerate(text, 1):
        match = masks.get(character, 0)
        diagonal = ((((match & plus) + plus) ^ plus) | match | minus) & everything
        up = minus | ~(diagonal | plus) & everything
        down = plus & diagonal
        edits += bool(up & last) - bool(down & last)
        up, down = up << 1, down << 1
        plus = (down | ~(diagonal | up)) & everything
        minus = up & diagonal & everything
        if edits < best:
            best, best_end = edits, end
    return best_end, best


@lru_cache(maxsize=1024)
def _normal(text: str) -> _Normal:
    characters: list[str] = []
    origin: list[int] = []
    for at, raw in enumerate(text):
        if unicodedata.category(raw) in ("Cf", "Mn"):
            continue
        for character in unicodedata.normalize("NFKD", raw).casefold():
            if unicodedata.category(character) == "Mn":
                continue
            if character.isspace():
                if characters and characters[-1] != " ":
                    characters.append(" ")
                    origin.append(at)
                continue
            if len(characters) > 1 and characters[-1] == " " and _joins(characters[-2], character):
                characters.pop()
                origin.pop()
            characters.append(character)
            origin.append(at)
    if characters and characters[-1] == " ":
        characters.pop()
        origin.pop()
    return _Normal("".join(characters), tuple(origin))


def _joins(before: str, after: str) -> bool:
    """Whether a space between two characters is the reader's and not the text's."""
    return bool(_WIDE.match(before) and _WIDE.match(after))


def _original(haystack: _Normal, span: Span) -> Span:
    start, end = span
    return haystack.origin[start], haystack.origin[end - 1] + 1


# ---- slips
# What a reader of screens does to a text without changing what it says, and what is no slip.
#
# A quote may differ from its frame's text by marks (a bullet read as «, a lost full stop), by letters
# of one shape (``I``, ``l`` and ``|``; ``rn`` and ``m``) and, in a Latin word of which the reader itself was
# unsure, by one letter in four. Never by a digit or by what makes a figure or a comparison another
# one: a sign, a decimal point, ``<`` for ``>``. Any other difference is another statement.

Span = tuple[int, int]

LETTERS_PER_EDIT = 4
"""In a word of which the reader was unsure."""

_KEPT = frozenset("%‰<>=+±≤≥≠€$£¥")
_INSIDE_FIGURES = frozenset(".,:/-\u2013")
_SHAPES = (("rn", "m"), ("vv", "w"), ("|", "l"), ("I", "l"), ("\u0131", "l"), ("O", "o"), ("Q", "o"))


def same_but_for_slips(read: str, quoted: str, doubted: Collection[Span] = ()) -> bool:
    """Whether `quoted` says what `read` says. `doubted` are the words (start, end) of `read` that the
    reader was unsure of.
    """
    here, origin = _told(read)
    there, _ = _told(quoted)
    if _figures(here) != _figures(there):
        return False
    matcher = SequenceMatcher(None, here.lower(), there.lower(), autojunk=False)
    return all(
        kind == "equal"
        or _shape(here[first:last]) == _shape(there[begin:end])
        or _is_doubted(here[first:last], origin[first:last], there[begin:end], doubted)
        for kind, first, last, begin, end in matcher.get_opcodes()
    )


def _told(text: str) -> tuple[str, Sequence[int]]:
    """The characters that say something, and where each stands in the text."""
    kept: list[str] = []
    origin: list[int] = []
    for at, raw in enumerate(text):
        for character in unicodedata.normalize("NFKC", raw):
            if len(character.lower()) == 1 and _says_something(character, text, at):
                kept.append(character)
                origin.append(at)
    return "".join(kept), origin


def _says_something(character: str, text: str, at: int) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if character.isalnum() or character in _KEPT:
        return True
    if character == "|":  # an "I" stands between words; at an edge of a line it is a border
        return before == " " == after
    if character not in _INSIDE_FIGURES or not after.isdigit():
        return False
    return before.isdigit() or (character in "-\u2013" and not before.isalnum())


def _shape(letters: str) -> str:
    for letter, like in _SHAPES:
        letters = letters.replace(letter, like)
    return letters.lower()


def _figures(text: str) -> str:
    return "".join(character for character in text if not character.isalpha() and character != "|")


def _is_doubted(here: str, places: Sequence[int], there: str, doubted: Collection[Span]) -> bool:
    if not (here + there).isascii() or not here:
        return False
    edits = max(len(here), len(there))
    return any(
        start <= places[0] and places[-1] < end and edits * LETTERS_PER_EDIT <= end - start
        for start, end in doubted
    )


# ---- rows
# A reading with the lines of one row joined: what a reader tore apart stands together again.
#
# A wide gap in a row makes two lines of it, in whatever order the columns were read. A quote that is
# not in the text as it was read may stand in a row from left to right.

SAME_ROW = 0.5
"""The part of the smaller line's height that two lines share when they stand in one row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """`text` of all rows, one a line; `words` stand in it by its own characters."""

    text: str
    words: tuple[Word, ...]


def rows(reading: Reading) -> Rows:
    """The lines of a reading from top to bottom, those of a row joined from left to right."""
    parts: list[str] = []
    words: list[Word] = []
    at = 0
    for row in _grouped(reading.lines):
        for word in sorted((word for line in row for word in line.words), key=lambda word: word.box.x):
            words.append(Word(at, at + len(word.text), word.text, word.box, word.confidence))
            parts += [word.text, " "]
            at += len(word.text) + 1
        if parts:
            parts[-1] = "\n"
    return Rows("".join(parts), tuple(words))


def _grouped(lines: Sequence[Line]) -> Iterator[list[Line]]:
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box.y + line.box.h / 2):
        if row and not _shares_row(row[-1].box, line.box):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _shares_row(a: Box, b: Box) -> bool:
    shared = min(a.y + a.h, b.y + b.h) - max(a.y, b.y)
    return shared >= SAME_ROW * min(a.h, b.h)
