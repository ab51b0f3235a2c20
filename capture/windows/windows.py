"""Windows windows: EnumWindows from the top of the stack down, without cloaked ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PureWindowsPath
from typing import Any, Protocol

from capture.core.errors import SourceFailed
from capture.core.geometry import Rect
from capture.windows import processes
from capture.windows.idle import Activity
from capture.windows.protocol import AskedEachTime, Kind, WindowInfo


class WindowsApi(Protocol):
    """The few calls of the Windows API that are needed, so that tests can stand in for them."""

    def handles(self) -> list[int]:
        """Top-level windows, topmost first."""

    def is_shown(self, handle: int) -> bool:
        """Visible, not minimised and not cloaked (another desktop, a suspended store app)."""

    def title(self, handle: int) -> str: ...
    def class_name(self, handle: int) -> str: ...
    def rect(self, handle: int) -> tuple[int, int, int, int]:
        """left, top, right, bottom in pixels."""

    def pid(self, handle: int) -> int: ...
    def program(self, pid: int) -> str:
        """Path of the process's program; "" when it may not be asked."""

    def asks_not_to(self, handle: int) -> bool:
        """Whether SetWindowDisplayAffinity keeps this window out of captures."""

    def foreground(self) -> int: ...
    def idle_ms(self) -> int: ...
    def is_locked(self) -> bool: ...


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
    """The windows of the desktop in front."""

    name = "windows"

    def __init__(self, api: WindowsApi, errors: tuple[type[Exception], ...] = (OSError,)) -> None:
        self._api = api
        self._errors = errors

    def windows(self) -> list[WindowInfo]:
        api = self._api
        try:
            front = api.foreground()
            shown = [handle for handle in api.handles() if api.is_shown(handle)]
            return [self._info(handle, handle == front) for handle in shown]
        except self._errors as error:
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

    def __init__(self, idle_ms: Callable[[], int], is_locked: Callable[[], bool]) -> None:
        self._idle_ms = idle_ms
        self._is_locked = is_locked

    def read(self) -> Activity:
        return Activity(self._idle_ms() / 1000, "locked" if self._is_locked() else "")

    def close(self) -> None:
        return


class Pywin32Api:
    """`WindowsApi` by pywin32 and a few ctypes calls."""

    def __init__(self) -> None:
        import ctypes

        import win32api
        import win32gui
        import win32process

        self._ctypes: Any = ctypes
        self._api, self._gui, self._process = win32api, win32gui, win32process
        # Without this, rectangles come scaled on HiDPI monitors and pixels do not.
        self._ctypes.windll.shcore.SetProcessDpiAwareness(2)

    def handles(self) -> list[int]:
        handles: list[int] = []

        def take(handle: int, _: None) -> bool:
            handles.append(handle)
            return True  # go on

        self._gui.EnumWindows(take, None)
        return handles

    def is_shown(self, handle: int) -> bool:
        if not self._gui.IsWindowVisible(handle) or self._gui.IsIconic(handle):
            return False
        cloaked = self._ctypes.c_int(0)
        self._ctypes.windll.dwmapi.DwmGetWindowAttribute(handle, 14, self._ctypes.byref(cloaked), 4)
        return not cloaked.value

    def title(self, handle: int) -> str:
        return str(self._gui.GetWindowText(handle))

    def class_name(self, handle: int) -> str:
        return str(self._gui.GetClassName(handle))

    def rect(self, handle: int) -> tuple[int, int, int, int]:
        left, top, right, bottom = self._gui.GetWindowRect(handle)
        return left, top, right, bottom

    def pid(self, handle: int) -> int:
        return int(self._process.GetWindowThreadProcessId(handle)[1])

    def program(self, pid: int) -> str:
        return processes.program(pid)

    def asks_not_to(self, handle: int) -> bool:
        affinity = self._ctypes.c_ulong(0)
        user = self._ctypes.windll.user32
        return bool(user.GetWindowDisplayAffinity(handle, self._ctypes.byref(affinity)) and affinity.value)

    def foreground(self) -> int:
        return int(self._gui.GetForegroundWindow())

    def idle_ms(self) -> int:
        # Both count milliseconds since the start in 32 bits.
        return int((self._api.GetTickCount() - self._api.GetLastInputInfo()) & 0xFFFFFFFF)

    def is_locked(self) -> bool:
        """The input desktop of a locked session may not be opened."""
        user = self._ctypes.windll.user32
        switch_desktop = 0x0100
        desktop = user.OpenInputDesktop(0, False, switch_desktop)
        if not desktop:
            return True
        shown = bool(user.SwitchDesktop(desktop))
        user.CloseDesktop(desktop)
        return not shown
