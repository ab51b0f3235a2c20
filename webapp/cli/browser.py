"""Showing a page to a person."""

from __future__ import annotations

import os
import sys
import webbrowser


def open_in_browser(link: str) -> None:
    """Show the link in a graphical browser; without a display the printed link is enough."""
    has_display = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_display:
        webbrowser.open(link)
