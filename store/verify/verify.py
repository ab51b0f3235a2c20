"""Does everything agree: index = rows = pictures = ledger.

Only reads, and holds no lock that a writer waits for, so it can run beside capture and ingest.
What is on its way at that moment (a capture in the spool, a picture whose row is being written) is
not a difference.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from store.chats import attachments
from store.core import tokenizer
from store.core.database import Database, column, rows, scalar
from store.core.errors import AttachmentGone, MediaGone
from store.frames.frames import ID_STEP, get_many
from store.frames.media import Media
from store.spool import residual_files
from store.spool.queue import Spool
from store.timeline import ledger, segments

_UNDER_WAY_S = 60.0
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Report:
    """Every problem is a sentence; no problem means that all counts agree."""

    problems: tuple[str, ...]
    counts: dict[str, int]


def verify(database: Database, media: Media, spool: Spool) -> Report:
    """Compare everything that is stored. Reads every picture, so it takes a while on a large home."""
    with database.read() as connection:
        problems = [
            *_file(connection),
            *_rows(connection),
            *_index(connection),
            *_vectors(connection),
            *_activity(connection),
            *memory_problems(connection),
            *source_problems(connection),
        ]
        counts = _counts(connection)
    problems += _pictures(database, media)
    problems += attachment_problems(database)
    problems += _ledger(database)
    counts["pictures"] = len(media.files())
    counts["waiting in the spool"] = len(spool.waiting())
    counts["set aside in the spool"] = sum(1 for _ in spool.failed())
    return Report(tuple(problems), counts)


def _counts(connection: apsw.Connection) -> dict[str, int]:
    questions = {
        "frames": "select count(*) from frames",
        "frames read": "select count(*) from frames where reading_state = 'read'",
        "index rows": "select count(*) from frames_fts_docsize",
        "vectors": "select count(*) from vectors",
        "waiting for vectors": "select count(*) from embedding_queue",
        "activity pieces": "select count(*) from segments",
        "looks": "select coalesce(sum(looks), 0) from look_batches",
        "attached files": "select count(distinct sha256) from attachments",
        "deletions": "select count(*) from deletions",
    }
    return {name: int(scalar(connection, sql)) for name, sql in questions.items()}


# -- the database -------------------------------------------------------------------------


def _file(connection: apsw.Connection) -> Iterator[str]:
    for (finding,) in rows(connection, "pragma integrity_check"):
        if finding != "ok":
            yield f"The database file is damaged: {finding}."
    for table, rowid, parent, _ in rows(connection, "pragma foreign_key_check"):
        yield f"Row {rowid} of {table} refers to a row of {parent} that does not exist."


def _rows(connection: apsw.Connection) -> Iterator[str]:
    questions = {
        "frames carry another time in their id than in their row":
            f"select count(*) from frames where id / {ID_STEP} <> captured_ms",
        "frames end before they begin": "select count(*) from frames where ended_ms < captured_ms",
        "frames count as read and have no reading":
            """
            select count(*) from frames f
            where reading_state = 'read'
                and not exists (select 1 from readings r where r.frame_id = f.id and r.is_current = 1)
            """,
        "frames have no record of how they came in":
            """
            select count(*) from frames f
            where not exists (
                select 1 from ingest_records i where i.capture_id = f.capture_id and i.outcome = 'stored'
            )
            """,
        "captures count as stored and have no frame":
            """
            select count(*) from ingest_records i
            where outcome = 'stored' and not exists (select 1 from frames f where f.id = i.frame_id)
            """,
        "frames have a window title that filters do not know":
            """
            select count(*) from frames
            where window_name is not null and window_name not in (select name from window_names)
            """,
        "frames have an address that filters do not know":
            """
            select count(*) from frames
            where browser_url is not null and browser_url not in (select name from browser_urls)
            """,
        "window titles are kept of no frame":
            "select count(*) from window_names where name not in (select window_name from frames "
            "where window_name is not null)",
        "addresses are kept of no frame":
            "select count(*) from browser_urls where name not in (select browser_url from frames "
            "where browser_url is not null)",
    }  # fmt: skip
    for sentence, sql in questions.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."


def _index(connection: apsw.Connection) -> Iterator[str]:
    """Every frame has its index row, made from today's words: their number is kept in the index."""
    missing = scalar(
        connection,
        """
        select count(*) from frames f
        where not exists (select 1 from frames_fts_docsize i where i.id = f.id)
        """,
    )
    if missing:
        yield f"{missing} frames are not in the index."
    extra = scalar(
        connection,
        """
        select count(*) from frames_fts_docsize i
        where not exists (select 1 from frames f where f.id = i.id)
        """,
    )
    if extra:
        yield f"{extra} rows of the index have no frame."
    stale = sum(
        _varints(sizes) != [len(tokenizer.tokens(text)) for text in texts]
        for sizes, *texts in connection.execute(
            """
            select i.sz, t.text, t.app_name, t.window_name, t.browser_url
            from frames_fts_docsize i
            join frame_texts t on t.id = i.id
            """
        )
    )
    if stale:
        yield f"{stale} frames are indexed with other words than they have."


