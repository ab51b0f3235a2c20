"""Packs: the pictures of some minutes of one screen in one file, exact to the pixel.

A screen changes little from one frame to the next. A pack keeps one whole picture and, of the others, only
the tiles that differ from an earlier picture of the same pack: the one before, or one of the last whole ones,
since people go back and forth between windows. What was scrolled is moved first. At most `MAX_DEPTH` pictures
of changes lie on each other.

The file is a ZIP archive of lossless WebP pictures, named for their frames. A picture of changes is
transparent where nothing changed; its comment says as JSON what it lies on and where (`_Change`). Nothing
here knows files or rows: `store.frames.media` reads packs, and `store.frames.packing` makes them.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SUFFIX = ".zip"
MAX_DEPTH = 8
_WHOLE_ONES = 3
_MEMORY_BYTES = 72_000_000  # of earlier pictures: of a 4K screen one whole one is remembered
_TILE = 16
_WHOLE_ABOVE = 0.7  # of the tiles changed: the picture is kept whole
_MOVED_ABOVE = 0.05  # of the pixels changed: something may have been scrolled
_STRIP = 64  # pixels: columns that move together
_FEWEST_VOTES = 16  # rows
_DIRECTORY_ENTRY = 46  # bytes of a name's entry in the directory of a ZIP archive, beside name and comment
_ALPHA = np.frombuffer(b"\0\0\0\xff", np.uint32)
_WEIGHTS = np.random.default_rng(0).integers(2**31, 2**32, _STRIP, dtype=np.uint32) | np.uint32(1)

Pixels = NDArray[np.uint32]
"""(height, width) of opaque RGBA."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Move:
    """Rows ``top`` to ``bottom`` of these columns show what stood `down` rows further down."""

    down: int
    top: int
    bottom: int
    columns: list[list[int]]  # [first, after], each

    def apply(self, pixels: Pixels) -> None:
        """Move them in place."""
        for first, after in self.columns:
            source = pixels[self.top + self.down : self.bottom + self.down, first:after]
            pixels[self.top : self.bottom, first:after] = source

    def of(self, pixels: Pixels) -> Pixels:
        """What they are when they have moved."""
        moved = pixels.copy()
        self.apply(moved)
        return moved


@dataclass(frozen=True, slots=True)
class _Change:
    """How a picture comes about: laid on another (`on`, None where it is whole) at a place, after a move."""

    frame_id: int
    on: int | None = None
    x: int = 0
    y: int = 0
    move: _Move | None = None

    def lay(self, changes: Pixels, pixels: Pixels) -> None:
        """Lay a picture of changes on others in place."""
        height, width = changes.shape
        opaque = changes & _ALPHA > 0  # WebP may colour what is transparent
        np.copyto(pixels[self.y : self.y + height, self.x : self.x + width], changes, where=opaque)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """A picture that later ones may lie on; `depth` is how many it lies on itself."""

    frame_id: int
    depth: int
    pixels: Pixels


class Pack:
    """A pack that is read. Raises `ValueError` or `OSError` where it is damaged, `KeyError` for a frame that
    is not in it.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except zipfile.BadZipFile as error:
            raise ValueError(str(error)) from error
        self._entries = {int(entry.filename.partition(".")[0]): entry for entry in self._archive.infolist()}
        self._last: tuple[int, Pixels] | None = None  # read in a row, each lies on the one before

    def ids(self) -> list[int]:
        """The frames whose pictures are in it."""
        return sorted(self._entries)

    def image(self, frame_id: int) -> Image.Image:
        """A frame's pixels, RGB."""
        last = self._last  # once: another thread may read another picture meanwhile
        chain: list[_Change] = []
        on: int | None = frame_id
        while on is not None and not (last and last[0] == on):
            chain.append(_change_of(self._entries[on], on))
            on = chain[-1].on
        pixels = last[1].copy() if last and on is not None else self._stored(chain.pop().frame_id)
        for change in reversed(chain):
            if change.move:
                change.move.apply(pixels)
            change.lay(self._stored(change.frame_id), pixels)
        self._last = frame_id, pixels
        return Image.frombytes("RGB", pixels.shape[::-1], pixels, "raw", "RGBX")

    def entry(self, frame_id: int) -> tuple[bytes, bytes, int | None]:
        """How a frame is kept: its picture or its changes, the comment, and the frame these lie on."""
        entry = self._entries[frame_id]
        try:
            content = self._archive.read(entry)
        except zipfile.BadZipFile as error:  # its checksum is another
            raise ValueError(str(error)) from error
        return content, entry.comment, _change_of(entry, frame_id).on

    def _stored(self, frame_id: int) -> Pixels:
        content, _, _ = self.entry(frame_id)
        with Image.open(io.BytesIO(content), formats=["WEBP"]) as image:
            return pixels_of(image).copy()


