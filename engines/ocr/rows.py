"""Rows of text in a picture, found by its ink alone: what stands beside a row never changes how it is cut."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

import numpy as np
import numpy.typing as npt

from engines.ocr.protocol import Box, around

Ink = npt.NDArray[np.bool_]

_RULE = 60  # pixels of a straight line; strokes of letters are shorter
_GAP = 20  # pixels; wider spaces separate cells, columns and windows
_LOWEST = 5  # pixels; letters are higher
_TALLER = 1.3  # than other rows: no two of them are one
_HIGHEST = 4  # usual rows: a heading; what is higher is a picture


def rules(ink: Ink, length: int = _RULE) -> Ink:
    """Pixels of straight lines of at least `length` pixels, across or down."""
    found = np.zeros_like(ink)
    for lines, result in ((ink, found), (ink.T, found.T)):
        numbers = _numbered_runs(lines)
        lengths = np.bincount(numbers[lines], minlength=numbers[-1, -1] + 1)
        result |= lines & (lengths >= length)[numbers]
    return found


def rules_across(ink: Ink, mask: Ink, length: int) -> Ink:
    """Those of the rules that go on outside of `mask`: what is left of a frame looks like a letter."""
    found = np.zeros_like(ink)
    for lines, inside, result in ((ink, mask, found), (ink.T, mask.T, found.T)):
        numbers = _numbered_runs(lines)
        lengths = np.bincount(numbers[lines], minlength=numbers[-1, -1] + 1)
        outside = np.bincount(numbers[lines & ~inside], minlength=len(lengths))
        result |= lines & ((lengths >= length) & (outside > 0))[numbers]
    return found


def _numbered_runs(lines: Ink) -> npt.NDArray[np.int_]:
    """The number of the run along a row in which a pixel of ink is."""
    starts = lines & ~np.pad(lines, ((0, 0), (1, 0)))[:, :-1]
    return starts.cumsum().reshape(lines.shape)


def rows_of(ink: Ink) -> list[Box]:
    """A box for each row of text, from the top; parts further apart than `_GAP` are rows of their own."""
    parts = sorted(_connected(ink), key=lambda box: (box.y, box.x))
    if not parts:
        return []
    usual = median(box.h for box in parts for _ in range(1 + box.w // 16))  # a long row counts more
    return [box for box in _stacked_parts_joined(parts, usual) if box.h >= _LOWEST]


def _stacked_parts_joined(parts: list[Box], usual: float) -> list[Box]:
    """The strokes of 三 are three parts one above the other, and a dot stands above its letter."""
    joined: list[Box] = []
    for part in parts:
        for number, row in enumerate(joined):
            if row.x < part.right and part.x < row.right and _are_one(row, part, usual):
                joined[number] = around([row, part])
                break
        else:
            joined.append(part)
    return joined if len(joined) == len(parts) else _stacked_parts_joined(joined, usual)


def _are_one(row: Box, part: Box, usual: float) -> bool:
    """Whether both together are no higher than a row, or the one is a piece of a larger letter."""
    high, low = max(row.h, part.h), min(row.h, part.h)
    together = max(row.bottom, part.bottom) - min(row.y, part.y)
    if together <= max(_TALLER * usual, high):
        return True
    return low * 3 < high <= _HIGHEST * usual and together <= _TALLER * high


def _connected(ink: Ink) -> Iterable[Box]:
    """Boxes of what hangs together when gaps of up to `_GAP` pixels in a row are closed."""
    ys, xs = np.nonzero(ink)
    if not len(ys):
        return []
    first = np.flatnonzero(np.r_[True, (np.diff(ys) != 0) | (np.diff(xs) > _GAP + 1)])
    row, left, right = ys[first], xs[first], xs[np.r_[first[1:], len(xs)] - 1] + 1
    roots = _roots(row, left.tolist(), right.tolist())
    names, part = np.unique(roots, return_inverse=True)
    far = np.full(len(names), max(ink.shape))
    low, high, top = far.copy(), np.zeros_like(far), far.copy()
    bottom = np.zeros_like(far)
    np.minimum.at(low, part, left)
    np.maximum.at(high, part, right)
    np.minimum.at(top, part, row)
    np.maximum.at(bottom, part, row + 1)
    boxes = np.stack((low, top, high - low, bottom - top), 1).tolist()
    return [Box(*box) for box in boxes]


def _roots(row: npt.NDArray[np.int_], left: list[int], right: list[int]) -> list[int]:
    """For each run, the first of those that it hangs together with over neighbouring rows of pixels."""
    parent = list(range(len(left)))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = run = parent[parent[run]]
        return run

    begins = np.searchsorted(row, np.arange(row[0], row[-1] + 2)).tolist()
    for above, below, end in zip(begins, begins[1:], begins[2:], strict=False):
        one, other = above, below
        while one < below and other < end:
            if left[one] < right[other] and left[other] < right[one]:
                a, b = root(one), root(other)
                parent[max(a, b)] = min(a, b)
            if right[one] < right[other]:
                one += 1
            else:
                other += 1
    return [root(run) for run in parent]
