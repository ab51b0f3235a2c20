"""Proves on the pixels what programs told of their text, so that only the rest of a picture is to be read.

Where the page stands in its window is found by laying the places of its words over the ink of the picture.
A word counts if it is wholly where its window shows and ink fills its place from end to end. Some lines are
read all the same: where what is read says otherwise, nothing is believed of that page.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from random import Random

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.protocol import Box, OcrEngine, OcrLine, OcrWord, around
from store.spool.page_text import PageText

log = logging.getLogger(__name__)

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

_CONTRAST = 20  # between neighbouring pixels: the edge of a letter
_SLACK = 4  # pixels by which a page may reach over its window
_EDGE = 2  # pixels by which it may be found beside its place
_SAMPLE = 60  # words that tell where a page stands
_CORE = (0.35, 0.75)  # of a word's height: every letter has ink there
_STEP = 3  # pixels between the places that are tried first
_GAP = -2  # what ink between two words counts
_LIKELY = 3  # of these, tried closer
_END = 0.4  # of a word's height that may be blank at either end of it
_FILLED = 0.35  # of the columns of a word
_ONE_LINE_IN = 20
_FEWEST_LINES = 3
_TELLING = 8  # letters of a line that tells whether it is the same
_BEGINNING = 10  # words of a line that are read
_ALIKE = 0.6  # of the characters of a line
_AGREEING = 0.8  # of the lines that are read
_NEWS = 10  # words: fewer are not worth a proof of their own
_BAND = 12  # pixels around a line that is read


def ink_of(image: Image.Image) -> Mask:
    """Where the picture changes from one pixel to the next: the edges of letters, and of all else."""
    grey = np.asarray(image.convert("L"))
    ink = np.zeros(grey.shape, np.bool_)
    for now, before, result in ((grey[:, 1:], grey[:, :-1], ink[:, 1:]), (grey[1:], grey[:-1], ink[1:])):
        result |= np.maximum(now, before) - np.minimum(now, before) > _CONTRAST
    return ink


class Told:
    """Words of a picture that programs told: on pages, to be proved on it, or `proved` when this very picture
    was read the last time.
    """

    def __init__(
        self,
        pages: Sequence[PageText],
        image: Image.Image,
        engine: OcrEngine,
        proved: Sequence[OcrWord] = (),
    ) -> None:
        self._pages = pages
        self._image = image
        self._engine = engine
        self._proved = proved

    def is_news(self, lines: Iterable[OcrLine]) -> bool:
        """Whether much is told that these lines, made of the same picture, were read for."""
        told = sum(len(page.words) for page in self._pages)
        known = sum(word.source != "read" for line in lines for word in line.words)
        return told >= _NEWS and known < told / 2

    def words(self, ink: Mask, wanted: Mask) -> list[OcrWord]:
        """Words in the `wanted` pixels, proved by the `ink`. Raises what an engine raises."""
        found = asked_for(self._proved, wanted)
        for page in self._pages:
            lines = list(_lines(asked_for(_standing(page, ink), wanted)))
            telling = [n for n, line in enumerate(lines) if _letters(_text(line)) >= _TELLING]
            sample = telling or list(range(len(lines)))
            step = max(1, min(_ONE_LINE_IN, len(sample) // _FEWEST_LINES))
            found += self._agreed(lines, sample[step // 2 :: step])
        return found

    def _agreed(self, lines: list[list[OcrWord]], asked: list[int]) -> Iterator[OcrWord]:
        """All words, if the lines that are asked about read the same; else none.

        An engine may fail at a line of many; that one is read, then, and not believed.
        """
        begun = [lines[n][:_BEGINNING] for n in asked]
        said = self._read([around([word.box for word in line]) for line in begun])
        agreeing = [_alike(_text(line), text) for line, text in zip(begun, said, strict=True)]
        if not agreeing or sum(agreeing) < _AGREEING * len(agreeing):
            log.info("pages are read: %d of %d lines say what was told", sum(agreeing), len(agreeing))
            return
        agreed = dict(zip(asked, agreeing, strict=True))
        for number, line in enumerate(lines):
            if agreed.get(number, True):
                for place, word in enumerate(line):
                    is_read = number in agreed and place < _BEGINNING
                    yield replace(word, checked="read") if is_read else word

    def _read(self, lines: Sequence[Box]) -> list[str]:
        """What the engine makes of these lines, read from one sheet with a band for each."""
        if not lines:
            return []
        width = max(box.w for box in lines) + 2 * _BAND
        sheet = Image.new("RGB", (width, sum(box.h + 2 * _BAND for box in lines)))
        tops, top = [], 0
        for box in lines:
            part = self._image.crop((box.x - 1, box.y - 1, box.right + 1, box.bottom + 1)).convert("RGB")
            sheet.paste(_background(part), (0, top, width, top + box.h + 2 * _BAND))
            sheet.paste(part, (_BAND - 1, top + _BAND - 1))
            tops.append(top)
            top += box.h + 2 * _BAND
        read = [word for line in self._engine.read(sheet) for word in line.words]
        bands = np.searchsorted(tops, [word.box.y + word.box.h // 2 for word in read], "right") - 1
        return [
            " ".join(w.text for w, b in zip(read, bands, strict=True) if b == n) for n in range(len(tops))
        ]


def told_of(
    pages: Sequence[PageText], proved: Sequence[OcrWord], image: Image.Image, engine: OcrEngine
) -> Told | None:
    """What programs told of a picture; None for nothing."""
    return Told(pages, image, engine, proved) if pages or proved else None


def _background(part: Image.Image) -> tuple[int, ...]:
    """Its most frequent colour."""
    colours, counts = np.unique(np.asarray(part) @ np.array([1, 256, 65536]), return_counts=True)
    most = int(colours[counts.argmax()])
    return most & 255, most >> 8 & 255, most >> 16


def asked_for(words: Iterable[OcrWord], wanted: Mask) -> list[OcrWord]:
    """Words whose middle is among the pixels that are asked for."""
    return [w for w in words if wanted[w.box.y + w.box.h // 2, w.box.x + w.box.w // 2]]


def _lines(words: Iterable[OcrWord]) -> Iterator[list[OcrWord]]:
    """Runs of words as a page tells them that stand beside each other."""
    line: list[OcrWord] = []
    for word in words:
        last = line[-1].box if line else word.box
        gap = word.box.x - last.right
        is_beside = min(last.bottom, word.box.bottom) > max(last.y, word.box.y) and 0 <= gap <= 2 * last.h
        if line and not is_beside:
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _text(line: Iterable[OcrWord]) -> str:
    return " ".join(word.text for word in line)


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _alike(told: str, read: str) -> bool:
    """Whether a line was read as it was told, as well as an engine reads."""
    a, b = ("".join(filter(str.isalnum, text)).casefold() for text in (told, read))
    return bool(a) and SequenceMatcher(None, a, b, autojunk=False).ratio() >= _ALIKE


def _standing(page: PageText, ink: Mask) -> Iterator[OcrWord]:
    """Words of a page that show and have ink from end to end."""
    if not page.words:
        return
    x, y = _origin(page, ink)
    view = Box(x - _EDGE, y - _EDGE, page.width + 2 * _EDGE, page.height + 2 * _EDGE)
    view = _common(view, Box(0, 0, ink.shape[1], ink.shape[0]))
    parts = [_common(Box(*part), view) for part in page.parts]
    for told in page.words:
        place = Box(x + told.x, y + told.y, told.w, told.h)
        if not any(_is_inside(place, part) for part in parts):
            continue
        box = _inked(place, ink[place.y : place.bottom, place.x : place.right])
        if box is not None:
            yield OcrWord(told.text, box, 1.0, page.source, "ink")


def _inked(place: Box, ink: Mask) -> Box | None:
    """The box around the ink in a word's place; None where it is not filled from end to end."""
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    most = max(2.0, _END * place.h)
    if not len(columns) or columns[0] > most or place.w - 1 - columns[-1] > most:
        return None
    if len(columns) < _FILLED * place.w:
        return None
    left, top = int(columns[0]), int(rows[0])
    return Box(place.x + left, place.y + top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1)


