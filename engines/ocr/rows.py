"""Rows of text in a picture, cut by its pixels alone: what stands elsewhere never changes how a row is cut.

Ink is where the brightness changes from left to right: the sides of strokes, whatever the colours; a line
across leaves but its two ends. Upright edges longer than strokes are walls: of windows, panels and fields.
Ink that hangs together on a grid of tiles is a block, which is cut by itself. Its rows are about equally
high: so strokes that touch are told apart, and those of one character, or of a letter and its dot, are not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from statistics import median

import numpy as np
import numpy.typing as npt

from engines.ocr.pictures import ALIKE, LEAST_PADDING, LOWEST, OVER, PADDING, Ink, inked, pictures
from engines.ocr.protocol import Box, around

Grey = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int_]

TILE_H, TILE_W = 8, 32  # pixels; flat tiles, because text runs along rows
PICTURE = 96  # pixels: what is higher is no row, and text may stand anywhere in it
_EDGE = 20  # of 255, between neighbouring pixels: the side of a stroke
_SOFT_EDGE = 4  # of a wall: less is a shade
_WALL = 60  # pixels; strokes of letters are shorter
_BORDER = 28  # pixels of an upright edge that is no stroke if nothing says so
_THIN, _STEM = 2, 14  # pixels: lines are no wider than the one, strokes of letters no wider than the other
_OTHER_SIDE = 0.25  # of the one side's pixels: soft shadows beside letters leave more
_STEM_WIDTH = 0.3  # of its height: bold ones are narrower, and what is written on a button keeps away more
_PARALLEL = 0.9  # of an edge, beside which the other edge of a line runs
_STEM_ROWS = 0.3  # of its rows show both sides: of a bold E a third
_GAP = 20  # pixels of blank that a row goes over
_CORNER = 32  # pixels from its ink to its sides, which may be walls
_RIM = 0.25  # of its height: wider ones may be an icon or a letter
_WORD_GAP = 0.25  # row heights; spaces between words are wider
_CELL_GAP = 1.5  # row heights; wider spaces separate cells, columns and windows
_NARROWEST = 3  # pixels; letters are wider
_LINE, _WITHIN_LINES = 0.75, (0.35, 0.7)  # heights of a row of cells: of its lines at least, and of its text
_TALLER = 1.3  # than other rows: no two of them are one
_HIGHEST = 4  # usual rows: a heading; what is higher is a picture
_REACH = _CELL_GAP * ALIKE  # of its heights: what is farther is never of the same row
_WIDE = 120  # pixels; enough letters to tell rows by their amount of ink
_FULL = 0.45  # of a row's usual ink: between its letters' upper and lower ends
_VALLEY = 0.35  # of it: between two rows
_NEAREST, _STRIKE = 10, 3  # pixels between two rows, and of a line: nearer ones are of one it strikes through
_TWO_ROWS, _SHORTEST = 1.4, 0.55  # distances of rows: how high two together are, and how low one is


def strokes(grey: Grey) -> tuple[Ink, Ink]:
    """Ink and walls of a picture."""
    right, left = grey[:, 1:], grey[:, :-1]
    darker, lighter, soft = (np.zeros(grey.shape, np.bool_) for _ in range(3))
    lower = np.minimum(left, right)
    np.greater_equal(left - lower, _EDGE, out=darker[:, 1:])
    np.greater_equal(right - lower, _EDGE, out=lighter[:, 1:])
    np.greater_equal(np.maximum(left, right) - lower, _SOFT_EDGE, out=soft[:, 1:])
    walls = upright(soft, _WALL)
    lines = walls.copy()
    stems = np.zeros_like(walls)
    for side, other in ((darker, lighter), (lighter, darker)):
        for column, top, bottom in _runs(upright(side, _BORDER)):
            is_line = _is_line(lines, column, top, bottom)
            of = stems if not is_line and _is_stem(other, column, top, bottom) else walls
            of[top:bottom, column] = True
    walls &= ~stems
    # A soft edge is two pixels wide: the other one is in pieces where letters end at a window.
    for side in (darker, lighter):
        edge = side & lines & walls
        side[:, 1:] &= ~edge[:, :-1]
        side[:, :-1] &= ~edge[:, 1:]
    return (darker | lighter) & ~walls, walls


def has_strokes(grey: Grey, shown: Ink | None) -> bool:
    """Whether edges have two sides, as strokes have: the corner of a filled button has but one."""
    signed = grey.astype(np.int16)
    rises = signed[:, 1:] - signed[:, :-1]
    if shown is not None:
        rises[~shown[:, 1:]] = 0
    up, down = int(np.count_nonzero(rises >= _EDGE)), int(np.count_nonzero(rises <= -_EDGE))
    # The other side of a faint stroke may be softer.
    other = np.count_nonzero(rises <= -_EDGE // 2) if up > down else np.count_nonzero(rises >= _EDGE // 2)
    return bool(other >= _OTHER_SIDE * max(up, down))


def _runs(mask: Ink) -> Iterator[tuple[int, int, int]]:
    """The column, first and last row but one of each run of pixels one above the other."""
    columns = np.flatnonzero(mask.any(0))
    column, ends = np.nonzero(np.diff(np.pad(mask[:, columns].T, ((0, 0), (1, 1))).astype(np.int8)))
    yield from zip(columns[column[::2]].tolist(), ends[::2].tolist(), ends[1::2].tolist(), strict=True)


def _is_line(walls: Ink, column: int, top: int, bottom: int) -> bool:
    """Whether an upright edge is one side of a line, longer and thinner than the strokes of letters."""
    beside = [
        column + by for by in (-_THIN - 1, -_THIN, _THIN, _THIN + 1) if 0 <= column + by < walls.shape[1]
    ]
    return bool(walls[top:bottom, beside].mean(0).max() >= _PARALLEL)


def _is_stem(other: Ink, column: int, top: int, bottom: int) -> bool:
    """Whether an upright edge is of a letter: its other side is near, where no bowl or bar leaves it."""
    height = bottom - top
    if height > PICTURE:
        return False
    widest = min(_STEM, round(_STEM_WIDTH * height)) + 1
    after = other[top:bottom, column + 1 : column + widest]
    before = other[top:bottom, max(0, column - widest + 1) : column][:, ::-1]
    is_thin = after[:, :_THIN].any(1) | before[:, :_THIN].any(1)
    for side in (after, before):
        # The side of a smooth stroke of three pixels is two pixels wide: it is seen at the second, too.
        is_stroke: Ink = np.logical_or(side[:, _THIN : _THIN + 1].any(1), ~is_thin)
        # Its other side is upright, too: what stands beside the border of a card begins here and there.
        other_side = (side[:, _THIN:] | np.pad(side[:, _THIN + 1 :], ((0, 0), (0, 1)))) & is_stroke[:, None]
        if other_side.size and other_side.mean(0).max() >= _STEM_ROWS:
            return True
    return False


def upright(mask: Ink, length: int) -> Ink:
    """Pixels of runs of at least `length` pixels one above the other."""
    found = np.zeros_like(mask)
    # Such a run fills some pieces of 8 pixels: only few columns have those.
    full = np.bitwise_and.reduce(mask[: len(mask) // 8 * 8].reshape(len(mask) // 8, 8, mask.shape[1]), 1)
    needed = (length - 7) // 8
    together = [full[n : len(full) - needed + n + 1] for n in range(needed)]
    columns = np.flatnonzero(np.logical_and.reduce(together).any(0)) if len(full) >= needed else ()
    if len(mask) < length or not len(columns):
        return found
    begins, known = mask[:, columns], 1
    while known < length:
        step = min(known, length - known)
        begins, known = begins[:-step] & begins[step:], known + step
    runs, known = np.pad(begins, ((0, length - 1), (0, 0))), 1
    while known < length:
        step = min(known, length - known)
        runs[step:] |= runs[:-step].copy()
        known += step
    found[:, columns] = runs
    return found


@dataclass(frozen=True, slots=True)
class Block:
    """Tiles of ink that hang together, and those around them: all that its rows are cut and read from."""

    box: Box
    tiles: Ink
    ink: Ink
    """Of the picture's part at `box`, without that of other blocks."""

    @property
    def shown(self) -> Ink:
        return self.tiles.repeat(TILE_H, 0).repeat(TILE_W, 1)[: self.box.h, : self.box.w]


