"""Windows screens through mss, with the monitors' own ids as names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mss.exception import ScreenShotError

from capture.core.errors import DisplayLost, NoDisplay
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot
from store.core.times import now_ms

_ERRORS = (ScreenShotError, OSError)


class WindowsScreens:
    """Every monitor. `open_mss` makes an mss object; it is made again to notice monitors that changed."""

    name = "windows"

    def __init__(self, open_mss: Callable[[], Any]) -> None:
        self._open_mss = open_mss
        self._mss: Any = None

    def monitors(self) -> list[Monitor]:
        self.close()  # mss keeps its first list of monitors for good
        try:
            self._mss = self._open_mss()
            places = self._mss.monitors[1:]
        except _ERRORS as error:
            raise NoDisplay(f"Windows does not tell its monitors: {error}") from error
        if not places:
            raise NoDisplay("No monitor is connected", "Connect a monitor, or unlock the remote session")
        return [_monitor(place, index) for index, place in enumerate(places, start=1)]

    def grab(self, monitor: Monitor) -> Screenshot:
        area = monitor.area
        region = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        try:
            shot = self._mss.grab(region)
        except _ERRORS as error:  # also the secure desktop, which nobody may see
            raise DisplayLost(f"Windows gave no picture of {monitor.name}: {error}") from error
        pixels = np.frombuffer(shot.raw, dtype=np.uint8).reshape(shot.height, shot.width, 4)
        return Screenshot(pixels, monitor, now_ms())

    def close(self) -> None:
        if self._mss is not None:
            self._mss.close()
            self._mss = None


def _monitor(place: dict[str, Any], index: int) -> Monitor:
    name = str(place.get("unique_id") or place.get("name") or f"DISPLAY{index}")
    return Monitor(name, Rect(place["left"], place["top"], place["width"], place["height"]), handle=index)
