"""A screen becomes ink on paper: dark text on white, whatever the theme.

Tesseract was taught on scanned pages. On screens it stumbles over dark themes, coloured code, grey
hints and panels of different shades. Local normalisation lifts its word recall on them from .85 to
.98: the background is what the best of a few coarse medians says, ink is the difference from it, and the
difference is stretched to the strongest ink nearby. Global thresholds (Otsu, Sauvola) made it worse.

The constants are in pixels of the screen and were chosen on rendered frames, see ``bench/reading.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

_BACKGROUND_CELL = 8  # the background is sampled once per cell
_BACKGROUND_MEDIAN = 7  # cells: a majority of 56 x 56 pixels decides
_BACKGROUND_SHIFT = 4  # cells: the eight neighbours whose background is tried as well
_BACKGROUND_STEP = 2  # pixels between the points at which they are compared
_BACKGROUND_REACH = 6  # steps: what fits best within 12 pixels wins
_CONTRAST_CELL = 4
_CONTRAST_REACH = 5  # cells: ink is compared with the strongest within 10 pixels
_CONTRAST_BLUR = 2
_WEAKEST_INK = 64  # weaker differences are not stretched to full black: noise stays grey

Grey = npt.NDArray[np.uint8]


def normalise(image: Image.Image) -> Image.Image:
    """The picture as dark ink on white, mode ``L``, of the same size."""
    ink = ink_of(np.asarray(image.convert("L")))
    return Image.fromarray(255 - ink)


def ink_of(grey: Grey) -> Grey:
    """Strength of ink per pixel, uint8[h, w]: 0 is background, 255 the strongest ink nearby."""
    background = _background(grey)
    difference = _distance(grey, background)
    strongest = np.maximum(_strongest_nearby(difference), _WEAKEST_INK)
    stretched = difference.astype(np.uint16) * 255 // strongest
    return np.minimum(stretched, 255).astype(np.uint8)


def _background(grey: Grey) -> Grey:
    """Of nine medians around a pixel, the one that leaves the least ink near it.

    One median would be wrong at the edges of buttons, bubbles and windows, where most of what it
    sees belongs to the other side (the idea of Kuwahara's filter, 1976).
    """
    medians = _cell_medians(grey)
    points = np.ascontiguousarray(grey[::_BACKGROUND_STEP, ::_BACKGROUND_STEP])
    rows = np.arange(points.shape[0]) * _BACKGROUND_STEP // _BACKGROUND_CELL
    columns = np.arange(points.shape[1]) * _BACKGROUND_STEP // _BACKGROUND_CELL
    chosen, least = np.zeros_like(points), np.full_like(points, 255)
    shifts = (0, -_BACKGROUND_SHIFT, _BACKGROUND_SHIFT)
    for down in shifts:
        for right in shifts:
            candidate = medians[_within(rows + down, medians.shape[0])]
            candidate = candidate[:, _within(columns + right, medians.shape[1])]
            left_over = Image.fromarray(_distance(points, candidate))
            nearby = np.asarray(left_over.filter(ImageFilter.BoxBlur(_BACKGROUND_REACH)))
            better = nearby < least
            np.copyto(chosen, candidate, where=better)
            np.copyto(least, nearby, where=better)
    wide = chosen.repeat(_BACKGROUND_STEP, 0).repeat(_BACKGROUND_STEP, 1)
    return wide[: grey.shape[0], : grey.shape[1]]


def _cell_medians(grey: Grey) -> Grey:
    first = [min(_BACKGROUND_CELL // 2, side - 1) for side in grey.shape]
    samples = np.ascontiguousarray(grey[first[0] :: _BACKGROUND_CELL, first[1] :: _BACKGROUND_CELL])
    return np.asarray(Image.fromarray(samples).filter(ImageFilter.MedianFilter(_BACKGROUND_MEDIAN)))


def _within(index: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    return np.clip(index, 0, length - 1)


def _distance(a: Grey, b: Grey) -> Grey:
    return np.maximum(a, b) - np.minimum(a, b)


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
    return _resized(smooth, padded.shape)[:height, :width]


def _resized(image: Image.Image, shape: tuple[int, ...]) -> Grey:
    return np.asarray(image.resize((shape[1], shape[0]), Image.Resampling.BILINEAR))
