"""Which tiles of a screen changed, and which of them only flicker.

Exact comparison first, then 32×32 tiles; never a perceptual hash, which stays equal while words
are typed (measured: in 69 to 93 % of typing frames).

A clock or a blinking cursor changes the same one or two tiles again and again. Such tiles become
*restless*, and a change confined to them is not a new screen. How that is told from typing:

* a tile must have changed in a small group, `_OFTEN` times within `_WINDOW_S`, over `_SPAN_S`
  at least, and lately; typing moves on to other tiles before that, and scrolling is no small group;
* a tile that shows only a few different contents in turn (a cursor blinks between two) is
  restless only between those: a character typed at the cursor is a third content, hence seen.

A tile that comes to rest stops being restless, and its last content then counts as a change.

A film changes its part of the screen from look to look. While nothing else does, a picture of it every ten
seconds is enough; it is told from scrolled or streaming text by its pixels, of which few are alike.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.screens.protocol import Pixels

TILE = 32
Tile = tuple[int, int]
"""(row, column)"""

_OFTEN = 6
_WINDOW_S = 30.0
_SPAN_S = 2.0
_RESTS_AFTER_S = 8.0
_GROUP_TILES = 4  # seconds of a clock that lies across a corner of four tiles
_GROUPS = 4
_FEW_CONTENTS = 3

_MOVES = 6  # changes in the last eight looks
_FILM_TILES = 24
_FLAT = 0.5  # of neighbouring pixels are alike in text and drawings, and more; in films and photographs fewer

_COLOUR = np.uint32(0x00FFFFFF)  # little endian BGRX: the unused byte may hold anything


def changed_tiles(before: Pixels, after: Pixels) -> npt.NDArray[np.bool_]:
    """bool[tile rows, tile columns]: which tiles differ in colour. The shapes must be equal."""
    height, width = before.shape[:2]
    tiles = np.zeros((-(-height // TILE), -(-width // TILE)), dtype=np.bool_)
    differing = (_wide(before) != _wide(after)).any(axis=1).nonzero()[0]
    if not differing.size:
        return tiles
    # Most changes touch few rows: only their band of tiles is looked at closely.
    first = int(differing[0]) // TILE * TILE
    last = min(height, (int(differing[-1]) // TILE + 1) * TILE)
    colour = before[first:last].view(np.uint32)[..., 0] ^ after[first:last].view(np.uint32)[..., 0]
    colour &= _COLOUR
    rows = np.bitwise_or.reduceat(colour, np.arange(0, last - first, TILE), axis=0)
    band = np.bitwise_or.reduceat(rows, np.arange(0, width, TILE), axis=1) != 0
    tiles[first // TILE : first // TILE + len(band)] = band
    return tiles


def is_uniform(pixels: Pixels) -> bool:
    """Whether every pixel has the same colour, as a broken grab does."""
    colour = pixels.view(np.uint32)[..., 0]
    some = colour[::53, ::47]  # mostly enough
    return not any(((part ^ colour[0, 0]) & _COLOUR).any() for part in (some, colour))


class FlickerFilter:
    """Learns which tiles of one monitor flicker. Fed every look, in order."""

    def __init__(self) -> None:
        self._tiles: dict[Tile, deque[tuple[float, int]]] = {}  # when each changed of late, and to what

    def learn(self, changed: npt.NDArray[np.bool_], pixels: Pixels, now_s: float) -> None:
        """Note what changed since the previous look. `now_s` is a monotonic time."""
        for group in _small_groups(changed):
            for tile in group:
                history = self._tiles.setdefault(tile, deque(maxlen=_OFTEN))
                history.append((now_s, _content(pixels, tile)))
        for tile in [t for t, history in self._tiles.items() if now_s - history[-1][0] > _WINDOW_S]:
            del self._tiles[tile]

    def explains(self, changed: npt.NDArray[np.bool_], kept: Pixels, pixels: Pixels, now_s: float) -> bool:
        """Whether all differences between the kept picture and this one are mere flicker."""
        if np.count_nonzero(changed) > _GROUPS * _GROUP_TILES:
            return False
        places = ((int(row), int(column)) for row, column in np.argwhere(changed))
        return all(self._flickers(tile, kept, pixels, now_s) for tile in places)

    def _flickers(self, tile: Tile, kept: Pixels, pixels: Pixels, now_s: float) -> bool:
        history = self._tiles.get(tile)
        if history is None or len(history) < _OFTEN:
            return False
        first, last = history[0][0], history[-1][0]
        if now_s - first > _WINDOW_S or last - first < _SPAN_S or now_s - last > _RESTS_AFTER_S:
            return False
        times_seen = Counter(content for _, content in history)
        if len(times_seen) > _FEW_CONTENTS:
            return True
        seen = {content for content, times in times_seen.items() if times > 1}
        return _content(kept, tile) in seen and _content(pixels, tile) in seen


class FilmFilter:
    """Learns where one monitor shows a film, a call or a game: much changes at most looks and is no text."""

    def __init__(self) -> None:
        self._changes: npt.NDArray[np.uint8] | None = None  # a bit for each of the last looks, by tile

    def learn(self, changed: npt.NDArray[np.bool_]) -> None:
        """Note what changed since the previous look."""
        if self._changes is None or self._changes.shape != changed.shape:
            self._changes = np.zeros(changed.shape, np.uint8)
        self._changes = self._changes * np.uint8(2) + changed.astype(np.uint8)

    def explains(self, changed: npt.NDArray[np.bool_], pixels: Pixels) -> bool:
        """Whether all these tiles lie where a film plays."""
        if self._changes is None or self._changes.shape != changed.shape:
            return False
        moving = np.bitwise_count(self._changes) >= _MOVES
        if np.count_nonzero(moving) < _FILM_TILES:
            return False
        rows, columns = (np.flatnonzero(moving.any(axis)) for axis in (1, 0))
        top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
        if np.count_nonzero(changed) > np.count_nonzero(changed[top:bottom, left:right]):
            return False
        film = pixels.view(np.uint32)[top * TILE : bottom * TILE, left * TILE : right * TILE, 0] & _COLOUR
        return float((film[:, 1:] == film[:, :-1]).mean()) < _FLAT


def _wide(pixels: Pixels) -> npt.NDArray[Any]:
    """The picture's rows as wide as they compare fastest."""
    return pixels.reshape(pixels.shape[0], -1).view(np.uint64 if pixels.shape[1] % 2 == 0 else np.uint32)


def _content(pixels: Pixels, tile: Tile) -> int:
    row, column = tile[0] * TILE, tile[1] * TILE
    colour = pixels[row : row + TILE, column : column + TILE, :3]
    return hash(colour.tobytes())


def _small_groups(changed: npt.NDArray[np.bool_]) -> list[list[Tile]]:
    """Groups of neighbouring changed tiles, when all of them are small; else nothing."""
    left = {(int(row), int(column)) for row, column in np.argwhere(changed)}
    if len(left) > _GROUPS * _GROUP_TILES:
        return []
    groups = []
    while left:
        group, edge = [], [left.pop()]
        while edge:
            row, column = edge.pop()
            group.append((row, column))
            near = {(row + y, column + x) for y in (-1, 0, 1) for x in (-1, 0, 1)} & left
            left -= near
            edge += near
        groups.append(group)
    return [group for group in groups if len(group) <= _GROUP_TILES]
