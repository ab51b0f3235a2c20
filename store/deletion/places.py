"""Where something of a frame may live: one table, each place with its purge.

`PLACES` holds everything inside the database and runs in the transaction that removes the frames;
files go after it (`store.deletion.deletion`). A table that refers to frames and is not listed here fails a
test that finds such tables in the schema by itself. Thumbnails and crops are made on request and kept
nowhere; a small picture is kept where retention took the picture.

Titles and addresses are also kept once each, for filters (`store.search.filters`); triggers on `frames`
remove those of no frame in the same transaction.

The frames to delete in this transaction are in the temporary table ``deletion_scope``, all of them in
``deletion_request``. Everything goes by their rowids, which are also the index's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import apsw

from store.core.database import rows, scalar
from store.deletion import chat_hooks, memory_hooks
from store.embeddings import vectors
from store.frames import text_index
from store.frames.activity_intervals import MERGE_GAP_MS
from store.frames.frames import ID_STEP
from store.memory import daily_summaries
from store.timeline import segments
from store.timeline.gaps import Interval, merge_intervals


@dataclass(frozen=True, slots=True)
class Place:
    """One place. `count` is SQL for how many rows would go; `purge` removes them.

    `purge` returns how many rows it removed where that can differ from `count`, else None. What `is_by_id`
    names the frames themselves; the others tell of their time, and so may what was made after a deletion.
    """

    name: str
    count: str
    purge: Callable[[apsw.Connection], int | None]
    is_by_id: bool = False


def _sql(statement: str) -> Callable[[apsw.Connection], None]:
    def purge(connection: apsw.Connection) -> None:
        connection.execute(statement)

    return purge


def _rows_of_frames(
    name: str, table: str, key: str = "frame_id", condition: str = "true", change: str = ""
) -> Place:
    """The rows of a table whose `key` is a frame, where `condition` holds; they go, or `change`."""
    is_by_id, change = not change, change or f"delete from {table}"
    return Place(
        name,
        f"select count(*) from deletion_scope d cross join {table} t on {condition} and t.{key} = d.id",
        _sql(f"{change} where {condition} and {key} in (select id from deletion_scope)"),
        is_by_id,
    )


# The row of evidence stays: the answer had it.
_BLANK = """
update evidence
set frame_id = null, reading_id = null, app_name = null, window_name = null, focused = null,
    browser_url = null, snippet = '', quote = '', boxes = '[]', state = 'deleted',
    needs_check = 0, checked_ms = null, confidence = null