class PackWriter:
    """A pack in the making. Pictures come in the order of time."""

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        self._archive = zipfile.ZipFile(self._buffer, "w", zipfile.ZIP_STORED)
        self._earlier: list[_Earlier] = []  # the last whole ones, then the last picture
        self._depths: dict[int, int] = {}

    def add(self, frame_id: int, image: Image.Image, source: Pack | None = None) -> int:
        """Add a picture; returns how many bytes it takes.

        It is taken over as it is in `source`, where what it lies on there has been added here.
        """
        pixels = pixels_of(image)
        content, comment, depth = (source and self._taken_over(source, frame_id)) or self._drawn(pixels)
        self._depths[frame_id] = depth
        number = max(1, min(_WHOLE_ONES, _MEMORY_BYTES // pixels.nbytes - 1))
        whole = [one for one in self._earlier if one.depth == 0][-number:]
        self._earlier = [*whole, _Earlier(frame_id, depth, pixels)]
        return self._write(frame_id, content, comment)

    def _taken_over(self, source: Pack, frame_id: int) -> tuple[bytes, bytes, int] | None:
        content, comment, on = source.entry(frame_id)
        if on is None:
            return content, comment, 0
        depth = self._depths.get(on, MAX_DEPTH) + 1
        return (content, comment, depth) if depth <= MAX_DEPTH else None

    def _drawn(self, pixels: Pixels) -> tuple[bytes, bytes, int]:
        change = self._change(pixels)
        if change is None:
            return _webp(_image(pixels).convert("RGB")), b"", 0
        earlier, move = change
        content, x, y = _changes(move.of(earlier.pixels) if move else earlier.pixels, pixels)
        fields = {"on": earlier.frame_id, "x": x, "y": y, "move": move and asdict(move)}
        return content, json.dumps(fields, separators=(",", ":")).encode(), earlier.depth + 1

    def content(self) -> bytes:
        """The file. Nothing can be added after this."""
        self._archive.close()
        return self._buffer.getvalue()

    def _change(self, pixels: Pixels) -> tuple[_Earlier, _Move | None] | None:
        """The earlier picture to lay this one on, and what moved since; None: keep it whole.

        An older one must differ much less than the last: after a scroll all differ about as much, and only
        from the last one is the way short.
        """
        nearest, number = None, pixels.size
        for earlier in reversed(self._earlier):
            if earlier.depth < MAX_DEPTH and earlier.pixels.shape == pixels.shape:
                differing = int(np.count_nonzero(earlier.pixels != pixels))
                if nearest is None or differing < number / 2:
                    nearest, number = earlier, differing
        if nearest is None:
            return None
        move = _moved(nearest.pixels, pixels) if number > pixels.size * _MOVED_ABOVE else None
        before = move.of(nearest.pixels) if move else nearest.pixels
        if move and np.count_nonzero(before != pixels) > number / 2:
            move, before = None, nearest.pixels
        return None if _tiles(before != pixels).mean() > _WHOLE_ABOVE else (nearest, move)

    def _write(self, frame_id: int, content: bytes, comment: bytes) -> int:
        entry, before = zipfile.ZipInfo(f"{frame_id}.webp"), self._buffer.tell()
        entry.comment = comment
        self._archive.writestr(entry, content)
        in_directory = _DIRECTORY_ENTRY + len(entry.filename) + len(comment)
        return self._buffer.tell() - before + in_directory


def _change_of(entry: zipfile.ZipInfo, frame_id: int) -> _Change:
    fields = json.loads(entry.comment) if entry.comment else {}
    move = fields.pop("move", None)
    return _Change(frame_id, **fields, move=_Move(**move) if move else None)


def pixels_of(image: Image.Image) -> Pixels:
    """The pixels of a picture, one number each."""
    return np.asarray(image.convert("RGBA")).view(np.uint32)[..., 0]


def _image(pixels: Pixels) -> Image.Image:
    height, width = pixels.shape
    return Image.fromarray(np.ascontiguousarray(pixels).view(np.uint8).reshape(height, width, 4))


def _webp(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, quality=75, method=4)
    return buffer.getvalue()


def _changes(before: Pixels, pixels: Pixels) -> tuple[bytes, int, int]:
    """The tiles that differ as a picture, else transparent, and where its upper left corner goes."""
    differs = before != pixels
    rows, columns = np.flatnonzero(differs.any(1)), np.flatnonzero(differs.any(0))
    if not rows.size:
        return _webp(Image.new("RGBA", (1, 1))), 0, 0
    inside = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    shown = pixels[inside]
    height, width = shown.shape
    mask = _tiles(differs[inside]).repeat(_TILE, 0).repeat(_TILE, 1)[:height, :width]
    return _webp(_image(np.where(mask, shown, np.uint32(0)))), int(columns[0]), int(rows[0])


def _tiles(differs: Mask) -> Mask:
    """Which tiles hold a pixel that differs."""
    height, width = differs.shape
    padded = np.pad(differs, ((0, -height % _TILE), (0, -width % _TILE)))
    return np.asarray(padded.reshape(len(padded) // _TILE, _TILE, -1, _TILE).any((1, 3)))


# -- what was scrolled --------------------------------------------------------------------
# Each strip of a row that occurs once before and once now votes for how far it moved. The distance with most
# votes is taken, for the rows it explains and for the strips in which it explains more than standing still.


def _moved(before: Pixels, pixels: Pixels) -> _Move | None:
    """The widest movement up or down between two pictures of one size, None where there is none."""
    height, width = pixels.shape
    then, now = _strips(before), _strips(pixels)
    votes = [_distances(then[:, n], now[:, n]) for n in range(now.shape[1])]
    distances, counts = np.unique(np.concatenate(votes), return_counts=True) if votes else ((), ())
    if not len(counts) or max(counts) < _FEWEST_VOTES:
        return None
    down = int(distances[np.argmax(counts)])
    rows = slice(max(0, -down), min(height, height - down))
    source = slice(rows.start + down, rows.stop + down)
    fits, stayed = then[source] == now[rows], then[rows] == now[rows]
    moved = np.flatnonzero((fits & ~stayed).any(1))
    top, bottom = int(moved[0]), int(moved[-1]) + 1
    better = fits[top:bottom].sum(0) > stayed[top:bottom].sum(0)
    edges = np.flatnonzero(np.diff(better, prepend=False, append=False)) * _STRIP
    columns = [[int(first), min(width, int(after))] for first, after in edges.reshape(-1, 2)]
    return _Move(down, top + rows.start, bottom + rows.start, columns) if columns else None


def _strips(pixels: Pixels) -> Pixels:
    """(rows, strips): a number for the pixels of each strip of each row."""
    if lacking := -pixels.shape[1] % _STRIP:
        pixels = np.pad(pixels, ((0, 0), (0, lacking)))
    return np.asarray(pixels.reshape(len(pixels), -1, _STRIP) @ _WEIGHTS)


def _distances(then: Pixels, now: Pixels) -> NDArray[np.int64]:
    """How far down the rows stood that occur once in each and not in the same place."""
    (old, old_rows, old_counts), (new, new_rows, new_counts) = (
        np.unique(strip, return_index=True, return_counts=True) for strip in (then, now)
    )
    _, in_old, in_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    once = (old_counts[in_old] == 1) & (new_counts[in_new] == 1)
    distances = old_rows[in_old[once]] - new_rows[in_new[once]]
    return np.asarray(distances[distances != 0])