def _common(a: Box, b: Box) -> Box:
    left, top = max(a.x, b.x), max(a.y, b.y)
    return Box(left, top, min(a.right, b.right) - left, min(a.bottom, b.bottom) - top)


def _is_inside(inner: Box, outer: Box) -> bool:
    return _common(inner, outer) == inner


# -- where a page stands ----------------------------------------------------------------------


def _origin(page: PageText, ink: Mask) -> tuple[int, int]:
    """The upper left corner of the page's visible part: somewhere in its window, where ink fits best."""
    window = page.window
    left, top = max(0, window.x - _SLACK), max(0, window.y - _SLACK)
    part = ink[top : window.y + window.h + _SLACK, left : window.x + window.w + _SLACK]
    sums = np.pad(part.cumsum(0, dtype=np.int32).cumsum(1, dtype=np.int32), ((1, 0), (1, 0)))
    boxes, weights = _pattern(page)
    rooms = part.shape[1] - page.width, part.shape[0] - page.height
    x, y = (np.arange(0, max(1, room + 1), _STEP) for room in rooms)
    grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    best = grid[np.argsort(-_fit(sums, boxes, weights, grid), kind="stable")[:_LIKELY]]
    near = np.arange(-_STEP, _STEP + 1)
    close = (best[:, None, None] + np.stack(np.meshgrid(near, near), -1)).reshape(-1, 2)
    fit = _fit(sums, boxes, weights, close)
    x, y = np.median(close[fit == fit.max()], 0)
    return left + int(x), top + int(y)


def _pattern(page: PageText) -> tuple[Numbers, Numbers]:
    """Boxes of the page and what a pixel of ink in them counts: the middle of words for, gaps against."""
    boxes, weights = [], []
    pairs = list(zip(page.words, (*page.words[1:], page.words[0]), strict=True))
    for word, after in Random(0).sample(
        pairs, min(_SAMPLE, len(pairs))
    ):  # any step might be that of the page
        top, bottom = word.y + round(_CORE[0] * word.h), word.y + round(_CORE[1] * word.h)
        right = word.x + word.w
        boxes.append((word.x, top, right, bottom))
        weights.append(1)
        if 1 < after.x - right < word.h and after.y < bottom and top < after.y + after.h:
            boxes.append((right, word.y, after.x, word.y + word.h))
            weights.append(_GAP)
    return np.array(boxes), np.array(weights)


def _fit(sums: npt.NDArray[np.int32], boxes: Numbers, weights: Numbers, origins: Numbers) -> Numbers:
    """How well the ink fits with the page at each of `origins`; `sums` of it as numpy makes them."""
    height, width = sums.shape
    left, top, right, bottom = boxes.T
    x, y = origins[:, :1], origins[:, 1:]
    left, right = np.clip(left + x, 0, width - 1), np.clip(right + x, 0, width - 1)
    top, bottom = np.clip(top + y, 0, height - 1), np.clip(bottom + y, 0, height - 1)
    held = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return np.asarray((held * weights).sum(1))
