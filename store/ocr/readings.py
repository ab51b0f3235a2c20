"""What a frame says: its text once, with a box for every line and every word.

A reading keeps its text as one string, lines joined by newlines, and its boxes as one compressed
blob (about 1 kB for 200 words, against 15 kB as rows). Lines and words are spans of the text, so
a search hit, a quote and a box are three views of the same characters.

A new reading is a new version: search uses the current one, a citation keeps the one it quoted.

Layout format, version 2, little-endian, compressed with zlib: for each line ``<IIHHHHBH`` (start,
end, x, y, w, h, confidence, number of words), followed by ``<IIHHHHBB`` for each of its words.
Confidence is 0..200 in steps of 0.5 %, 255 when unknown. A word's last byte says who told it (the place in
`SOURCES`), plus 128 where the pixels only have ink for it. Version 1 has no such byte: all was read.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import apsw

from store.core.database import Database, scalar
from store.embeddings import vectors
from store.frames import text_index
from store.frames.frames import FrameRow, captured_ms_of, id_range, select_rows
from store.spool import page_text
from store.spool.page_text import Area, PageText

_LINE = struct.Struct("<IIHHHHBH")
_WORD = struct.Struct("<IIHHHHBB")
_WORD_1 = struct.Struct("<IIHHHHB")
_VERSION = b"\x02"
_UNKNOWN = 255
MIN_CONFIDENCE = 0.6
"""Confidence (0..1) from which a word was surely read: true words of the sample week lie above."""
_INK = 128

Source = Literal["read", "browser", "accessibility"]
Checked = Literal["ink", "read"]
SOURCES: tuple[Source, ...] = ("read", "browser", "accessibility")
"""Who told a word: it was read from the picture, or a program told its own text."""


Box = Area
"""A rectangle in pixels of the frame, origin top-left."""


@dataclass(frozen=True, slots=True)
class DraftWord:
    text: str
    box: Box
    confidence: float | None  # 0..1
    source: Source = "read"
    checked: Checked = "read"


@dataclass(frozen=True, slots=True)
class DraftLine:
    """A line to be stored. Words are joined by `text` when given, else by single spaces."""

    box: Box
    confidence: float | None
    words: tuple[DraftWord, ...]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TextDraft:
    """What an engine read, in reading order."""

    lines: tuple[DraftLine, ...]
    engine: str
    language: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Word:
    """A word: ``reading.text[start:end]`` and where it stands.

    `source` says who told it. What the pixels say to it is in `checked`: it was read there, or ink fills its
    place. A word that they do not bear out is not stored.
    """

    start: int
    end: int
    text: str
    box: Box
    confidence: float | None
    source: Source = "read"
    checked: Checked = "read"


@dataclass(frozen=True, slots=True)
class Line:
    start: int
    end: int
    text: str
    box: Box
    confidence: float | None
    words: tuple[Word, ...]

    @property
    def source(self) -> Source:
        """Who told it, if one told all of it; else it counts as read."""
        sources = {word.source for word in self.words}
        return sources.pop() if len(sources) == 1 else "read"


@dataclass(frozen=True, slots=True)
class Reading:
    id: int
    frame_id: int
    engine: str
    language: str
    text: str
    lines: tuple[Line, ...]
    confidence: float | None
    duration_ms: int
    read_ms: int


def add(
    connection: apsw.Connection, frame_id: int, draft: TextDraft, urls: Iterable[str], now_ms: int
) -> int:
    """Make `draft` the frame's current reading, index it and ask for its vectors; returns the reading's id.

    Raises `ValueError` when a word does not stand in its line's text.
    """
    text, layout = encode(draft)
    text_index.remove(connection, frame_id)
    connection.execute("update readings set is_current = 0 where frame_id = ?", (frame_id,))
    confidences = [w.confidence for line in draft.lines for w in line.words if w.confidence is not None]
    confidence = sum(confidences) / len(confidences) if confidences else None
    words = sum(len(line.words) for line in draft.lines)
    connection.execute(
        """
        insert into readings (frame_id, engine, language, text, layout, words, confidence,
            duration_ms, read_ms, is_current)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
        """,
        (frame_id, draft.engine, draft.language, text, layout, words, confidence, draft.duration_ms, now_ms),
    )
    reading_id = connection.last_insert_rowid()
    connection.execute("delete from page_texts where frame_id = ?", (frame_id,))
    connection.execute("delete from frame_urls where frame_id = ?", (frame_id,))
    connection.executemany(
        "insert into frame_urls (frame_id, url) values (?, ?) on conflict do nothing",
        [(frame_id, url) for url in urls],
    )
    text_index.add(connection, frame_id)
    connection.execute(
        """
        update frames
        set reading_state = 'read', read_ms = :now, reading_error = null, reading_next_ms = null
        where id = :id
        """,
        {"id": frame_id, "now": now_ms},
    )
    vectors.request(connection, "frame", frame_id)
    return reading_id


def make_current(connection: apsw.Connection, reading_id: int) -> bool:
    """Let search use an earlier reading again; False when it is unknown or current already.

    Addresses that stand in the text stay those of the last reading.
    """
    frame_id = scalar(
        connection, "select frame_id from readings where id = ? and is_current = 0", (reading_id,)
    )
    if frame_id is None:
        return False
    text_index.remove(connection, frame_id)
    connection.execute("update readings set is_current = 0 where frame_id = ?", (frame_id,))
    connection.execute("update readings set is_current = 1 where id = ?", (reading_id,))
    text_index.add(connection, frame_id)
    vectors.request(connection, "frame", frame_id)
    connection.execute(
        """
        insert into memory_hours (hour) values (? / 1024 / 3600000)
        on conflict (hour) do update set changes = changes + 1
        """,
        (frame_id,),
    )
    return True


def of_frame(database: Database, frame_id: int) -> list[tuple[Reading, bool]]:
    """Every reading of a frame and whether it is the current one, the newest first."""
    found = database.rows(
        "select id, is_current from readings where frame_id = ? order by id desc", (frame_id,)
    )
    readings = [(by_id(database, reading_id), bool(is_current)) for reading_id, is_current in found]
    return [(reading, is_current) for reading, is_current in readings if reading is not None]


def current_reading(database: Database, frame_id: int) -> Reading | None:
    """The reading that search uses, or None while the frame has not been read."""
    reading_id = current_id(database, frame_id)
    return None if reading_id is None else by_id(database, reading_id)


def current_id(database: Database, frame_id: int) -> int | None:
    sql = "select id from readings where frame_id = ? and is_current = 1"
    found: int | None = database.scalar(sql, (frame_id,))
    return found


def by_id(database: Database, reading_id: int) -> Reading | None:
    found = database.rows(
        """
        select id, frame_id, engine, language, text, layout, confidence, duration_ms, read_ms
        from readings where id = ?
        """,
        (reading_id,),
    )
    for *head, text, layout, confidence, duration_ms, read_ms in found:
        return Reading(*(*head, text, tuple(decode(text, layout)), confidence, duration_ms, read_ms))
    return None


def urls(database: Database, frame_id: int) -> list[str]:
    """URLs that stand in the frame's text, in alphabetical order."""
    return database.column("select url from frame_urls where frame_id = ? order by url", (frame_id,))


