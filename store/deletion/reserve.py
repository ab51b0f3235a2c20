"""Disk space that is kept aside, because deleting needs some before it gives any back.

Rows that go are first written to the write-ahead log. On a full disk that fails, and nothing could ever be
deleted to make room. So a file of nothing waits in the home folder, and the first deletion on a full disk
takes its place.
"""

from __future__ import annotations

import os
import shutil

from store.core.paths import DataDir, write_file

RESERVE_BYTES = 64_000_000
"""One transaction deletes a thousand frames; 317 of a sample week rewrote 5 MB of tables and indexes."""
_CHUNK_BYTES = 1_000_000


def keep(data_dir: DataDir) -> None:
    """Have the reserve, where the disk has room for it several times over."""
    if data_dir.reserve.exists() or _free_bytes(data_dir) < 4 * RESERVE_BYTES:
        return
    temporary = data_dir.reserve.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)  # of a program that was killed
    write_file(temporary, b"", durable=False)
    with temporary.open("ab") as file:  # of noise: of zeros a file system that compresses would keep nothing
        for _ in range(RESERVE_BYTES // _CHUNK_BYTES):
            file.write(os.urandom(_CHUNK_BYTES))
    temporary.replace(data_dir.reserve)


def use(data_dir: DataDir) -> None:
    """Give the reserve up where the disk has less room than a deletion takes."""
    if _free_bytes(data_dir) < RESERVE_BYTES:
        for path in (data_dir.reserve, data_dir.reserve.with_suffix(".tmp")):
            path.unlink(missing_ok=True)


def _free_bytes(data_dir: DataDir) -> int:
    return shutil.disk_usage(data_dir.home).free