def blocks_of(ink: Ink) -> Iterator[Block]:
    """From the top."""
    tiles = tiles_of(ink)
    parts = _Parts(tiles, 0)
    labels = np.full(tiles.shape, -1)
    for run, row in enumerate(parts.row):
        labels[row, parts.left[run] : parts.right[run]] = parts.part[run]
    height, width = ink.shape
    for number, part in enumerate(parts.boxes()):
        top, left = max(0, part.y - 1), max(0, part.x - 1)
        own = labels[top : part.bottom + 1, left : part.right + 1] == number
        x, y = left * TILE_W, top * TILE_H
        box = Box(x, y, min(width - x, own.shape[1] * TILE_W), min(height - y, own.shape[0] * TILE_H))
        inside = own.repeat(TILE_H, 0).repeat(TILE_W, 1)[: box.h, : box.w]
        yield Block(box, with_neighbours(own), ink[y : y + box.h, x : x + box.w] & inside)


def tiles_of(different: Ink) -> Ink:
    """Tiles with any pixel that is set, bool[ceil(h / 8), ceil(w / 32)]."""
    height, width = different.shape
    rows, columns = -(-height // TILE_H), -(-width // TILE_W)
    if height % TILE_H or width % TILE_W:
        different = np.pad(different, ((0, -height % TILE_H), (0, -width % TILE_W)))
    different = np.ascontiguousarray(different)
    eights = np.bitwise_or.reduce(different.view(np.uint64).reshape(rows, TILE_H, -1), 1)
    return np.asarray(eights.reshape(rows, columns, TILE_W // 8).any(2))


def with_neighbours(tiles: Ink) -> Ink:
    padded = np.zeros((tiles.shape[0] + 2, tiles.shape[1] + 2), np.bool_)  # np.pad takes ten times as long
    padded[1:-1, 1:-1] = tiles
    across = padded[:, :-2] | padded[:, 1:-1] | padded[:, 2:]
    return np.asarray(across[:-2] | across[1:-1] | across[2:])


def rows_of(block: Block, walls: Ink, known: dict[bytes, list[Box]]) -> list[Box]:
    """A box in the picture for each row of text, from the top. What bands were cut into is `known` then."""
    box = block.box
    walls = walls[box.y : box.bottom, box.x : box.right]
    return [row.moved(box.x, box.y) for row in _rows(block.ink, walls, known)]


def _rows(ink: Ink, walls: Ink, known: dict[bytes, list[Box]]) -> list[Box]:
    # The sides of a picture keep it together, those of windows would keep all of them together.
    long, columns = PICTURE + 1, np.flatnonzero(walls.any(0))
    sides = walls.copy()
    beyond = np.pad(walls[:, columns], ((long, long), (0, 0)), constant_values=True)  # there it goes on
    sides[:, columns] &= ~upright(beyond, long)[long:-long]
    parts = [piece for band in _bands(ink, ink | sides) for piece in _pieces(ink, walls, sides, band, known)]
    if not parts:
        return []
    usual = median(box.h for box in parts for _ in range(1 + box.w // 16))  # a long row counts more
    rows = _joined_beside(_joined_stacked(sorted(parts, key=_from_the_top), usual), ink, walls)
    return [row for row in rows if row.h >= LOWEST and row.w >= _NARROWEST]


def _bands(ink: Ink, solid: Ink) -> Iterator[Box]:
    """Where ink is, from one row of pixels without any in `solid` to the next: nothing hangs together over
    those.
    """
    edges = np.flatnonzero(np.diff(np.pad(solid.any(1), 1).astype(np.int8))).tolist()
    for top, bottom in zip(edges[::2], edges[1::2], strict=True):
        columns = np.flatnonzero(ink[top:bottom].any(0))
        if len(columns):
            left = int(columns[0])
            yield Box(left, top, int(columns[-1]) + 1 - left, bottom - top)


def _pieces(ink: Ink, walls: Ink, sides: Ink, band: Box, known: dict[bytes, list[Box]]) -> Iterator[Box]:
    """What a band's ink alone tells: parts of rows. Bands that stay or move as they are keep theirs."""
    left, right = max(0, band.x - _CORNER), min(ink.shape[1], band.right + _CORNER)
    band = Box(left, band.y, right - left, band.h)
    part = slice(band.y, band.bottom), slice(band.x, band.right)
    digest = blake2b(repr((band.w, band.h)).encode(), digest_size=20)
    for mask in (ink[part], walls[part], sides[part]):
        digest.update(np.packbits(mask).tobytes())
    key = digest.digest()
    if key not in known:
        inside = ink[part].copy()
        alone: list[Box] = []
        for picture, is_icon in pictures(inside | sides[part]):
            own = inside[:, picture.x : picture.right]
            if not is_icon and own.any():
                whole = Box(0, 0, band.w, band.h)
                alone += _cells(inside, inked(inside, whole, picture.x, picture.right))
            own[:] = False
        rows = (
            row
            for box in _Parts(inside, _GAP, walls[part]).boxes()
            for cell in _cells(inside, box)
            for piece in _without_rims(inside, cell)
            for row in _told_apart(inside, piece)
        )
        known[key] = [*alone, *rows]
    return (piece.moved(band.x, band.y) for piece in known[key])


def _from_the_top(box: Box) -> tuple[int, int]:
    return box.y, box.x


def _cells(ink: Ink, part: Box) -> Iterator[Box]:
    """What stands between the upright lines of a table that are lower than walls. They are higher than all
    text between them, above and below, and no letter is so beside all others: what stands in the middle of
    the stems of "I - H" is lower than text.
    """
    own = ink[part.y : part.bottom, part.x : part.right]
    is_line = own.mean(0) >= _LINE
    rows = np.flatnonzero(own[:, ~is_line].any(1)).tolist() or [0]
    least, most = _WITHIN_LINES
    is_inside = min(rows[0], part.h - 1 - rows[-1]) >= OVER
    if not is_inside or not least <= (rows[-1] + 1 - rows[0]) / part.h <= most:
        yield part
        return
    edges = np.flatnonzero(np.diff(np.pad(~is_line, 1).astype(np.int8))).tolist()
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        columns = np.flatnonzero(own[:, left:right].any(0)).tolist()
        if columns:
            yield inked(ink, part, part.x + left + columns[0], part.x + left + columns[-1] + 1)


def _without_rims(ink: Ink, part: Box) -> list[Box]:
    """Text without the sides of its button, and apart from an icon: both stick out above and below it."""
    part = _inside_bubble(ink, part)
    columns = part.x + np.flatnonzero(ink[part.y : part.bottom, part.x : part.right].any(0))
    blanks = np.flatnonzero(np.diff(columns) > LEAST_PADDING)
    for before, after in zip((columns[blanks] + 1).tolist(), columns[blanks + 1].tolist(), strict=True):
        if min(before - part.x, part.right - after) > part.h:
            continue
        pieces = inked(ink, part, part.x, before), inked(ink, part, after, part.right)
        rest, end = sorted(pieces, key=lambda piece: piece.h)
        if _sticks_out(end, rest) and after - before >= PADDING * end.h:
            return [*([end] if end.w >= _RIM * end.h else []), *_without_rims(ink, rest)]
    return [part]


def _inside_bubble(ink: Ink, part: Box) -> Box:
    """Text without the round ends of what it stands on, which reach over its first and last letters: the rows
    of pixels that have ink away from both ends, and the columns between what stands there in the middle.
    """
    end = part.h // 2
    rows = part.y + np.flatnonzero(ink[part.y : part.bottom, part.x + end : part.right - end].any(1))
    if part.w <= 2 * part.h or not len(rows):
        return part
    text = Box(part.x, int(rows[0]), part.w, int(rows[-1]) + 1 - int(rows[0]))
    above, below = text.y - part.y, part.bottom - text.bottom
    # Its text stands in the middle of it; what stands above a label at its left is a row of its own.
    if min(above, below) < OVER or abs(above - below) > OVER + text.h // 4 or text.h < LOWEST:
        return part
    columns = part.x + np.flatnonzero(ink[text.y : text.bottom, part.x : part.right].any(0))
    blanks = np.flatnonzero(np.diff(columns) > LEAST_PADDING)
    x, to = part.x, part.right
    for n in (blanks[0], blanks[-1]) if len(blanks) else ():
        # A side is as thin as a line there.
        if columns[n] - part.x <= _THIN and part.x == x:
            x = int(columns[n + 1])
        elif part.right - columns[n + 1] <= _THIN + 1:
            to = int(columns[n]) + 1
    return Box(x, text.y, to - x, text.h) if (x, to) != (part.x, part.right) else part


def _sticks_out(end: Box, rest: Box) -> bool:
    above, below = rest.y - end.y, end.bottom - rest.bottom
    return min(above, below) >= OVER and rest.h >= LOWEST and end.w <= end.h


def _told_apart(ink: Ink, part: Box) -> list[Box]:
    """Rows whose letters touch, cut where there is least ink."""
    if part.w < max(_WIDE, part.h / 4):
        return [part]
    amounts = ink[part.y : part.bottom, part.x : part.right].sum(1)
    full = np.diff(np.pad(amounts > _FULL * amounts[amounts > 0].mean(), 1).astype(np.int8))
    tops, bottoms = np.flatnonzero(full > 0), np.flatnonzero(full < 0)
    tops = tops[bottoms - tops >= 3]
    if len(tops) < 2:
        return [part]
    distance = float(np.median(np.diff(tops)))
    if distance < _NEAREST:
        return [part]
    return [
        Box(part.x, part.y + top, part.w, bottom - top)
        for top, bottom in _cut_at_valleys(amounts, 0, part.h, distance)
    ]


def _cut_at_valleys(amounts: Numbers, top: int, bottom: int, distance: float) -> list[tuple[int, int]]:
    least = max(LOWEST, round(_SHORTEST * distance))
    if bottom - top < max(2 * least + 1, _TWO_ROWS * distance):
        return [(top, bottom)]
    at = top + least + int(amounts[top + least : bottom - least].argmin())
    if amounts[at] > _VALLEY * np.median(amounts[top:bottom]):
        return [(top, bottom)]
    return [row for ends in ((top, at), (at, bottom)) for row in _cut_at_valleys(amounts, *ends, distance)]


def _joined_stacked(parts: list[Box], usual: float) -> list[Box]:
    """The strokes of 三 are three parts one above the other, and a dot stands above its letter."""
    done: list[Box] = []
    near: list[Box] = []
    for part in parts:
        if far := [row for row in near if part.y - row.y - row.h > _TALLER * usual]:
            done += far
            near = [row for row in near if part.y - row.bottom <= _TALLER * usual]
        for number, row in enumerate(near):
            if row.x < part.x + part.w and part.x < row.x + row.w and _are_one(row, part, usual):
                near[number] = around([row, part])
                break
        else:
            near.append(part)
    done += near
    return done if len(done) == len(parts) else _joined_stacked(sorted(done, key=_from_the_top), usual)


def _are_one(row: Box, part: Box, usual: float) -> bool:
    """Whether both together are no higher than a row, or the one is a piece of a larger letter."""
    high, low = max(row.h, part.h), min(row.h, part.h)
    together = max(row.bottom, part.bottom) - min(row.y, part.y)
    if together <= max(_TALLER * usual, high):
        return True
    if part.y - row.y < _NEAREST and part.y - row.bottom <= _STRIKE and high < 2 * low:
        return True
    return low * 3 < high <= _HIGHEST * usual and together <= _TALLER * high


def _joined_beside(rows: list[Box], ink: Ink, walls: Ink) -> list[Box]:
    """What stands on one line with no more than the usual gap and no wall or line between."""
    done: list[Box] = []
    joined: dict[int, list[Box]] = defaultdict(list)
    for row in sorted(rows, key=lambda box: (box.x, box.y)):
        bucket = (row.y + row.h // 2) // PICTURE
        for near in range(bucket - 1, bucket + 2):
            out_of_reach = [box for box in joined[near] if box.right + _REACH * box.h < row.x]
            if out_of_reach:  # of this row and of all behind it
                done += out_of_reach
                joined[near] = [box for box in joined[near] if box.right + _REACH * box.h >= row.x]
            number = next(
                (n for n, box in enumerate(joined[near]) if _are_beside(box, row, ink, walls)), None
            )
            if number is not None:
                joined[near][number] = around([joined[near][number], row])
                break
        else:
            joined[bucket].append(row)
    return sorted(chain(done, *joined.values()), key=_from_the_top)


def _are_beside(left: Box, right: Box, ink: Ink, walls: Ink) -> bool:
    top, bottom = left.y, left.y + left.h  # of most pairs one ends above the other: properties and calls cost
    if right.y >= bottom or top >= right.y + right.h:
        return False
    high, low = max(left.h, right.h), min(left.h, right.h)
    top, bottom = max(top, right.y), min(bottom, right.bottom)
    gap = right.x - left.right
    between = slice(top, bottom), slice(left.right, right.x)
    if high <= PICTURE and 0 < gap < _WORD_GAP * high and bottom - top == low:
        line = int(np.count_nonzero(walls[between].any(0)))
        # A line through a word, as the margin of an editor: cells keep away from theirs.
        if 0 < line <= _THIN and gap - line < _WORD_GAP * low and min(left.w, right.w) >= _NARROWEST:
            return True
    if high > min(PICTURE, ALIKE * low) or 2 * (bottom - top) <= low:
        return False
    return -high <= gap <= _CELL_GAP * high and not (walls[between].any() or ink[between].all(0).any())


class _Parts:
    """What hangs together in `ink` when gaps of up to `gap` pixels in a row are closed, but over no wall."""

    def __init__(self, ink: Ink, gap: int, walls: Ink | None = None) -> None:
        y, x = np.nonzero(ink)
        apart = (np.diff(y) != 0) | (np.diff(x) > gap + 1)
        if walls is not None:
            apart |= np.diff(walls.cumsum(1, np.int16)[y, x]) != 0
        first = np.flatnonzero(np.r_[np.ones(min(1, len(y)), np.bool_), apart])
        last = np.r_[first[1:], len(y)][: len(first)] - 1
        self.row, self.left, self.right = y[first], x[first], x[last] + 1
        roots = _roots(self.row, self.left.tolist(), self.right.tolist())
        names, self.part = np.unique(np.array(roots, np.int64), return_inverse=True)
        self._count = len(names)

    def boxes(self) -> list[Box]:
        left, top = (np.full(self._count, np.iinfo(np.int64).max) for _ in range(2))
        right, bottom = (np.zeros(self._count, np.int64) for _ in range(2))
        np.minimum.at(left, self.part, self.left)
        np.maximum.at(right, self.part, self.right)
        np.minimum.at(top, self.part, self.row)
        np.maximum.at(bottom, self.part, self.row + 1)
        return [Box(*box) for box in np.stack((left, top, right - left, bottom - top), 1).tolist()]


def _roots(row: Numbers, left: list[int], right: list[int]) -> list[int]:
    """For each run, the first of those that it hangs together with over neighbouring rows of pixels."""
    if not left:
        return []
    parent = list(range(len(left)))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = run = parent[parent[run]]
        return run

    begins = np.searchsorted(row, np.arange(row[0], row[-1] + 2)).tolist()
    for above, below, end in zip(begins, begins[1:], begins[2:], strict=False):
        one, other = above, below
        while one < below and other < end:
            if left[one] <= right[other] and left[other] <= right[one]:
                a, b = root(one), root(other)
                parent[max(a, b)] = min(a, b)
            if right[one] < right[other]:
                one += 1
            else:
                other += 1
    return [root(run) for run in parent]
