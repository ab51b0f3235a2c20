"""Does every attached file have its row, and every row its very file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from store.chats import attachment_files
from store.core.database import Database, rows
from store.core.errors import AttachmentGone

_UNDER_WAY_S = 60.0


def attachment_problems(database: Database) -> Iterator[str]:
    """Every difference as a sentence. Reads every file."""
    on_disk = attachment_files.files(database.data_dir)
    with database.read() as connection:
        known = rows(connection, "select sha256, min(id) from attachments group by sha256")
        trash = {sha256 for (sha256,) in rows(connection, "select sha256 from attachment_trash")}
    for sha256, number in known:
        try:
            attachment_files.exact(database.data_dir, sha256)
        except AttachmentGone as error:
            yield f"The file of attachment {number} is {error.reason}."
    if trash:
        yield f"{len(trash)} files of deleted chats wait to be removed."
    expected = {sha256 for sha256, _ in known} | trash
    orphans = [path for path in on_disk if path.name not in expected and _is_settled(path)]
    if orphans:
        yield f"{len(orphans)} files in the attachments folder belong to no question."


def _is_settled(path: Path) -> bool:
    """Whether a file is older than one whose row is being entered."""
    try:
        return time.time() - path.stat().st_mtime > _UNDER_WAY_S
    except FileNotFoundError:
        return False
