"""Frames that show what an earlier one shows: of each only what is new on it, so that nothing is told twice.

A line is known where an earlier screen has it, read a little otherwise perhaps: word for word but for a
letter in a few, and with the same numbers. A frame most of whose letters are in known lines is another look
at that screen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from assistant.core.texts import normalize
from assistant.retrieval.retrieval import Entry

SAME_SCREEN = 0.6
"""As large a part of the letters of a frame."""
EXACT = 0.3
"""So much of it in lines that were read the very same."""
LOOKED_BACK = 8
"""So many screens back a frame is compared: one goes to and fro between a few."""
MISREAD_WORDS = 5
"""One word in so many of a line may be misread."""

_Key = tuple[int, tuple[str, ...]]

_NUMBER = re.compile(r"\d+")
_CLOCK = re.compile(r"\D{0,2}\d{1,2}[:.]\d\d(?:[:.]\d\d)?\W*(?:[ap]\.?m\.?)?")


@dataclass(slots=True)
class Look:
    """A frame with the lines of it that are told. `same_as` is the entry whose screen it shows again, ""
    where it shows another; `until_ms` is the last time at which nothing new was on it, and `frames` are those
    that it stands for.
    """

    entry: Entry
    lines: list[str]
    same_as: str = ""
    until_ms: int | None = None
    frames: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Screen:
    look: Look
    forms: set[str] = field(default_factory=set)
    words: defaultdict[_Key, list[list[str]]] = field(default_factory=lambda: defaultdict(list))

    def knows(self, line: str) -> bool:
        form = normalize(line)
        words = form.split()
        return form in self.forms or any(_is_misread(words, other) for other in self.words[_key(form)])

    def take(self, lines: Sequence[str]) -> None:
        for form in map(normalize, lines):
            if form not in self.forms:
                self.forms.add(form)
                self.words[_key(form)].append(form.split())


def looks(entries: Sequence[Entry]) -> list[Look]:
    """The entries that show anything new, in their order."""
    found: list[Look] = []
    screens: list[_Screen] = []
    for entry in entries:
        lines = [line.strip() for line in entry.frame.text.split("\n") if line.strip()]
        screen = next((each for each in reversed(screens) if _is_same(each, entry, lines)), None)
        if screen is None:
            screen = _Screen(Look(entry, lines))
            found.append(screen.look)
        elif new := [line for line in lines if not _CLOCK.fullmatch(line) and not screen.knows(line)]:
            found.append(Look(entry, new, screen.look.entry.id))
        else:
            screen.look.until_ms = entry.frame.captured_ms
            screen.look.frames.append(entry.frame.id)
        screen.take(lines)
        screens = [*(each for each in screens if each is not screen), screen][-LOOKED_BACK:]
    return found


def _is_same(screen: _Screen, entry: Entry, lines: Sequence[str]) -> bool:
    """Whether a frame is another look at a screen, in the same window where windows are known."""
    one, other = screen.look.entry.frame, entry.frame
    if (one.app_name, one.window_name) != (other.app_name, other.window_name) or not lines:
        return False
    letters = sum(map(len, lines))
    exact = sum(len(line) for line in lines if normalize(line) in screen.forms)
    if exact < EXACT * letters:  # most screens are told apart without a look at each word
        return False
    return sum(len(line) for line in lines if screen.knows(line)) >= SAME_SCREEN * letters


def _key(form: str) -> _Key:
    """What two readings of one line have in common: the count of words, and the numbers."""
    return form.count(" "), tuple(_NUMBER.findall(form))


def _is_misread(one: Sequence[str], other: Sequence[str]) -> bool:
    unlike = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(unlike) <= max(1, len(one) // MISREAD_WORDS) and all(map(_is_a_letter_off, unlike))


def _is_a_letter_off(pair: tuple[str, str]) -> bool:
    """Whether a word of four letters or more is another but for one of them."""
    same = SequenceMatcher(None, *pair, autojunk=False).get_matching_blocks()
    return min(map(len, pair)) >= 4 and sum(block.size for block in same) >= max(map(len, pair)) - 1
