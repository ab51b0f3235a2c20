"""Opens what the settings and the machine ask for. Platform libraries are imported only here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from capture.choose import TOOLS, Choice, choose
from capture.core.clock import Clock
from capture.core.errors import BackendRefused, NoDisplay
from capture.sources import Sources
from capture.windows.guarded import NoWindows, WindowsWithTimeout
from capture.windows.idle import Present
from store.core.errors import SettingsError
from store.core.settings import CaptureSettings


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
    return _open_screen(choose(sys.platform, environ, installed_tools()), environ)


def parse_source(source: str) -> tuple[str, str]:
    """(kind, argument) of ``capture.source``. Raises `SettingsError`."""
    kind, _, argument = source.partition(":")
    if (kind == "screen" and not argument) or (kind in ("folder", "video") and argument):
        return kind, argument
    raise SettingsError(f"capture.source must be screen, folder:DIR or video:FILE, not {source!r}")


def installed_tools() -> set[str]:
    return {tool for tool in TOOLS if shutil.which(tool)}


def _open_screen(choice: Choice, environ: Mapping[str, str]) -> Sources:
    if choice.backend is None:
        failure = NoDisplay if choice.reason == "no_display" else BackendRefused
        raise failure(choice.cause, choice.action)
    if choice.backend == "x11":
        return _open_x11(environ["DISPLAY"])
    if choice.backend == "macos":
        from capture.capture_platforms import open_macos

        return open_macos()
    if choice.backend == "windows":
        from capture.capture_platforms import open_windows

        return open_windows()
    from capture.capture_platforms import open_wayland

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
    return Sources(screens, windows, activity)