def _varints(packed: bytes) -> list[int]:
    """SQLite's variable-length integers (https://sqlite.org/fileformat2.html#varint), up to 8 bytes."""
    found, value = [], 0
    for byte in packed:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(value)
            value = 0
    return found


def _vectors(connection: apsw.Connection) -> Iterator[str]:
    """Every vector is of a frame that exists, and of characters that its text has."""
    questions = {
        "vectors are of frames that do not exist":
            """
            select count(*) from vectors v
            where v.kind = 'frame' and not exists (select 1 from frames f where f.id = v.thing_id)
            """,
        "vectors have another length than those of their model":
            """
            select count(*) from vectors v join embedding_models m on m.id = v.model_id
            where length(v.vector) <> m.dimension
            """,
        "vectors are of characters that their frame's text does not have":
            """
            select count(*) from vectors v
            join readings r on r.frame_id = v.thing_id and r.is_current = 1
            where v.kind = 'frame' and v.chunk_end > length(r.text)
                and not exists (
                    select 1 from embedding_queue q where q.kind = 'frame' and q.thing_id = v.thing_id
                )
            """,
        "deleted frames wait for vectors":
            """
            select count(*) from embedding_queue q
            where q.kind = 'frame' and not exists (select 1 from frames f where f.id = q.thing_id)
            """,
    }  # fmt: skip
    for sentence, sql in questions.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."


def _activity(connection: apsw.Connection) -> Iterator[str]:
    if segments.stored_line(connection) != segments.folded_line(connection):
        yield "The activity segments are not those of the frames."


# -- files --------------------------------------------------------------------------------


def _pictures(database: Database, media: Media) -> Iterator[str]:
    """Every frame has its very picture, and every picture its frame."""
    files = set(media.files())
    known: set[str] = set()
    for frame_ids in _batches_of_ids(database):
        for frame in get_many(database, frame_ids).values():
            if frame.media_path is None:
                continue
            known.add(frame.media_path)
            try:
                media.exact(frame)
            except MediaGone as error:
                yield f"The picture of frame {frame.id} is {error.reason}."
    trash = set(database.column("select path from media_trash"))
    if trash:
        yield f"{len(trash)} pictures of deleted frames wait to be removed."
    orphans = [path for path in files - known - trash if _is_settled(media, path)]
    if orphans:
        yield f"{len(orphans)} files in the media folder belong to no frame."


def _batches_of_ids(database: Database) -> Iterator[list[int]]:
    last = -1
    while True:
        found = database.rows("select id from frames where id > ? order by id limit ?", (last, _AT_ONCE))
        if not found:
            return
        yield [frame_id for (frame_id,) in found]
        last = found[-1][0]