"""
# So does the id of a capture, so that the same one sent again is not stored again.
_REFUSE = "update ingest_records set outcome = 'deleted', frame_id = null, reason = null"
_DISCARD = "insert or ignore into media_trash (path) select coalesce(media_path, preview_path) from frames"
_LONGEST_SEGMENT_MS = 86_400_000


def _fold_again(connection: apsw.Connection) -> None:
    for start_ms, end_ms in rows(connection, "select start_ms, end_ms from touched order by start_ms"):
        segments.rebuild(connection, start_ms, end_ms)


def _forget_apps(connection: apsw.Connection) -> int:
    connection.execute(
        """
        delete from apps
        where not exists (select 1 from frames f where f.app_name = apps.name collate nocase)
        """
    )
    return connection.changes()


PLACES = (
    # The index first: to take a row out it must be shown the words, which go with the reading.
    Place(
        "index_rows",
        "select count(*) from deletion_scope d "
        "where exists (select 1 from frames_fts_docsize where id = d.id) "
        "or exists (select 1 from frames_fts_next_docsize where id = d.id)",
        text_index.remove_deleted,
        is_by_id=True,
    ),
    Place(
        "answers",
        "select count(distinct e.turn_id) from deletion_scope d cross join evidence e on e.frame_id = d.id "
        "where e.n is not null",
        chat_hooks.forget_answers,
    ),
    Place("insights", memory_hooks.INSIGHTS_COUNT, memory_hooks.forget_insights),
    # Summaries of chats, and what was made of those.
    Place("chat_summaries", chat_hooks.CHAT_SUMMARIES_COUNT, chat_hooks.forget_chat_summaries),
    # What was sent to a model; that it was sent stays.
    Place("sent", chat_hooks.EGRESS_COUNT, chat_hooks.forget_egress),
    Place("measured", chat_hooks.MEASURED_FACTS_COUNT, chat_hooks.forget_measured_facts),
    # What tools showed a model of that time, and what it would remember of it.
    Place("tool_calls", chat_hooks.CALLS_COUNT, chat_hooks.forget_calls),
    # Observations and summaries; those of which frames are left are derived again by ingest.
    Place("memory", memory_hooks.MEMORY_COUNT, memory_hooks.forget_memory),
    Place("summaries", daily_summaries.COUNT, daily_summaries.forget),
    # Facts and entities that were learned from them.
    Place("knowledge", memory_hooks.KNOWLEDGE_COUNT, memory_hooks.forget_knowledge),
    _rows_of_frames("tags", "frame_tags"),
    _rows_of_frames("quotes", "evidence", condition="n is not null", change=_BLANK),
    _rows_of_frames("looked_at", "evidence", condition="n is null", change=_BLANK),
    _rows_of_frames("captures", "ingest_records", change=_REFUSE),
    _rows_of_frames("pictures", "frames", "id", "coalesce(media_path, preview_path) is not null", _DISCARD),
    _rows_of_frames("readings", "readings"),
    Place(
        "vectors",
        "select count(*) "
        "from deletion_scope d cross join vectors v on v.kind = 'frame' and v.thing_id = d.id",
        _sql(
            """
            delete from vectors where kind = 'frame' and thing_id in (select id from deletion_scope);
            delete from vector_counts where kind = 'frame' and thing_id in (select id from deletion_scope);
            """
        ),
        is_by_id=True,
    ),
    _rows_of_frames("embedding_queue", "embedding_queue", "thing_id", "kind = 'frame'"),
    _rows_of_frames("urls", "frame_urls"),
    _rows_of_frames("page_texts", "page_texts"),
    # A pin guards against retention, never against a deletion that is asked for.
    _rows_of_frames("pins", "pins"),
    _rows_of_frames("frames", "frames", "id"),
    # Derived from what is left: folded again where frames went.
    Place(
        "segments",
        f"select count(*) from segments where start_ms between "
        f"(select min(id) from deletion_scope) / {ID_STEP} - {_LONGEST_SEGMENT_MS} "
        f"and (select max(id) from deletion_scope) / {ID_STEP} "
        "and (first_frame_id in (select id from deletion_scope) "
        "or last_frame_id in (select id from deletion_scope))",
        _fold_again,
    ),
    Place("apps", "select 0", _forget_apps),
)


def select_frames(
    connection: apsw.Connection,
    select: str,
    parameters: dict[str, int | str | None],
    table: str = "deletion_scope",
) -> int:
    """Put the frame ids that `select` gives into a table; returns how many there are.

    The table is this connection's own and lives in memory.
    """
    connection.execute(f"create temp table if not exists {table} (id integer primary key)")
    connection.execute(f"delete from {table}")
    connection.execute(f"insert into {table} (id) {select}", parameters)
    return int(scalar(connection, f"select count(*) from {table}"))


def count(connection: apsw.Connection) -> dict[str, int]:
    """How many rows `purge` would remove from each place."""
    return {place.name: int(scalar(connection, place.count)) for place in PLACES}


def intervals(connection: apsw.Connection, apart_ms: int) -> list[Interval]:
    """When the deleted frames were on the screen; stretches at most `apart_ms` apart are one."""
    shown = rows(
        connection,
        "select f.captured_ms, f.ended_ms + 1 from deletion_scope d cross join frames f on f.id = d.id",
    )
    return merge_intervals([(start, end) for start, end in shown], apart_ms)


def purge(connection: apsw.Connection, *, merge_later: bool = False) -> dict[str, int]:
    """Remove the deleted frames from every place in the database; returns counts by place.

    With `merge_later` the words are only marked as deleted in the index, which is 30 times as
    fast, and `text_index.merge` has to follow to erase them. Call inside `Database.write()`.

    Looks stay counted: the ledger keeps that a frame was kept, not what it showed.
    """
    connection.execute("create temp table if not exists touched (start_ms integer, end_ms integer)")
    connection.execute("delete from touched")
    connection.executemany(
        "insert into touched (start_ms, end_ms) values (?, ?)", intervals(connection, MERGE_GAP_MS)
    )
    connection.execute(_KEEP_COUNTS)
    vectors.request_beside(connection, intervals(connection, MERGE_GAP_MS))
    if merge_later:
        text_index.abort_rebuild(connection)  # it would erase word by word
        text_index.set_secure_delete(connection, False)
    counts: dict[str, int] = {}
    for place in PLACES:
        expected = int(scalar(connection, place.count))
        removed = place.purge(connection)
        counts[place.name] = expected if removed is None else removed
    if merge_later:  # what is written so far is written with the old value
        text_index.set_secure_delete(connection, True)
    return counts


def leftovers(connection: apsw.Connection, *, by_id: bool = False) -> list[str]:
    """Names of the places in which something of the deleted frames can still be found; of those that name
    frames by their ids where others may have written since.
    """
    places = (place for place in PLACES if place.is_by_id or not by_id)
    return [place.name for place in places if scalar(connection, place.count)]


# A frame that a batch counted as kept leaves a count in its place: what was looked at adds up as before.
_KEEP_COUNTS = """
insert into decisions (batch_id, monitor, decision, reason, start_ms, end_ms, looks)
select f.batch_id, f.monitor, 'kept', f.source, min(f.captured_ms), max(f.captured_ms), count(*)
from deletion_scope d
join frames f on f.id = d.id
where f.batch_id is not null
group by f.batch_id, f.monitor, f.source
"""
