"""Does everything agree: index = rows = pictures = ledger.

Only reads, and holds no lock that a writer waits for, so it can run beside capture and ingest.
What is on its way at that moment (a capture in the spool, a picture whose row is being written) is
not a difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from store.chats import attachments
from store.core import tokenizer
from store.core.database import Database, column, rows, scalar
from store.core.errors import AttachmentGone, MediaGone
from store.frames import packs, text_index
from store.frames.frames import ID_STEP, FrameRow, get_many
from store.frames.media import Media
from store.spool import residual_files
from store.spool.queue import Spool
from store.timeline import ledger, segments, totals

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
        counted = (f"{what}: {number}." for what, number in row_counts(connection))
        problems = [*_file(connection), *counted, *_derived(connection)]
        counts = {name: int(scalar(connection, sql)) for name, sql in _COUNTS.items()}
    problems += [*_pictures(database, media), *_attachments(database), *_ledger(database)]
    counts["waiting in the spool"] = len(spool.waiting())
    counts["set aside in the spool"] = sum(1 for _ in spool.failed())
    return Report(tuple(problems), counts)


_COUNTS = {
    "frames": "select count(*) from frames",
    "pictures": "select count(*) from frames where media_path is not null",
    "frames read": "select count(*) from frames where reading_state = 'read'",
    "index rows": "select count(*) from frames_fts_docsize",
    "vectors": "select count(*) from vectors",
    "waiting for vectors": "select count(*) from embedding_queue",
    "activity pieces": "select count(*) from segments",
    "looks": "select coalesce(sum(looks), 0) from look_batches",
    "attached files": "select count(distinct sha256) from attachments",
    "deletions": "select count(*) from deletions",
}


def _file(connection: apsw.Connection) -> Iterator[str]:
    for finding in column(connection, "pragma integrity_check"):
        if finding != "ok":
            yield f"The database file is damaged: {finding}."
    for table, rowid, parent, _ in rows(connection, "pragma foreign_key_check"):
        yield f"Row {rowid} of {table} refers to a row of {parent} that does not exist."


def row_counts(connection: apsw.Connection) -> Iterator[tuple[str, int]]:
    """What is wrong with rows of the database that do not agree with others, and how often."""
    for what, source in _PROBLEMS.items():
        if number := scalar(connection, f"select count(*) {source}"):
            yield what, number


def _derived(connection: apsw.Connection) -> Iterator[str]:
    """What is made of texts and frames is what would be made of them today.

    Hours that observations are still to be derived of (`memory_hours`) are under way.
    """
    stale = sum(
        list(text_index.varints(sizes)) != [len(tokenizer.tokens(text)) for text in texts]
        for sizes, *texts in connection.execute(_INDEXED)
    )
    if stale:
        yield f"Frames indexed with other words than they have: {stale}."
    if segments.stored_line(connection) != segments.folded_line(connection):
        yield "The activity segments are not those of the frames."
    untrue = sum(not tokenizer.stands_in(text, reading) for text, reading in rows(connection, _FACTS))
    if untrue:
        yield f"Facts of memory that do not stand on the frames they name: {untrue}."


# The index keeps how many words of each field it has seen.
_INDEXED = """
select i.sz, t.text, t.app_name, t.window_name, t.browser_url from frames_fts_docsize i
join frame_texts t on t.id = i.id
"""

# A reading that was replaced has put its hour on the list.
_FACTS = """
select f.text, coalesce(r.text, '') from observation_facts f
join observations o on o.id = f.observation_id
left join readings r on r.frame_id = f.frame_id and r.is_current = 1
where not exists (select 1 from memory_hours h where h.hour = o.hour)
"""


def _without(table: str, other: str, link: str, where: str = "true") -> str:
    """The rows ``t`` of a table for which there is no row ``o`` of another; `link` says which it would be."""
    return f"from {table} t where {where} and not exists (select 1 from {other} o where {link})"


_PROBLEMS = {
    # Frames, how they came in, and by what they are filtered.
    "Frames with another time in their id than in their row":
        f"from frames where id / {ID_STEP} <> captured_ms",
    "Frames that end before they begin": "from frames where ended_ms < captured_ms",
    "Frames that count as read without a reading":
        _without("frames", "readings", "o.frame_id = t.id and o.is_current = 1", "t.reading_state = 'read'"),
    "Frames without a record of how they came in":
        _without("frames", "ingest_records", "o.capture_id = t.capture_id and o.outcome = 'stored'"),
    "Captures that count as stored without a frame":
        _without("ingest_records", "frames", "o.id = t.frame_id", "t.outcome = 'stored'"),
    "Frames with a window title that filters do not know":
        _without("frames", "window_names", "o.name = t.window_name", "t.window_name is not null"),
    "Frames with an address that filters do not know":
        _without("frames", "browser_urls", "o.name = t.browser_url", "t.browser_url is not null"),
    "Window titles of no frame": _without("window_names", "frames", "o.window_name = t.name"),
    "Addresses of no frame": _without("browser_urls", "frames", "o.browser_url = t.name"),
    "Lists of visible windows of no frame":
        _without("visible_windows", "frames", "o.visible_id = t.id"),
    "Frames that are not in the index": _without("frames", "frames_fts_docsize", "o.id = t.id"),
    "Rows of the index without a frame": _without("frames_fts_docsize", "frames", "o.id = t.id"),
    "Totals that are not those of the frames": f"""
        from (
            select reading_state from ({totals.COUNTED} except select * from frame_totals)
            union
            select reading_state from (select * from frame_totals where frames <> 0 except {totals.COUNTED})
        )
        """,
    # Vectors: of what exists, as long as their model's, and of characters that the text has.
    "Vectors of frames that do not exist":
        _without("vectors", "frames", "o.id = t.thing_id", "t.kind = 'frame'"),
    "Vectors of another length than their model's":
        "from vectors v join embedding_models m on m.id = v.model_id where length(v.vector) <> m.dimension",
    "Things that have lost some of their vectors":
        """
        from vector_counts c
        where c.number <> (select count(*) from vectors v where v.kind = c.kind and v.thing_id = c.thing_id)
            and not exists (
                select 1 from embedding_queue q where q.kind = c.kind and q.thing_id = c.thing_id
            )
        """,
    "Things with vectors that are not counted":
        _without("vectors", "vector_counts", "o.kind = t.kind and o.thing_id = t.thing_id"),
    "Vectors of characters that their frame's text does not have":
        """
        from vectors v
        join readings r on r.frame_id = v.thing_id and r.is_current = 1
        where v.kind = 'frame' and v.chunk_end > length(r.text)
            and not exists (
                select 1 from embedding_queue q where q.kind = 'frame' and q.thing_id = v.thing_id
            )
        """,
    "Deleted frames that wait for vectors":
        _without("embedding_queue", "frames", "o.id = t.thing_id", "t.kind = 'frame'"),
    "Vectors of no memory document": _without(
        "(select distinct thing_id from vectors where kind = 'document')", "memory_documents",
        "o.id = t.thing_id"
    ),
    "Vectors of no message and no day":
        """
        from (select distinct kind, thing_id from vectors) v
        where (v.kind = 'message' and not exists (select 1 from text_messages m where m.id = v.thing_id))
            or (v.kind = 'day' and not exists (select 1 from daily_summaries s where s.id = v.thing_id))
        """,
    # Memory: documents, insights, observations.
    "Memory documents that are not in their index":
        _without("memory_documents", "memory_fts_docsize", "o.id = t.id"),
    "Rows of the memory index without a document":
        _without("memory_fts_docsize", "memory_documents", "o.id = t.id"),
    "Memory documents that belong to nothing":
        """
        from memory_documents d
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
    "Current insights that are not in memory": _without(
        "insights", "memory_documents", "o.doc_type = 'insight' and o.sqlite_id = t.id", "t.is_current = 1"
    ),
    "Summaries of chats that are not in memory": _without(
        "chat_summaries", "memory_documents", "o.doc_type = 'chat_summary' and o.sqlite_id = t.session_id",
        "t.is_retracted = 0 and trim(concat(t.request, t.learned)) <> ''"
    ),
    "Frames or moments with no current insight, or with more than one":
        """
        from (
            select 1 from insights
            group by anchor_kind, frame_id, iif(anchor_kind = 'moment', start_ms, 0),
                iif(anchor_kind = 'moment', end_ms, 0)
            having sum(is_current) <> 1
        )
        """,
    "Insights that say something else than the answer they are":
        "from insights i join turns t on t.id = i.turn_id where t.answer_md <> i.summary",
    "Observations that name frames that do not exist": f"""
        from (
            select distinct t.observation_id {_without("observation_frames", "frames", "o.id = t.frame_id")}
        )
        """,
    # Imported sources, and what is remembered.
    "Messages that are not in their index":
        _without("text_messages", "text_messages_fts_docsize", "o.id = t.id"),
    "Rows of the index of messages without a message":
        _without("text_messages_fts_docsize", "text_messages", "o.id = t.id"),
    "Summaries of days that are not in their index":
        _without("daily_summaries", "daily_summaries_fts_docsize", "o.id = t.id"),
    "Rows of the index of days without a summary":
        _without("daily_summaries_fts_docsize", "daily_summaries", "o.id = t.id"),
    "Facts and entities that name frames that do not exist": _without(
        "(select source_frame_id as id from facts union all select frame_id from entity_frames)", "frames",
        "o.id = t.id", "t.id is not null"
    ),
    "Tags of frames that do not exist": _without("frame_tags", "frames", "o.id = t.frame_id"),
}  # fmt: skip


