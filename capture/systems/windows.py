"""Windows: screens through mss; windows by EnumWindows, from top to bottom, without cloaked ones."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from pathlib import PureWindowsPath
from typing import Any

import numpy as np
from mss.exception import ScreenShotError

from capture.core.errors import DisplayLost, NoDisplay, SourceFailed
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot
from capture.windows import processes
from capture.windows.idle import Activity
from capture.windows.protocol import AskedEachTime, Kind, WindowInfo
from store.core.times import now_ms

_ERRORS = (ScreenShotError, OSError)


class WindowsScreens:
    """Every monitor, by its own id. `open_mss` makes an mss object; it is made again to notice monitors that
    changed.
    """

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
        return [
            Monitor(
                str(place.get("unique_id") or place.get("name") or f"DISPLAY{index}"),
                Rect(place["left"], place["top"], place["width"], place["height"]),
                handle=index,
            )
            for index, place in enumerate(places, start=1)
        ]

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


# The frame that shows store apps; the app itself is a child, and the title is the app's.
_FRAME_HOST = "applicationframehost"
_KINDS: dict[str, Kind] = {
    "Shell_TrayWnd": "dock",
    "Shell_SecondaryTrayWnd": "dock",
    "Progman": "desktop",
    "WorkerW": "desktop",
    "tooltips_class32": "popup",
    "#32768": "popup",  # menus
}


class WindowsWindows(AskedEachTime):
    """The windows of the desktop in front. `api` is `Pywin32Api`, or a stand-in."""

    name = "windows"

    def __init__(self, api: Any) -> None:
        self._api = api

    def windows(self) -> list[WindowInfo]:
        api = self._api
        try:
            front = api.foreground()
            shown = [handle for handle in api.handles() if api.is_shown(handle)]
            return [self._info(handle, handle == front) for handle in shown]
        except api.errors as error:
            raise SourceFailed(f"Windows does not list its windows: {error}") from error

    def _info(self, handle: int, focused: bool) -> WindowInfo:
        api = self._api
        left, top, right, bottom = api.rect(handle)
        title, pid = api.title(handle) or None, api.pid(handle)
        app_name = PureWindowsPath(api.program(pid)).stem or None
        if app_name and app_name.lower() == _FRAME_HOST:
            app_name = title
        return WindowInfo(
            app_name,
            title,
            Rect(left, top, right - left, bottom - top),
            pid,
            handle,
            focused=focused,
            wants_no_capture=api.asks_not_to(handle),
            kind=_KINDS.get(api.class_name(handle), "window"),
        )


class WindowsActivity:
    """Idle time and the lock screen."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def read(self) -> Activity:
        return Activity(self._api.idle_ms() / 1000, "locked" if self._api.is_locked() else "")

    def close(self) -> None:
        return


class Pywin32Api:
    """The few calls of the Windows API that are needed, by pywin32 and ctypes."""

    def __init__(self) -> None:
        windll: Any = ctypes.windll  # type: ignore[attr-defined]
        self._user, self._dwm = windll.user32, windll.dwmapi
        self._api, self._gui, self._process, errors = (
            importlib.import_module(name) for name in ("win32api", "win32gui", "win32process", "pywintypes")
        )
        self.errors = (OSError, errors.error)
        # Without this, rectangles come scaled on HiDPI monitors and pixels do not.
        windll.shcore.SetProcessDpiAwareness(2)

    def handles(self) -> list[int]:
        """Top-level windows, topmost first."""
        handles: list[int] = []
        self._gui.EnumWindows(lambda handle, found: found.append(handle) or True, handles)  # True: go on
        return handles

    def is_shown(self, handle: int) -> bool:
        """Visible, not minimised and not cloaked (another desktop, a suspended store app)."""
        if not self._gui.IsWindowVisible(handle) or self._gui.IsIconic(handle):
            return False
        cloaked = ctypes.c_int(0)
        self._dwm.DwmGetWindowAttribute(handle, 14, ctypes.byref(cloaked), 4)
        return not cloaked.value

    def title(self, handle: int) -> str:
        return str(self._gui.GetWindowText(handle))

    def class_name(self, handle: int) -> str:
        return str(self._gui.GetClassName(handle))

    def rect(self, handle: int) -> tuple[int, int, int, int]:
        """left, top, right, bottom in pixels."""
        left, top, right, bottom = self._gui.GetWindowRect(handle)
        return left, top, right, bottom

    def pid(self, handle: int) -> int:
        return int(self._process.GetWindowThreadProcessId(handle)[1])

    def program(self, pid: int) -> str:
        """Path of the process's program; "" when it may not be asked."""
        return processes.program(pid)

    def asks_not_to(self, handle: int) -> bool:
        """Whether SetWindowDisplayAffinity keeps this window out of captures."""
        affinity = ctypes.c_ulong(0)
        told = self._user.GetWindowDisplayAffinity(handle, ctypes.byref(affinity))
        return bool(told and affinity.value)

    def foreground(self) -> int:
        return int(self._gui.GetForegroundWindow())

    def idle_ms(self) -> int:
        # Both count milliseconds since the start in 32 bits.
        return int((self._api.GetTickCount() - self._api.GetLastInputInfo()) & 0xFFFFFFFF)

    def is_locked(self) -> bool:
        """The input desktop of a locked session may not be opened."""
        switch_desktop = 0x0100
        desktop = self._user.OpenInputDesktop(0, False, switch_desktop)
        if not desktop:
            return True
        shown = bool(self._user.SwitchDesktop(desktop))
        self._user.CloseDesktop(desktop)
        return not shown
