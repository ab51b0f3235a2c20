"""Opens what the settings and the machine ask for. Platform libraries are imported only here."""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Literal

from capture.core.clock import Clock
from capture.core.errors import BackendRefused, NoDisplay
from capture.daemon import Sources
from capture.page_text import Teller
from capture.screens.protocol import Monitor
from capture.windows.idle import LinuxActivity, Logind, Present
from capture.windows.protocol import NoWindows, UnknownWindows, WindowSource, WindowsWithTimeout
from store.core.errors import SettingsError
from store.core.settings import CaptureSettings

log = logging.getLogger(__name__)

Backend = Literal["x11", "grim", "macos", "windows"]


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
    backend = choose(sys.platform, environ, has_grim=shutil.which("grim") is not None)
    if backend == "x11":
        return _open_x11(environ["DISPLAY"])
    return {"macos": _open_macos, "windows": _open_windows, "grim": _open_wayland}[backend](environ)


def open_accessible_text() -> list[Teller]:
    """Who asks programs for their text, where they know their places on the screen."""
    try:
        is_x11 = choose(sys.platform, os.environ, has_grim=True) == "x11"
    except (NoDisplay, BackendRefused):
        is_x11 = False
    if not is_x11:
        log.warning("capture.accessible_text does nothing here: it needs X11")
        return []
    from capture.accessibility import AccessibleText
    from capture.screens.x11 import Grab

    return [AccessibleText(lambda: Grab(os.environ["DISPLAY"]))]


def parse_source(source: str) -> tuple[str, str]:
    """(kind, argument) of ``capture.source``. Raises `SettingsError`."""
    kind, _, argument = source.partition(":")
    if (kind == "screen" and not argument) or (kind in ("folder", "video") and argument):
        return kind, argument
    raise SettingsError(f"capture.source must be screen, folder:DIR or video:FILE, not {source!r}")


_WLROOTS = frozenset({"sway", "hyprland", "river", "labwc", "wayfire", "wlroots", "niri", "cosmic"})
_INSTALL_GRIM = "Install grim (for example: apt install grim)"
_USE_XORG = (
    "Choose the Xorg session when you log in, or have another program write screenshots into a folder "
    "and set capture.source to folder:DIR"
)


def choose(platform: str, environ: Mapping[str, str], *, has_grim: bool) -> Backend:
    """The way to look for this `sys.platform` and environment. Raises `NoDisplay`, and `BackendRefused` where
    the only one would flash, click or ask at every picture.
    """
    if platform == "darwin":
        return "macos"
    if platform == "win32":
        return "windows"
    if environ.get("WAYLAND_DISPLAY") or environ.get("XDG_SESSION_TYPE") == "wayland":
        # An X11 grab would show X11 windows only, over black: never a fallback.
        return _on_wayland(_desktops(environ), has_grim)
    if environ.get("DISPLAY"):
        return "x11"
    raise NoDisplay(
        "There is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set",
        "Start capture inside the graphical session, or set capture.source to folder:DIR or video:FILE",
    )


def _on_wayland(desktops: Collection[str], has_grim: bool) -> Backend:
    if "gnome" in desktops and not _WLROOTS.intersection(desktops):
        cause = "GNOME on Wayland flashes and clicks at every screenshot, and this would be two a second"
        raise BackendRefused(cause, _USE_XORG)
    if has_grim and "kde" not in desktops:
        return "grim"
    if _WLROOTS.intersection(desktops):
        raise BackendRefused("This Wayland compositor is read through grim", _INSTALL_GRIM)
    how = _USE_XORG if "kde" in desktops else f"{_INSTALL_GRIM} and try again. {_USE_XORG}"
    raise BackendRefused("No quiet way to look at this Wayland compositor is known", how)


def _desktops(environ: Mapping[str, str]) -> set[str]:
    named = f"{environ.get('XDG_CURRENT_DESKTOP', '')}:{environ.get('XDG_SESSION_DESKTOP', '')}"
    names = {part.strip().lower() for part in named.split(":") if part.strip()}
    if environ.get("SWAYSOCK"):
        names.add("sway")
    if environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        names.add("hyprland")
    return names


def _open_x11(display_name: str) -> Sources:
    from capture.screens.x11 import X11Screens
    from capture.windows.x11 import X11Idle, X11Windows

    with ExitStack() as opened:  # closes what is open already when the display goes meanwhile
        screens = opened.enter_context(closing(X11Screens(display_name)))
        windows = opened.enter_context(closing(WindowsWithTimeout(X11Windows(display_name))))
        activity = LinuxActivity(X11Idle(display_name), Logind())
        opened.pop_all()
    return Sources(screens, windows, activity, has_changed=screens.has_changed)


def _open_macos(_: Mapping[str, str]) -> Sources:
    """Quartz. Raises `PermissionRefused`."""
    from capture.systems.macos import MacActivity, MacScreens, MacWindows

    quartz: Any = importlib.import_module("Quartz")
    app_kit: Any = importlib.import_module("AppKit")
    windows = MacWindows(quartz, app_kit.NSWorkspace.sharedWorkspace())
    return Sources(MacScreens(quartz), WindowsWithTimeout(windows), MacActivity(quartz))


def _open_windows(_: Mapping[str, str]) -> Sources:
    """mss and pywin32."""
    import mss

    from capture.systems.windows import Pywin32Api, WindowsActivity, WindowsScreens, WindowsWindows

    api = Pywin32Api()
    return Sources(WindowsScreens(mss.MSS), WindowsWithTimeout(WindowsWindows(api)), WindowsActivity(api))


def _open_wayland(environ: Mapping[str, str]) -> Sources:
    """grim, with the windows that the compositor tells."""
    from capture.systems import wayland

    outputs: Callable[[], list[Monitor]] | None = None
    source: WindowSource = UnknownWindows()
    if environ.get("SWAYSOCK"):
        outputs = wayland.sway_outputs
        source = WindowsWithTimeout(wayland.ToolWindows("swaymsg", wayland.sway_windows))
    elif environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        outputs = wayland.hyprland_outputs
        source = WindowsWithTimeout(wayland.ToolWindows("hyprctl", wayland.hyprland_windows))
    return Sources(wayland.GrimScreens(outputs), source, LinuxActivity(Present(), Logind()))
