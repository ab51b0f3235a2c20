"""The index of words over frames: rows put in, taken out, and the whole of it made anew.

The index is external-content: the words are stored once, in `readings` and `frames`, and to take
a row out it must be shown the old words. So: `remove`, then change the words, then `add`.

Making it anew fills a second index, ``frames_fts_next``, in the order of ids and some frames at a
time, while searches use the first and frames come and go. What is put in or taken out meanwhile
goes to both, as far as the second has come, so that it always holds exactly the frames up to its
highest row. Where it is whole it takes the first one's place. It is its own note of how far it
has come: who stops in the middle goes on there.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

import apsw

from store.core.database import Database, column, scalar

FRAMES_AT_ONCE = 500
"""Frames whose words one transaction of a rebuild puts in: about a tenth of a second."""

_PAGES_AT_ONCE = 500
COLUMNS = "text", "app_name", "window_name", "browser_url"
_COLUMNS = ", ".join(COLUMNS)


def add(connection: apsw.Connection, frame_id: int) -> None:
    """Add a frame's words as they are stored now."""
    for table in _indexes(connection, frame_id):
        connection.execute(
            f"insert into {table} (rowid, {_COLUMNS}) select id, {_COLUMNS} from frame_texts where id = ?",
            (frame_id,),
        )


def remove(connection: apsw.Connection, frame_id: int) -> None:
    """Remove a frame's words; call while they are still stored."""
    for table in _indexes(connection, frame_id):
        _erase(connection, table, "from frame_texts t where t.id = ?", frame_id)


def remove_deleted(connection: apsw.Connection) -> None:
    """Remove the words of all frames in ``deletion_scope`` (`store.deletion.places`)."""
    deleted = "from deletion_scope d cross join frame_texts t on t.id = d.id where t.id <= ?"
    for table, last_id in (("frames_fts", 2**63 - 1), ("frames_fts_next", _reached(connection))):
        _erase(connection, table, deleted, last_id)


def _indexes(connection: apsw.Connection, frame_id: int) -> list[str]:
    return ["frames_fts", *["frames_fts_next"] * (frame_id <= _reached(connection))]


def _erase(connection: apsw.Connection, table: str, source: str, number: int) -> None:
    values = ", ".join(f"t.{name}" for name in COLUMNS)
    connection.execute(
        f"insert into {table} ({table}, rowid, {_COLUMNS}) select 'delete', t.id, {values} {source}",
        (number,),
    )


def set_secure_delete(connection: apsw.Connection, value: bool) -> None:
    """Whether words are erased at once, or only marked as deleted until `merge` erases them."""
    connection.execute("insert into frames_fts (frames_fts, rank) values ('secure-delete', ?)", (int(value),))


def merge(database: Database, is_stopped: Callable[[], bool] = lambda: False) -> bool:
    """Rewrite the index without what was deleted, in short transactions; False where it was stopped.

    The steps are those of https://sqlite.org/fts5.html#the_merge_command: a negative number makes
    one level of everything, and a step that changes less than two rows was the last one.
    """
    if is_stopped():
        return False
    with database.write() as connection:
        if _is_small(connection):
            _begin_anew(connection)
            return True
    pages = -_PAGES_AT_ONCE
    while not is_stopped():
        with database.write() as connection:
            before = connection.total_changes()
            connection.execute("insert into frames_fts (frames_fts, rank) values ('merge', ?)", (pages,))
            is_last = connection.total_changes() - before < 2
            if is_last and pages > 0:
                if not _has_marks(connection):
                    return True
                # On a level of its own, so that the next time everything moves beyond the last one.
                frame_id = scalar(connection, "select min(id) from frames_fts_docsize")
                remove(connection, frame_id)
                add(connection, frame_id)
        pages = -_PAGES_AT_ONCE if is_last and pages > 0 else _PAGES_AT_ONCE
    return False


def _is_small(connection: apsw.Connection) -> bool:
    sql = "select count(*) from (select 1 from frames_fts_docsize limit ?)"
    return int(scalar(connection, sql, (FRAMES_AT_ONCE + 1,))) <= FRAMES_AT_ONCE


def _begin_anew(connection: apsw.Connection) -> None:
    """Empty the index, and put in again what it held."""
    held = json.dumps(column(connection, "select id from frames_fts_docsize"))
    connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
    connection.execute(
        f"""
        insert into frames_fts (rowid, {_COLUMNS})
        select id, {_COLUMNS} from frame_texts where id in (select value from json_each(?)) order by id
        """,
        (held,),
    )


def _has_marks(connection: apsw.Connection) -> bool:
    """Whether words that were marked as deleted may be in a merged index yet: FTS5 drops the marks only from
    what it writes to the last of its levels, and empty ones count. Deleting most of an index leaves such.

    The record of its structure: a cookie of four bytes, where rows can be marked by hash pages four more, and
    varints (https://sqlite.org/src/file/ext/fts5/fts5_index.c, `fts5StructureDecode`).
    """
    record = scalar(connection, "select block from frames_fts_data where id = 10")
    is_hashed = record[4:8] == b"\xff\x00\x00\x01"
    numbers = varints(record[8 if is_hashed else 4 :])
    levels, _segments, _written = islice(numbers, 3)
    held = []
    for _ in range(levels):
        _merging, segments = islice(numbers, 2)
        held.append(segments)
        deque(islice(numbers, segments * (8 if is_hashed else 3)), maxlen=0)
    return any(held[:-1])


def varints(record: bytes) -> Iterator[int]:
    """SQLite's variable-length integers (https://sqlite.org/fileformat2.html#varint): seven bits a byte, the
    highest first, and all eight of a ninth.
    """
    value, length = 0, 0
    for byte in record:
        length += 1
        value = value << 8 | byte if length == 9 else value << 7 | byte & 0x7F
        if length == 9 or byte < 0x80:
            yield value
            value, length = 0, 0


def count_missing(database: Database) -> int:
    """How many frames a rebuild still has to put in."""
    with database.read() as connection:
        return int(scalar(connection, "select count(*) from frames where id > ?", (_reached(connection),)))


def rebuild_some(database: Database, at_most: int = FRAMES_AT_ONCE) -> int:
    """Put the words of the next frames into the new index; returns how many that were.

    0 says that it was whole and is now the index in use.
    """
    with database.write() as connection:
        connection.execute(
            f"""
            insert into frames_fts_next (rowid, {_COLUMNS})
            select id, {_COLUMNS} from frame_texts where id > :reached order by id limit :limit
            """,
            {"reached": _reached(connection), "limit": at_most},
        )
        added = connection.changes()
        if not added:
            connection.execute(
                """
                drop table frames_fts;
                alter table frames_fts_next rename to frames_fts;
                create virtual table frames_fts_next using fts5 (
                    text, app_name, window_name, browser_url,
                    content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect', prefix = '1 2 3'
                );
                insert into frames_fts_next (frames_fts_next, rank) values ('secure-delete', 1);
                """
            )
    return added


def abort_rebuild(connection: apsw.Connection) -> None:
    """Empty the new index, so that a rebuild begins anew."""
    connection.execute("insert into frames_fts_next (frames_fts_next) values ('delete-all')")


def _reached(connection: apsw.Connection) -> int:
    """The highest frame of the new index, -1 while there is none."""
    found = scalar(connection, "select max(id) from frames_fts_next_docsize")
    return -1 if found is None else int(found)
