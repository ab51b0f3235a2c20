"""Where a query's words stand in a text, and the piece of text that shows them best.

Offsets are characters (Unicode code points) of the text that was given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from store.core import tokenizer
from store.core.full_text import Phrase
from store.core.tokenizer import Token
from store.ocr.readings import Place
from store.search.query import Query
from store.spool.page_text import Area

SNIPPET_CHARS = 200

Span = tuple[int, int]
_LINE = re.compile(r"[^\n]+")
_FORM = re.compile(r"[^\w\s]|\d")
_WORDS_ALONE, _NEARLY = 0.3, 0.8  # shares of a line's length: a menu may be three sentences wide
_REPEATED = 0.7
_MAX_REPEATED = 600  # characters that are looked at
_TABS, _ADDRESS = 3, 4  # lines from a tab down to the address, and words in that
Heading = tuple[str | None, str | None]
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


def snippet(text: str, query: Query, heading: Heading = (None, None)) -> Snippet:
    """The piece of `text` with the most different words of `query`; from its best line on if it has none.

    Lines that repeat the heading do not lead it where others have half as many of the words.
    """
    found = sorted(_occurrences(text, query.words))
    is_repeated = _repeating(text, heading)
    if not found:
        return around(text, *_best_line(text, is_repeated))
    new = [each for each in found if not is_repeated(text.rfind("\n", 0, each.start) + 1)]
    words, new_words = ({each.phrase for each in some} for some in (found, new))
    first, last = _best_window(new if new and 2 * len(new_words) >= len(words) else found)
    start, end = _context(text, first, min(last, first + SNIPPET_CHARS))
    inside = [each for each in found if each.start < end and each.end > start]
    return Snippet(
        text[start:end],
        tuple((max(a - start, 0), min(b, end) - start) for a, b in _merged(inside)),
        start,
    )


def of_chunk(text: str, start: int, end: int, heading: Heading = (None, None)) -> Snippet:
    """The piece of `text` from the best line of ``[start, end)`` on, nothing highlighted."""
    first, last = _best_line(text[start:end], _repeating(text[start:end], heading))
    return around(text, start + first, start + last)


def around(text: str, start: int, end: int) -> Snippet:
    """The piece of `text` that begins with the line of ``[start, end)``, nothing highlighted."""
    start = min(start, len(text))
    left, right = _context(text, start, min(end, len(text), start + SNIPPET_CHARS))
    return Snippet(text[left:right], (), left)


def _best_line(text: str, is_repeated: Callable[[int], bool]) -> Span:
    """(start, end) of the first line nearly as long as any; one of words alone, as menus are, counts less.

    A screen begins with its window's name, its menus and its lists: what it is about stands below.
    """
    scored = [
        (sum(map(str.isalnum, line[0])) * (1.0 if _FORM.search(line[0]) else _WORDS_ALONE), line.span())
        for line in _LINE.finditer(text)
    ]
    longest = next(
        (each for each in sorted(scored, reverse=True) if not is_repeated(each[1][0])), (0.0, (0, 0))
    )
    near = (span for score, span in scored if score >= _NEARLY * longest[0] and not is_repeated(span[0]))
    return next(near, longest[1])


def _repeating(text: str, heading: Heading) -> Callable[[int], bool]:
    """Whether the line from a place on repeats the heading, or holds tabs over that."""
    title, address = heading
    known = set(tokenizer.words(f"{title or ''} {address or ''}"))
    host = urlsplit(address or "").netloc.removeprefix("www.")

    def is_repeated(start: int) -> bool:
        line, *below = text[start : start + _MAX_REPEATED].split("\n")
        words = [word for word in tokenizer.words(line) if len(word) > 1 or tokenizer.is_single(word)]
        if words and sum(word in known for word in words) >= _REPEATED * len(words):
            return True
        return bool(host) and any(host in each and len(each.split()) <= _ADDRESS for each in below[:_TABS])

    return cache(is_repeated)


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


# -- debris -------------------------------------------------------------------------------
# Snippets without lines of another part of the screen, and without what is no text.
#
# Icons, rules and table heads are read as signs, letters and badly read words. A reading goes on with the
# next part of the screen where one ends; a snippet does not.

_TOKEN = re.compile(r"\S+")
_SURE = 0.7
_ROWS_APART = 3.0  # of the height of a line, as below a heading: further down another matter begins
_CELLS_APART = 10.0

IsUnsure = Callable[[int, int], bool]


def without_debris(shown: Snippet, is_unsure: IsUnsure, lines: Sequence[Span] | None = None) -> Snippet:
    """A piece of a reading, or some lines of it, without signs and letters that icons and rules were read as.

    At the ends of a line lone signs go, and lone letters where `is_unsure` says of their place in the piece
    that the reading was. A line that has nothing but these goes whole. What is highlighted stays.
    """
    kept: list[str] = []
    highlights: list[Span] = []
    at = 0
    for line in [found.span() for found in _LINE.finditer(shown.text)] if lines is None else lines:
        start, end = _text_of(shown, line, is_unsure)
        if start == end:
            continue
        inside = [(max(a, start), min(b, end)) for a, b in shown.highlights if a < end and b > start]
        highlights += [(a - start + at, b - start + at) for a, b in inside]
        kept.append(shown.text[start:end])
        at += end - start + 1
    return Snippet("\n".join(kept), tuple(highlights))


def block(shown: Snippet, places: Sequence[Place]) -> list[Span]:
    """The lines of a piece of a reading that are of one part of the screen, without those hardly read.

    They are what is highlighted, or the first line, and what stands below or beside what stays.
    """
    lines = _lines_of(shown, places)
    kept = _leading(shown, lines)
    others = [
        line
        for line in lines
        if line not in kept and (line[0].confidence is None or line[0].confidence >= _SURE)
    ]
    joining = kept
    while joining:
        joining = [line for line in others if any(_adjoin(line[0].box, near[0].box) for near in joining)]
        kept = kept + joining
        others = [line for line in others if line not in joining]
    return sorted(span for _, span in kept)


def marked(shown: Snippet, places: Sequence[Place]) -> list[Place]:
    """The lines of a reading that are highlighted in a piece of it, or the first one of the piece."""
    return [place for place, _ in _leading(shown, _lines_of(shown, places))]


def _leading(shown: Snippet, lines: list[tuple[Place, Span]]) -> list[tuple[Place, Span]]:
    return [line for line in lines if _is_marked(shown, line[1])] or lines[:1]


def _lines_of(shown: Snippet, places: Sequence[Place]) -> list[tuple[Place, Span]]:
    """The lines of a reading in a piece of it, each with its span there."""
    return [
        (place, (max(place.start - shown.start, 0), min(place.end - shown.start, len(shown.text))))
        for place in places
        if place.start < shown.start + len(shown.text) and place.end > shown.start
    ]


def _adjoin(one: Area, other: Area) -> bool:
    """Whether one line stands close under the other, or beside it as the cells of a table do."""
    below = max(one.y, other.y) - min(one.y + one.h, other.y + other.h)
    beside = max(one.x, other.x) - min(one.x + one.w, other.x + other.w)
    low, high = sorted((one.h, other.h))
    return (beside <= 0 and below <= _ROWS_APART * high) or (
        2 * below <= -low and beside <= _CELLS_APART * high
    )


def _is_marked(shown: Snippet, span: Span) -> bool:
    return any(a < span[1] and b > span[0] for a, b in shown.highlights)


def _text_of(shown: Snippet, line: Span, is_unsure: IsUnsure) -> Span:
    """From the first to the last token of a line that says something; empty where none does."""
    text, (start, end) = shown.text, line
    if _is_lone(text[start:end]) and not _is_marked(shown, line):
        return end, end
    tokens = (found.span() for found in _TOKEN.finditer(text, start, end))
    start = next((span[0] for span in tokens if _says_something(shown, span, is_unsure)), end)
    while start < end:
        kept = text[start:end].rstrip()
        last = start + len(kept) - len(kept.rsplit(maxsplit=1)[-1])
        end = start + len(kept)
        if _says_something(shown, (last, end), is_unsure):
            break
        end = last
    return start, end


def _says_something(shown: Snippet, token: Span, is_unsure: IsUnsure) -> bool:
    start, end = token
    if _is_marked(shown, token):
        return True
    text = shown.text[start:end]
    return bool(_signs(text)) and not (_is_lone(text) and is_unsure(start, end))


def _is_lone(text: str) -> bool:
    """Whether nothing but one letter stands here, of a writing whose words have more."""
    signs = _signs(text)
    return len(signs) == 1 and signs[0].isalpha() and not tokenizer.is_single(signs[0])


def _signs(text: str) -> list[str]:
    return [char for char in text if char.isalnum() or unicodedata.category(char) == "Sc"]
