"""Captures in the spool: what may hold a frame outside the database and its copies.

A capture waits in the spool as a folder named ``<milliseconds>-<capture id>``; reports of looks
beside them hold counts and stay. Whoever can write into the spool can put anything there: names and records
are believed as far as they are checked.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from store.core.errors import SpoolEntryInvalid
from store.core.paths import SPOOL_PARTS, DataDir, remove
from store.privacy.rules import WindowFacts
from store.spool.queue import (
    GONE,
    VisibleWindows,
    is_storable,
    parse_entry_name,
    read_record,
    visible_windows_of,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A capture in the spool. What its record does not say (or cannot) is None; so is the id of what somebody
    else put there, whose time is when they did. `window` is None where the record
    cannot be read; `visible` are the windows beside it, where it names them.
    """

    folder: Path
    capture_id: str | None
    captured_ms: int
    window: WindowFacts | None
    batch_id: str | None
    monitor: str
    size_bytes: int
    visible: VisibleWindows | None = None

    @property
    def windows(self) -> list[WindowFacts]:
        """All that are known to be on the picture."""
        front = [] if self.window is None else [self.window]
        return front + [WindowFacts(*window) for window in self.visible or ()]

    @property
    def is_unfinished(self) -> bool:
        """Whether a writer is at it (or was, when it died)."""
        return self.folder.parent.name == "tmp" and not self.folder.name.startswith(GONE)

    @property
    def is_taken(self) -> bool:
        """Whether a writer is at it, or a worker has claimed it (or had, when it died)."""
        return self.is_unfinished or self.folder.parent.name == "taken"


def captures(data_dir: DataDir, start_ms: int, end_ms: int) -> Iterator[Waiting]:
    """Captures of ``[start_ms, end_ms)`` that are being written, wait, are worked on, or had failed. One that
    moves on meanwhile may be told twice.
    """
    visited: set[Path] = set()
    for part in (*SPOOL_PARTS, "new"):  # again: a worker may have given back what it had claimed
        for folder in sorted(set((data_dir.spool / part).glob("*")) - visited):
            visited.add(folder)
            found = _waiting(folder, start_ms, end_ms)
            if found is not None:
                yield found


def discard(data_dir: DataDir, found: Iterable[Waiting]) -> int:
    """Remove entries from the spool; returns the bytes freed.

    Each is renamed away first, so that no worker ever sees half of one. One that moved on in the
    meantime is left to the next round, and one that cannot be removed to whoever looks what is left.
    """
    freed = 0
    for entry in found:
        name = entry.folder.name.removeprefix(GONE)
        gone = data_dir.spool / "tmp" / f"{GONE}{name[:64]}.{uuid.uuid4().hex[:8]}"
        try:
            entry.folder.rename(gone)
            remove(gone)
        except FileNotFoundError:
            continue
        except OSError as error:
            log.warning("an entry of the spool cannot be removed: %s", error.strerror)
            continue
        freed += entry.size_bytes
    return freed


def _waiting(folder: Path, start_ms: int, end_ms: int) -> Waiting | None:
    named = parse_entry_name(folder.name)
    is_ours = named is not None or folder.parent.name != "tmp"  # uploads lie there, too
    if not is_ours or (named and named[2]):
        return None
    try:
        captured_ms = named[0] if named else folder.lstat().st_mtime_ns // 1_000_000
        if not start_ms <= captured_ms < end_ms:
            return None
        size_bytes = _size(folder)
    except FileNotFoundError:
        return None
    try:
        record = read_record(folder)
        app, title, url = (_text(record.get(name)) for name in ("app_name", "window_name", "browser_url"))
        told_visible = record.get("visible")
        visible = None if told_visible is None else visible_windows_of(told_visible)
        window = WindowFacts(app, title, url)
    except (SpoolEntryInvalid, ValueError, TypeError):
        record, window, visible = {}, None, None  # only its name is known
    return Waiting(
        folder=folder,
        capture_id=named[1] if named else None,
        captured_ms=captured_ms,
        window=window,
        batch_id=_text(record.get("batch_id")),
        monitor=_text(record.get("monitor")) or "",
        size_bytes=size_bytes,
        visible=visible,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and is_storable(value) else None


def _size(folder: Path) -> int:
    if folder.is_symlink() or not folder.is_dir():
        return folder.lstat().st_size
    return sum(file.lstat().st_size for file in folder.iterdir())
