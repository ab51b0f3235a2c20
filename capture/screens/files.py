"""A folder of pictures or a video, played as if it were a screen: for headless machines and tests.

A folder shows its pictures in name order, one per interval, and then stays with the last; pictures
that arrive later are shown when they do, so that another program may drop screenshots there. A
video plays in its own time, without its sound, and then stays with its last picture. Both show
every picture once and never begin again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from capture.core.clock import Clock
from capture.core.errors import SourceEmpty
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Pixels, Screenshot, bgrx

log = logging.getLogger(__name__)

_Timed = tuple[float, Any]
"""(seconds from the start, picture)"""

_SUFFIXES = frozenset({".png", ".webp", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff"})


class FolderScreen:
    """One monitor named ``folder``."""

    name = "folder"

    def __init__(self, folder: Path, interval_s: float, clock: Clock) -> None:
        """Raises `SourceEmpty` when there is no such folder."""
        if not folder.is_dir():
            raise SourceEmpty(f"There is no folder {folder}", "Change capture.source")
        self._folder = folder
        self._interval_s = interval_s
        self._clock = clock
        self._last = ""  # name of the picture that is shown
        self._pixels: Pixels | None = None
        self._shown_s = float("-inf")

    def monitors(self) -> list[Monitor]:
        self._advance()
        assert self._pixels is not None
        return [Monitor("folder", Rect(0, 0, self._pixels.shape[1], self._pixels.shape[0]))]

    def grab(self, monitor: Monitor) -> Screenshot:
        assert self._pixels is not None  # `monitors` comes first
        return Screenshot(self._pixels, monitor, self._clock.now_ms())

    def close(self) -> None:
        return

    def _advance(self) -> None:
        # A look may come a little early; half a look's time does not skip or repeat a picture.
        if self._clock.monotonic_s() - self._shown_s < self._interval_s * 0.75:
            return
        for path in sorted(self._folder.iterdir()):
            if path.name <= self._last or path.suffix.lower() not in _SUFFIXES:
                continue
            self._last = path.name
            try:
                self._pixels = _read(path)
            except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
                log.warning("%s is not shown: %s", path.name, error)
                continue
            self._shown_s = self._clock.monotonic_s()
            return
        if self._pixels is None:
            raise SourceEmpty(f"There is no picture in {self._folder}", "Put PNG, WebP or JPEG files there")


class VideoScreen:
    """One monitor named ``video``. Sound is never decoded."""

    name = "video"

    def __init__(self, file: Path, clock: Clock) -> None:
        """Raises `SourceEmpty` when the file is not a video."""
        import av
        from av.error import FFmpegError

        self._errors = (FFmpegError, OSError)
        self._clock = clock
        try:
            self._container = av.open(str(file))
            self._frames = self._pictures(self._container)
            self._shown = next(self._frames)
        except (*self._errors, StopIteration, IndexError) as error:
            cause = f"{file} cannot be played as a video ({error})"
            raise SourceEmpty(cause, "Change capture.source") from error
        self._next: _Timed | None = self._shown
        self._begin_s: float | None = None

    def monitors(self) -> list[Monitor]:
        if self._begin_s is None:
            self._begin_s = self._clock.monotonic_s()
        self._play_to(self._clock.monotonic_s() - self._begin_s)
        return [Monitor("video", Rect(0, 0, self._shown[1].width, self._shown[1].height))]

    def grab(self, monitor: Monitor) -> Screenshot:
        picture = self._shown[1].to_ndarray(format="bgra")
        return Screenshot(np.ascontiguousarray(picture), monitor, self._clock.now_ms())

    def close(self) -> None:
        self._container.close()

    def _play_to(self, position_s: float) -> None:
        while self._next is not None and self._next[0] <= position_s:
            self._shown = self._next
            try:
                self._next = next(self._frames, None)
            except self._errors as error:
                log.warning("the video ends early: %s", error)
                self._next = None

    @staticmethod
    def _pictures(container: Any) -> Iterator[_Timed]:
        start = None
        for index, frame in enumerate(container.decode(container.streams.video[0])):
            at_s = float(frame.time) if frame.time is not None else index / 25
            start = at_s if start is None else start
            yield at_s - start, frame


def _read(path: Path) -> Pixels:
    with Image.open(path) as image:
        return bgrx(image)
