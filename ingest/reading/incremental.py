"""Reads only what changed on a screen, so that the words are those of reading all of it.

From one look to the next most of a screen stays the same. What the new picture has in common with one that
was read is found by its pixels, scrolled parts where they are now. Each line of text there is either *kept*,
because no pixel in it or close to it differs, or read; and what the engine sees is made of this very
division: every changed pixel and every line that is not kept, without those that are. So no word can be
given up and not be read. The figures are in ``bench/incremental.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.protocol import Box, OcrEngine, OcrLine, OcrWord, around, lines_of
from ingest.reading.page_text import Told, ink_of

Pixels = npt.NDArray[np.uint32]  # one screen, a pixel per number
Mask = npt.NDArray[np.bool_]

TILE_H, TILE_W = 8, 32  # pixels; flat tiles, because text runs along rows
_READ_WHOLE_ABOVE = 0.6  # of the screen's area
_RULE = 16  # pieces of 8 pixels, of which a straight line fills at least half
_ASK_ABOVE = 0.1  # of it: less is sooner read than proved
_SCROLL_ABOVE = 0.01  # of the tiles: less than a few lines is cheaper to read than to explain
_NEAR_ENOUGH = 0.02  # of the tiles: no need to look for a nearer screen, nor to remember both
_SCROLLS = 2  # parts that may have moved by different distances
_MARGIN = 2  # pixels around a line that may be of its letters
_CONTEXT = 64  # pixels around what is read, which tell its background
_RESTLESS = 3  # changes one after the other
_VIDEO_SIDE = 96  # pixels; clocks and lines being typed are lower
_VIDEO_TILES = 0.5  # of its tiles are restless
_TEXT_SHARE = 0.05  # of its area: what scrolls or streams is text and is read
_SURE, _WORD = 0.8, 3  # confidence and letters of a word that is no chance
_UNKNOWN = 0  # a pixel that no picture has: the fourth byte of theirs is 255
AUDIT_EVERY = 200  # readings of changes: half a percent more of whole ones
AUDIT_AT_REST = 20
_MEMORY_BYTES = 96_000_000  # of remembered pixels: eleven 1080p screens, two 4K ones


@dataclass(frozen=True, slots=True)
class _Screen:
    monitor: str
    pixels: Pixels
    lines: Sequence[OcrLine]


class IncrementalReader:
    """One per worker, not for several threads: the engine is not either.

    The last screens of each monitor are remembered with their words (several: switching between two windows
    would read both whole each time), and the one nearest to the new picture is taken.
    """

    def __init__(
        self,
        engine: OcrEngine,
        on_audit: Callable[[int, int], None] = lambda words, differing: None,
        memory_bytes: int = _MEMORY_BYTES,
    ) -> None:
        self._engine = engine
        self._on_audit = on_audit
        self._memory_bytes = memory_bytes
        self.since_whole = 0  # readings of changes since the last whole one
        self._is_refused = False  # what was told since then
        self.left_unread = False  # a part of the last picture, because it moved
        self._screens: list[_Screen] = []  # the most recent last
        self._motion: dict[str, tuple[Pixels, npt.NDArray[np.uint8]]] = {}  # changes in a row, per tile

    def read(
        self, monitor: str, image: Image.Image, *, at_rest: bool = False, told: Told | None = None
    ) -> list[OcrLine]:
        """Lines of `image`. Raises what the engine raises; then nothing is remembered of it.

        From time to time, sooner `at_rest`, the whole picture is read as well: what the engine makes of it
        counts and is gone on with, so nothing that was kept for long stays wrong. What is `told`, with its
        proof, is not read. What moves like a video is left unread until it stands still, or until its picture
        is read once more at rest.
        """
        pixels = _pixels(image)
        moving = [] if at_rest else self._moving(monitor, pixels)
        known, tiles = self._nearest(monitor, pixels)
        lines = None if known is None else self._read_changes(known, tiles, pixels, image, moving, told)
        self.since_whole += 1
        self.left_unread = bool(moving) and lines is not None
        if lines is None or self.since_whole >= (AUDIT_AT_REST if at_rest else AUDIT_EVERY):
            whole = self._read_whole(image, lines, told)
            if lines is not None:
                read, kept = (
                    Counter(word.text for line in page for word in line.words) for page in (whole, lines)
                )
                self._on_audit(read.total(), ((read - kept) + (kept - read)).total())
            lines, self.since_whole, self.left_unread = whole, 0, False
        if self.left_unread:
            pixels = pixels.copy()
            for box in moving:
                pixels[_slices(box)] = _UNKNOWN
                tiles[_tiles_of(box)] = False
        self._remember(_Screen(monitor, pixels, lines), known if tiles.mean() <= _NEAR_ENOUGH else None)
        return lines

    def _moving(self, monitor: str, pixels: Pixels) -> list[Box]:
        """Large parts that changed from each picture to the next and show hardly a word."""
        before, changes = self._motion.get(monitor, (pixels, np.zeros((1, 1), np.uint8)))
        if before is pixels or before.shape != pixels.shape:
            changes = np.zeros_like(_tiles(pixels != pixels), np.uint8)
        else:
            changes = np.where(_tiles(before != pixels), np.minimum(changes, 254) + 1, 0).astype(np.uint8)
        self._motion[monitor] = pixels, changes
        restless = changes >= _RESTLESS
        last = next((screen for screen in reversed(self._screens) if screen.monitor == monitor), None)
        return [
            box
            for box in _regions(restless, (pixels.shape[1], pixels.shape[0]))
            if min(box.w, box.h) >= _VIDEO_SIDE
            and restless[_tiles_of(box)].mean() >= _VIDEO_TILES
            and last is not None
            and _text_share(last.lines, box) < _TEXT_SHARE
        ]

    def _nearest(self, monitor: str, pixels: Pixels) -> tuple[_Screen | None, Mask]:
        """The last screen with its changed tiles, or an older one that is much nearer.

        A little nearer is not enough: after a scroll all screens differ about as much, and only
        from the last one is the way short.
        """
        best, tiles = None, np.ones((1, 1), np.bool_)
        for screen in reversed(self._screens):
            if screen.monitor != monitor or screen.pixels.shape != pixels.shape:
                continue
            changed = _tiles(screen.pixels != pixels)
            if best is None or changed.sum() < tiles.sum() / 2:
                best, tiles = screen, changed
            if tiles.mean() <= _NEAR_ENOUGH:
                break
        return best, tiles

    def _read_whole(
        self, image: Image.Image, lines: Sequence[OcrLine] | None, told: Told | None
    ) -> list[OcrLine]:
        """All but the words that are told, or were when `lines` were made."""
        if told is None and lines is None:
            return self._engine.read(image)
        mask, ink = np.ones((image.height, image.width), np.bool_), ink_of(image)
        if lines is not None:
            words = [word for line in lines for word in line.words if word.source != "read"]
        else:
            words = told.words(ink, mask) if told else []
            self._is_refused = not words
        return self._read_beside(words, ink, mask, image) if words else self._engine.read(image)

    def _read_beside(
        self, told: Sequence[OcrWord], ink: Mask, mask: Mask, image: Image.Image
    ) -> list[OcrLine]:
        """Words that are told, and all other ink of `mask`."""
        for word in told:
            mask[_slices(_grown(word.box, _MARGIN, _MARGIN, image.size))] = False
        regions = _regions(_tiles(mask & ink & ~_rules(ink)), image.size)
        return lines_of([*told, *(word for part in regions for word in self._words_in(part, mask, image))])

    def _read_changes(
        self,
        known: _Screen,
        tiles: Mask,
        pixels: Pixels,
        image: Image.Image,
        moving: Sequence[Box],
        told: Told | None,
    ) -> list[OcrLine] | None:
        """The new lines, or None where reading the whole picture is cheaper."""
        has_news = told is not None and not self._is_refused and told.is_news(known.lines)
        if not tiles.any() and not has_news:
            return list(known.lines)
        expected = Expected(known.pixels, known.lines, ())
        for _ in range(_SCROLLS):
            before = expected
            if tiles.mean() >= _SCROLL_ABOVE:
                expected = follow_scroll(before, pixels, tiles)
            if expected is before:
                break
            tiles = _tiles(expected.pixels != pixels)
        kept, shown, mask = _divide(expected, pixels, moving)
        if shown.mean() > _READ_WHOLE_ABOVE:
            return None
        if told and (has_news or shown.mean() >= _ASK_ABOVE):
            ink = ink_of(image)
            proved, kept = _replacing(kept, told, ink, mask)
            self._is_refused = not proved
            if proved:
                beside = self._read_beside(proved, ink, mask, image)
                return lines_of([word for line in (*kept, *beside) for word in line.words])
        words = [word for line in kept for word in line.words]
        for region in _regions(shown, image.size):
            words += self._words_in(region, mask, image)
        return lines_of(words)

    def _words_in(self, region: Box, mask: Mask, image: Image.Image) -> Iterator[OcrWord]:
        """Read with its surroundings, which tell the engine what is background there."""
        frame = _grown(region, _CONTEXT, _CONTEXT, image.size)
        seen = np.zeros((frame.h, frame.w), np.bool_)
        seen[_slices(region.moved(-frame.x, -frame.y))] = mask[_slices(region)]
        part = image.crop((frame.x, frame.y, frame.right, frame.bottom))
        for line in self._engine.read(part, Image.fromarray(seen)):
            for word in line.words:
                # Of a kept line no more than an edge was seen.
                if seen[word.box.y + word.box.h // 2, word.box.x + word.box.w // 2]:
                    yield word.moved(frame.x, frame.y)

    def _remember(self, screen: _Screen, replaced: _Screen | None) -> None:
        """In place of one that is nearly the same; the oldest are forgotten, the last one always stays."""
        self._screens = [other for other in self._screens if other is not replaced]
        self._screens.append(screen)
        while len(self._screens) > 1 and sum(s.pixels.nbytes for s in self._screens) > self._memory_bytes:
            self._screens.pop(0)


def _pixels(image: Image.Image) -> Pixels:
    rgbx = image.convert("RGB").tobytes("raw", "RGBX")
    return np.frombuffer(rgbx, np.uint32).reshape(image.height, image.width)


def _tiles(different: Mask) -> Mask:
    """Tiles with any different pixel, bool[ceil(h / 8), ceil(w / 32)]."""
    height, width = different.shape
    rows, columns = -(-height // TILE_H), -(-width // TILE_W)
    different = np.pad(different, ((0, -height % TILE_H), (0, -width % TILE_W)))
    eights = np.bitwise_or.reduce(different.view(np.uint64).reshape(rows, TILE_H, -1), 1)
    return np.asarray(eights.reshape(rows, columns, TILE_W // 8).any(2))


# -- what is kept and what is read ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """What the new picture would be if nothing had changed but what was scrolled.

    Each of `lines` stands whole in `pixels`; of the lines in `cut` only a part may be there.
    """

    pixels: Pixels
    lines: Sequence[OcrLine]
    cut: Sequence[Box]


def _divide(
    expected: Expected, pixels: Pixels, moving: Sequence[Box] = ()
) -> tuple[list[OcrLine], Mask, Mask]:
    """Lines that are kept; tiles and, in them, pixels that are shown to the engine.

    Each expected line is in one of both, and so is every pixel that changed, but for what is moving.
    """
    different, size = expected.pixels != pixels, (pixels.shape[1], pixels.shape[0])
    changed = _tiles(different)
    for part in moving:
        changed[_tiles_of(part)] = False
    shown = _with_neighbours(changed)
    kept, read = [], []
    for line in expected.lines:
        box = line.box
        # What is nearer than the gap between two words may belong to a word of this line now.
        if not different[_slices(_grown(box, box.h // 2, _MARGIN, size))].any():
            kept.append(line)
        elif not any(part.holds_centre_of(box) for part in moving):
            read.append(_grown(box, _MARGIN, _MARGIN, size))
    for box in (*read, *expected.cut):
        shown[_tiles_of(box)] = True
    for part in moving:
        shown[_tiles_of(part)] = False
    mask = shown.repeat(TILE_H, 0).repeat(TILE_W, 1)[: size[1], : size[0]]
    for line in kept:
        mask[_slices(line.box)] = False
    for box in read:
        mask[_slices(box)] = True
    return kept, shown, mask


def _regions(shown: Mask, size: tuple[int, int]) -> Iterator[Box]:
    """Rectangles that hold all tiles that are shown, cut apart along empty rows and columns of tiles."""
    for top, bottom in _spans(shown, 1):
        for left, right in _spans(shown[top:bottom], 0):
            for first, last in _spans(shown[top:bottom, left:right], 1):
                yield _of_tiles(top + first, top + last, left, right, size)


def _spans(tiles: Mask, axis: int) -> list[tuple[int, int]]:
    """Where runs of rows (`axis` 1) or columns (0) with any tile begin and end."""
    edges = np.flatnonzero(np.diff(np.pad(tiles.any(axis), 1).astype(np.int8))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _rules(ink: Mask) -> Mask:
    """Straight lines, whole or broken, longer than letters: the edges of windows, tables and panels."""
    found = np.zeros_like(ink)
    for lines, result in ((ink, found), (ink.T, found.T)):
        count = len(lines) // TILE_H
        full = lines[: count * TILE_H].reshape(count, TILE_H, -1).all(1)
        held = np.pad(full.cumsum(0, dtype=np.int16), ((_RULE, _RULE), (0, 0)), "edge")
        held[:_RULE] = 0
        runs = held[_RULE:] - held[:-_RULE] >= _RULE // 2  # of the pieces up to here
        reach = np.logical_or.reduce([runs[n : n + count] for n in range(_RULE)])
        result[: count * TILE_H] |= reach.repeat(TILE_H, 0)
    return found


def _of_tiles(top: int, bottom: int, left: int, right: int, size: tuple[int, int]) -> Box:
    tiles = Box(left * TILE_W, top * TILE_H, (right - left) * TILE_W, (bottom - top) * TILE_H)
    return _grown(tiles, 0, 0, size)


def _tiles_of(box: Box) -> tuple[slice, slice]:
    """All tiles in which the box has a pixel."""
    return (
        slice(box.y // TILE_H, -(-box.bottom // TILE_H)),
        slice(box.x // TILE_W, -(-box.right // TILE_W)),
    )


def _text_share(lines: Iterable[OcrLine], box: Box) -> float:
    """How much of `box` words cover that can hardly be chance."""
    words = (word for line in lines if touches(line.box, box) for word in line.words)
    sure = (word.box for word in words if word.confidence >= _SURE and len(word.text) >= _WORD)
    return sum(word.w * word.h for word in sure if box.holds_centre_of(word)) / (box.w * box.h)


def touches(a: Box, b: Box) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def _holds(outer: Box, inner: Box) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.right <= outer.right
        and inner.bottom <= outer.bottom
    )


def _grown(box: Box, dx: int, dy: int, size: tuple[int, int]) -> Box:
    """With a margin, as far as it is on the screen."""
    left, top = max(0, box.x - dx), max(0, box.y - dy)
    right, bottom = min(size[0], box.right + dx), min(size[1], box.bottom + dy)
    return Box(left, top, right - left, bottom - top)


def _slices(box: Box) -> tuple[slice, slice]:
    return slice(box.y, box.bottom), slice(box.x, box.right)


def _with_neighbours(tiles: Mask) -> Mask:
    """A letter may go beyond the tile in which it changed."""
    padded = np.pad(tiles, 1)
    across = padded[:, :-2] | padded[:, 1:-1] | padded[:, 2:]
    return np.asarray(across[:-2] | across[1:-1] | across[2:])


def _replacing(kept: list[OcrLine], told: Told, ink: Mask, mask: Mask) -> tuple[list[OcrWord], list[OcrLine]]:
    """Words that are told in `mask` or in place of what was read before; lines still kept. The places of the
    other lines are added to `mask`.
    """
    read = [line for line in kept if all(word.source == "read" for word in line.words)]
    wanted, covered = mask.copy(), np.zeros_like(mask)
    for line in read:
        wanted[_slices(line.box)] = True
    words = told.words(ink, wanted)
    for word in words:
        covered[_slices(word.box)] = True
    replaced = [line for line in read if covered[_slices(line.box)].any()]
    for line in replaced:
        mask[_slices(line.box)] = True
    gone = set(map(id, replaced))
    return words, [line for line in kept if id(line) not in gone]


# -- what was scrolled ------------------------------------------------------------------------
#
# Every row of pixels that occurs once before and once now votes for the distance it moved. Strips vote
# separately, so a scroll bar or a picture beside the text does not silence it. Then each row goes the way
# that explains it: a list may have moved by 72 and by 73 pixels, and what stands below it not at all.

_STRIP = 128  # pixels
_FEWEST_VOTES = _LOWEST_RUN = 8  # rows; in less there is no line
_MOST_SHIFTS = 4
_MOST_VOTERS = 0.75  # of the votes of the strip with most of them
# A column moved along if so much of it fits, and hardly less than if it had stayed: a cursor may stand in it.
_SIMILAR, _WORSE = 0.8, 0.05
_WEIGHTS = np.random.default_rng(0).integers(2**31, 2**32, _STRIP, dtype=np.uint32) | np.uint32(1)

Move = tuple[Box, int]
"""Where a part of the screen is now, and by how many pixels it moved down (negative: up)."""


def follow_scroll(expected: Expected, pixels: Pixels, tiles: Mask) -> Expected:
    """What is expected once the widest part that moved up or down has moved; the same if nothing did."""
    (top, *_), (*_, bottom) = zip(*_spans(tiles, 1), strict=True)
    (left, *_), (*_, right) = zip(*_spans(tiles, 0), strict=True)
    changed = _of_tiles(top, bottom, left, right, (pixels.shape[1], pixels.shape[0]))
    moves = _moves(expected.pixels, pixels, changed)
    if not moves:
        return expected
    moved = expected.pixels.copy()
    for part, shift in moves:
        moved[_slices(part)] = expected.pixels[_slices(part.moved(0, -shift))]
    inside = _slices(around([part for part, _ in moves]))
    if (moved != pixels)[inside].sum() > (expected.pixels != pixels)[inside].sum() / 2:
        return expected
    lines, cut = _lines_moved(expected.lines, moves)
    return Expected(moved, lines, [*expected.cut, *cut])


def _lines_moved(lines: Iterable[OcrLine], moves: Sequence[Move]) -> tuple[list[OcrLine], list[Box]]:
    """Lines where they are seen now, and what is seen of lines that were cut in two.

    A line may be seen where it went and, where nothing came over it, still in its old place.
    """
    seen, cut = [], []
    for line in lines:
        for part, shift in moves:
            source = part.moved(0, -shift)
            if _holds(source, line.box):
                words = tuple(word.moved(0, shift) for word in line.words)
                seen.append(replace(line, box=line.box.moved(0, shift), words=words))
            elif touches(source, line.box):
                cut.append(_common(line.box.moved(0, shift), part))
        over = [part for part, _ in moves if touches(part, line.box)]
        if not over:
            seen.append(line)
        elif not any(_holds(part, line.box) for part in over):
            cut.append(line.box)
    return seen, cut


def _common(a: Box, b: Box) -> Box:
    left, top = max(a.x, b.x), max(a.y, b.y)
    return Box(left, top, min(a.right, b.right) - left, min(a.bottom, b.bottom) - top)


def _moves(before: Pixels, after: Pixels, changed: Box) -> list[Move]:
    """Parts of one column of the screen that moved up or down, from the top."""
    votes = [
        (strip, shift)
        for strip in range(changed.x, changed.right, _STRIP)
        for shift in _votes(before, after, changed, strip)
    ]
    strips, shifts = np.array(votes, np.int64).reshape(-1, 2).T
    values, counts = np.unique(shifts, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_SHIFTS]
    likely = [int(values[n]) for n in order if counts[n] >= _FEWEST_VOTES]
    if not likely:
        return []
    # Rows are told by the strips where most of them voted; the other columns by those rows.
    places, voters = np.unique(strips[shifts == likely[0]], return_counts=True)
    core = places[voters >= _MOST_VOTERS * voters.max()]
    left, right = int(core.min()), min(changed.right, int(core.max()) + _STRIP)
    rows, columns = slice(changed.y, changed.bottom), slice(left, right)
    ways = [
        _equal_when_moved(before[:, columns], after[:, columns], shift)[rows].all(1) for shift in (0, *likely)
    ]
    runs = [
        (top, bottom, likely[way - 1])
        for way, top, bottom in _runs(np.array(ways))
        if way > 0 and bottom - top >= _LOWEST_RUN
    ]
    if not runs:
        return []
    now = changed.y + np.concatenate([np.arange(top, bottom) for top, bottom, _ in runs])
    then = now - np.concatenate([np.full(bottom - top, shift) for top, bottom, shift in runs])
    fits, stays = (after[now] == before[then]).mean(0), (after[now] == before[now]).mean(0)
    moved = (fits >= stays - _WORSE) & (fits >= _SIMILAR)
    spans = [span for span in _spans(moved[np.newaxis], 0) if span[0] < right and left < span[1]]
    if not spans:
        return []
    left, right = max(spans, key=lambda span: min(span[1], right) - max(span[0], left))
    return [(Box(left, changed.y + top, right - left, bottom - top), shift) for top, bottom, shift in runs]


def _equal_when_moved(before: Pixels, after: Pixels, shift: int) -> Mask:
    """Pixels that are what they were `shift` rows further up."""
    equal = np.zeros(after.shape, np.bool_)
    low, high = max(0, shift), len(after) + min(0, shift)
    equal[low:high] = after[low:high] == before[low - shift : high - shift]
    return equal


def _runs(ways: Mask) -> Iterator[tuple[int, int, int]]:
    """Rows that go one way: its number, first row, row after the last. Each run is as long as it can be.

    `ways[n, row]` tells whether way `n` explains a row; a row that none explains stays, which is way 0.
    """
    top, count = 0, ways.shape[1]
    # Per way and row, the next row that the way does not explain.
    ends = np.where(ways, count, np.arange(count))
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    while top < count:
        way = int(ends[:, top].argmax())
        bottom = max(top + 1, int(ends[way, top]))
        yield way if ways[way, top] else 0, top, bottom
        top = bottom


def _votes(before: Pixels, after: Pixels, changed: Box, left: int) -> list[int]:
    """How far each row of a strip moved that occurs once before and once after."""
    right = min(left + _STRIP, changed.right)
    (then, at), (now, to) = (_unique_rows(p[changed.y : changed.bottom, left:right]) for p in (before, after))
    _, i, j = np.intersect1d(then, now, assume_unique=True, return_indices=True)
    return [shift for shift in (to[j] - at[i]).tolist() if shift]


def _unique_rows(part: Pixels) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int_]]:
    """Hashes of rows that occur once, for blank ones occur often, and their numbers."""
    hashes = (part * _WEIGHTS[: part.shape[1]]).sum(1, dtype=np.uint32)
    values, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    return values[counts == 1], first[counts == 1]
