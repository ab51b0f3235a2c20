"""Frames put in once more at later times, many times over, faster than any index of words is made.

A segment of FTS5's index is copied page by page. Within it ids are told as differences from the one before,
so only the first id of a page and of each list changes; it takes eight bytes as before. The format is
described at the head of https://sqlite.org/src/file/ext/fts5/fts5_index.c; FTS5's own check holds against it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import apsw

from store.core.database import column, rows, scalar
from store.frames.frames import ID_STEP

_STRUCTURE, _AVERAGES = 10, 1  # records of the index that are no pages
_SEGMENT_BITS = 37
_DOCLIST_INDEX = 1 << 36
_ON_A_LEVEL = 3
_EMPTY_LEVELS = 2  # of the lowest: they take what comes in


def repeat(connection: apsw.Connection, times: int, span_ms: int) -> None:
    """Let the frames be there `times` times, `span_ms` apart. The connection has to be closed after that."""
    connection.execute("insert into frames_fts (frames_fts) values ('optimize')")
    [segment] = column(connection, "select distinct segid from frames_fts_idx")
    base = segment << _SEGMENT_BITS
    last_page = scalar(
        connection, "select max(id) from frames_fts_data where id < ?", (base + _DOCLIST_INDEX,)
    )
    low, high = rows(connection, "select min(id), max(id) from frames")[0]
    averages = list(
        _varints(scalar(connection, "select block from frames_fts_data where id = ?", (_AVERAGES,)))
    )
    for number in range(1, times):
        shift = number * span_ms * ID_STEP
        for statement in _COPIES:
            connection.execute(statement, {"ms": number * span_ms, "id": shift, "low": low, "high": high})
        copied = segment + number
        connection.execute(
            "insert into frames_fts_idx select ?, term, pgno from frames_fts_idx where segid = ?",
            (copied, segment),
        )
        pages = connection.execute(
            "select id, block from frames_fts_data where id >= ? and id < ?",
            (base, base + (1 << _SEGMENT_BITS)),
        )
        connection.executemany(
            "insert into frames_fts_data (id, block) values (?, ?)",
            (
                (
                    page + (number << _SEGMENT_BITS),
                    (_of_lists if page & _DOCLIST_INDEX else _leaf)(block, shift),
                )
                for page, block in pages
            ),
        )
    records = (
        (b"".join(map(_varint, [each * times for each in averages])), _AVERAGES),
        (_structure(connection, segment, times, last_page - base), _STRUCTURE),
    )
    connection.executemany("update frames_fts_data set block = ? where id = ?", records)


_COPIES = (
    """
    insert into frames (id, capture_id, captured_ms, ended_ms, stored_ms, read_ms, monitor, width_px,
        height_px, app_name, window_name, browser_url, focused, source, media_type, size_bytes, sha256,
        pixels_sha256, reading_state)
    select id + :id, id + :id, captured_ms + :ms, ended_ms + :ms, stored_ms + :ms, read_ms + :ms, monitor,
        width_px, height_px, app_name, window_name, browser_url, focused, source, media_type, size_bytes,
        sha256, pixels_sha256, reading_state
    from frames
    where id between :low and :high
    """,
    """
    insert into readings (frame_id, engine, language, text, layout, words, duration_ms, read_ms, is_current)
    select frame_id + :id, engine, language, text, layout, words, duration_ms, read_ms + :ms, is_current
    from readings
    where frame_id between :low and :high
    """,
    """
    insert into frames_fts_docsize (id, sz)
    select id + :id, sz from frames_fts_docsize where id between :low and :high
    """,
    """
    insert into segments
        (start_ms, end_ms, app_name, window_name, browser_url, first_frame_id, last_frame_id, frames)
    select start_ms + :ms, end_ms + :ms, app_name, window_name, browser_url, first_frame_id + :id,
        last_frame_id + :id, frames
    from segments
    where first_frame_id between :low and :high
    """,
)


def _leaf(page: bytes, shift: int) -> bytes:
    """A page of lists with other ids: the first one, if it goes on with a list, and those behind a term."""
    moved = bytearray(page)
    first, end = struct.unpack_from(">HH", page)
    if first:
        _shift(moved, first, shift)
    term = 0
    for number, distance in enumerate(_varints(page[end:])):
        term += distance
        at = term if number == 0 else _read(page, term)[1]
        size, at = _read(page, at)
        if at + size < end:  # else its list begins on the next page
            _shift(moved, at + size, shift)
    return bytes(moved)


def _of_lists(page: bytes, shift: int) -> bytes:
    """The same for a page of an index of one list: a byte, a page's number, an id."""
    moved = bytearray(page)
    _shift(moved, _read(page, 1)[1], shift)
    return bytes(moved)


def _structure(connection: apsw.Connection, segment: int, times: int, pages: int) -> bytes:
    """Which segments there are: a few on each level, the oldest on the highest, as use leaves them."""
    before = scalar(connection, "select block from frames_fts_data where id = ?", (_STRUCTURE,))
    levels = [range(at, min(at + _ON_A_LEVEL, times)) for at in range(0, times, _ON_A_LEVEL)]
    numbers = [len(levels) + _EMPTY_LEVELS, times, 0, *[0, 0] * _EMPTY_LEVELS]
    for level in reversed(levels):
        numbers += [0, len(level)]
        for number in level:
            numbers += [segment + number, 1, pages]
    return bytes(before[:4]) + b"".join(map(_varint, numbers))


def _shift(page: bytearray, at: int, by: int) -> None:
    number, after = _read(page, at)
    page[at:after] = _varint(number + by)


def _varints(content: bytes) -> Iterator[int]:
    at = 0
    while at < len(content):
        number, at = _read(content, at)
        yield number


def _read(content: bytes | bytearray, at: int) -> tuple[int, int]:
    """SQLite's numbers of one to eight bytes; and where the next thing begins."""
    number = content[at] & 127
    while content[at] & 128:
        at += 1
        number = number << 7 | content[at] & 127
    return number, at + 1


def _varint(number: int) -> bytes:
    content = [number & 127]
    while number := number >> 7:
        content.append(number & 127 | 128)
    return bytes(reversed(content))