def _pictures(database: Database, media: Media) -> Iterator[str]:
    """Every frame has its very picture, and every picture its frame."""
    files = set(media.files())
    known: set[str] = set()
    ids_of: dict[str, set[int]] = {}  # of the packs of this batch
    for frame_ids in _batches_of_ids(database):
        found = get_many(database, frame_ids).values()
        in_packs = {path for frame in found if (path := frame.media_path) and path.endswith(packs.SUFFIX)}
        ids_of = {path: ids_of[path] for path in in_packs & ids_of.keys()}
        for path in sorted(in_packs - ids_of.keys()):
            ids_of[path], problems = _pack(database, media, path)
            yield from problems
        known |= in_packs
        for frame in found:
            if frame.media_path in ids_of:
                if frame.id not in ids_of[frame.media_path]:
                    yield f"The picture of frame {frame.id} is missing."
            elif frame.media_path is not None:
                known.add(frame.media_path)
                yield from _problem(f"picture of frame {frame.id}", media.check, frame)
            if frame.preview_path is not None:
                known.add(frame.preview_path)
                yield from _problem(f"small picture of frame {frame.id}", media.exact_preview, frame)
    trash = set(database.column("select path from media_trash"))
    if trash:
        yield f"Pictures of deleted frames that wait to be removed: {len(trash)}."
    orphans = [path for path in files - known - trash if _is_settled(media.folder / path)]
    if orphans:
        yield f"Files in the media folder that belong to no frame: {len(orphans)}."


