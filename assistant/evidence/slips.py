"""What a reader of screens does to a text without changing what it says, and what is no slip.

A quote may differ from its frame's text by marks (a bullet read as «, a lost full stop), by letters
of one shape (``I``, ``l`` and ``|``; ``rn`` and ``m``) and, in a Latin word of which the reader itself was
unsure, by one letter in four. Never by a digit or by what makes a figure or a comparison another
one: a sign, a decimal point, ``<`` for ``>``. Any other difference is another statement.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

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
