"""Whether an exported quote was read in its picture: found as `assistant.evidence.citations` finds it, in the
boxes that it names and in no others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from assistant.evidence import quotes
from assistant.evidence.citations import JOINT
from store.ocr.layout import forms
from store.ocr.readings import Box, Line, Reading, Word, union

MAX_PARTS, MAX_PLACES = 10, 500
TOO_MUCH = "There is more of it than is looked through."
TOLD = "A program told its words; nobody read them in the picture."
NAMED = "It is of the window's title or address, not of the picture."

_Span = TypeVar("_Span", Line, Word)


def unproven(reading: Reading, quote: str, boxes: set[Box], names: Sequence[str]) -> str | None:
    """Why it is not proven that a quote was read in `boxes`: '' when it was, None when it stands nowhere.

    `names` are the title, app and address of the window. The reading's spans are in the order of its text.
    """
    parts = tuple(dict.fromkeys(quote.split(JOINT)))
    if len(parts) > MAX_PARTS:
        return TOO_MUCH
    # What joins the parts may also stand on the screen.
    for tried in ((quote,), parts):
        at, words, is_named = set[Box](), list[Word](), False
        for part in tried:
            read = [form.reading for form in forms(reading)]
            found = [each for form in read for each in _places(form.text, form.lines, part, boxes)]
            if not found and not any(quotes.find(name, part) for name in names):
                break
            at.update(box for place, _ in found for box in place)
            words += (word for _, of_place in found for word in of_place)
            is_named |= not found
        else:
            if at == boxes:
                return NAMED if is_named else "" if all(word.checked == "read" for word in words) else TOLD
    return None


def _places(
    text: str, lines: Sequence[Line], part: str, boxes: set[Box]
) -> Iterator[tuple[set[Box], list[Word]]]:
    """The boxes and words of each place of a part of a quote that has only boxes of these."""
    for start, end in islice(quotes.places(text, part), MAX_PLACES):
        at, words = set[Box](), list[Word]()
        for line in _within(lines, start, end):
            inside = _within(line.words, start, end)
            words += inside
            if inside or not line.words:
                at.add(union(word.box for word in inside) if inside else line.box)
        if at and at <= boxes:
            yield at, words


def _within(spans: Sequence[_Span], start: int, end: int) -> Sequence[_Span]:
    """Those that share characters with ``[start, end)``."""
    first = bisect_right(spans, start, key=lambda span: span.end)
    return spans[first : bisect_left(spans, end, first, key=lambda span: span.start)]
