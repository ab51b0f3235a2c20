"""Opens what the settings and the machine ask for. Platform libraries are imported only here."""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
from collections.abc import Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from capture.core.clock import Clock
from capture.core.errors import BackendRefused, NoDisplay
from capture.daemon import Sources
from capture.page_text import Teller
from capture.screens.protocol import ScreenSource
from capture.windows.idle import LinuxActivity, Logind, Present
from capture.windows.protocol import NoWindows, UnknownWindows, WindowSource, WindowsWithTimeout
from store.core.errors import SettingsError
from store.core.settings import CaptureSettings

log = logging.getLogger(__name__)


def open_sources(
    settings: CaptureSettings, clock: Clock, environ: Mapping[str, str] | None = None
) -> Sources:
    """Screens, windows and presence for these settings. Raises `SourceFailed` or `SettingsError`."""
    kind, argument = parse_source(settings.source)
    if kind == "folder":
        from capture.screens.files import FolderScreen

        screen = FolderScreen(Path(argument).expanduser(), settings.interval_s, clock)
        return Sources(screen, NoWindows(), Present(), "folder")
    if kind == "video":
        from capture.screens.files import VideoScreen

        return Sources(VideoScreen(Path(argument).expanduser(), clock), NoWindows(), Present(), "video")
    environ = os.environ if environ is None else environ
    installed = {tool for tool in TOOLS if shutil.which(tool)}
    return _open_screen(choose(sys.platform, environ, installed), environ)


def open_accessible_text() -> list[Teller]:
    """Who asks programs for their text, where they know their places on the screen."""
    if choose(sys.platform, os.environ, TOOLS).backend != "x11":
        log.warning("capture.accessible_text does nothing here: it needs X11")
        return []
    from capture.accessibility import AccessibleText
    from capture.screens.x11 import open_grab

    return [AccessibleText(lambda: open_grab(os.environ["DISPLAY"]))]


def parse_source(source: str) -> tuple[str, str]:
    """(kind, argument) of ``capture.source``. Raises `SettingsError`."""
    kind, _, argument = source.partition(":")
    if (kind == "screen" and not argument) or (kind in ("folder", "video") and argument):
        return kind, argument
    raise SettingsError(f"capture.source must be screen, folder:DIR or video:FILE, not {source!r}")


def _open_screen(choice: Choice, environ: Mapping[str, str]) -> Sources:
    if choice.backend is None:
        failure = NoDisplay if choice.reason == "no_display" else BackendRefused
        raise failure(choice.cause, choice.action)
    if choice.backend == "x11":
        return _open_x11(environ["DISPLAY"])
    if choice.backend == "macos":
        return open_macos()
    if choice.backend == "windows":
        return open_windows()
    return open_wayland(choice.backend, environ)


def _open_x11(display_name: str) -> Sources:
    from capture.screens.x11 import X11Screens
    from capture.windows.idle import LinuxActivity, Logind, X11Idle
    from capture.windows.x11 import X11Windows

    with ExitStack() as opened:  # closes what is open already when the display goes meanwhile
        screens = opened.enter_context(closing(X11Screens(display_name)))
        windows = opened.enter_context(closing(WindowsWithTimeout(X11Windows(display_name))))
        activity = LinuxActivity(X11Idle(display_name), Logind())
        opened.pop_all()
    return Sources(screens, windows, activity, has_changed=screens.has_changed)


# Which way of looking this machine gets: a pure function of its environment and its tools.
#
# The answer is shown in the status. A way that flashes, clicks or asks at every picture is refused
# with a plain message, never used.

Backend = Literal["x11", "grim", "spectacle", "macos", "windows"]

TOOLS = ("grim", "spectacle", "gnome-screenshot", "swaymsg", "hyprctl")
"""Programs whose presence matters."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend, or (when `backend` is None) the reason and what to do."""

    backend: Backend | None
    reason: str = ""  # no_display or backend_refused
    cause: str = ""
    action: str = ""


_WLROOTS = frozenset({"sway", "hyprland", "river", "labwc", "wayfire", "wlroots", "niri", "cosmic"})
_INSTALL_GRIM = "Install grim (for example: apt install grim)"
_USE_XORG = (
    "Choose the Xorg session when you log in, or have another program write screenshots into a folder "
    "and set capture.source to folder:DIR"
)


def choose(platform: str, environ: Mapping[str, str], tools: Collection[str]) -> Choice:
    """The backend for this `sys.platform`, environment and set of installed tools."""
    if platform == "darwin":
        return Choice("macos")
    if platform == "win32":
        return Choice("windows")
    if environ.get("WAYLAND_DISPLAY") or environ.get("XDG_SESSION_TYPE") == "wayland":
        return _on_wayland(_desktops(environ), tools)
    if environ.get("DISPLAY"):
        return Choice("x11")
    return Choice(
        None,
        "no_display",
        "There is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set",
        "Start capture inside the graphical session, or set capture.source to folder:DIR or video:FILE",
    )


def _on_wayland(desktops: set[str], tools: Collection[str]) -> Choice:
    # Under Wayland an X11 grab would show X11 windows only, over black: never a fallback.
    if "kde" in desktops:
        if "spectacle" in tools:
            return Choice("spectacle")
        cause = "KDE on Wayland is read through spectacle"
        return Choice(None, "backend_refused", cause, "Install spectacle")
    if desktops & _WLROOTS:
        if "grim" in tools:
            return Choice("grim")
        return Choice(None, "backend_refused", "This Wayland compositor is read through grim", _INSTALL_GRIM)
    if "gnome" in desktops:
        cause = "GNOME on Wayland flashes and clicks at every screenshot, and this would be two a second"
        return Choice(None, "backend_refused", cause, _USE_XORG)
    if "grim" in tools:
        return Choice("grim")
    cause = "No quiet way to look at this Wayland compositor is known"
    return Choice(None, "backend_refused", cause, f"{_INSTALL_GRIM} and try again. {_USE_XORG}")


def _desktops(environ: Mapping[str, str]) -> set[str]:
    named = f"{environ.get('XDG_CURRENT_DESKTOP', '')}:{environ.get('XDG_SESSION_DESKTOP', '')}"
    names = {part.strip().lower() for part in named.split(":") if part.strip()}
    if environ.get("SWAYSOCK"):
        names.add("sway")
    if environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        names.add("hyprland")
    return names


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
