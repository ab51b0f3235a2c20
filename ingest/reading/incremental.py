"""Reads only what was not seen lately, so that the words are those of reading all of it.

From one look to the next most of a screen stays the same, or moves. A picture is cut into blocks of ink by
its own pixels (`engines.ocr.rows`), and what was read in a block is remembered by all pixels it was read
from: it is taken over only where every one of them is the same, wherever it stands now. The other blocks are
shown to the engine, whole. Where that reads each line from its own pixels, too, both are equal to reading the
whole picture, and scrolls, popups and other windows need no rules. The figures are in
``bench/incremental.py``.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.protocol import Box, OcrEngine, OcrLine, OcrWord, in_reading_order, lines_of
from engines.ocr.rows import PICTURE, TILE_H, TILE_W, Block, blocks_of, strokes, tiles_of, with_neighbours
from ingest.reading.page_text import Told, ink_of

Pixels = npt.NDArray[np.uint32]  # one screen, a pixel per number
Mask = npt.NDArray[np.bool_]

_ASK_ABOVE = 0.1  # of the screen's area: less is sooner read than proved
_MARGIN = 2  # pixels around a word that may be of its letters
_CONTEXT = 64  # pixels around what is read, which tell its background and the walls that go through it
_NEAR_H, _NEAR_W = PICTURE + TILE_H, TILE_W  # pixels within which a pixel may change what is taken for ink
_FEW = 3  # blocks are read one by one, more of them at once
_RESTLESS = 3  # changes one after the other
_APART_MS = 12_000  # of a film one picture is captured every ten seconds; others are no part of one movement
_VIDEO_SIDE = 96  # pixels; clocks and lines being typed are lower
_VIDEO_TILES = 0.5  # of its tiles are restless
_TEXT_SHARE = 0.05  # of its area: what scrolls or streams is text and is read
_SURE, _LETTERS = 0.8, 3  # confidence of words, and letters of all in a line, that are no chance
AUDIT_EVERY = 200  # readings of changes: half a percent more of whole ones
AUDIT_AT_REST = 20
_MEMORY_WORDS = 45_000  # of blocks: some 16 MB


@dataclass(frozen=True, slots=True)
class _Screen:
    """The last picture of a monitor, what was read in it, and how often each tile changed in a row."""

    pixels: Pixels
    lines: Sequence[OcrLine]
    changes: npt.NDArray[np.uint8]
    ink: Mask
    walls: Mask
    captured_ms: int
    blocks: Sequence[tuple[Block, bytes]]
    """With their keys, if all of it was shown."""


class IncrementalReader:
    """One per worker, not for several threads: the engine is not either."""

    def __init__(
        self, engine: OcrEngine, on_audit: Callable[[int, int], None] = lambda words, differing: None
    ) -> None:
        self._engine = engine
        self._on_audit = on_audit
        self.since_whole = 0  # readings of changes since the last whole one
        self._is_refused = False  # what was told since it was last asked for
        self.left_unread = False  # a part of the last picture, because it moved
        self._known: OrderedDict[bytes, tuple[Box, list[OcrLine]]] = OrderedDict()  # the most recent last
        self._held = 0  # words in it
        self._screens: dict[str, _Screen] = {}

    def read(
        self,
        monitor: str,
        image: Image.Image,
        *,
        captured_ms: int = 0,
        at_rest: bool = False,
        told: Told | None = None,
    ) -> list[OcrLine]:
        """Lines of `image`. Raises what the engine raises; then nothing is remembered of it.

        From time to time, sooner `at_rest`, the whole picture is read as well: what the engine makes of it
        counts, and where it differs all that was remembered is forgotten, so nothing stays wrong. What is
        `told`, with its proof, is not read. What moves like a video is left unread until it stands still, or
        until its picture is read once more at rest; only pictures that were captured soon after one another,
        by `captured_ms`, show that something moves.
        """
        pixels = _pixels(image)
        last = self._screens.get(monitor)
        if last is not None and last.pixels.shape != pixels.shape:
            last = None
        changed = tiles_of(last.pixels != pixels) if last else np.ones((1, 1), np.bool_)
        follows = last is not None and abs(captured_ms - last.captured_ms) <= _APART_MS
        before = last.changes if last and follows else np.zeros_like(tiles_of(pixels > 0), np.uint8)
        changes = np.where(changed & follows, np.minimum(before, 254) + 1, 0).astype(np.uint8)
        moving = list(_moving(changes, last)) if last and not at_rest else []
        shown = np.ones(pixels.shape, np.bool_)
        for box in moving:
            shown[_slices(box)] = False
        words = self._told(last, changed, pixels, image, shown, told)
        for word in words:
            shown[_slices(_grown(word.box, _MARGIN, image.size))] = False
        ink, walls = _strokes(last, changed, image)
        blocks = _with_keys(last, changed, pixels, shown, ink, walls)
        lines = in_reading_order([*lines_of(words), *self._read_blocks(blocks, image, shown)])
        self.since_whole += 1
        if self.since_whole >= (AUDIT_AT_REST if at_rest else AUDIT_EVERY):
            whole = in_reading_order([*lines_of(words), *self._engine.read(image, _mask(shown))])
            self._audit(lines, whole)
            lines = whole
        self._screens[monitor] = _Screen(
            pixels, lines, changes, ink, walls, captured_ms, blocks if shown.all() else ()
        )
        self.left_unread = bool(moving)
        return lines

    def forget_screens(self) -> None:
        """The next picture follows none: nothing in it counts as moving, or as read a moment ago."""
        self._screens.clear()

    def _audit(self, lines: Sequence[OcrLine], whole: Sequence[OcrLine]) -> None:
        kept, read = (Counter(word.text for line in page for word in line.words) for page in (lines, whole))
        differing = ((read - kept) + (kept - read)).total()
        self._on_audit(read.total(), differing)
        self.since_whole = 0
        if differing:
            self._known.clear()
            self._held = 0

    def _told(
        self,
        last: _Screen | None,
        changed: Mask,
        pixels: Pixels,
        image: Image.Image,
        shown: Mask,
        told: Told | None,
    ) -> list[OcrWord]:
        """Words of `shown` pixels that are told, proved now or before on the very same pixels."""
        lines = last.lines if last else []
        if told is not None and (
            last is None or (not self._is_refused and told.is_news(lines)) or changed.mean() >= _ASK_ABOVE
        ):
            words = told.words(ink_of(image), shown)
            self._is_refused = not words
            if words:
                return words
        same = (lambda part: np.array_equal(last.pixels[part], pixels[part])) if last else bool
        return [
            word
            for line in lines
            for word in line.words
            if word.source != "read" and same(_slices(_grown(word.box, _MARGIN, image.size)))
        ]

    def _read_blocks(
        self, blocks: Sequence[tuple[Block, bytes]], image: Image.Image, shown: Mask
    ) -> list[OcrLine]:
        unknown = {key: block for block, key in blocks if key not in self._known}
        if len(unknown) <= _FEW:
            read = {key: self._read([block], image, shown) for key, block in unknown.items()}
        else:
            read = _by_block(unknown, self._read(list(unknown.values()), image, shown), shown.shape)
        for key, block in unknown.items():
            self._known[key] = block.box, read[key]
            self._held += _size(read[key])
        lines = []
        for block, key in blocks:
            self._known.move_to_end(key)
            before, found = self._known[key]
            lines += _moved(found, block.box.x - before.x, block.box.y - before.y)
        while self._held > _MEMORY_WORDS:
            self._held -= _size(self._known.popitem(last=False)[1][1])
        return lines

    def _read(self, blocks: Sequence[Block], image: Image.Image, shown: Mask) -> list[OcrLine]:
        """Lines of the blocks, where they stand in `image`."""
        seen = np.zeros_like(shown)
        for block in blocks:
            seen[_slices(block.box)] |= block.shown
        seen &= shown
        left, top = (min(getattr(block.box, side) for block in blocks) for side in ("x", "y"))
        right, bottom = (max(getattr(block.box, side) for block in blocks) for side in ("right", "bottom"))
        part = _grown(Box(left, top, right - left, bottom - top), _CONTEXT, image.size)
        cut = image.crop((part.x, part.y, part.right, part.bottom))
        return _moved(self._engine.read(cut, _mask(seen[_slices(part)])), part.x, part.y)


def _pixels(image: Image.Image) -> Pixels:
    rgb = image if image.mode == "RGB" else image.convert("RGB")  # which copies it, too
    rgbx = rgb.tobytes("raw", "RGBX")
    return np.frombuffer(rgbx, np.uint32).reshape(image.height, image.width)


def _size(lines: Iterable[OcrLine]) -> int:
    return 1 + sum(len(line.words) for line in lines)


def _strokes(last: _Screen | None, changed: Mask, image: Image.Image) -> tuple[Mask, Mask]:
    """Ink and walls of a picture: the last ones, but for what changed and what is near."""
    if last is None:
        return strokes(np.asarray(image.convert("L")))
    down = _NEAR_H // TILE_H - 1
    sums = np.pad(with_neighbours(changed), ((down + 1, down), (0, 0))).cumsum(0)
    near = sums[2 * down + 1 :] != sums[: -2 * down - 1]
    both = last.ink.copy(), last.walls.copy()
    for rows, columns in _regions(near):
        top, left = rows.start * TILE_H, columns.start * TILE_W
        bottom, right = rows.stop * TILE_H, columns.stop * TILE_W
        y, x = max(0, top - _NEAR_H), max(0, left - _NEAR_W)
        cut = image.crop((x, y, min(image.width, right + _NEAR_W), min(image.height, bottom + _NEAR_H)))
        for whole, part in zip(both, strokes(np.asarray(cut.convert("L"))), strict=True):
            whole[top:bottom, left:right] = part[top - y : bottom - y, left - x : right - x]
    return both


def _with_keys(
    last: _Screen | None, changed: Mask, pixels: Pixels, shown: Mask, ink: Mask, walls: Mask
) -> list[tuple[Block, bytes]]:
    """The blocks of a picture, each with its key: the one it had, where nothing changed in it."""
    before: dict[tuple[Box, bytes], bytes] = {}
    if last is not None and shown.all():
        before = {(block.box, block.tiles.tobytes()): key for block, key in last.blocks}
        other_walls = tiles_of(walls != last.walls)
        changed = changed | tiles_of(ink != last.ink)
    keys = []
    for block in blocks_of(ink & shown):
        down, across = block.box.y // TILE_H, block.box.x // TILE_W
        part = slice(down, down + block.tiles.shape[0]), slice(across, across + block.tiles.shape[1])
        key = before.get((block.box, block.tiles.tobytes()))
        if key is None or ((block.tiles & changed[part]) | other_walls[part]).any():
            key = _key(block, pixels, walls, shown)
        keys.append((block, key))
    return keys


def _key(block: Block, pixels: Pixels, walls: Mask, shown: Mask) -> bytes:
    """Of everything that the lines of a block are made of."""
    part = _slices(block.box)
    seen = block.shown & shown[part]
    digest = sha256(repr(seen.shape).encode())  # of all the sound ones the one that processors know
    digest.update(np.where(seen, pixels[part], 0).data)
    for mask in (block.ink, walls[part], seen):
        digest.update(np.packbits(mask).tobytes())
    return digest.digest()


def _by_block(
    blocks: dict[bytes, Block], lines: Iterable[OcrLine], shape: tuple[int, ...]
) -> dict[bytes, list[OcrLine]]:
    """Each line in the block of whose tiles it covers most."""
    keys = list(blocks)
    found: dict[bytes, list[OcrLine]] = {key: [] for key in keys}
    owners = np.zeros((-(-shape[0] // TILE_H), -(-shape[1] // TILE_W)), np.int32)  # no tile is of two
    for number, block in enumerate(blocks.values(), 1):
        inked = tiles_of(block.ink)
        down, across = block.box.y // TILE_H, block.box.x // TILE_W
        owners[down : down + inked.shape[0], across : across + inked.shape[1]][inked] = number
    for line in lines:
        box = line.box
        rows = slice(box.y // TILE_H, -(-box.bottom // TILE_H))
        covered = np.bincount(owners[rows, box.x // TILE_W : -(-box.right // TILE_W)].ravel())
        found[keys[int(covered[1:].argmax()) if len(covered) > 1 else 0]].append(line)
    return found


def _moved(lines: Iterable[OcrLine], dx: int, dy: int) -> list[OcrLine]:
    if not dx and not dy:
        return list(lines)
    return [
        replace(line, box=line.box.moved(dx, dy), words=tuple(word.moved(dx, dy) for word in line.words))
        for line in lines
    ]


def _mask(shown: Mask) -> Image.Image | None:
    return None if shown.all() else Image.fromarray(shown)


def _grown(box: Box, margin: int, size: tuple[int, int]) -> Box:
    """With a margin, as far as it is on the screen."""
    left, top = max(0, box.x - margin), max(0, box.y - margin)
    right, bottom = min(size[0], box.right + margin), min(size[1], box.bottom + margin)
    return Box(left, top, right - left, bottom - top)


def _slices(box: Box) -> tuple[slice, slice]:
    return slice(box.y, box.bottom), slice(box.x, box.right)


# -- what moves -------------------------------------------------------------------------------


def _moving(changes: npt.NDArray[np.uint8], last: _Screen) -> Iterator[Box]:
    """Large parts that changed from each picture to the next and show hardly a word."""
    restless = changes >= _RESTLESS
    height, width = last.pixels.shape
    for rows, columns in _regions(restless):
        rows, columns = _filled(restless, rows, columns)
        box = Box(columns.start * TILE_W, rows.start * TILE_H, 0, 0)
        right, bottom = min(width, columns.stop * TILE_W), min(height, rows.stop * TILE_H)
        box = replace(box, w=right - box.x, h=bottom - box.y)
        is_video = min(box.w, box.h) >= _VIDEO_SIDE and restless[rows, columns].mean() >= _VIDEO_TILES
        if is_video and _text_share(last.lines, box) < _TEXT_SHARE:
            yield box


def _regions(tiles: Mask) -> Iterator[tuple[slice, slice]]:
    """Rectangles that hold all `tiles`, cut apart along empty rows and columns."""
    for rows in _spans(tiles, 1):
        for columns in _spans(tiles[rows], 0):
            for inner in _spans(tiles[rows, columns], 1):
                yield slice(rows.start + inner.start, rows.start + inner.stop), columns


def _filled(tiles: Mask, rows: slice, columns: slice) -> tuple[slice, slice]:
    """Without rows and columns at its ends that are not so full: a clock beside it, or a line."""
    down, across = (
        np.flatnonzero(tiles[rows, columns].mean(axis) >= _VIDEO_TILES).tolist() or [0] for axis in (1, 0)
    )
    top, left = rows.start, columns.start
    return slice(top + down[0], top + down[-1] + 1), slice(left + across[0], left + across[-1] + 1)


def _spans(tiles: Mask, axis: int) -> list[slice]:
    """Runs of rows (`axis` 1) or columns (0) with any tile."""
    edges = np.flatnonzero(np.diff(np.pad(tiles.any(axis), 1).astype(np.int8))).tolist()
    return [slice(*ends) for ends in zip(edges[::2], edges[1::2], strict=True)]


def _text_share(lines: Iterable[OcrLine], box: Box) -> float:
    """How much of `box` words cover that can hardly be chance: one of Chinese is one character, so all in a
    line count together.
    """
    covered = 0
    for line in lines:
        sure = [word for word in line.words if word.confidence >= _SURE and box.holds_centre_of(word.box)]
        if sum(len(word.text) for word in sure) >= _LETTERS:
            covered += sum(word.box.w * word.box.h for word in sure)
    return covered / (box.w * box.h)
