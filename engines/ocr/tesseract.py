"""What both Tesseract engines share: preparing the page, choosing the script, drawing the boxes.

Measured on rendered screens: normalised ink, twice the size, sparse text (psm 11) reads best.
Chinese is read in a second pass. Asking Tesseract for ``eng+chi_sim`` at once costs 60 % more on
every frame and mixes the scripts inside a line; the Latin pass alone reads Chinese as nonsense of
very low confidence, which tells exactly which lines to read again with the Chinese model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.lines import around, is_cjk, lines_of
from engines.ocr.normalise import normalise
from engines.ocr.protocol import Box, OcrError, OcrLine, OcrWord

PSM_SPARSE_TEXT = 11
RESOLUTION_DPI = 150  # said explicitly: screens carry none, and guessing prints warnings

_CJK_LANGUAGES = ("chi_sim", "chi_tra", "jpn", "kor")
_LATIN_SCALE = 2.0
_CJK_SCALE = 1.5  # recall .980 on Chinese frames; .970 at 2, .966 at 2.5
_LARGEST_PAGE = 16_000_000  # pixels: a 4K screen is enlarged less, it has larger letters or none to spare
_LARGEST_SIDE = 32_000  # Tesseract refuses 32,767
_UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURE = 0.8  # a word above this keeps its place between Chinese characters
_INK = 96
_MOST_OF_THE_INK = 0.7
_BORDER = 8  # pixels of white that Tesseract wants around text

Recognise = Callable[[Image.Image, str], list[OcrWord]]


def passes(languages: Sequence[str]) -> tuple[str, ...]:
    """The Tesseract language of each pass: first everything but Chinese, Japanese and Korean."""
    cjk = [language for language in languages if language in _CJK_LANGUAGES]
    other = [language for language in languages if language not in _CJK_LANGUAGES]
    return tuple("+".join(group) for group in (other, cjk) if group)


def read_page(image: Image.Image, languages: Sequence[str], recognise: Recognise) -> list[OcrLine]:
    """Lines of a picture. `recognise` gets dark-on-white ink and one pass's language."""
    clean = normalise(image)
    first, *rest = passes(languages)
    words = _enlarged_and_read(clean, first, recognise)
    for language in rest:
        words = _read_unsure_again(clean, words, language, recognise)
    ink = np.asarray(clean) < 255 - _INK
    lines = lines_of(word for word in words if not _is_junk(word))
    drawn = [_tightened(word, ink) for line in lines for word in _own_row(line, ink)]
    return [line for line in lines_of(drawn) if not _is_a_rule(line)]


def words_from_tsv(tsv: str) -> list[OcrWord]:
    """Words of Tesseract's TSV (level 5), boxes in pixels of the page that was read."""
    rows = (row.split("\t") for row in tsv.splitlines())
    fields = (row for row in rows if len(row) == 12 and row[0] == "5" and row[11].strip())
    words: list[OcrWord] = []
    for _, line in groupby(fields, key=lambda row: row[2:5]):
        words += _evenly_spaced([_word(row) for row in line])
    return words


def _word(row: list[str]) -> OcrWord:
    x, y, w, h = (int(value) for value in row[6:10])
    confidence = min(max(float(row[10]) / 100, 0.0), 1.0)
    return OcrWord(row[11].strip(), Box(x, y, max(w, 1), max(h, 1)), confidence)


def _evenly_spaced(line: list[OcrWord]) -> list[OcrWord]:
    """Boxes of Chinese characters in a row, which all have the same width, divided anew.

    Tesseract knows their order well and their places badly: some boxes are empty, some lie on the
    neighbour.
    """
    result: list[OcrWord] = []
    for chinese, run in groupby(line, key=lambda word: all(map(is_cjk, word.text))):
        words = list(run)
        result += _divided(words) if chinese else words
    return result


def _divided(words: list[OcrWord]) -> list[OcrWord]:
    whole = around([word.box for word in words])
    pitch = whole.w / sum(len(word.text) for word in words)
    result, passed = [], 0
    for word in words:
        left, right = whole.x + pitch * passed, whole.x + pitch * (passed + len(word.text))
        box = Box(round(left), whole.y, max(1, round(right) - round(left)), whole.h)
        result.append(OcrWord(word.text, box, word.confidence))
        passed += len(word.text)
    return result


