"""Sources of the platforms other than X11, put together from their parts."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from capture.screens.protocol import ScreenSource
from capture.sources import Sources
from capture.windows.guarded import UnknownWindows, WindowsWithTimeout
from capture.windows.idle import LinuxActivity, Logind
from capture.windows.protocol import WindowSource


def open_macos() -> Sources:
    """Quartz. Raises `PermissionRefused`."""
    from capture.screens.macos import MacScreens
    from capture.windows.macos import MacActivity, MacWindows

    quartz: Any = importlib.import_module("Quartz")
    app_kit: Any = importlib.import_module("AppKit")
    windows = MacWindows(quartz, app_kit.NSWorkspace.sharedWorkspace())
    return Sources(MacScreens(quartz), WindowsWithTimeout(windows), MacActivity(quartz))


def open_windows() -> Sources:
    """mss and pywin32."""
    import mss

    from capture.screens.windows import WindowsScreens
    from capture.windows.windows import Pywin32Api, WindowsActivity, WindowsWindows

    errors: Any = importlib.import_module("pywintypes")
    api = Pywin32Api()
    windows = WindowsWithTimeout(WindowsWindows(api, (OSError, errors.error)))
    return Sources(WindowsScreens(mss.MSS), windows, WindowsActivity(api.idle_ms, api.is_locked))


def open_wayland(backend: str, environ: Mapping[str, str]) -> Sources:
    """grim or spectacle, with the windows that the compositor tells."""
    from capture.screens import wayland as screens
    from capture.windows import wayland as windows

    source: WindowSource
    screen: ScreenSource
    if environ.get("SWAYSOCK"):
        screen = screens.GrimScreens(screens.sway_outputs)
        source = WindowsWithTimeout(windows.ToolWindows("swaymsg", windows.sway_windows))
    elif environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        screen = screens.GrimScreens(screens.hyprland_outputs)
        source = WindowsWithTimeout(windows.ToolWindows("hyprctl", windows.hyprland_windows))
    else:
        screen = screens.SpectacleScreens() if backend == "spectacle" else screens.GrimScreens(None)
        source = UnknownWindows(
            "This compositor does not tell which windows are in view",
            "Without privacy rules everything is captured; while one exists, nothing is",
        )
    return Sources(screen, source, LinuxActivity(None, Logind()))