def boxes_for_span(reading: Reading, start: int, end: int) -> list[Box]:
    """The smallest boxes that cover ``reading.text[start:end]``: one per line, around its words.

    Falls back to the line's own box where it has no words.
    """
    boxes = []
    for line in reading.lines:
        if line.end <= start or line.start >= end:
            continue
        words = [word.box for word in line.words if word.start < end and word.end > start]
        if words:
            boxes.append(union(words))
        elif not line.words:
            boxes.append(line.box)
    return boxes


def union(boxes: Iterable[Box]) -> Box:
    """The smallest box around some boxes (at least one)."""
    found = list(boxes)
    left, top = min(b.x for b in found), min(b.y for b in found)
    right, bottom = max(b.x + b.w for b in found), max(b.y + b.h for b in found)
    return Box(left, top, right - left, bottom - top)


def encode(draft: TextDraft) -> tuple[str, bytes]:
    """(text, layout) of a draft; `decode` gives the lines back."""
    texts: list[str] = []
    packed = bytearray()
    position = 0
    for line in draft.lines:
        text = _clean(line.text if line.text is not None else " ".join(w.text for w in line.words))
        end = position + len(text)
        packed += _LINE.pack(
            position, end, *_corners(line.box), _confidence(line.confidence), len(line.words)
        )
        at = 0
        for word in line.words:
            clean = _clean(word.text)
            found = text.find(clean, at)
            if found < 0:
                raise ValueError("a word does not stand in its line")
            at = found + len(clean)
            told = SOURCES.index(word.source) | (_INK if word.checked == "ink" else 0)
            sure = _confidence(word.confidence)
            packed += _WORD.pack(position + found, position + at, *_corners(word.box), sure, told)
        texts.append(text)
        position = end + 1
    return "\n".join(texts), _VERSION + zlib.compress(bytes(packed), 6)


