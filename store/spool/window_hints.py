"""What capture is told of browser windows: which are ordinary.

The extension cannot see private windows at all; it lists the others, so that whatever it does not
list is not recorded. Its words reach capture as one file in the spool folder, ``browsers.json``,
replaced as a whole: by copy of the extension (a random id each profile of a browser has) the
browser's name, when it spoke, and its ordinary windows.

A browser that has spoken once is *paired*. When its extension falls silent its list counts as
empty, so that its windows are left out until it speaks again or the person forgets it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from store.core.keys import box_of
from store.core.paths import replace_file
from store.privacy.defaults import normalize_app_name

SILENT_AFTER_MS = 75_000
"""The extension speaks every 30 seconds even when nothing changes (a browser's shortest alarm)."""

MAX_COPIES = 20
SEALED_NAME = "spool/browsers.json"
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
        reported, shown = normalize_app_name(self.browser), normalize_app_name(app_name)
        aliases = {reported, _ALIASES.get(reported, reported)}
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
        content = extension_path(spool_folder).read_bytes()
        document = json.loads(box_of(spool_folder.parent).open(SEALED_NAME, content))
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
    sealed = box_of(spool_folder.parent).seal(SEALED_NAME, content)
    replace_file(extension_path(spool_folder), sealed, durable=False)
