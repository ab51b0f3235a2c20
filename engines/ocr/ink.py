"""Ink on white, whatever the colours: what Tesseract reads well.

It was taught on scanned pages and stumbles over dark themes, coloured code and grey hints. Local
normalisation lifts its word recall on them from .85 to .98: the background is what the best of a few
coarse medians says, ink is the difference from it, stretched to the strongest ink nearby. Global
thresholds (Otsu, Sauvola) made it worse. The constants are chosen on rendered frames (``bench/reading.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

_CELL = 8  # the background is sampled once per cell
_MEDIAN = 7  # cells: a majority of 56 x 56 pixels decides
_SHIFT = 4  # cells: the eight neighbours whose background is tried as well
_STEP = 2  # pixels between the points at which they are compared
_REACH = 6  # steps: what fits best within 12 pixels wins
_HANDICAP = 1.3  # how much better a guess must be than the flat colour on both sides
_FLAT_CELLS = 6  # cells: 48 equal pixels in a row are background; no letter has such a stroke
_CONTRAST_CELL = 4
_CONTRAST_REACH = 5  # cells: ink is compared with the strongest within 10 pixels
_CONTRAST_BLUR = 2
_WEAKEST_INK = 64  # weaker differences are not stretched to full black: noise stays grey

Grey = npt.NDArray[np.uint8]
Guess = npt.NDArray[np.int16]  # a background, -1 where unknown


def ink_of(grey: Grey, longest: int = _FLAT_CELLS * _CELL) -> Grey:
    """Strength of ink per pixel, uint8[h, w]: 0 is background, 255 the strongest ink nearby. No stroke is
    `longest` pixels long across.
    """
    background = _background(grey, longest)
    difference = np.maximum(grey, background) - np.minimum(grey, background)
    strongest = np.maximum(_strongest_nearby(difference), _WEAKEST_INK)
    stretched = difference.astype(np.uint16) * 255 // strongest
    return np.minimum(stretched, 255).astype(np.uint8)


def _background(grey: Grey, longest: int) -> Grey:
    """Of eleven guesses about a pixel's background, the one that leaves the least ink around it.

    The first is the flat colour to its left and right in the same row of pixels: exact on striped
    tables, panels and bars. The second is the flat colour above and below it, as of a label hardly higher
    than its text. The others are the medians here and to the eight sides: one
    median alone would be wrong at the edges of buttons, bubbles and windows, where most of what it
    sees belongs to the other side (the idea of Kuwahara's filter, 1976).
    """
    around = _flat_above_and_below(grey, longest)
    if around[0, 0] >= 0 and (around == around[0, 0]).all():
        return np.full_like(grey, around[0, 0])  # one colour goes all around it: most rows are so
    points = grey[::_STEP, ::_STEP]
    flats = _flat_colour(grey), around
    chosen, by_flat = np.zeros_like(points), np.full(points.shape, len(flats), np.uint8)
    least = np.full_like(points, 255)
    tried = set()
    for number, guess in enumerate(_guesses(grey, flats)):
        if (colours := guess.tobytes()) in tried:
            continue  # on plain paper all are alike
        tried.add(colours)
        left_over = np.where(guess < 0, 255, np.abs(guess - points)).astype(np.uint8)
        nearby = np.asarray(Image.fromarray(left_over).filter(ImageFilter.BoxBlur(_REACH)))
        if number >= len(flats):  # within a dense letter, ink may explain more than paper does
            nearby = np.minimum(nearby * _HANDICAP, 255).astype(np.uint8)
        better = nearby < least
        np.copyto(least, nearby, where=better)
        np.copyto(chosen, guess, where=better, casting="unsafe")
        by_flat[better] = min(number, len(flats))
    # A flat colour is known for each single pixel, so stripes keep sharp edges.
    background, by_flat = _spread(chosen, grey.shape), _spread(by_flat, grey.shape)
    for number, flat in enumerate(flats):
        background = np.where((by_flat == number) & (flat >= 0), flat, background)
    return background.astype(np.uint8)


def _guesses(grey: Grey, flats: Iterable[Guess]) -> Iterator[Guess]:
    """At every `_STEP`-th pixel; -1 where there is nothing to say."""
    for flat in flats:
        yield flat[::_STEP, ::_STEP]
    medians = _cell_medians(grey).astype(np.int16)
    rows = np.arange(0, grey.shape[0], _STEP) // _CELL
    columns = np.arange(0, grey.shape[1], _STEP) // _CELL
    for down in (0, -_SHIFT, _SHIFT):
        for right in (0, -_SHIFT, _SHIFT):
            guess = medians[np.clip(rows + down, 0, medians.shape[0] - 1)]
            yield guess[:, np.clip(columns + right, 0, medians.shape[1] - 1)]


def _flat_colour(grey: Grey) -> Guess:
    """Per pixel the flat colour on both sides in its row, -1 where they differ or there is none."""
    height, width = grey.shape
    count = width // _CELL
    if count < _FLAT_CELLS:
        return np.full(grey.shape, -1, np.int16)
    cells = grey[:, : count * _CELL].reshape(height, count, _CELL)
    low = cells.min(2)
    even = low == cells.max(2)
    same = even[:, 1:] & even[:, :-1] & (low[:, 1:] == low[:, :-1])
    runs = np.lib.stride_tricks.sliding_window_view(same, _FLAT_CELLS - 1, axis=1).all(2)
    is_flat = np.zeros((height, count), np.bool_)
    for offset in range(_FLAT_CELLS):
        is_flat[:, offset : offset + runs.shape[1]] |= runs
    # One more cell that says -1 stands at the end: where the searches begin.
    index, row = np.arange(count), np.arange(height)[:, None]
    colours = np.append(low.astype(np.int16), np.full((height, 1), -1, np.int16), axis=1)
    before = np.maximum.accumulate(np.where(is_flat, index, -1), axis=1)
    after = np.minimum.accumulate(np.where(is_flat, index, count)[:, ::-1], axis=1)[:, ::-1]
    columns = np.minimum(np.arange(width) // _CELL, count - 1)
    left, right = colours[row, before][:, columns], colours[row, after][:, columns]
    return np.where(left == right, left, -1).astype(np.int16)


def _flat_above_and_below(grey: Grey, longest: int) -> Guess:
    """Per pixel the flat colour next to it above and below, -1 where they differ or there is none. Flat are
    `longest` equal pixels side by side.
    """
    height, width = grey.shape
    if width < longest:
        return np.full(grey.shape, -1, np.int16)
    equal = np.zeros((height, width), np.int32)
    np.cumsum(grey[:, 1:] == grey[:, :-1], axis=1, out=equal[:, 1:])
    begins = np.zeros((height, width + 1), np.int32)
    np.cumsum(equal[:, longest - 1 :] - equal[:, : width - longest + 1] == longest - 1, axis=1,
              out=begins[:, 1 : width - longest + 2])  # fmt: skip
    begins[:, width - longest + 2 :] = begins[:, width - longest + 1, None]
    before = np.maximum(np.arange(width) - longest + 1, 0)
    is_flat = begins[:, 1:] > begins[:, before]
    # One more row that says -1 stands at the end: where the searches begin.
    rows, columns = np.arange(height)[:, None], np.arange(width)
    colours = np.append(grey.astype(np.int16), np.full((1, width), -1, np.int16), axis=0)
    above = np.maximum.accumulate(np.where(is_flat, rows, -1), axis=0)
    below = np.minimum.accumulate(np.where(is_flat, rows, height)[::-1], axis=0)[::-1]
    upper, lower = colours[above, columns], colours[below, columns]
    return np.where(upper == lower, upper, -1).astype(np.int16)


def _spread(points: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return points.repeat(_STEP, 0).repeat(_STEP, 1)[: shape[0], : shape[1]]


def _cell_medians(grey: Grey) -> Grey:
    first = [min(_CELL // 2, side - 1) for side in grey.shape]
    samples = np.ascontiguousarray(grey[first[0] :: _CELL, first[1] :: _CELL])
    return np.asarray(Image.fromarray(samples).filter(ImageFilter.MedianFilter(_MEDIAN)))


def _strongest_nearby(difference: Grey) -> Grey:
    height, width = difference.shape
    rows, columns = -(-height // _CONTRAST_CELL), -(-width // _CONTRAST_CELL)
    padded = np.zeros((rows * _CONTRAST_CELL, columns * _CONTRAST_CELL), np.uint8)
    padded[:height, :width] = difference
    peaks = padded.reshape(rows, _CONTRAST_CELL, columns, _CONTRAST_CELL).max((1, 3))
    smooth = (
        Image.fromarray(peaks)
        .filter(ImageFilter.MaxFilter(_CONTRAST_REACH))
        .filter(ImageFilter.BoxBlur(_CONTRAST_BLUR))
    )
    size = (padded.shape[1], padded.shape[0])
    return np.asarray(smooth.resize(size, Image.Resampling.BILINEAR))[:height, :width]
