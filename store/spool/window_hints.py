"""What capture is told of browser windows: which are ordinary, which are private.

The extension cannot see private windows at all; it lists the others, so that whatever it does not
list is not recorded. Its words reach capture as one file in the spool folder, ``browsers.json``,
replaced as a whole: by copy of the extension (a random id each profile of a browser has) the
browser's name, when it spoke, and its ordinary windows.

A browser that has spoken once is *paired*. When its extension falls silent its list counts as
empty, so that its windows are left out until it speaks again or the person forgets it.

Without an extension, ingest reads in a window's toolbar whether it is private, before it stores a
picture (`ingest.reading.incognito_badge`), and leaves the windows' keys, no title and no address, in
``toolbars.json``. A window never turns private and never ceases to be, so a key holds while its window
lives; the oldest make room.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from store.core.paths import replace_file
from store.privacy.defaults import normalize_app_name

log = logging.getLogger(__name__)

SILENT_AFTER_MS = 75_000
"""The extension speaks every 30 seconds even when nothing changes (a browser's shortest alarm)."""

MAX_COPIES = 20
_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class OrdinaryWindow:
    """A window that is not private, by its tab in front. `url` is "" when it has none."""

    title: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class ExtensionReport:
    """What one copy of the extension said last. `windows` leaves minimised ones out."""

    browser: str  # the browser's own name: Google Chrome, Chromium, Brave, …
    said_ms: int
    windows: tuple[OrdinaryWindow, ...] = ()

    def is_silent(self, now_ms: int) -> bool:
        """Whether it should have spoken again by now, or speaks from the future."""
        return not 0 <= now_ms - self.said_ms <= SILENT_AFTER_MS

    def is_about(self, app_name: str) -> bool:
        """Whether an app's name is this browser's: ``Chromium-browser`` is Chromium."""
        said, shown = normalize_app_name(self.browser), normalize_app_name(app_name)
        aliases = {said, _ALIASES.get(said, said)}
        return any(alias in shown or shown in alias for alias in aliases if alias and shown)


_ALIASES = {"microsoftedge": "msedge"}


def save_report(spool_folder: Path, copy_id: str, word: ExtensionReport) -> None:
    """Replace what this copy of the extension said before; the longest silent make room."""
    with _writing:
        words = {**_read(spool_folder), copy_id: word}
        newest = sorted(words, key=lambda known: words[known].said_ms)[-MAX_COPIES:]
        _write(spool_folder, {known: words[known] for known in newest})


def read_reports(spool_folder: Path) -> list[ExtensionReport]:
    """The last word of every copy. Raises `OSError` or `ValueError` when the file is unusable."""
    return list(_read(spool_folder).values())


def forget(spool_folder: Path, browser: str) -> None:
    """A browser counts as never paired again."""
    with _writing:
        words = _read(spool_folder)
        _write(spool_folder, {known: word for known, word in words.items() if word.browser != browser})


def drop_silent(spool_folder: Path, now_ms: int) -> None:
    """Keep who is paired, and no title of a browser that was closed: part of every deletion."""
    with _writing:
        words = _read(spool_folder)
        kept = {k: replace(word, windows=()) if word.is_silent(now_ms) else word for k, word in words.items()}
        if kept != words:
            _write(spool_folder, kept)


def extension_path(spool_folder: Path) -> Path:
    return spool_folder / "browsers.json"


def _read(spool_folder: Path) -> dict[str, ExtensionReport]:
    try:
        document = json.loads(extension_path(spool_folder).read_bytes())
        return {known: _word(**fields) for known, fields in document.items()}
    except FileNotFoundError:
        return {}
    except (TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"browsers.json is unusable: {error}") from error


def _word(browser: str, said_ms: int, windows: Iterable[dict[str, str]]) -> ExtensionReport:
    return ExtensionReport(browser, said_ms, tuple(OrdinaryWindow(**window) for window in windows))


def _write(spool_folder: Path, words: dict[str, ExtensionReport]) -> None:
    """Not flushed to disk: after a power cut the extension speaks again."""
    document = {known: asdict(word) for known, word in words.items()}
    content = json.dumps(document, ensure_ascii=False).encode()
    replace_file(extension_path(spool_folder), content, durable=False)


MAX_WINDOWS = 500


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