def _is_settled(media: Media, path: str) -> bool:
    """Whether a file is older than what ingest may be about to enter."""
    try:
        return time.time() - (media.folder / path).stat().st_mtime > _UNDER_WAY_S
    except FileNotFoundError:
        return False


def _ledger(database: Database) -> Iterator[str]:
    """Looks = decisions, but for captures that are still in the spool."""
    found = ledger.reconcile(database, 0, 2**52)
    with database.read() as connection:
        waiting = sum(
            scalar(connection, "select 1 from look_batches where id = ?", (entry.batch_id,)) is not None
            and scalar(connection, "select 1 from ingest_records where capture_id = ?", (entry.capture_id,))
            is None
            for entry in residual_files.captures(database.data_dir, 0, 2**52)
        )
    lost = found.difference - waiting
    if lost > 0:
        yield f"{lost} of {found.looks} looks are not accounted for."
    elif lost < 0:
        yield f"{-lost} decisions were made without a look."


# -- attachments --------------------------------------------------------------------------
# Does every attached file have its row, and every row its very file.


def attachment_problems(database: Database) -> Iterator[str]:
    """Every difference as a sentence. Reads every file."""
    on_disk = attachments.files(database.data_dir)
    with database.read() as connection:
        known = rows(connection, "select sha256, min(id) from attachments group by sha256")
        trash = set(column(connection, "select sha256 from attachment_trash"))
    for sha256, number in known:
        try:
            attachments.exact(database.data_dir, sha256)
        except AttachmentGone as error:
            yield f"The file of attachment {number} is {error.reason}."
    if trash:
        yield f"{len(trash)} files of deleted chats wait to be removed."
    expected = {sha256 for sha256, _ in known} | trash
    orphans = [path for path in on_disk if path.name not in expected and _verify_attachments_is_settled(path)]
    if orphans:
        yield f"{len(orphans)} files in the attachments folder belong to no question."


def _verify_attachments_is_settled(path: Path) -> bool:
    """Whether a file is older than one whose row is being entered."""
    try:
        return time.time() - path.stat().st_mtime > _UNDER_WAY_S
    except FileNotFoundError:
        return False


# -- memory -------------------------------------------------------------------------------
# Does memory agree with itself and with the frames: documents, words, and quoted lines.
#
# Observations are derived again when frames change, which ingest does a moment later: hours that
# wait for it (`memory_hours`) are under way and not a difference.


def memory_problems(connection: apsw.Connection) -> Iterator[str]:
    """Every difference as a sentence."""
    for sentence, sql in _QUESTIONS.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."
    lines = rows(connection, _FACTS)
    untrue = sum(not _stands(text, reading) for text, reading in lines)
    if untrue:
        yield f"{untrue} facts of memory do not stand on the frames they name."


def _stands(line: str, text: str) -> bool:
    """Whether a line's words stand in a text, one after the other."""
    words, there = ([token.text for token in tokenizer.tokens(each)] for each in (line, text))
    return any(there[at : at + len(words)] == words for at in range(len(there) - len(words) + 1))


