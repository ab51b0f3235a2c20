"""The windows a person can see: whose they are, where they are, which has the focus.

`WindowSource.windows` lists visible windows from the top of the stack to the bottom. An empty
list means "read, and there is none"; a source that cannot read raises instead, because privacy
treats "none" and "not known" differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Literal, Protocol

from capture.core.errors import SourceFailed
from capture.core.geometry import Rect
from store.privacy.defaults import normalize_app_name
from store.privacy.rules import WindowFacts

Kind = Literal["window", "popup", "dock", "desktop"]

LOCKERS = frozenset(
    normalize_app_name(name)
    for name in (
        "i3lock", "slock", "xlock", "xscreensaver", "xsecurelock", "xtrlock", "light-locker", "lightdm",
        "gtklock", "swaylock", "hyprlock", "waylock", "kscreenlocker_greet", "gnome-screensaver",
        "cinnamon-screensaver", "mate-screensaver", "xfce4-screensaver", "betterlockscreen",
        "loginwindow", "ScreenSaverEngine", "LockApp", "LogonUI",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """One visible window. Unknown is None, never a guess.

    `opaque` says that nothing below shines through; only such a window hides another, with its part `cover`
    or all of it. `places`, all within `rect`, are where it was a moment ago, and its pixels may still be
    (`capture.windows.settling`): where there are several, it may have taken along what it found.
    `kind` tells ordinary windows from menus, panels and the desktop's own. `window_id` is the system's
    own number for it, where there is one. `incognito` and `witnessed` are what the browser
    extension says (`capture.windows.browser_extension`) or, where it says nothing, what is known otherwise
    (`capture.windows.private_windows`). `key` tells this window from all others, also later ones of the same
    number. `role` is what the program calls this kind of window of its own ("browser", "pop-up"), where the
    system has that; `peers` are the numbers of all windows of its process that a window manager knows, hidden
    ones included, None where nobody tells.
    """

    app_name: str | None
    window_name: str | None
    rect: Rect
    pid: int | None = None
    window_id: int | None = None
    browser_url: str | None = None
    incognito: bool | None = None
    witnessed: bool = False
    focused: bool = False
    wants_no_capture: bool = False
    opaque: bool = False
    cover: Rect | None = None
    places: tuple[Rect, ...] = ()
    kind: Kind = "window"
    role: str = ""
    key: str = ""
    full_screen: bool = False
    peers: frozenset[int] | None = None

    @property
    def passed(self) -> bool:
        """Not a window in view, but where one was."""
        return bool(self.places)

    @property
    def facts(self) -> WindowFacts:
        """What a privacy decision looks at."""
        return WindowFacts(
            self.app_name, self.window_name, self.browser_url, self.incognito, self.witnessed,
            self.wants_no_capture,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose picture this is: the window in front on this monitor. Unknown is None."""

    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None
    pid: int | None = None


class WindowSource(Protocol):
    """A way to list windows."""

    @property
    def name(self) -> str:
        """What the status page calls it."""

    def windows(self) -> list[WindowInfo]:
        """Visible windows, topmost first. Raises `SourceFailed` when they cannot be read."""

    def wait(self, timeout_s: float) -> bool:
        """Sleep until something about windows changed (True) or the time is up (False)."""

    def close(self) -> None:
        """Let go of the display. Safe to call twice."""


def is_locker_shown(windows: Iterable[WindowInfo]) -> bool:
    """Whether a screen locker covers something."""
    return any(window.app_name and normalize_app_name(window.app_name) in LOCKERS for window in windows)


class AskedEachTime:
    """A source that tells of no change and holds nothing open."""

    def wait(self, timeout_s: float) -> bool:
        return False

    def close(self) -> None:
        return


class WrappedWindows:
    """A window source by way of another one."""

    def __init__(self, source: WindowSource) -> None:
        self._source = source

    @property
    def name(self) -> str:
        return self._source.name

    def wait(self, timeout_s: float) -> bool:
        return self._source.wait(timeout_s)

    def close(self) -> None:
        self._source.close()


TIMEOUT_S = 2.0


class WindowsTimedOut(SourceFailed):
    """The window source did not answer in time."""

    reason = "windows_timed_out"


class WindowsWithTimeout(WrappedWindows):
    """Asks in a thread of its own and waits only so long; a late answer is never used."""

    def __init__(self, source: WindowSource, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(source)
        self._timeout_s = timeout_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="windows")
        self._late: Future[list[WindowInfo]] | None = None

    def windows(self) -> list[WindowInfo]:
        if self._is_late():
            raise WindowsTimedOut("The window source has not answered yet")
        asked = self._thread.submit(self._source.windows)
        try:
            return asked.result(self._timeout_s)
        except FutureTimeout as error:
            self._late = asked
            raise WindowsTimedOut(f"The window source took longer than {self._timeout_s:.0f} s") from error

    def wait(self, timeout_s: float) -> bool:
        return False if self._is_late() else self._source.wait(timeout_s)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        if not self._is_late():
            self._source.close()

    def _is_late(self) -> bool:
        if self._late is not None and self._late.done():
            self._late = None
        return self._late is not None


class NoWindows(AskedEachTime):
    """Nothing is a window here: a folder or a video shows pictures only. Read, and empty."""

    name = "none"

    def windows(self) -> list[WindowInfo]:
        return []


class UnknownWindows(AskedEachTime):
    """Where the compositor does not tell. While any privacy rule exists nothing is kept."""

    name = "unknown"

    def windows(self) -> list[WindowInfo]:
        raise SourceFailed(
            "This compositor does not tell which windows are in view",
            "Without privacy rules everything is captured; while one exists, nothing is",
        )
