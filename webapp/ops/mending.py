"""What `recollect doctor --fix` mends: only what has one right answer, and nothing that somebody wrote.

Each step may run beside capture, ingest and the pages, and says what it did.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from store.chats import attachments
from store.core.database import Database, open_database
from store.core.paths import DIRECTORY_MODE, FILE_MODE, DataDir
from store.core.times import now_ms
from store.deletion import deletion
from store.frames import text_index
from store.frames.media import Media
from store.memory import documents
from store.spool.queue import Spool
from store.timeline import segments, totals
from store.verify import verify
from webapp.core.formatting import count
from webapp.ops.control import forget_dead_address

_LEFT_S = 3600.0
"""Nobody takes an hour to write a small file: what is as old was left by a program that died."""

# What makes a difference that `store.verify` names go, in one statement.
_STATEMENTS = {
    "Window titles of no frame":
        "delete from window_names where not exists (select 1 from frames where window_name = name)",
    "Addresses of no frame":
        "delete from browser_urls where not exists (select 1 from frames where browser_url = name)",
    "Lists of visible windows of no frame":
        "delete from visible_windows as v where not exists (select 1 from frames where visible_id = v.id)",
    "Frames with a window title that filters do not know":
        "insert or ignore into window_names select window_name from frames where window_name is not null",
    "Frames with an address that filters do not know":
        "insert or ignore into browser_urls select browser_url from frames where browser_url is not null",
    "Totals that are not those of the frames": totals.RECOUNT,
    "Vectors of frames that do not exist":
        "delete from vectors where kind = 'frame' and thing_id not in (select id from frames);"
        "delete from vector_counts where kind = 'frame' and thing_id not in (select id from frames)",
    "Things that have lost some of their vectors":  # they are made anew
        "insert or ignore into embedding_queue select kind, thing_id from vector_counts c where number <> "
        "(select count(*) from vectors v where v.kind = c.kind and v.thing_id = c.thing_id)",
    "Things with vectors that are not counted":
        "insert or ignore into vector_counts select kind, thing_id, count(*) from vectors group by 1, 2",
    "Deleted frames that wait for vectors":
        "delete from embedding_queue where kind = 'frame' and thing_id not in (select id from frames)",
    "Messages that are not in their index":
        "insert into text_messages_fts (text_messages_fts) values ('rebuild')",
    "Rows of the index of messages without a message":
        "insert into text_messages_fts (text_messages_fts) values ('rebuild')",
    "Summaries of days that are not in their index":
        "insert into daily_summaries_fts (daily_summaries_fts) values ('rebuild')",
    "Rows of the index of days without a summary":
        "insert into daily_summaries_fts (daily_summaries_fts) values ('rebuild')",
}  # fmt: skip
_OF_FRAMES = {"Frames that are not in the index", "Rows of the index without a frame"}
_OF_MEMORY = {"Memory documents that are not in their index", "Rows of the memory index without a document"}


def mend(data_dir: DataDir) -> Iterator[str]:
    """Mend, and say each thing that was done. Raises what `open_database` raises."""
    opened = sum(_close(path) for path in [data_dir.home, *data_dir.home.rglob("*")])
    if opened:
        yield f"Closed to other users: {count(opened, 'file or folder', 'files and folders')}."
    if forget_dead_address(data_dir):
        yield "The address of a web server that no longer runs was removed."
    left = [path for path in data_dir.home.glob(".*.tmp") if _is_left(path)]
    for path in left:
        path.unlink(missing_ok=True)
    database = open_database(data_dir)
    Spool(data_dir.spool).sweep_tmp(_LEFT_S)
    swept = len(left) + deletion.sweep(database, Media(data_dir.media))
    swept += attachments.sweep(database, now_ms())
    if swept:
        yield f"Removed what crashes and deletions left: {count(swept, 'file')}."
    yield from _rows(database)


def _rows(database: Database) -> Iterator[str]:
    with database.read() as connection:
        found = dict(verify.row_counts(connection))
        is_folded = segments.stored_line(connection) == segments.folded_line(connection)
    for name, sql in _STATEMENTS.items():
        if name in found:
            database.change(sql)
            yield f"{name}: {found[name]}, mended."
    if _OF_FRAMES & found.keys():
        with database.write() as connection:
            text_index.abort_rebuild(connection)
        while text_index.rebuild_some(database):
            pass
        yield "The index of words was made anew."
    if _OF_MEMORY & found.keys():
        documents.rebuild_index(database)
        yield "The index of memory was made anew."
    if not is_folded:
        with database.write() as connection:
            segments.rebuild(connection, 0, 2**52)
        yield "The activity segments were made anew of the frames."


def _close(path: Path) -> bool:
    """Let nobody else read a file or folder; whether somebody could."""
    if os.name == "nt" or path.is_symlink():
        return False
    try:
        found = path.stat()
        if found.st_uid != os.geteuid() or not stat.S_IMODE(found.st_mode) & 0o077:
            return False
        path.chmod(DIRECTORY_MODE if stat.S_ISDIR(found.st_mode) else FILE_MODE)
    except FileNotFoundError:
        return False
    return True


def _is_left(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _LEFT_S
    except FileNotFoundError:
        return False
