"""macOS through Quartz: screens, which need the Screen Recording permission and say so when refused, and the
window server's list, front to back, with owners, titles and sharing flags.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from capture.core.errors import DisplayLost, NoDisplay, PermissionRefused, SourceFailed
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot
from capture.windows.idle import Activity
from capture.windows.protocol import AskedEachTime, Kind, WindowInfo
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


_ORDINARY_LAYER = 0
_DOCK_LAYERS = range(1, 26)  # the Dock, the menu bar and its items
_ANY_INPUT = 0xFFFFFFFF


class MacWindows(AskedEachTime):
    """`quartz` is the Quartz module and `workspace` an NSWorkspace, or stand-ins."""

    name = "macos"

    def __init__(self, quartz: Any, workspace: Any) -> None:
        self._quartz = quartz
        self._workspace = workspace

    def windows(self) -> list[WindowInfo]:
        quartz = self._quartz
        options = quartz.kCGWindowListOptionOnScreenOnly | quartz.kCGWindowListExcludeDesktopElements
        listed = quartz.CGWindowListCopyWindowInfo(options, quartz.kCGNullWindowID)
        if listed is None:
            raise SourceFailed("macOS does not list its windows: there is no graphical session")
        front = self._workspace.frontmostApplication()
        front_pid = front.processIdentifier() if front is not None else None
        shown = [entry for entry in listed if entry.get(quartz.kCGWindowAlpha, 1.0) > 0]
        focused = next((e for e in shown if self._pid(e) == front_pid and self._kind(e) == "window"), None)
        return [self._info(entry, entry is focused) for entry in shown]

    def _info(self, entry: Any, focused: bool) -> WindowInfo:
        quartz = self._quartz
        bounds = entry[quartz.kCGWindowBounds]
        sharing = entry.get(quartz.kCGWindowSharingState, quartz.kCGWindowSharingReadOnly)
        return WindowInfo(
            app_name=_text(entry.get(quartz.kCGWindowOwnerName)),
            window_name=_text(entry.get(quartz.kCGWindowName)),
            rect=Rect(*(round(bounds[side]) for side in ("X", "Y", "Width", "Height"))),
            pid=self._pid(entry),
            window_id=entry.get(quartz.kCGWindowNumber),
            focused=focused,
            wants_no_capture=sharing == quartz.kCGWindowSharingNone,
            kind=self._kind(entry),
        )

    def _pid(self, entry: Any) -> int | None:
        pid = entry.get(self._quartz.kCGWindowOwnerPID)
        return None if pid is None else int(pid)

    def _kind(self, entry: Any) -> Kind:
        layer = int(entry.get(self._quartz.kCGWindowLayer, _ORDINARY_LAYER))
        if layer == _ORDINARY_LAYER:
            return "window"
        return "desktop" if layer < 0 else "dock" if layer in _DOCK_LAYERS else "popup"


class MacActivity:
    """Idle time and the session's state, from Quartz."""

    def __init__(self, quartz: Any) -> None:
        self._quartz = quartz

    def read(self) -> Activity:
        quartz = self._quartz
        system = quartz.kCGEventSourceStateHIDSystemState
        idle_s = quartz.CGEventSourceSecondsSinceLastEventType(system, _ANY_INPUT)
        session = quartz.CGSessionCopyCurrentDictionary()
        if session is None or not session.get("kCGSSessionOnConsoleKey", True):
            return Activity(float(idle_s), "switched_user")
        return Activity(float(idle_s), "locked" if session.get("CGSSessionScreenIsLocked") else "")

    def close(self) -> None:
        return


def _text(value: Any) -> str | None:
    return str(value) if value else None
