"""Browser windows that are known to be private without an extension.

Three things tell. The command line of the window's own process: ``chromium --incognito`` opens
private windows only (a launcher that hands over to a browser that runs already ends, and owns no
window). A title that said so once, since a window never ceases to be private: "New Incognito tab" is
the title before the first page. And the toolbar, which ingest has read and told by a file
(`store.spool.window_hints`). What the extension says of a window counts before all of them.

A window that a private one opens, such as a login, has no toolbar that could say so. So one that
appears while a private window of its process is in view is private, too, unless it was there at the
first look or is known to be a browser's main window.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from capture.core.clock import file_stamp
from capture.windows.protocol import WindowInfo, WindowSource, WrappedWindows
from store.privacy.defaults import is_browser, is_started_private, private_state
from store.spool import window_hints
from store.spool.window_hints import ToolbarHints

log = logging.getLogger(__name__)

_MANY_WINDOWS = 1000
_MAIN_ROLE = "browser"  # WM_WINDOW_ROLE of Chromium's windows with tabs; "pop-up" otherwise


class ToolbarsRead:
    """What ingest read, read again whenever its file changed.

    While that cannot be read no toolbar counts as seen, and ingest reads each again before it
    stores a picture of it.
    """

    def __init__(self, spool_folder: Path) -> None:
        self._folder = spool_folder
        self._stamp: object = ()
        self._hints = ToolbarHints()

    def __call__(self) -> ToolbarHints:
        stamp = file_stamp(window_hints.toolbars_path(self._folder))
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._hints = window_hints.read(self._folder)
            except (OSError, ValueError) as error:
                log.error("what ingest read in toolbars cannot be read: %s", error)
                self._hints = ToolbarHints()
        return self._hints


@dataclass(slots=True)
class _Known:
    """A window, and whether something has said that it is private.

    `is_main`: it was opened by the person, or is a mere menu. `is_old`: it was in view before.
    """

    key: str
    pid: int
    command_line: tuple[str, ...]
    is_main: bool
    is_private: bool = False
    is_old: bool = False


class PrivateWindowDetector(WrappedWindows):
    """A window source with what is known of its browser windows.

    `command_line` and `started` ask about a process (`capture.windows.processes`), once a window.
    """

    def __init__(
        self, source: WindowSource, hints: Callable[[], ToolbarHints],
        command_line: Callable[[int], tuple[str, ...]], started: Callable[[int], str],
    ) -> None:  # fmt: skip
        super().__init__(source)
        self._hints = hints
        self._command_line = command_line
        self._started = started
        self._known: OrderedDict[tuple[int, int], _Known] = OrderedDict()

    def windows(self) -> list[WindowInfo]:
        hints, were_known = self._hints(), bool(self._known)
        marked = [self._marked(window, hints) for window in self._source.windows()]
        opened = [known for known in self._known.values() if not known.is_old]
        if not opened:
            return marked
        openers = {window.pid for window in marked if window.incognito}
        for known in opened:
            known.is_old = True
            is_opened = were_known and known.pid in openers and not known.is_main
            known.is_private = known.is_private or is_opened
        private = {known.key for known in opened if known.is_private}
        return [replace(window, incognito=True) if window.key in private else window for window in marked]

    def _marked(self, window: WindowInfo, hints: ToolbarHints) -> WindowInfo:
        if window.incognito is not None or not is_browser(window.app_name):
            return window
        if window.pid is None or window.window_id is None:
            is_private = window.pid is not None and is_started_private(
                window.app_name, window.window_name, self._command_line(window.pid)
            )
            return replace(window, incognito=True if is_private else None)
        known = self._look_up(window, window.pid, window.window_id)
        known.is_private = known.is_private or (
            known.key in hints.private
            or private_state(window.app_name, window.window_name) == "private"
            or is_started_private(window.app_name, window.window_name, known.command_line)
        )
        incognito = True if known.is_private else None
        return replace(window, incognito=incognito, key=known.key, toolbar_seen=known.key in hints.seen)

    def _look_up(self, window: WindowInfo, pid: int, window_id: int) -> _Known:
        known = self._known.get((pid, window_id))
        if known is None:
            key = f"{pid}.{self._started(pid)}.{window_id:x}"
            is_main = window.role == _MAIN_ROLE or window.kind != "window"
            known = self._known[pid, window_id] = _Known(key, pid, self._command_line(pid), is_main)
            while len(self._known) > _MANY_WINDOWS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end((pid, window_id))
        return known
