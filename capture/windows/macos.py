"""macOS windows: the window server's list, front to back, with owners, titles and sharing flags."""

from __future__ import annotations

from typing import Any

from capture.core.errors import SourceFailed
from capture.core.geometry import Rect
from capture.windows.idle import Activity
from capture.windows.protocol import AskedEachTime, Kind, WindowInfo

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
