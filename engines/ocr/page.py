"""Reads a picture row by row with Tesseract's models: prepares rows, chooses the script, draws the boxes.

A line is read from its own pixels and from nothing else: the picture is cut into rows (`rows`) and long rows
into pieces (`pieces`), each is made dark ink on white by itself, twice the size, and Tesseract gets it as a
single line. So it is read alike whatever stands around it, and what was read lately is known by its pixels
wherever it stands now.
Sparse text (psm 11) is left for pictures, in which text may stand anywhere.

Each other script is read in a pass of its own (`scripts`): the Latin pass alone reads Chinese as nonsense of
very low confidence, which tells exactly which rows to read again. Most rows of Han are known by their strokes
and need no Latin pass: a fifth less CPU for pages of Chinese. Square characters are read as a raw line
(psm 13): Tesseract's search for their base line cuts some. Latin is not: of 4,086 words of foreign pages
96.6 % are read right as a line and 95.6 % as a raw one, in 11 % less time. Four fifths of the time are the
network's, by the width of the line at the height of 36 pixels that it has there: a smaller scale saves but
the layout before it, and a narrower line loses words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr import check_boxes
from engines.ocr.ink import Grey
from engines.ocr.pictures import Ink
from engines.ocr.pieces import AROUND, INK, Row
from engines.ocr.protocol import Box, OcrError, OcrLine, OcrWord, in_reading_order, line_of, lines_of
from engines.ocr.remembered import UNSURE, Remembered
from engines.ocr.rows import PICTURE, Block, blocks_of, rows_of, strokes
from engines.ocr.scripts import (
    confidence,
    is_not_latin,
    passes,
    script_of,
    shows_other_script,
    surest,
    syllables_joined,
)

PSM_SPARSE_TEXT, PSM_LINE, PSM_RAW_LINE = 11, 7, 13

_SCALE = 2.0
_LARGEST_PAGE = 16_000_000  # pixels: a 4K screen is enlarged less, it has larger letters or none to spare
_LARGEST_SIDE = 32_000  # Tesseract refuses 32,767
_UNSURE_RUN = 0.5  # heights of a row: a few letters that may be of another script
_ALONE, _SURE_ALONE = 2, 0.65  # heights of a row of one or two letters; of 515 such cells 2 are less sure
_BULLET, _FILLED = 0.5, 0.6  # heights of a row, and the part of its box that is ink (a disc: 0.79)
_DESCENDERS = frozenset("gjpqyQJ")  # and what reaches below the line in some fonts
_PROBE = 4  # heights of a row that tell its script
_MANY, _DENSE = 4, 0.12  # strokes above each other, and columns with so many: in rows of Latin 0.09
_NONSENSE = 0.5  # confidence of a row of another script
_BORDER, _RAW_BORDER = 4, 2  # pixels of white that Tesseract wants around a line
_SQUARE = ("Hani", "Kore")  # scripts whose characters all fill the row

Recognise = Callable[[Sequence[Image.Image], str, int], list[list[OcrWord]]]
"""Words of several pages in one language, all laid out as the page segmentation mode says."""


def read_page(
    image: Image.Image,
    mask: Image.Image | None,
    languages: Sequence[str],
    recognise: Recognise,
    known: Remembered,
) -> list[OcrLine]:
    """Lines of a picture. Only what is not in `known` of its rows is read."""
    grey = np.asarray(image.convert("L"))
    shown = None if mask is None else np.asarray(mask)
    ink, walls = strokes(grey)
    blocks = blocks_of(ink if shown is None else ink & shown)
    rows = [row for block in blocks for row in _rows(block, walls, grey, shown, known)]
    lines: list[OcrLine] = []
    found = known.read(rows, lambda unknown: _read_rows(unknown, languages, recognise, known))
    for row, words in zip(rows, found, strict=True):
        if words and not _is_debris(row, words):
            moved = [word.moved(row.box.x, row.box.y) for word in words]
            lines += lines_of(moved) if row.is_picture else [line_of(moved)]
    return in_reading_order([line for line in lines if not _is_a_rule(line)])


def _rows(block: Block, walls: Ink, grey: Grey, shown: Ink | None, known: Remembered) -> Iterator[Row]:
    of_block = block.shown
    for box in rows_of(block, walls, known.bands):
        x, y = max(0, box.x - AROUND[0]), max(0, box.y - AROUND[1])
        w, h = min(grey.shape[1], box.right + AROUND[0]) - x, min(grey.shape[0], box.bottom + AROUND[1]) - y
        part, left, top = (slice(y, y + h), slice(x, x + w)), x - block.box.x, y - block.box.y
        own = of_block[top : top + h, left : left + w]
        if shown is not None:
            own = own & shown[part]
        yield Row(Box(x, y, w, h), grey[part], None if own.all() else own)


def _read_rows(
    inks: Sequence[Grey], languages: Sequence[str], recognise: Recognise, known: Remembered
) -> Iterator[list[OcrWord]]:
    """Words of each row, as in one at 0, 0. What one model is unsure of the next one reads, too."""
    first, *rest = passes(languages)
    marks = [check_boxes.leading(ink > INK) for ink in inks]
    inks = [ink[:, mark.rest_at :] if mark else ink for ink, mark in zip(inks, marks, strict=True)]
    dense = _dense_read(inks, rest, recognise)
    found = [words if _is_of_han(words) else [] for words in (dense.get(n, []) for n in range(len(inks)))]
    others = [number for number, words in enumerate(found) if not words]
    for number, words in zip(
        others, _recognised([inks[number] for number in others], first, recognise), strict=True
    ):
        found[number] = words
    for language in rest:
        unsure = _unsure_rows(inks, found, language, recognise, known)
        unread = [number for number in unsure if number not in dense]
        again = _recognised([inks[number] for number in unread], language, recognise)
        by_row = dense | dict(zip(unread, again, strict=True))
        for number in unsure:
            found[number] = surest(found[number], by_row[number])
    for words, ink, mark in zip(found, inks, marks, strict=True):
        is_ink = ink > INK
        tightened = [_tightened(word, is_ink) for word in words if not _is_junk(word)]
        tightened = _with_letters(_bulleted(tightened, is_ink))
        # In a picture the blanks of a line are filled by other lines.
        joined = tightened if len(ink) > PICTURE else syllables_joined(tightened, is_ink)
        yield mark.before(joined) if mark else joined


def _dense_read(inks: Sequence[Grey], rest: Sequence[str], recognise: Recognise) -> dict[int, list[OcrWord]]:
    """Words of the rows that are of Han by their pixels: where its model is sure of them, no other need read
    them. None of the other rows, nor where another script is read that is as dense, as Hangul.
    """
    if [script_of(language.split("+")[0]) for language in rest] != ["Hani"]:
        return {}
    dense = [number for number, ink in enumerate(inks) if _is_dense(ink)]
    read = _recognised([inks[number] for number in dense], rest[0], recognise)
    return dict(zip(dense, read, strict=True))


def _is_of_han(words: Sequence[OcrWord]) -> bool:
    return confidence(words) >= UNSURE and shows_other_script(words)


def _is_dense(ink: Grey) -> bool:
    """Whether characters have more strokes above each other than letters, over two heights or more."""
    is_ink = ink > INK
    strokes = np.count_nonzero(is_ink[1:] & ~is_ink[:-1], axis=0)
    width = max(2 * len(ink), int(is_ink.any(0).sum()))
    return len(ink) <= PICTURE and bool(np.count_nonzero(strokes >= _MANY) >= _DENSE * width)


def _unsure_rows(
    inks: Sequence[Grey],
    found: Sequence[list[OcrWord]],
    language: str,
    recognise: Recognise,
    known: Remembered,
) -> list[int]:
    """Numbers of rows that may hold this language's script; a part of one is read first, where it tells.

    While somebody types into a row, that part often stays the same.
    """
    unsure = [number for number, ink in enumerate(inks) if _is_unsure(found[number], ink)]
    parts = {number: _probe(inks[number], found[number]) for number in unsure}
    parts = {n: part for n, part in parts.items() if _pays(found[n], part.shape[1] / inks[n].shape[1])}
    read = known.once(list(parts.values()), language, lambda new: _recognised(new, language, recognise))
    probed = dict(zip(parts, read, strict=True))
    return [number for number in unsure if number not in probed or shows_other_script(probed[number])]


def _is_unsure(words: Sequence[OcrWord], ink: Grey) -> bool:
    unsure_width = sum(word.box.w for word in words if word.confidence < UNSURE)
    return confidence(words) < UNSURE or unsure_width > _UNSURE_RUN * len(ink)


def _pays(words: Sequence[OcrWord], share: float) -> bool:
    """Whether a part that is `share` of a row is read first. What is read as nonsense is mostly of another
    script, and now and then letters that are half covered.
    """
    return share < (1 / 4 if confidence(words) < _NONSENSE else 1 / 2)


def _probe(ink: Grey, words: Sequence[OcrWord]) -> Grey:
    """The part of a row that tells its script: where most is unsure."""
    height, width = ink.shape
    unsure = [word for word in words if word.confidence < UNSURE] or [
        OcrWord("", Box(0, 0, width, height), 0)
    ]

    reach = _PROBE * height

    def unsure_from(left: int) -> float:
        parts = [(w, min(left + reach, w.box.right) - max(left, w.box.x)) for w in unsure]
        return float(sum((1 - word.confidence) * max(0, part) for word, part in parts))

    left = max((at for word in unsure for at in (word.box.x, word.box.right - reach)), key=unsure_from)
    right = min(left + reach, max(word.box.right for word in unsure))
    return ink[:, max(0, left - AROUND[0]) : right + AROUND[0]]


def _recognised(inks: Sequence[Grey], language: str, recognise: Recognise) -> list[list[OcrWord]]:
    """Words of each row in one language, in order."""
    script = script_of(language.split("+")[0])
    as_line = PSM_RAW_LINE if script in _SQUARE else PSM_LINE
    found: list[list[OcrWord]] = [[] for _ in inks]

    def read(numbers: Sequence[int], mode: int) -> None:
        border = _RAW_BORDER if mode == PSM_RAW_LINE else _BORDER
        scales = [min(_SCALE, (_LARGEST_PAGE / inks[number].size) ** 0.5) for number in numbers]
        pages = [_page(inks[number], border, scale) for number, scale in zip(numbers, scales, strict=True)]
        for number, scale, words in zip(numbers, scales, recognise(pages, language, mode), strict=True):
            found[number] = [_on_the_row(word, scale, border, inks[number].shape) for word in words]

    rows = [number for number, ink in enumerate(inks) if len(ink) <= PICTURE]
    read(rows, as_line)
    read([number for number, ink in enumerate(inks) if len(ink) > PICTURE], PSM_SPARSE_TEXT)
    if script != "Latn" and as_line == PSM_LINE:  # its search for lines takes some rows of Arabic for none
        read([number for number in rows if not found[number]], PSM_RAW_LINE)
    return found


def _page(ink: Grey, border: int, scale: float) -> Image.Image:
    page = Image.fromarray(np.pad(255 - ink, border, constant_values=255))
    size = round(page.width * scale), round(page.height * scale)
    if max(size) > _LARGEST_SIDE:
        raise OcrError(f"a picture of {page.width} x {page.height} pixels is too large to read")
    return page.resize(size, Image.Resampling.BICUBIC)


def _on_the_row(word: OcrWord, scale: float, border: int, shape: tuple[int, ...]) -> OcrWord:
    """A word of the enlarged page around the same pixels of the row, inside it."""
    box, (height, width) = word.box, shape
    left, top = (max(0, int(at / scale) - border) for at in (box.x, box.y))
    right, bottom = (-int(-at // scale) - border for at in (box.right, box.bottom))
    left, top = min(left, width - 1), min(top, height - 1)
    right, bottom = min(right, width), min(bottom, height)
    return replace(word, box=Box(left, top, max(1, right - left), max(1, bottom - top)))


def _is_debris(row: Row, words: Sequence[OcrWord]) -> bool:
    """An icon or a cursor that stands alone is taken for a sign ("©"), or, not surely, for a letter or two.

    Figures are read less surely, too, and so are words of other scripts: two letters of Chinese are a button.
    """
    if row.is_picture or row.box.w > _ALONE * row.box.h:
        return False
    text = line_of(words).text
    if len(text) == 1 and not text.isalnum() and not text.isascii():  # "}" ends a block of code
        return text not in check_boxes.MARKS
    is_figure = len(text) > 1 and any(character.isdecimal() for character in text)
    return confidence(words) < _SURE_ALONE and not is_figure and not any(map(is_not_latin, text))


def _is_a_rule(line: OcrLine) -> bool:
    """Borders and shadows are sometimes read as a few very wide letters."""
    return line.box.w > 4 * line.box.h * len(line.text)


def _tightened(word: OcrWord, ink: npt.NDArray[Any]) -> OcrWord:
    """The word with its box drawn around the ink inside."""
    left, top = word.box.x, word.box.y
    part = ink[top : word.box.bottom, left : word.box.right]
    rows, columns = np.flatnonzero(part.any(1)), np.flatnonzero(part.any(0))
    if not len(rows):
        return word
    x, y = int(columns[0]), int(rows[0])
    return replace(word, box=Box(left + x, top + y, int(columns[-1]) + 1 - x, int(rows[-1]) + 1 - y))


def _bulleted(words: list[OcrWord], ink: npt.NDArray[Any]) -> list[OcrWord]:
    """The words of a row, with "•" for the disc or square that it begins with, which no model knows: they
    take it for «, ¢, ° or e. It is filled, as wide as high, less than half as high as the row's letters, and
    stands in their middle and apart from them; no letter or sign is and does all of that.
    """
    if len(words) < 2:
        return words
    box, rest = words[0].box, np.flatnonzero(ink[:, words[1].box.x :].any(1))
    part = ink[box.y : box.bottom, box.x : box.right]
    if not len(rest) or not part.size:
        return words
    top, height = int(rest[0]), int(rest[-1] - rest[0]) + 1
    is_small = 2 <= box.h < _BULLET * height and abs(box.w - box.h) <= 1
    is_central = 0.3 <= (box.y + box.h / 2 - top) / height <= 0.67  # a full stop is lower
    is_apart = words[1].box.x - box.right >= box.w
    if is_small and is_central and is_apart and part.mean() >= _FILLED:
        return [replace(words[0], text="•"), *words[1:]]
    return words


def _with_letters(words: list[OcrWord]) -> list[OcrWord]:
    """The words of a row with "I" for a bar that ends where the other words stand: bars go on below."""
    if all(word.text != "|" for word in words):
        return words
    ends = [
        word.box.bottom for word in words if word.text.isalnum() and not _DESCENDERS.intersection(word.text)
    ]
    base = median(ends) if ends else -1
    return [
        replace(word, text="I") if word.text == "|" and abs(word.box.bottom - base) <= 1 else word
        for word in words
    ]


def _is_junk(word: OcrWord) -> bool:
    return word.confidence < 0.3 and not any(character.isalnum() for character in word.text)
