"""Where a query's words stand in a text, and the piece of text that shows them best.

Offsets are characters (Unicode code points) of the text that was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from store.core import tokenizer
from store.core.full_text import Phrase
from store.core.tokenizer import Token
from store.search.query import Query

SNIPPET_CHARS = 200

Span = tuple[int, int]
_LINE = re.compile(r"[^\n]+")
_FORM = re.compile(r"[^\w\s]|\d")
_WORDS_ALONE, _NEARLY = 0.3, 0.8  # shares of a line's length: a menu may be three sentences wide
_TOLD = 0.7
_MAX_TOLD = 600  # characters that are looked at
_TABS, _ADDRESS = 3, 4  # lines from a tab down to the address, and words in that
Told = tuple[str | None, str | None]
"""A window's title and its address, which are shown beside a snippet."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text from `start` on, `SNIPPET_CHARS` long at most, with (start, end) of words in it."""

    text: str
    highlights: tuple[Span, ...]
    start: int = 0


class _Found(NamedTuple):
    start: int
    end: int
    phrase: int  # index into the query's words


def spans(text: str, query: Query) -> list[Span]:
    """Where the words and phrases of `query` stand in `text`: ordered, without overlaps."""
    return _merged(_occurrences(text, query.words))


def snippet(text: str, query: Query, told: Told = (None, None)) -> Snippet:
    """The piece of `text` with the most different words of `query`; from its best line on if it has none.

    Lines that say what is told beside it anyway do not lead it where others have half as many of the words.
    """
    found = sorted(_occurrences(text, query.words))
    is_told = _telling(text, told)
    if not found:
        return around(text, *_best_line(text, is_told))
    new = [each for each in found if not is_told(text.rfind("\n", 0, each.start) + 1)]
    words, new_words = ({each.phrase for each in some} for some in (found, new))
    first, last = _best_window(new if new and 2 * len(new_words) >= len(words) else found)
    start, end = _context(text, first, min(last, first + SNIPPET_CHARS))
    inside = [each for each in found if each.start < end and each.end > start]
    return Snippet(
        text[start:end],
        tuple((max(a - start, 0), min(b, end) - start) for a, b in _merged(inside)),
        start,
    )


def of_chunk(text: str, start: int, end: int, told: Told = (None, None)) -> Snippet:
    """The piece of `text` from the best line of ``[start, end)`` on, nothing highlighted."""
    first, last = _best_line(text[start:end], _telling(text[start:end], told))
    return around(text, start + first, start + last)


def around(text: str, start: int, end: int) -> Snippet:
    """The piece of `text` that begins with the line of ``[start, end)``, nothing highlighted."""
    start = min(start, len(text))
    left, right = _context(text, start, min(end, len(text), start + SNIPPET_CHARS))
    return Snippet(text[left:right], (), left)


def _best_line(text: str, is_told: Callable[[int], bool]) -> Span:
    """(start, end) of the first line nearly as long as any; one of words alone, as menus are, counts less.

    A screen begins with its window's name, its menus and its lists: what it is about stands below.
    """
    scored = [
        (sum(map(str.isalnum, line[0])) * (1.0 if _FORM.search(line[0]) else _WORDS_ALONE), line.span())
        for line in _LINE.finditer(text)
    ]
    longest = next((each for each in sorted(scored, reverse=True) if not is_told(each[1][0])), (0.0, (0, 0)))
    near = (span for score, span in scored if score >= _NEARLY * longest[0] and not is_told(span[0]))
    return next(near, longest[1])


def _telling(text: str, told: Told) -> Callable[[int], bool]:
    """Tells whether the line from a place on says the title or address again, or holds tabs over that."""
    title, address = told
    known = set(tokenizer.words(f"{title or ''} {address or ''}"))
    host = urlsplit(address or "").netloc.removeprefix("www.")

    def is_told(start: int) -> bool:
        line, *below = text[start : start + _MAX_TOLD].split("\n")
        words = [word for word in tokenizer.words(line) if len(word) > 1 or tokenizer.is_single(word)]
        if words and sum(word in known for word in words) >= _TOLD * len(words):
            return True
        return bool(host) and any(host in each and len(each.split()) <= _ADDRESS for each in below[:_TABS])

    return cache(is_told)


