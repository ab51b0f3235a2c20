"""Whether a small file changed since it was read: one stat a look."""

from __future__ import annotations

from pathlib import Path


def file_stamp(path: Path) -> object:
    """Differs when the file was replaced, changed or removed, or may not be looked at any more."""
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_size, status.st_ino
