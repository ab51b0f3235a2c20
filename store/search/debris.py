"""Snippets without what does not belong there: lines of another part of the screen, and what is no text.

Icons, rules and table heads are read as signs, letters and badly read words. A reading goes on with the next
part of the screen where one ends; a snippet does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from store.core import tokenizer
from store.ocr.readings import Place
from store.search.snippet import Snippet, Span
from store.spool.page_text import Area

_LINE = re.compile(r"[^\n]+")
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
        start, end = _telling(shown, line, is_unsure)
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


def _telling(shown: Snippet, line: Span, is_unsure: IsUnsure) -> Span:
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
