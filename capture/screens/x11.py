"""X11 screens: pixels through mss (shared memory where there is some, about a millisecond), monitor names
through RandR.

Monitors come from RandR's monitor list, which knows their stable names (``DP-1``) and follows
replugging. When the desktop changes its size, mss is opened again: its buffer has the old size.
"""

from __future__ import annotations

from contextlib import suppress

import mss
import numpy as np
from mss.exception import ScreenShotError
from Xlib import display as xdisplay
from Xlib import error as xerror
from Xlib.ext import damage

from capture.core.errors import DisplayLost, NoDisplay
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Pixels, Screenshot
from store.core.times import now_ms

_WHEN_NO_DISPLAY = (
    "Start capture inside the graphical session, or set DISPLAY; without a screen use capture.source"
)


X_ERRORS = (xerror.XError, xerror.ConnectionClosedError, OSError)


class X11Client:
    """A connection to one X display."""

    def __init__(self, display_name: str) -> None:
        """Raises `NoDisplay`."""
        self._display_name = display_name
        try:
            self._display = xdisplay.Display(display_name)
        except (xerror.DisplayError, *X_ERRORS) as error:
            cause = f"The X display {display_name or '(unset)'} cannot be opened: {error}"
            raise NoDisplay(cause, _WHEN_NO_DISPLAY) from error
        # Replies still raise; the rest is noise, as windows vanish while they are asked about.
        self._display.set_error_handler(lambda *_: None)

    def close(self) -> None:
        with suppress(*X_ERRORS):  # it was lost already
            self._display.close()

    def _lost(self, error: Exception) -> DisplayLost:
        return DisplayLost(f"The X display {self._display_name} does not answer: {error}")


class X11Screens(X11Client):
    """Every monitor of one X display."""

    name = "x11"

    def __init__(self, display_name: str) -> None:
        """Raises `NoDisplay`."""
        super().__init__(display_name)
        self._has_monitors = False
        if self._display.query_extension("RANDR"):
            version = self._display.xrandr_query_version()
            self._has_monitors = (version.major_version, version.minor_version) >= (1, 5)
        self._damage = self._follow_painting()
        self._whole: Rect | None = None
        self._grab: Grab | None = None

    def monitors(self) -> list[Monitor]:
        try:
            root, name = self._display.screen().root, self._display.get_atom_name
            geometry = root.get_geometry()
            found = root.xrandr_get_monitors(is_active=True).monitors if self._has_monitors else ()
            listed = [
                Monitor(name(m.name), Rect(m.x, m.y, m.width_in_pixels, m.height_in_pixels)) for m in found
            ]
        except X_ERRORS as error:
            raise self._lost(error) from error
        whole = Rect(0, 0, geometry.width, geometry.height)
        if self._whole != whole:
            self._whole = whole
            self._close_grab()
        # An area beyond the root (a monitor being unplugged) cannot be grabbed.
        inside = [m for m in listed if m.area.area and m.area.common(whole) == m.area]
        return inside or [Monitor("screen", whole)]

    def has_changed(self) -> bool:
        """Whether anything may have been painted since this was asked the last time."""
        if self._damage is None:
            return True
        try:
            is_painted = False
            while self._display.pending_events():
                self._display.next_event()
                is_painted = True
            if is_painted:
                self._display.damage_subtract(self._damage)
                self._display.sync()  # before the grab: what is painted from now on is told anew
            return is_painted
        except X_ERRORS as error:
            raise self._lost(error) from error

    def _follow_painting(self) -> int | None:
        """The server tells when anything on the screen is painted, where it has the DAMAGE extension."""
        if not self._display.query_extension("DAMAGE"):
            return None
        self._display.damage_query_version()
        root = self._display.screen().root
        return int(root.damage_create(damage.DamageReportNonEmpty))

    def grab(self, monitor: Monitor) -> Screenshot:
        try:
            if self._grab is None:
                self._grab = Grab(self._display_name)
            return Screenshot(self._grab(monitor.area), monitor, now_ms())
        except GRAB_ERRORS as error:
            self._close_grab()
            raise self._lost(error) from error

    def close(self) -> None:
        self._close_grab()
        super().close()

    def _close_grab(self) -> None:
        if self._grab is not None:
            self._grab.close()
            self._grab = None


GRAB_ERRORS = (ScreenShotError, OSError)


class Grab:
    """Pixels of an area of an X display, BGRX."""

    def __init__(self, display_name: str) -> None:
        """Raises one of `GRAB_ERRORS`."""
        self._mss = mss.MSS(display=display_name)

    def __call__(self, area: Rect) -> Pixels:
        region = {"left": area.x, "top": area.y, "width": area.width, "height": area.height}
        shot = self._mss.grab(region)
        return np.frombuffer(shot.raw, dtype=np.uint8).reshape(shot.height, shot.width, 4)

    def close(self) -> None:
        self._mss.close()
