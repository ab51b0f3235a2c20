"""macOS screens through Quartz. Needs the Screen Recording permission, and says so when refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.core.errors import DisplayLost, NoDisplay, PermissionRefused
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot
from store.core.times import now_ms

_MOST_DISPLAYS = 32
_WHERE = (
    "Open System Settings, Privacy & Security, Screen & System Audio Recording, allow this program, "
    "and start capture again"
)


class MacScreens:
    """Every active display. `quartz` is the Quartz module, or a stand-in."""

    name = "macos"

    def __init__(self, quartz: Any) -> None:
        """Raises `PermissionRefused`; macOS shows its own question the first time."""
        self._quartz = quartz
        if not quartz.CGPreflightScreenCaptureAccess() and not quartz.CGRequestScreenCaptureAccess():
            raise PermissionRefused("macOS does not let this program see the screen", _WHERE)

    def monitors(self) -> list[Monitor]:
        error, handles, count = self._quartz.CGGetActiveDisplayList(_MOST_DISPLAYS, None, None)
        if error or not count:
            raise NoDisplay("No display is active", "Wake or connect a display")
        return [self._monitor(handle) for handle in handles[:count]]

    def grab(self, monitor: Monitor) -> Screenshot:
        quartz, area = self._quartz, monitor.area
        image = quartz.CGWindowListCreateImage(
            quartz.CGRectMake(area.x, area.y, area.width, area.height),
            quartz.kCGWindowListOptionOnScreenOnly,
            quartz.kCGNullWindowID,
            quartz.kCGWindowImageBestResolution,
        )
        if image is None:
            if not quartz.CGPreflightScreenCaptureAccess():
                raise PermissionRefused("macOS does not let this program see the screen any more", _WHERE)
            raise DisplayLost(f"macOS gave no picture of {monitor.name}")
        width, height = quartz.CGImageGetWidth(image), quartz.CGImageGetHeight(image)
        row_bytes = quartz.CGImageGetBytesPerRow(image)  # rows are padded
        data = quartz.CGDataProviderCopyData(quartz.CGImageGetDataProvider(image))
        rows = np.frombuffer(data, dtype=np.uint8, count=height * row_bytes).reshape(height, row_bytes)
        pixels = rows[:, : width * 4].reshape(height, width, 4).copy()
        return Screenshot(pixels, monitor, now_ms())

    def close(self) -> None:
        return

    def _monitor(self, handle: int) -> Monitor:
        quartz = self._quartz
        bounds = quartz.CGDisplayBounds(handle)
        sides = (bounds.origin.x, bounds.origin.y, bounds.size.width, bounds.size.height)
        area = Rect(*map(round, sides))
        mode = quartz.CGDisplayCopyDisplayMode(handle)
        scale = quartz.CGDisplayModeGetPixelWidth(mode) / area.width if mode is not None else 1.0
        # The display's id changes when it is replugged; what it is built of does not.
        identity = (
            quartz.CGDisplayVendorNumber(handle),
            quartz.CGDisplayModelNumber(handle),
            quartz.CGDisplaySerialNumber(handle) or quartz.CGDisplayUnitNumber(handle),
        )
        return Monitor("display-{:x}-{:x}-{:x}".format(*identity), area, scale, handle)
