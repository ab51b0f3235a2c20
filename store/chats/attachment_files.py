"""The files that were attached, each once, under its SHA-256: ``attachments/ab/abcd…``.

The only door to them. A file comes in two steps: it is staged under a name that nobody looks for, and
kept (one rename) in the transaction that enters its row (`store.chats.attachments`). It is served only while
its bytes are those of its name; anything else is `AttachmentGone`.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from store.core.errors import AttachmentGone
from store.core.paths import DIRECTORY_MODE, FILE_MODE, DataDir, sync_directory

_STAGED = ".staged"
_NAME = re.compile(r"[0-9a-f]{64}")
_ABANDONED_S = 3_600.0
"""A staged file this old belongs to nobody: reading one takes seconds."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that is on the disk and not kept yet."""

    path: Path
    sha256: str
    size_bytes: int

    def discard(self) -> None:
        """It is not wanted; no error when it is kept already."""
        self.path.unlink(missing_ok=True)


def stage(data_dir: DataDir, content: bytes) -> Staged:
    """Durably write a file that may be kept."""
    folder = data_dir.attachments
    folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}{_STAGED}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # the disk is full: half a file is of no use to anybody
        path.unlink(missing_ok=True)
        raise
    return Staged(path, hashlib.sha256(content).hexdigest(), len(content))


def keep(data_dir: DataDir, staged: Staged) -> None:
    """Give a staged file its name. Call it, like `remove`, inside `Database.write()`: one at a time."""
    final = path_of(data_dir, staged.sha256)
    if not final.parent.exists():
        final.parent.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
        sync_directory(data_dir.attachments)
    staged.path.replace(final)
    sync_directory(final.parent)


def exact(data_dir: DataDir, sha256: str) -> bytes:
    """The file, byte for byte. Raises `AttachmentGone` when it is missing or altered."""
    path = path_of(data_dir, sha256)
    if path.is_symlink():
        raise AttachmentGone(sha256, "altered")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AttachmentGone(sha256, "missing") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise AttachmentGone(sha256, "altered")
    return content


def remove_file(data_dir: DataDir, sha256: str) -> int:
    """Unlink a file, and its folder when that becomes empty; returns the bytes freed."""
    path = path_of(data_dir, sha256)
    try:
        size = path.lstat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    return size


def drop_abandoned(data_dir: DataDir) -> int:
    """Remove what a crash left staged; returns how many files went."""
    found = [path for path in data_dir.attachments.glob(f"*{_STAGED}") if _is_abandoned(path)]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def files(data_dir: DataDir) -> list[Path]:
    """Every file that is not staged, sorted."""
    found = data_dir.attachments.rglob("*")
    return sorted(path for path in found if path.is_file() and path.suffix != _STAGED)


def path_of(data_dir: DataDir, sha256: str) -> Path:
    """Where a file is kept. Raises `ValueError` for what is no SHA-256: it becomes a path."""
    if not _NAME.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is no SHA-256 in hexadecimal")
    return data_dir.attachments / sha256[:2] / sha256


def _is_abandoned(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_S
    except FileNotFoundError:  # kept or discarded meanwhile
        return False
