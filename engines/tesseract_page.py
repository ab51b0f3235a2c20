"""What both Tesseract engines share: preparing the page, choosing the script, drawing the boxes.

Measured on rendered screens: normalised ink, twice the size, sparse text (psm 11) reads best.
Chinese is read in a second pass: asking Tesseract for ``eng+chi_sim`` at once costs 60 % more on
every frame and mixes the scripts inside a line (recall .94 on Chinese frames); the Latin pass alone
reads Chinese as nonsense of very low confidence, which tells exactly which lines to read again
with the Chinese model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.lines import around, is_cjk, lines_of
from engines.normalise import normalise
from engines.ocr import Box, OcrError, OcrLine, OcrWord

PSM_SPARSE_TEXT = 11
RESOLUTION_DPI = 150  # said explicitly: screens carry none, and guessing prints warnings

_CJK_LANGUAGES = ("chi_sim", "chi_tra", "jpn", "kor")
_UNSURE = 0.6  # a line below this was probably another script; Latin lines are above .9
_INK = 96
_BORDER = 16  # pixels of white that Tesseract wants around text
_LARGEST_SIDE = 16_000  # Tesseract refuses 32,767

Recognise = Callable[[Image.Image, str], list[OcrWord]]


def passes(languages: Sequence[str]) -> tuple[str, ...]:
    """The Tesseract language of each pass: first everything but Chinese, Japanese and Korean."""
    cjk = [language for language in languages if language in _CJK_LANGUAGES]
    other = [language for language in languages if language not in _CJK_LANGUAGES]
    return tuple("+".join(group) for group in (other, cjk) if group)


def read_page(image: Image.Image, languages: Sequence[str], recognise: Recognise) -> list[OcrLine]:
    """Lines of a picture. `recognise` gets dark-on-white ink and one pass's language."""
    clean = normalise(image)
    scale = _scale(clean)
    page = _enlarged(clean, scale)
    first, *rest = passes(languages)
    words = recognise(page, first)
    for language in rest:
        words = _read_unsure_again(page, words, language, recognise)
    ink = np.asarray(clean) < 255 - _INK
    placed = (_placed(word, scale, ink) for word in words)
    return lines_of(word for word in placed if word is not None and not _is_junk(word))


def words_from_tsv(tsv: str) -> list[OcrWord]:
    """Words of Tesseract's TSV (level 5), boxes in pixels of the page that was read."""
    words = []
    for row in tsv.splitlines():
        fields = row.split("\t")
        if len(fields) == 12 and fields[0] == "5" and fields[11].strip():
            x, y, w, h = (int(value) for value in fields[6:10])
            confidence = min(max(float(fields[10]) / 100, 0.0), 1.0)
            words.append(OcrWord(fields[11].strip(), Box(x, y, max(w, 1), max(h, 1)), confidence))
    return words


def _scale(page: Image.Image) -> float:
    largest = max(page.size)
    if largest > _LARGEST_SIDE:
        raise OcrError(f"a picture of {page.width} x {page.height} pixels is too large to read")
    return min(2.0, _LARGEST_SIDE / largest)


def _enlarged(page: Image.Image, scale: float) -> Image.Image:
    size = (max(1, round(page.width * scale)), max(1, round(page.height * scale)))
    return page.resize(size, Image.Resampling.BICUBIC)


def _read_unsure_again(
    page: Image.Image, words: list[OcrWord], language: str, recognise: Recognise
) -> list[OcrWord]:
    """Lines the first pass was unsure of, read with another model; kept where it found its script."""
    unsure = [line for line in lines_of(words) if line.confidence < _UNSURE]
    if not unsure:
        return words
    areas = [_grown(line.box, page.size) for line in unsure]
    frame = around(areas)
    again = recognise(_only(page, areas, frame), language)
    found = [_moved(word, frame.x - _BORDER, frame.y - _BORDER) for word in again]
    better = [line for line in lines_of(found) if any(map(is_cjk, line.text)) and line.confidence >= 0.5]
    taken = [line.box for line in better]
    kept = [word for word in words if not any(_centre_inside(word.box, box) for box in taken)]
    return kept + [word for line in better for word in line.words]


def _grown(box: Box, size: tuple[int, int]) -> Box:
    """The line with room for what the first pass cut off at its ends."""
    left, top = max(0, box.x - 2 * box.h), max(0, box.y - box.h // 3)
    right, bottom = min(size[0], box.right + 2 * box.h), min(size[1], box.bottom + box.h // 3)
    return Box(left, top, right - left, bottom - top)


def _only(page: Image.Image, areas: Iterable[Box], frame: Box) -> Image.Image:
    """The page cut to `frame`, white outside `areas`, with a white border."""
    result = Image.new("L", (frame.w + 2 * _BORDER, frame.h + 2 * _BORDER), 255)
    for box in areas:
        part = page.crop((box.x, box.y, box.right, box.bottom))
        result.paste(part, (box.x - frame.x + _BORDER, box.y - frame.y + _BORDER))
    return result


def _moved(word: OcrWord, dx: int, dy: int) -> OcrWord:
    box = word.box
    return OcrWord(word.text, Box(box.x + dx, box.y + dy, box.w, box.h), word.confidence)


def _centre_inside(inner: Box, outer: Box) -> bool:
    x, y = inner.x + inner.w / 2, inner.y + inner.h / 2
    return outer.x <= x < outer.right and outer.y <= y < outer.bottom


def _placed(word: OcrWord, scale: float, ink: npt.NDArray[Any]) -> OcrWord | None:
    """The word in pixels of the picture, its box drawn around its ink; None where there is none."""
    height, width = ink.shape
    left, top = max(0, int(word.box.x / scale)), max(0, int(word.box.y / scale))
    right = min(width, -int(-word.box.right // scale))
    bottom = min(height, -int(-word.box.bottom // scale))
    part = ink[top:bottom, left:right]
    rows, columns = np.flatnonzero(part.any(1)), np.flatnonzero(part.any(0))
    if not len(rows):
        return None
    box = Box(
        left + int(columns[0]),
        top + int(rows[0]),
        int(columns[-1] - columns[0]) + 1,
        int(rows[-1] - rows[0]) + 1,
    )
    return OcrWord(word.text, box, word.confidence)


def _is_junk(word: OcrWord) -> bool:
    return word.confidence < 0.3 and not any(character.isalnum() for character in word.text)
