"""Icons at the beginning of a row, which the models take for signs, letters or figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from engines.ocr import check_boxes
from engines.ocr.protocol import OcrLine, OcrWord, is_cjk, line_of

_APART = 0.5  # heights of a row: more than between most words
_BLANK = (0.25, 1.5)  # heights of a row: between words, which a font may set wide, and not between columns
_WIDER = 1.5  # than the row's own blanks: of four pixels one is but the rounding
_LETTERS = 3  # that an icon is taken for
_SURE, _SURE_HAN = 0.65, 0.9
_DIGIT = 0.85  # of its height: digits are narrower
_BEGINNINGS = frozenset({*check_boxes.MARKS, *"•-–—*#>$€£+·|"})  # of lists, prompts and sums


def without_icons(lines: Iterable[OcrLine]) -> list[OcrLine]:
    """The lines without the icons that they begin with."""
    kept = ((line, _without_icons(line.words)) for line in lines)
    return [line if len(words) == len(line.words) else line_of(words) for line, words in kept]


def _without_icons(words: Sequence[OcrWord]) -> Sequence[OcrWord]:
    if len(words) < 2:
        return words
    height = median(word.box.h for word in words)
    kept: list[OcrWord] = []
    gaps = [behind.box.x - word.box.right for word, behind in pairwise(words)]
    for at, word in enumerate(words[:-1]):
        blanks = [gap for gap in gaps[at + 1 :] if _BLANK[0] * height <= gap < _BLANK[1] * height]
        is_apart = gaps[at] >= max(_APART * height, _WIDER * median(blanks or [0]))
        is_beginning = word.text in _BEGINNINGS
        if not is_apart or not (is_beginning or _is_icon(word, words[at + 1 :])):
            return [*kept, *words[at:]]
        kept += [word] if is_beginning else []
    return [*kept, words[-1]]


def _is_icon(word: OcrWord, row: Sequence[OcrWord]) -> bool:
    """Whether a short word apart from the row behind it is no text: a sign, an unsure letter or two, a figure
    as wide as high, or one Chinese letter, not surely, before a row without another.
    """
    text, box = word.text, word.box
    if len(text) > _LETTERS or word.source != "read":
        return False
    if not any(map(str.isalnum, text)):
        return not text.isascii()  # what code begins with is: "//", ">>>"
    if is_cjk(text[0]):
        return len(text) == 1 and word.confidence < _SURE_HAN and not any(is_cjk(w.text[0]) for w in row)
    if len(text) > 1 and any(map(str.isdecimal, text)):
        return False
    return word.confidence < _SURE or (text.isdecimal() and box.w > _DIGIT * box.h)
