"""Browser windows whose process or title tells whether they are private.

The command line of the window's own process: ``chromium --incognito`` opens private windows only (a
launcher that hands over to a browser that runs already ends, and owns no window). And a title that said so
once, since a window never ceases to be private: "New Incognito tab" is the title before the first page.
What the extension says of a window counts before both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from capture.windows.protocol import WindowInfo, WindowSource, WrappedWindows
from store.privacy.defaults import is_browser, private_state, started_private

_MANY_WINDOWS = 1000


@dataclass(slots=True)
class _Known:
    """A window, and whether something has said that it is private."""

    key: str
    command_line: tuple[str, ...]
    is_private: bool = False


class PrivateWindowDetector(WrappedWindows):
    """A window source with what is known of its browser windows.

    `command_line` and `started` ask about a process (`capture.windows.processes`), once a window.
    """

    def __init__(
        self, source: WindowSource, command_line: Callable[[int], tuple[str, ...]],
        started: Callable[[int], str],
    ) -> None:  # fmt: skip
        super().__init__(source)
        self._command_line = command_line
        self._started = started
        self._known = lru_cache(_MANY_WINDOWS)(self._look_up)

    def windows(self) -> list[WindowInfo]:
        return [self._marked(window) for window in self._source.windows()]

    def _marked(self, window: WindowInfo) -> WindowInfo:
        if window.incognito is not None or window.pid is None or not is_browser(window.app_name):
            return window
        if window.window_id is None:
            line = self._command_line(window.pid)
            return replace(window, incognito=started_private(window.app_name, window.window_name, line))
        known = self._known(window.pid, window.window_id)
        started = started_private(window.app_name, window.window_name, known.command_line)
        said = private_state(window.app_name, window.window_name) == "private"
        known.is_private = known.is_private or said or bool(started)
        return replace(window, incognito=True if known.is_private else started, key=known.key)

    def _look_up(self, pid: int, window_id: int) -> _Known:
        return _Known(f"{pid}.{self._started(pid)}.{window_id:x}", self._command_line(pid))
