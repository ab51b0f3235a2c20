"""What ingest read in the toolbars of browser windows, for capture: which windows are private.

Chrome and its relatives tell no other program which of their windows are private, but draw it
into the toolbar, where ingest reads it before it stores a picture (`ingest.reading.incognito_badge`). What it
learned reaches capture as one file in the spool folder, ``toolbars.json``, replaced as a whole: the
keys of windows, no title and no address. A window never turns private and never ceases to be, so
that a key holds for as long as its window lives; the oldest make room.
"""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass
from pathlib import Path

from store.core.paths import replace_file

log = logging.getLogger(__name__)

MAX_WINDOWS = 500
_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class ToolbarHints:
    """Keys of windows, the latest last. `seen` ones showed their toolbar, and it did not say private."""

    private: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolbar:
    """Where a window that may be private has its toolbar, in pixels of the picture.

    `window` is a key of the window: process, its start, the system's number of the window. `app` is the
    browser. The box is the window's upper edge, tabs and toolbar, as far as it is on the picture.
    """

    window: str
    app: str
    x: int
    y: int
    w: int
    h: int


def read(spool_folder: Path) -> ToolbarHints:
    """What is known. Raises `OSError` or `ValueError` when the file is unusable."""
    try:
        document = json.loads(toolbars_path(spool_folder).read_bytes())
        return ToolbarHints(_keys(document["private"]), _keys(document["seen"]))
    except FileNotFoundError:
        return ToolbarHints()
    except (TypeError, KeyError) as error:
        raise ValueError(f"toolbars.json is unusable: {error}") from error


def record_toolbar(spool_folder: Path, window: str, *, is_private: bool) -> None:
    """Note what a window's toolbar says; that it is private holds against anything said later."""
    with _writing:
        try:
            known = read(spool_folder)
        except ValueError as error:
            log.error("what toolbars said is lost, they are read again: %s", error)
            known = ToolbarHints()
        if window in known.private or (window in known.seen and not is_private):
            return
        private = (*known.private, window) if is_private else known.private
        seen = tuple(key for key in known.seen if key != window)
        seen = seen if is_private else (*seen, window)
        document = {"private": private[-MAX_WINDOWS:], "seen": seen[-MAX_WINDOWS:]}
        # Durable: a window that is known to be private stays left out after a power cut, too.
        replace_file(toolbars_path(spool_folder), json.dumps(document).encode())


def toolbars_path(spool_folder: Path) -> Path:
    return spool_folder / "toolbars.json"


def _keys(listed: object) -> tuple[str, ...]:
    if not isinstance(listed, list) or not all(isinstance(key, str) for key in listed):
        raise ValueError("toolbars.json is unusable: windows must be listed by their keys")
    return tuple(listed)
