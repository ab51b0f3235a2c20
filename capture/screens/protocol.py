"""The screen, seen monitor by monitor.

Every way of looking (X11, Wayland tools, macOS, Windows, a folder of pictures, a video) answers
the same two questions: which monitors are there, and what does this one show now. Pixels stay
in the screen's own order, blue green red and one unused byte, until a frame is encoded: to
convert costs more than to grab and compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from capture.core.geometry import Rect

Pixels = npt.NDArray[np.uint8]
"""uint8[height, width, 4]: blue, green, red, unused; writeable, contiguous rows."""


@dataclass(frozen=True, slots=True)
class Monitor:
    """One monitor. `name` is the same after replugging; `handle` is the system's own and may not be.

    `area` is its place on the desktop in the units window rectangles come in; `scale` is how
    many pixels of a screenshot make one such unit (2.0 on a HiDPI Mac, 1.0 on X11).
    """

    name: str
    area: Rect
    scale: float = 1.0
    handle: int = 0


@dataclass(frozen=True, slots=True)
class Screenshot:
    """What one monitor showed at `captured_ms`."""

    pixels: Pixels
    monitor: Monitor
    captured_ms: int


class ScreenSource(Protocol):
    """A way to look at the screen."""

    @property
    def name(self) -> str:
        """What the status page calls it: ``x11``, ``grim``, ``folder``, …"""

    def monitors(self) -> list[Monitor]:
        """The monitors there are right now. Raises `SourceFailed`."""

    def grab(self, monitor: Monitor) -> Screenshot:
        """What this monitor shows now, in an array of its own. Raises `SourceFailed`."""

    def close(self) -> None:
        """Let go of the display. Safe to call twice."""


def bgrx(image: Image.Image) -> Pixels:
    """A picture in the screen's own order."""
    colours = np.asarray(image.convert("RGB"))
    pixels = np.zeros((*colours.shape[:2], 4), dtype=np.uint8)
    pixels[..., :3] = colours[..., ::-1]
    return pixels
