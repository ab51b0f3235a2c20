"""Browser windows, with what the browser extension says of them.

Chrome and its relatives do not tell other programs which of their windows are private. Their
extension lists the ordinary ones; a window is matched to that list by its title, and one that is
on the list has an address too. What matches nothing is unknown, and `witnessed` says that
somebody who should know it does not: privacy then leaves the window out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from capture.core.clock import file_stamp
from capture.windows.protocol import WindowInfo, WindowSource, WrappedWindows
from store.privacy.defaults import is_browser
from store.spool import window_hints
from store.spool.window_hints import ExtensionReport, OrdinaryWindow

log = logging.getLogger(__name__)

_SEPARATORS = (" - ", " – ", " — ")


class ExtensionHints:
    """The extension's reports, read again whenever their file changed; one stat while it did not."""

    def __init__(self, spool_folder: Path) -> None:
        self._folder = spool_folder
        self._stamp: object = ()
        self._reports: list[ExtensionReport] = []

    def __call__(self) -> list[ExtensionReport]:
        stamp = file_stamp(window_hints.extension_path(self._folder))
        if stamp != self._stamp:
            self._stamp = stamp
            self._reports = self._read()
        return self._reports

    def _read(self) -> list[ExtensionReport]:
        try:
            return window_hints.read_reports(self._folder)
        except (OSError, ValueError) as error:
            # Who is paired is not known any more: every browser counts as paired and silent.
            log.error("what the browser extension said cannot be read: %s", error)
            return [ExtensionReport("", 0)]


class ExtensionWindows(WrappedWindows):
    """A window source, told by the extension which browser windows are ordinary.

    Where more windows bear a title than the list has, none of them is taken for an ordinary one;
    a menu goes by the title of its window and is not one window more. A window that was matched
    once stays ordinary for as long as it is in view: a window never turns private, and its title
    may change a moment before the extension tells.
    """

    def __init__(
        self,
        source: WindowSource,
        reports: Callable[[], Sequence[ExtensionReport]],
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__(source)
        self._reports = reports
        self._now_ms = now_ms
        self._ordinary: set[int] = set()

    def windows(self) -> list[WindowInfo]:
        windows, reports = self._source.windows(), self._reports()
        if not reports:
            return windows
        asked = [w for w in windows if w.incognito is None and is_browser(w.app_name)]
        described = {id(w): self._described(w, windows, reports) for w in asked}
        self._ordinary = {w.window_id for w in described.values() if w.incognito is False and w.window_id}
        return [described.get(id(window), window) for window in windows]

    def _described(
        self, window: WindowInfo, windows: Iterable[WindowInfo], reports: Sequence[ExtensionReport]
    ) -> WindowInfo:
        about = [r for r in reports if not r.browser or r.is_about(window.app_name or "")]
        if not about:
            return window
        now_ms = self._now_ms()
        listed = [ordinary for r in about if not r.is_silent(now_ms) for ordinary in r.windows]
        named = (window.app_name, window.window_name)
        alike = sum(w.kind == "window" and (w.app_name, w.window_name) == named for w in windows)
        matches = [ordinary for ordinary in listed if fits(ordinary, window.window_name)]
        is_ordinary = window.window_id in self._ordinary or (bool(matches) and alike <= len(matches))
        incognito = False if is_ordinary else None
        addresses = {ordinary.url for ordinary in matches if ordinary.url} if is_ordinary else set()
        # Where the title leaves no doubt which it is.
        url = window.browser_url or (addresses.pop() if len(addresses) == 1 else None)
        return replace(window, incognito=incognito, witnessed=True, browser_url=url)


def fits(ordinary: OrdinaryWindow, window_name: str | None) -> bool:
    """Whether a window's title is the one a browser makes of this tab: ``Title - Browser``."""
    if not window_name or not ordinary.title.strip():
        return False
    shown, title = _plain(window_name), _plain(ordinary.title)
    return shown == title or any(
        shown.startswith(title + separator) or shown.endswith(separator + title)  # an installed web app
        for separator in _SEPARATORS
    )


def _plain(title: str) -> str:
    return " ".join(title.split())
