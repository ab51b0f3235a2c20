"""Which way of looking this machine gets: a pure function of its environment and its tools.

The answer is shown in the status. A way that flashes, clicks or asks at every picture is refused
with a plain message, never used (lesson CAP-8).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

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
    is_wayland = bool(environ.get("WAYLAND_DISPLAY")) or environ.get("XDG_SESSION_TYPE") == "wayland"
    if is_wayland:
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
        return Choice(
            None, "backend_refused", "KDE on Wayland is read through spectacle", "Install spectacle"
        )
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
    found = {part.strip().lower() for part in named.split(":") if part.strip()}
    if environ.get("SWAYSOCK"):
        found.add("sway")
    if environ.get("HYPRLAND_INSTANCE_SIGNATURE"):
        found.add("hyprland")
    return found
