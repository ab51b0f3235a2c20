"""Files outside the database that may hold a frame: the spool, and copies of the database.

A capture waits in the spool as a folder named ``<milliseconds>-<capture id>``; reports of looks
beside them hold counts and stay. Copies are what a migration put into ``backups/`` first.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from store.core.paths import DataDir

_PARTS = ("new", "failed", "taken")
_COPIES = "before-*.db*"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A capture in the spool. What its record does not say (or cannot) is None."""

    folder: Path
    capture_id: str
    captured_ms: int
    app_name: str | None
    batch_id: str | None
    monitor: str
    size_bytes: int

    @property
    def is_taken(self) -> bool:
        """Whether a worker has claimed it (or had, when it died)."""
        return self.folder.parent.name == "taken"


def captures(data_dir: DataDir, start_ms: int, end_ms: int, app_name: str | None = None) -> Iterator[Waiting]:
    """Captures of ``[start_ms, end_ms)`` that wait in the spool, are worked on, or had failed.

    With `app_name` only that app's; an entry whose record cannot be read counts as any app's,
    because its picture may be.
    """
    for part in _PARTS:
        for folder in sorted((data_dir.spool / part).glob("*")):
            found = _waiting(folder)
            if found is None or not start_ms <= found.captured_ms < end_ms:
                continue
            known = found.app_name
            if app_name is None or known is None or known.casefold() == app_name.casefold():
                yield found


def discard(data_dir: DataDir, found: Iterable[Waiting]) -> int:
    """Remove entries from the spool; returns the bytes freed.

    Each is renamed away first, so that no worker ever sees half of one. One that moved on in the
    meantime is left to the next round.
    """
    freed = 0
    for entry in found:
        gone = data_dir.spool / "tmp" / f"gone.{uuid.uuid4().hex}"
        try:
            entry.folder.rename(gone)
        except FileNotFoundError:
            continue
        shutil.rmtree(gone)
        freed += entry.size_bytes
    return freed


def copies(data_dir: DataDir, made_before_ms: int | None = None) -> list[Path]:
    """Copies of the database below ``backups/``, made before a moment where one is given."""
    found = sorted(data_dir.backups.glob(_COPIES))
    if made_before_ms is None:
        return found
    return [path for path in found if path.stat().st_mtime_ns // 1_000_000 <= made_before_ms]


def drop(paths: Iterable[Path]) -> int:
    """Unlink files; returns the bytes freed."""
    freed = 0
    for path in paths:
        freed += path.stat().st_size
        path.unlink()
    return freed


def _waiting(folder: Path) -> Waiting | None:
    time, _, capture_id = folder.name.partition("-")
    if not time.isdigit() or capture_id.endswith(".looks"):
        return None
    record = _record(folder)
    return Waiting(
        folder=folder,
        capture_id=capture_id,
        captured_ms=int(time),
        app_name=_text(record.get("app_name")),
        batch_id=_text(record.get("batch_id")),
        monitor=_text(record.get("monitor")) or "",
        size_bytes=_size(folder),
    )


def _record(folder: Path) -> dict[str, object]:
    try:
        record = json.loads((folder / "entry.json").read_bytes())
    except (OSError, ValueError):
        return {}  # an unreadable record: only its name is known
    return record if isinstance(record, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _size(folder: Path) -> int:
    try:
        return sum(file.lstat().st_size for file in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