_QUESTIONS = {
    "memory documents are not in their index":
        """
        select count(*) from memory_documents d
        where not exists (select 1 from memory_fts_docsize i where i.id = d.id)
        """,
    "rows of the memory index have no document":
        """
        select count(*) from memory_fts_docsize i
        where not exists (select 1 from memory_documents d where d.id = i.id)
        """,
    "memory documents belong to nothing":
        """
        select count(*) from memory_documents d
        where not case d.doc_type
            when 'observation' then
                exists (select 1 from observations o where o.id = d.sqlite_id and o.is_hidden = 0)
            when 'session_summary' then exists (select 1 from session_summaries s where s.id = d.sqlite_id)
            when 'insight' then
                exists (select 1 from insights i where i.id = d.sqlite_id and i.is_current = 1)
            when 'chat_summary' then exists (
                select 1 from chat_summaries c where c.session_id = d.sqlite_id and c.is_retracted = 0
            )
            else exists (select 1 from messages m where m.id = d.sqlite_id and m.role = 'user')
        end
        """,
    "current insights are not in memory":
        """
        select count(*) from insights i
        where i.is_current = 1 and not exists (
            select 1 from memory_documents d where d.doc_type = 'insight' and d.sqlite_id = i.id
        )
        """,
    "summaries of chats are not in memory":
        """
        select count(*) from chat_summaries c
        where c.is_retracted = 0 and trim(concat(c.request, c.learned)) <> '' and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.session_id
        )
        """,
    "frames or moments have insights of which none, or more than one, is current":
        """
        select count(*) from (
            select 1 from insights
            group by anchor_kind, frame_id, iif(anchor_kind = 'moment', start_ms, 0),
                iif(anchor_kind = 'moment', end_ms, 0)
            having sum(is_current) <> 1
        )
        """,
    "insights say something else than the answer they are":
        """
        select count(*) from insights i join turns t on t.id = i.turn_id where t.answer_md <> i.summary
        """,
    "vectors belong to no memory document":
        """
        select count(distinct v.thing_id) from vectors v
        where v.kind = 'document'
            and not exists (select 1 from memory_documents d where d.id = v.thing_id)
        """,
    "observations name frames that do not exist":
        """
        select count(distinct m.observation_id) from observation_frames m
        where not exists (select 1 from frames f where f.id = m.frame_id)
        """,
}  # fmt: skip

# A reading that was replaced has put its hour on the list.
_FACTS = """
select f.text, coalesce(r.text, '')
from observation_facts f
join observations o on o.id = f.observation_id
left join readings r on r.frame_id = f.frame_id and r.is_current = 1
where not exists (select 1 from memory_hours h where h.hour = o.hour)
"""


# -- sources ------------------------------------------------------------------------------
# Do imported sources and what is remembered agree with their indexes, vectors and frames.


def source_problems(connection: apsw.Connection) -> Iterator[str]:
    """Every difference as a sentence."""
    for sentence, sql in _VERIFY_SOURCES_QUESTIONS.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."


_VERIFY_SOURCES_QUESTIONS = {
    "messages are not in their index":
        """
        select count(*) from text_messages m
        where not exists (select 1 from text_messages_fts_docsize i where i.id = m.id)
        """,
    "rows of the index of messages have no message":
        """
        select count(*) from text_messages_fts_docsize i
        where not exists (select 1 from text_messages m where m.id = i.id)
        """,
    "summaries of days are not in their index":
        """
        select count(*) from daily_summaries s
        where not exists (select 1 from daily_summaries_fts_docsize i where i.id = s.id)
        """,
    "rows of the index of days have no summary":
        """
        select count(*) from daily_summaries_fts_docsize i
        where not exists (select 1 from daily_summaries s where s.id = i.id)
        """,
    "vectors belong to no message and no day":
        """
        select count(distinct v.kind || v.thing_id) from vectors v
        where (v.kind = 'message' and not exists (select 1 from text_messages m where m.id = v.thing_id))
            or (v.kind = 'day' and not exists (select 1 from daily_summaries s where s.id = v.thing_id))
        """,
    "facts and entities name frames that do not exist":
        """
        select
            (select count(*) from facts f where f.source_frame_id is not null
                and not exists (select 1 from frames r where r.id = f.source_frame_id))
            + (select count(*) from entity_frames e
                where not exists (select 1 from frames r where r.id = e.frame_id))
        """,
    "points of days name frames that do not exist":
        """
        select count(*) from daily_quotes q where not exists (select 1 from frames r where r.id = q.frame_id)
        """,
    "tags are of frames that do not exist":
        """
        select count(*) from frame_tags t where not exists (select 1 from frames r where r.id = t.frame_id)
        """,
}  # fmt: skip