def _occurrences(text: str, words: tuple[Phrase, ...]) -> Iterator[_Found]:
    if not words:
        return
    words = tuple(replace(word, tokens=tuple(map(tokenizer.plainly, word.tokens))) for word in words)
    if text.isascii():
        yield from _in_ascii(text, words)
        return
    tokens = [token._replace(text=tokenizer.plainly(token.text)) for token in tokenizer.tokens(text)]
    whole: dict[str, list[int]] = {}
    beginnings: list[int] = []
    for number, phrase in enumerate(words):
        if phrase.is_prefix and len(phrase.tokens) == 1:
            beginnings.append(number)
        else:
            whole.setdefault(phrase.tokens[0], []).append(number)
    for at, token in enumerate(tokens):
        candidates = whole.get(token.text, ())
        for number in (*candidates, *beginnings):
            end = _end_of_match(text, tokens, at, words[number])
            if end is not None:
                yield _Found(token.start, end, number)


def _in_ascii(text: str, words: tuple[Phrase, ...]) -> Iterator[_Found]:
    """The same where words are letters and digits: without a list of all tokens, four times as fast."""
    lowered = text.lower()
    for number, phrase in enumerate(words):
        if not all(token.isascii() for token in phrase.tokens):
            continue
        body = "[^0-9a-z]+".join(phrase.tokens) + ("[0-9a-z]*" if phrase.is_prefix else "")
        # Looked ahead for, so that one may begin inside another: "a a" stands twice in "a a a".
        for found in re.finditer(f"(?<![0-9a-z])(?=({body})(?![0-9a-z]))", lowered):
            end = _with_signs(text, found.end(1), phrase)
            if end is not None:
                yield _Found(found.start(1), end, number)


def _end_of_match(text: str, tokens: list[Token], at: int, phrase: Phrase) -> int | None:
    """Where `phrase` ends if it begins with the token at index `at`."""
    stop = at + len(phrase.tokens)
    if stop > len(tokens):
        return None
    *body, last = (token.text for token in tokens[at:stop])
    if tuple(body) != phrase.tokens[:-1]:
        return None
    if last != phrase.tokens[-1] and not (phrase.is_prefix and last.startswith(phrase.tokens[-1])):
        return None
    return _with_signs(text, tokens[stop - 1].end, phrase)


def _with_signs(text: str, end: int, phrase: Phrase) -> int | None:
    """The end of a phrase whose words end at `end`; None where the signs of its name do not follow."""
    if phrase.literal is None:
        return end
    # The signs after the last word belong to the name: C++, not the C of "Vitamin C".
    signs = phrase.literal[len(phrase.literal.rstrip("+#")) :]
    signed = end + len(signs)
    return signed if tokenizer.normalise(text[end:signed]) == signs else None


def _merged(found: Iterator[_Found] | list[_Found]) -> list[Span]:
    merged: list[Span] = []
    for start, end, _ in sorted(found):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _best_window(found: list[_Found]) -> Span:
    """(start, end) of the earliest stretch of a snippet's length with the most different words."""
    best = (0, found[0].start, found[0].end)
    first = 0
    counts: dict[int, int] = {}
    for each in found:
        counts[each.phrase] = counts.get(each.phrase, 0) + 1
        while found[first] != each and each.end - found[first].start > SNIPPET_CHARS:
            counts[found[first].phrase] -= 1
            if not counts[found[first].phrase]:
                del counts[found[first].phrase]
            first += 1
        if len(counts) > best[0]:
            best = (len(counts), found[first].start, each.end)
    return best[1], best[2]


def _context(text: str, start: int, end: int) -> Span:
    """A piece of a snippet's length from the beginning of the line of `start` on, with `end` in it.

    Where the line is too long for that, from a word before `start`.
    """
    left = text.rfind("\n", 0, start) + 1
    if end - left > SNIPPET_CHARS:
        left = max(left, end - SNIPPET_CHARS, start - SNIPPET_CHARS // 4)
        left = next((at + 1 for at in range(left - 1, start) if text[at].isspace()), left)
    right = min(len(text), left + SNIPPET_CHARS)
    if right < len(text) and not text[right].isspace():
        right = next((at for at in range(right, end, -1) if text[at - 1].isspace()), right)
    while left < start and text[left].isspace():
        left += 1
    while right > end and text[right - 1].isspace():
        right -= 1
    return left, right
