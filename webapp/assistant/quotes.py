"""Does this quote stand in that text? Deterministic, and says where.

Both sides are compared in normal form: NFKC, case folded, white space collapsed, spaces between
CJK characters dropped (a reader puts them in, a model does not). Up to one character in ten may
differ, because models repair small misreadings; but never a digit: "14 days" is not "30 days".
Approximate matching is Myers' bit-vector algorithm (J. ACM 46(3), 1999), which takes one pass over
the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from webapp.assistant.texts import CJK

MAX_QUOTE_CHARS = 400
EDITS_PER_CHAR = 0.1

Span = tuple[int, int]

_WIDE = re.compile(f"[{CJK}]")
_DIGITS = re.compile(r"\d")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3})\s*")
_QUOTE_MARKS = "\"'`“”‘’„«»「」『』 \t\r\n"


@dataclass(frozen=True, slots=True)
class _Normal:
    """A text in normal form; ``origin[i]`` is the position of its character i in the original."""

    text: str
    origin: tuple[int, ...]


def find(text: str, quote: str) -> tuple[Span, ...]:
    """Where `quote` stands in `text`, in characters of `text`; empty when it does not.

    A quote with an ellipsis has one span for each part, all of which must be found in order.
    """
    haystack = _normal(text)
    parts = [part for part in _ELLIPSIS.split(quote.strip(_QUOTE_MARKS)) if part.strip(_QUOTE_MARKS)]
    whole = _find_one(haystack, quote, 0)
    if whole or len(parts) < 2:
        return (_original(haystack, whole),) if whole else ()
    spans = []
    start = 0
    for part in parts:
        span = _find_one(haystack, part, start)
        if span is None:
            return ()
        spans.append(_original(haystack, span))
        start = span[1]
    return tuple(spans)


def stands_in(texts: Iterable[str | None], quote: str) -> bool:
    """Whether a quote is found in any of some short texts, such as a title or a URL."""
    return any(find(text, quote) for text in texts if text)


def _find_one(haystack: _Normal, quote: str, start: int) -> Span | None:
    needle = _normal(quote.strip(_QUOTE_MARKS)).text
    if not _says_enough(needle) or len(needle) > MAX_QUOTE_CHARS:
        return None
    return _exact(haystack.text, needle, start) or _approximate(haystack.text, needle, start)


def _says_enough(needle: str) -> bool:
    """Three letters or digits, or two CJK characters: less would be found anywhere."""
    wide = len(_WIDE.findall(needle))
    return wide >= 2 or sum(character.isalnum() for character in needle) >= 3


def _exact(text: str, needle: str, start: int) -> Span | None:
    """The first occurrence that does not begin or end inside a word: "14" is not in "2014"."""
    at = text.find(needle, start)
    while at >= 0:
        end = at + len(needle)
        if not _inside_word(text, at) and not _inside_word(text, end):
            return at, end
        at = text.find(needle, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    pair = text[at - 1 : at + 1]
    return all(character.isalnum() and not _WIDE.match(character) for character in pair)


def _approximate(text: str, needle: str, start: int) -> Span | None:
    """The best occurrence with few edits and the very same digits."""
    allowed = int(len(needle) * EDITS_PER_CHAR)
    if not allowed:
        return None
    end, edits = _best_end(text[start:], needle)
    if edits > allowed:
        return None
    # The beginning is the best end of the reversed needle in the reversed text before it.
    head = text[start : start + end]
    length, _ = _best_end(head[: -len(needle) - allowed - 1 : -1], needle[::-1])
    span = start + end - length, start + end
    same_digits = _DIGITS.findall(text[slice(*span)]) == _DIGITS.findall(needle)
    return span if same_digits else None


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