def decode(text: str, layout: bytes) -> Iterator[Line]:
    """The lines of a stored reading."""
    if layout[:1] not in (_VERSION, b"\x01"):
        raise ValueError(f"unknown layout version {layout[:1]!r}")
    packed = zlib.decompress(layout[1:])
    word_format = _WORD if layout[:1] == _VERSION else _WORD_1
    at = 0
    while at < len(packed):
        start, end, x, y, w, h, confidence, count = _LINE.unpack_from(packed, at)
        at += _LINE.size
        words = []
        for _ in range(count):
            first, last, wx, wy, ww, wh, sure, *told = word_format.unpack_from(packed, at)
            at += word_format.size
            box = Box(wx, wy, ww, wh)
            words.append(Word(first, last, text[first:last], box, _share(sure), *_provenance(*told)))
        yield Line(start, end, text[start:end], Box(x, y, w, h), _share(confidence), tuple(words))


class Place(NamedTuple):
    """Where a line stands, in the text and on the picture, and how sure its reading is."""

    start: int
    end: int
    box: Box
    confidence: float | None


def places(layout: bytes) -> Iterator[Place]:
    """The lines of a stored reading without their words, which takes a tenth of the time."""
    packed = zlib.decompress(layout[1:])
    size, at = (_WORD if layout[:1] == _VERSION else _WORD_1).size, 0
    while at < len(packed):
        start, end, x, y, w, h, confidence, count = _LINE.unpack_from(packed, at)
        at += _LINE.size + count * size
        yield Place(start, end, Box(x, y, w, h), _share(confidence))


def doubts(connection: apsw.Connection, frame_id: int, start: int) -> Callable[[int, int], bool]:
    """Tells of ``[a, b)``, from `start` on, whether the reading was less sure there than as a whole."""

    @cache
    def unsure() -> list[tuple[int, int]]:
        sql = "select text, layout, confidence from readings where frame_id = ? and is_current = 1"
        return [
            (word.start, word.end)
            for text, layout, confidence in connection.execute(sql, (frame_id,))
            for line in decode(text, layout)
            for word in line.words
            if confidence is not None and word.confidence is not None and word.confidence < confidence
        ]

    return lambda a, b: any(first < start + b and last > start + a for first, last in unsure())


def _provenance(told: int = 0) -> tuple[Source, Checked]:
    return SOURCES[told & ~_INK], "ink" if told & _INK else "read"


_NO_TEXT = re.compile(r"[\x00-\x1f\ud800-\udfff]")


def _clean(text: str) -> str:
    """Screen text as data: no line breaks inside a line, no NUL, no lone surrogates."""
    return text if text.isprintable() else _NO_TEXT.sub(" ", text)  # printable is none of these: asked sooner


def _corners(box: Box) -> tuple[int, int, int, int]:
    x, y, w, h = int(box.x), int(box.y), int(box.w), int(box.h)
    if min(x, y, w, h) < 0 or max(x, y, w, h) > 65_535:
        x, y, w, h = (max(0, min(65_535, value)) for value in (x, y, w, h))
    return x, y, w, h


def _confidence(value: float | None) -> int:
    return _UNKNOWN if value is None else max(0, min(200, round(value * 200)))


def _share(stored: int) -> float | None:
    return None if stored == _UNKNOWN else stored / 200


# -- what the browser told ----------------------------------------------------------------
# Of the pages on a frame, kept until the frame was read (`store.spool.page_text`).


def add_page_texts(connection: apsw.Connection, frame_id: int, pages: list[PageText]) -> None:
    """For who reads the frame. Call inside `Database.write()`."""
    content = zlib.compress(page_text.encode(pages), 6)
    connection.execute("insert into page_texts (frame_id, content) values (?, ?)", (frame_id, content))


def page_texts(database: Database, frame_id: int) -> list[PageText]:
    """Empty where nothing was told, or the frame was read already."""
    content = database.scalar("select content from page_texts where frame_id = ?", (frame_id,))
    return page_text.decode(zlib.decompress(content)) if content else []


# -- the queue ----------------------------------------------------------------------------
# Which frames wait to be read, and what became of the tries.
#
# The frames themselves are the queue: a state, the number of tries and the next one. What
# writes here runs inside `database.write()`.


def pending_frames(
    database: Database, now_ms: int, limit: int, since_ms: int = 0, but: Collection[int] = ()
) -> list[FrameRow]:
    """Frames whose text is still to be read and whose next try is due, oldest first, `but` some by their ids.

    With `since_ms` only those captured since then, the newest first.
    """
    with database.read() as connection:
        return select_rows(
            connection,
            f"""
            where reading_state = 'pending' and coalesce(reading_next_ms, 0) <= :now and id >= :first
            and id not in (select value from json_each(:but))
            order by id {"desc" if since_ms else ""}
            limit :limit
            """,
            {
                "now": now_ms,
                "limit": limit,
                "first": id_range(since_ms, since_ms)[0],
                "but": json.dumps(list(but)),
            },
        )


