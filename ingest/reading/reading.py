"""Reading a screen again costs only what changed on it.

From one look to the next most of a screen stays the same. The reader remembers the last screens of
each monitor with their words, takes the one nearest to the new picture, reads only the regions that
differ and keeps every word that did not change. Scrolled text is recognised by its rows and moves along
with its words. On a mixed desktop run this is many times cheaper than reading each frame whole, and
finds as much of the true text: the figures are in ``bench/reading.py``.

Several screens are remembered, not one: switching between two windows would otherwise read both
of them whole each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.lines import lines_of
from engines.ocr.protocol import Box, OcrEngine, OcrLine, OcrWord
from ingest.reading.changed_regions import (
    TILE_H,
    TILE_W,
    Pixels,
    area,
    centre_inside,
    changed_regions,
    changed_tiles,
    has_changed,
    same_place,
)
from ingest.reading.scroll import shift_lines, vertical_shift

_READ_WHOLE_ABOVE = 0.6  # of the screen's area
_SCROLL_ABOVE = 0.04  # of the tiles: less than a strip of lines is cheaper to read than to explain
_NEAR_ENOUGH = 0.02  # of the tiles: no need to look for a nearer screen
_MARGIN_X, _MARGIN_Y = 48, 8  # pixels around a region: enough of its background, little of other lines
_MEMORY_BYTES = 96_000_000  # of remembered pixels: eleven 1080p screens, two 4K ones


@dataclass(frozen=True, slots=True)
class _Screen:
    monitor: str
    pixels: Pixels
    lines: tuple[OcrLine, ...]


class IncrementalReader:
    """One per worker. Not for several threads: the engine is not either."""

    def __init__(self, engine: OcrEngine, memory_bytes: int = _MEMORY_BYTES) -> None:
        self._engine = engine
        self._memory_bytes = memory_bytes
        self._screens: list[_Screen] = []  # the most recent last

    def read(self, monitor: str, image: Image.Image) -> list[OcrLine]:
        """Lines of `image`. Raises what the engine raises; then nothing is remembered of it."""
        pixels = _pixels(image)
        known = self._nearest(monitor, pixels)
        lines = None if known is None else self._read_changes(known[0], known[1], pixels, image)
        if lines is None:
            lines = self._engine.read(image)
        self._remember(_Screen(monitor, pixels, tuple(lines)))
        return lines

    def _nearest(self, monitor: str, pixels: Pixels) -> tuple[_Screen, npt.NDArray[np.bool_]] | None:
        """The last screen with its changed tiles, or an older one that is much nearer.

        A little nearer is not enough: after a scroll all screens differ about as much, and only
        from the last one is the way short.
        """
        best: tuple[_Screen, npt.NDArray[np.bool_]] | None = None
        for screen in reversed(self._screens):
            if screen.monitor != monitor or screen.pixels.shape != pixels.shape:
                continue
            tiles = changed_tiles(screen.pixels, pixels)
            if best is None or tiles.sum() < best[1].sum() / 2:
                best = (screen, tiles)
            if best[1].mean() <= _NEAR_ENOUGH:
                break
        return best

    def _read_changes(
        self, screen: _Screen, tiles: npt.NDArray[np.bool_], pixels: Pixels, image: Image.Image
    ) -> list[OcrLine] | None:
        """The new lines, or None where reading the whole picture is cheaper."""
        if not tiles.any():
            return list(screen.lines)
        words = [word for line in screen.lines for word in line.words]
        if tiles.mean() > _SCROLL_ABOVE:
            tiles, words = _follow_scroll(screen.pixels, tiles, words, pixels)
        stale = [word.box for word in words if has_changed(word.box, tiles)]
        regions = changed_regions(tiles, stale, image.size)
        if area(regions) > _READ_WHOLE_ABOVE * image.width * image.height:
            return None
        words = [word for word in words if not has_changed(word.box, tiles)]
        for region in regions:
            found = self._words_in(region, image)
            words += [new for new in found if not any(same_place(new.box, old.box) for old in words)]
        return lines_of(words)

    def _words_in(self, region: Box, image: Image.Image) -> list[OcrWord]:
        left, top = max(0, region.x - _MARGIN_X), max(0, region.y - _MARGIN_Y)
        right = min(image.width, region.right + _MARGIN_X)
        bottom = min(image.height, region.bottom + _MARGIN_Y)
        lines = self._engine.read(image.crop((left, top, right, bottom)))
        words = (_moved(word, left, top) for line in lines for word in line.words)
        return [word for word in words if centre_inside(word.box, region)]

    def _remember(self, screen: _Screen) -> None:
        """The same pixels once, the oldest screens forgotten; the last one always stays."""
        self._screens = [
            other
            for other in self._screens
            if other.monitor != screen.monitor
            or other.pixels.shape != screen.pixels.shape
            or not np.array_equal(other.pixels, screen.pixels)
        ]
        self._screens.append(screen)
        while len(self._screens) > 1 and sum(s.pixels.nbytes for s in self._screens) > self._memory_bytes:
            self._screens.pop(0)


def _pixels(image: Image.Image) -> Pixels:
    rgbx = np.asarray(image.convert("RGB").convert("RGBX"))
    return np.ascontiguousarray(rgbx).view(np.uint32)[:, :, 0]


def _follow_scroll(
    before: Pixels, tiles: npt.NDArray[np.bool_], words: Sequence[OcrWord], after: Pixels
) -> tuple[npt.NDArray[np.bool_], list[OcrWord]]:
    """Changed tiles and words as they are once the scrolled part has moved."""
    box = _changed_box(tiles, after.shape)
    shift = vertical_shift(before, after, box)
    if shift == 0:
        return tiles, list(words)
    still = changed_tiles(shift_lines(before, box, shift), after)
    if still.sum() >= tiles.sum():
        return tiles, list(words)
    moved = [_moved(word, 0, shift) for word in words if centre_inside(word.box, box)]
    inside = [word for word in moved if box.y <= word.box.y and word.box.bottom <= box.bottom]
    return still, [word for word in words if not centre_inside(word.box, box)] + inside


def _changed_box(tiles: npt.NDArray[np.bool_], shape: tuple[int, ...]) -> Box:
    rows, columns = np.flatnonzero(tiles.any(1)), np.flatnonzero(tiles.any(0))
    left, top = int(columns[0]) * TILE_W, int(rows[0]) * TILE_H
    right = min(shape[1], (int(columns[-1]) + 1) * TILE_W)
    bottom = min(shape[0], (int(rows[-1]) + 1) * TILE_H)
    return Box(left, top, right - left, bottom - top)


def _moved(word: OcrWord, dx: int, dy: int) -> OcrWord:
    box = word.box
    return OcrWord(word.text, Box(box.x + dx, box.y + dy, box.w, box.h), word.confidence)