def _enlarged_and_read(clean: Image.Image, language: str, recognise: Recognise) -> list[OcrWord]:
    """Words with boxes in pixels of `clean`."""
    wanted = _CJK_SCALE if language.split("+")[0] in _CJK_LANGUAGES else _LATIN_SCALE
    scale = min(wanted, (_LARGEST_PAGE / (clean.width * clean.height)) ** 0.5)
    size = (max(1, round(clean.width * scale)), max(1, round(clean.height * scale)))
    if max(size) > _LARGEST_SIDE:
        raise OcrError(f"a picture of {clean.width} x {clean.height} pixels is too large to read")
    words = recognise(clean.resize(size, Image.Resampling.BICUBIC), language)
    return [OcrWord(word.text, _shrunk(word.box, scale, clean.size), word.confidence) for word in words]


def _shrunk(box: Box, scale: float, size: tuple[int, int]) -> Box:
    """A box of the enlarged page around the same pixels of the picture, inside it."""
    left, top = min(int(box.x / scale), size[0] - 1), min(int(box.y / scale), size[1] - 1)
    right, bottom = min(-int(-box.right // scale), size[0]), min(-int(-box.bottom // scale), size[1])
    return Box(left, top, max(1, right - left), max(1, bottom - top))


def _read_unsure_again(
    clean: Image.Image, words: list[OcrWord], language: str, recognise: Recognise
) -> list[OcrWord]:
    """Lines the first pass was unsure of, read with another model; kept where it found its script."""
    unsure = [line for line in lines_of(words) if line.confidence < _UNSURE and not _is_a_rule(line)]
    if not unsure:
        return words
    areas = [_grown(line.box, clean.size) for line in unsure]
    frame = around(areas)
    again = _enlarged_and_read(_only(clean, areas, frame), language, recognise)
    found = [_moved(word, frame.x - _BORDER, frame.y - _BORDER) for word in again]
    better = [line for line in lines_of(found) if any(map(is_cjk, line.text)) and line.confidence >= 0.5]
    return _merged(words, [word for line in better for word in line.words])


def _merged(latin: list[OcrWord], cjk: list[OcrWord]) -> list[OcrWord]:
    """Both readings of the same lines: characters from one, words between them from the other."""
    characters = [word for word in cjk if any(map(is_cjk, word.text))]
    areas = [line.box for line in lines_of(cjk)]
    kept = []
    for word in latin:
        inside = any(_centre_inside(word.box, area) for area in areas)
        if not inside or (word.confidence >= _SURE and not _covers_any(word.box, characters)):
            kept.append(word)
    others = [word for word in cjk if word not in characters and not _covers_any(word.box, kept)]
    return kept + characters + others


def _covers_any(box: Box, words: Iterable[OcrWord]) -> bool:
    return any(_centre_inside(word.box, box) or _centre_inside(box, word.box) for word in words)


def _is_a_rule(line: OcrLine) -> bool:
    """Borders and shadows are sometimes read as a few very wide letters."""
    return line.box.w > 4 * line.box.h * len(line.text)


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


def _own_row(line: OcrLine, ink: npt.NDArray[Any]) -> list[OcrWord]:
    """The line's words without what their boxes hold of the lines above and below.

    Chinese boxes come half a line too high: where empty rows divide the line's ink, the part with
    most of it is the line.
    """
    box = line.box
    amounts = ink[box.y : box.bottom, box.x : box.right].sum(1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], (amounts > 0).astype(np.int8), [0]))))
    parts = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if len(parts) < 2:
        return list(line.words)
    top, bottom = max(parts, key=lambda part: int(amounts[part[0] : part[1]].sum()))
    if amounts[top:bottom].sum() < _MOST_OF_THE_INK * amounts.sum():
        return list(line.words)
    return [_between(word, box.y + top, box.y + bottom) for word in line.words]


def _between(word: OcrWord, top: int, bottom: int) -> OcrWord:
    first, last = max(word.box.y, top), min(word.box.bottom, bottom)
    if last <= first:
        return word
    return OcrWord(word.text, Box(word.box.x, first, word.box.w, last - first), word.confidence)


def _tightened(word: OcrWord, ink: npt.NDArray[Any]) -> OcrWord:
    """The word with its box drawn around the ink inside."""
    left, top = word.box.x, word.box.y
    part = ink[top : word.box.bottom, left : word.box.right]
    rows, columns = np.flatnonzero(part.any(1)), np.flatnonzero(part.any(0))
    if not len(rows):
        return word
    box = Box(
        left + int(columns[0]),
        top + int(rows[0]),
        int(columns[-1] - columns[0]) + 1,
        int(rows[-1] - rows[0]) + 1,
    )
    return OcrWord(word.text, box, word.confidence)


def _is_junk(word: OcrWord) -> bool:
    return word.confidence < 0.3 and not any(character.isalnum() for character in word.text)