def count_pending(database: Database) -> int:
    """How many frames wait to be read."""
    return int(database.scalar("select frames from frame_totals where reading_state = 'pending'"))


def count_unread(connection: apsw.Connection, start_ms: int, end_ms: int) -> int:
    """How many frames of ``[start_ms, end_ms)`` still wait to be read: no word finds them yet."""
    first, after = id_range(start_ms, end_ms)
    sql = "select count(*) from frames where reading_state = 'pending' and id >= ? and id < ?"
    return int(scalar(connection, sql, (first, after)))


def index_fresh_to_ms(database: Database) -> int | None:
    """Up to which moment every frame has been read: None when there is no frame at all.

    Frames that could not be read do not hold it back, they are counted as failed; nor do those that
    are read again, whose last reading is searched meanwhile.
    """
    with database.read() as connection:
        waiting = scalar(
            connection, "select min(id) from frames where reading_state = 'pending' and read_ms is null"
        )
        if waiting is not None:
            before = scalar(connection, "select max(id) from frames where id < ?", (waiting,))
            return None if before is None else captured_ms_of(before)
        newest = scalar(connection, "select max(id) from frames")
    return None if newest is None else captured_ms_of(newest)


def mark_reading_failed(connection: apsw.Connection, frame_id: int, error: str, next_ms: int | None) -> None:
    """Count a failed reading: tried again at `next_ms`, or given up with None.

    A frame that had been read before keeps that reading.
    """
    connection.execute(
        """
        update frames
        set reading_state = case
                when :next_ms is not null then 'pending'
                when read_ms is not null then 'read'
                else 'failed'
            end,
            reading_attempts = reading_attempts + 1,
            reading_error = :error,
            reading_next_ms = :next_ms
        where id = :id
        """,
        {"id": frame_id, "error": error, "next_ms": next_ms},
    )


def mark_unavailable(connection: apsw.Connection, frame_id: int, reason: str) -> None:
    """No engine can read this frame now; `requeue_unavailable` tries again when one can. One that was read
    meanwhile stays as it is.
    """
    changes = "reading_state = 'unavailable', reading_error = :reason"
    sql = f"update frames set {changes} where id = :id and reading_state = 'pending'"
    connection.execute(sql, {"id": frame_id, "reason": reason})


def requeue_unavailable(connection: apsw.Connection) -> int:
    """An engine has become available: queue every frame that waited for one."""
    connection.execute(
        """
        update frames set reading_state = 'pending', reading_error = null
        where reading_state = 'unavailable'
        """
    )
    return connection.changes()


def read_again(database: Database, frame_id: int) -> bool:
    """Queue a frame whose text was read, or could not be; False when it waits already or is unknown.

    Search uses the reading there is until the new one is stored.
    """
    changed = database.change(
        """
        update frames
        set reading_state = 'pending', reading_attempts = 0, reading_error = null,
            reading_next_ms = null
        where id = ? and reading_state <> 'pending'
    """,
        (frame_id,),
    )
    return changed > 0


_AT_ONCE = 2_000


def queue_again(database: Database) -> Iterator[int]:
    """Queue every frame that has its picture and does not wait already; yields how many, some at a time."""
    sql = """
        update frames
        set reading_state = 'pending', reading_attempts = 0, reading_error = null, reading_next_ms = null
        where id > :after and id <= :last and reading_state <> 'pending' and media_path is not null
    """
    return _by_id(database, sql, "select id from frames where id > ? order by id limit ?")


def leave_as_read(database: Database) -> Iterator[int]:
    """Take frames that are to be read again off the queue; they keep their reading. Yields likewise."""
    sql = """
        update frames set reading_state = 'read', reading_error = null, reading_next_ms = null
        where id > :after and id <= :last and reading_state = 'pending' and read_ms is not null
    """
    waiting = "select id from frames where reading_state = 'pending' and id > ? order by id limit ?"
    return _by_id(database, sql, waiting)


def _by_id(database: Database, sql: str, ids: str) -> Iterator[int]:
    """Change frames in short transactions, so that captures and searches find a gap."""
    after = -1
    while some := database.column(ids, (after, _AT_ONCE)):
        yield database.change(sql, {"after": after, "last": some[-1]})
        after = some[-1]


def waits_again(database: Database) -> bool:
    """Whether a frame that has a reading waits for another."""
    sql = "select exists (select 1 from frames where reading_state = 'pending' and read_ms is not null)"
    return bool(database.scalar(sql))