def _pack(database: Database, media: Media, path: str) -> tuple[set[int], list[str]]:
    """The frames of a pack, and what is wrong with it: it has their very pictures, and no others."""
    try:
        pack = packs.Pack(media.content(path))
    except (ValueError, OSError) as error:
        return set(), [f"The pack {path} cannot be read: {error}."]
    of_pack = {i: row for i, row in get_many(database, pack.ids()).items() if row.media_path == path}
    problems: list[str] = []
    for frame_id in pack.ids():  # in the order of time: each lies on the one before
        if frame_id in of_pack:
            frame = of_pack[frame_id]
            problems += _problem(f"picture of frame {frame_id}", partial(media.unpacked, pack), frame)
        elif not database.column("select 1 from media_trash where path = ?", (path,)):
            problems.append(f"The pack {path} has a picture that belongs to no frame.")
    return set(of_pack), problems


def _problem(what: str, look: Callable[[FrameRow], object], frame: FrameRow) -> Iterator[str]:
    try:
        look(frame)
    except MediaGone as error:
        yield f"The {what} is {error.reason}."


def _batches_of_ids(database: Database) -> Iterator[list[int]]:
    last, sql = -1, "select id from frames where id > ? order by id limit ?"
    while found := database.column(sql, (last, _AT_ONCE)):
        yield found
        last = found[-1]


def _attachments(database: Database) -> Iterator[str]:
    """Every attached file has its row, and every row its very file."""
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
        yield f"Files of deleted chats that wait to be removed: {len(trash)}."
    expected = {sha256 for sha256, _ in known} | trash
    orphans = [path for path in on_disk if path.name not in expected and _is_settled(path)]
    if orphans:
        yield f"Files in the attachments folder that belong to no question: {len(orphans)}."


def _is_settled(path: Path) -> bool:
    """Whether a file is older than one whose row may just be being entered."""
    try:
        return time.time() - path.stat().st_mtime > _UNDER_WAY_S
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
        yield f"Looks not accounted for: {lost} of {found.looks}."
    elif lost < 0:
        yield f"Decisions made without a look: {-lost}."
