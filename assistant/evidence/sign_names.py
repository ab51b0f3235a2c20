"""Names in Han and kana, where no capital shows them: those that a sentence has otherwise than its frame.

A name is *altered* when its signs stand on the frame but for a few that were put in their place, as in an
altered quote. Two shapes of that are sure enough, and need no dictionary:

- a field of the frame, alone between spaces, of which the sentence has most signs ("王建军" of "王建国");
- one sign amid others that stand on the frame just so ("司机孟师傅" beside "司机马师傅").

What was put in is never a word of grammar. A wholly different name is told in Japanese only, where family
names are long enough to be known: the two thousand commonest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from japanese_personal_name_dataset import load_dataset
from stopwordsiso import stopwords

from assistant.core.texts import CJK
from assistant.language.values import flattened

Span = tuple[int, int]

LONGEST_FIELD = 12
"""Signs of a field; longer ones are sentences."""

SAME = 2 / 3
"""The part of a field's signs that an altered one has."""

AROUND = 4
"""Signs around a single one that is altered."""

MOST_AROUND = 8
"""So far is looked."""

MOST_LIKE = 10
"""Fields, or places, of a frame that are compared with one place of a sentence."""

_NAMED = re.compile("[々ー\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3041-\u30fa]")
_HAN_RUN = re.compile("[々\u3400-\u4dbf\u4e00-\u9fff]+")
_RUN = re.compile(f"[々{CJK}]+")
_SPACE = re.compile(r"[^\S\n]")


def family_names(text: str) -> Iterator[Span]:
    """Where a Japanese sentence has family names: at the beginning of a run of Han."""
    for run in _HAN_RUN.finditer(text) if _KANA.search(text) else ():
        sizes = (size for size in (4, 3, 2) if run[0][:size] in _family_names() and len(run[0]) >= size)
        for size in sizes:
            yield run.start(), run.start() + size
            break


class Signs:
    """The signs of a screen."""

    def __init__(self, texts: Iterable[str]) -> None:
        text = flattened("\n".join(texts))
        self.text = _SPACE.sub("", text)
        self.has_kana = bool(_KANA.search(text))
        self._first: dict[str, list[str]] = {}
        self._last: dict[str, list[str]] = {}
        self._between: dict[tuple[str, str], list[int]] = {}
        for field in dict.fromkeys(_RUN.findall(text)):
            if 2 < len(field) <= LONGEST_FIELD:
                _note(self._first, field[0], field)
                _note(self._last, field[-1], field)
        for run in _RUN.finditer(self.text):
            for at in range(run.start() + 1, run.end() - 1):
                _note(self._between, (self.text[at - 1], self.text[at + 1]), at)

    def altered(self, text: str) -> Iterator[Span]:
        """Where a text has names of the screen otherwise."""
        for run in _RUN.finditer(flattened(text)):
            for start, end in (*self._fields(run[0]), *self._single(run[0])):
                yield run.start() + start, run.start() + end

    def _fields(self, run: str) -> Iterator[Span]:
        for at, sign in enumerate(run):
            places = [(at, field) for field in self._first.get(sign, ())]
            places += [(at + 1 - len(field), field) for field in self._last.get(sign, ())]
            for start, field in places:
                said = run[max(0, start) : start + len(field)]
                if _opens(run, start) and self._is_altered(said, field) and said not in self.text:
                    yield start, start + len(field)

    def _is_altered(self, said: str, field: str) -> bool:
        """Whether one stretch of a field has other signs, and what stays of it is no word of its own."""
        if len(said) != len(field):
            return False
        other = [at for at, (a, b) in enumerate(zip(said, field, strict=True)) if a != b]
        if not 0 < len(other) <= len(field) * (1 - SAME) or other[-1] - other[0] != len(other) - 1:
            return False
        stays = max(field[: other[0]], field[other[-1] + 1 :], key=len)
        is_word = self.text.count(stays) > self.text.count(field)
        return not is_word and all(_may_name(said[at]) and _NAMED.match(field[at]) for at in other)

    def _single(self, run: str) -> Iterator[Span]:
        for at in range(1, len(run) - 1):
            for place in self._between.get((run[at - 1], run[at + 1]), ()):
                before = _shared(_behind(run, at), _behind(self.text, place))
                after = _shared(_ahead(run, at), _ahead(self.text, place))
                is_name = _may_name(run[at]) and _NAMED.match(self.text[place])
                if is_name and before + after >= AROUND and run[at - 1 : at + 2] not in self.text:
                    yield at - before, at + 1 + after


def _note(noted: dict[Any, list[Any]], key: Any, item: Any) -> None:
    """One more under a key, as long as there are not too many to compare."""
    if len(items := noted.setdefault(key, [])) < MOST_LIKE:
        items.append(item)


def _opens(run: str, start: int) -> bool:
    """Whether a word may begin at a place: at the start of a run, or behind a word of grammar."""
    return start == 0 or (start > 0 and not _may_name(run[start - 1]))


def _may_name(sign: str) -> bool:
    """Whether a sign is of those that names are made of, and no word of grammar."""
    return bool(_NAMED.match(sign)) and sign not in _small_signs()


def _behind(text: str, at: int) -> str:
    """What stands before a place, backwards."""
    return text[max(0, at - MOST_AROUND) : at][::-1]


def _ahead(text: str, at: int) -> str:
    return text[at + 1 : at + 1 + MOST_AROUND]


def _shared(a: str, b: str) -> int:
    """How many signs two texts have alike at their beginnings."""
    same = 0
    for one, other in zip(a, b, strict=False):
        if one != other or not _RUN.match(one):
            break
        same += 1
    return same


@cache
def _small_signs() -> frozenset[str]:
    return frozenset(word for language in ("zh", "ja") for word in stopwords(language) if len(word) == 1)


@cache
def _family_names() -> frozenset[str]:
    _, _, names = load_dataset("opti", include_last_names=True)
    return frozenset(name for name in names if len(name) > 1)
