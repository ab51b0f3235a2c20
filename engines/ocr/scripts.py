"""Which script a row is in, part by part: Tesseract reads with a model for each.

Asking it for ``eng+chi_sim`` at once costs 60 % more and mixes the scripts inside a line. Each model reads
the letters of other scripts as nonsense of its own and is unsure of it, so of two readings of a row the
surer one counts wherever they differ.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from babel.core import get_global

from engines.ocr.protocol import HANGUL_SPACE, OcrWord, around, is_hangul, line_of

_SURE_ENOUGH = 0.5  # for a word of another script, or in its row where its model reads no letter of it
_SURE = 0.9  # a word in a row of another script
_CLEARLY = 1.1  # times as sure as the model of that script


def passes(languages: Sequence[str]) -> tuple[str, ...]:
    """The Tesseract languages of each pass: those of one script together, Latin first."""
    by_script: dict[str, list[str]] = {"Latn": []}
    for language in languages:
        by_script.setdefault(script_of(language), []).append(language)
    return tuple("+".join(group) for group in by_script.values() if group)


def script_of(language: str) -> str:
    """The usual script (ISO 15924) of a Tesseract language, by CLDR; ``Hani`` for all that write Han."""
    code, _, _kind = language.partition("_")
    code = get_global("language_aliases").get(code, code)
    script = str(get_global("likely_subtags").get(code, "_Latn")).split("_")[1]
    return "Hani" if script in ("Hans", "Hant", "Jpan") else script


def surest(first: Sequence[OcrWord], second: Sequence[OcrWord]) -> list[OcrWord]:
    """A row as the surer of two models read each part, in the order in which it is read."""
    is_of_second = shows_other_script(second) and confidence(second) >= max(_SURE_ENOUGH, confidence(first))
    parts = []
    for mine, others in _side_by_side(first, second):
        weights = sum(word.confidence * word.box.w for word in mine), _weight(others)
        if is_of_second:
            least = _SURE if any(is_not_latin(c) for word in others for c in word.text) else _SURE_ENOUGH
            second_is_surer = confidence(mine) < least or weights[0] <= _CLEARLY * weights[1]
        else:
            second_is_surer = weights[1] > weights[0] and shows_other_script(others)
        parts.append((second_is_surer, others if second_is_surer else mine))
    runs = [[word for _, words in run for word in words] for _, run in groupby(parts, key=itemgetter(0))]
    place = {id(word): number for words in (first, second) for number, word in enumerate(words)}
    for run in runs:
        run.sort(key=lambda word: place[id(word)])  # each model knows which way its script runs
    return in_order(runs)


def _side_by_side(
    first: Sequence[OcrWord], second: Sequence[OcrWord]
) -> Iterator[tuple[list[OcrWord], list[OcrWord]]]:
    """Words of both readings that stand on the same pixels, from the left."""
    end = -1
    both: tuple[list[OcrWord], list[OcrWord]] = ([], [])
    for word, reading in sorted(
        [(w, 0) for w in first] + [(w, 1) for w in second], key=lambda pair: pair[0].box.x
    ):
        if word.box.x >= end and end >= 0:
            yield both
            both = ([], [])
        both[reading].append(word)
        end = max(end, word.box.right)
    yield both


def _weight(words: Sequence[OcrWord]) -> float:
    """How sure a model is of what it read in its own script, in pixels."""
    letters = [character for word in words for character in word.text if character.isalpha()]
    if letters and not any(map(is_not_latin, letters)):
        return 0.0
    return sum(word.confidence * word.box.w for word in words if word.confidence >= _SURE_ENOUGH)


def in_order(runs: Sequence[Sequence[OcrWord]]) -> list[OcrWord]:
    """Words of runs that stand side by side, from the right where most letters are written so."""
    letters = [unicodedata.bidirectional(c) for run in runs for word in run for c in word.text if c.isalpha()]
    runs_left = sum(kind in ("R", "AL") for kind in letters) * 2 > len(letters)
    return [word for run in (reversed(runs) if runs_left else runs) for word in run]


def shows_other_script(words: Iterable[OcrWord]) -> bool:
    return any(word.confidence >= _SURE_ENOUGH and any(map(is_not_latin, word.text)) for word in words)


def confidence(words: Sequence[OcrWord]) -> float:
    return line_of(words).confidence if words else 0.0


def is_not_latin(character: str) -> bool:
    return character.isalpha() and not unicodedata.name(character, "").startswith("LATIN")


def syllables_joined(words: Iterable[OcrWord], ink: npt.NDArray[Any]) -> list[OcrWord]:
    """Syllables of Korean, and figures beside them, as words: the blanks of the row's `ink` part them."""
    parts: list[list[OcrWord]] = []
    for word in words:
        if parts and _is_one_word(parts[-1][-1], word, ink):
            parts[-1].append(word)
        else:
            parts.append([word])
    return [
        OcrWord("".join(word.text for word in part), around([w.box for w in part]), confidence(part))
        for part in parts
    ]


def _is_one_word(left: OcrWord, right: OcrWord, ink: npt.NDArray[Any]) -> bool:
    """Boxes of syllables are rough: the widest blank between their middles tells."""
    if not (is_hangul(left.text[-1]) or is_hangul(right.text[0])):
        return False
    between = ink[:, left.box.x + left.box.w // 2 : right.box.x + right.box.w // 2].any(0)
    blanks = np.diff(np.flatnonzero(np.pad(between, 1, constant_values=True))) - 1
    return bool(blanks.max() < HANGUL_SPACE * max(left.box.h, right.box.h))
