"""Ordered steps from an empty file to today's schema.

Each step is one function, runs in one immediate transaction and is recorded by name. A step is
added at the end and never edited afterwards. Before the first step on a database that already
holds data, a copy goes to ``backups/``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import apsw

from store.errors import DatabaseTooNew
from store.paths import FILE_MODE, DataDir
from store.times import now_ms

log = logging.getLogger(__name__)

Step = Callable[[apsw.Connection], None]


def migrate(connection: apsw.Connection, data_dir: DataDir) -> list[str]:
    """Bring the database up to date; returns the names of the steps that ran.

    Raises `DatabaseTooNew` when it holds a step this version does not know.
    """
    connection.execute(
        "create table if not exists migrations (name text primary key, applied_ms integer not null)"
    )
    applied = {name for (name,) in connection.execute("select name from migrations")}
    unknown = applied - {step.__name__ for step in STEPS}
    if unknown:
        raise DatabaseTooNew(f"the database has migrations unknown to this version: {sorted(unknown)}")
    missing = [step for step in STEPS if step.__name__ not in applied]
    if missing and applied:
        _backup_first(connection, data_dir, missing[0].__name__)
    for step in missing:
        _run(connection, step)
    return [step.__name__ for step in missing]


def _run(connection: apsw.Connection, step: Step) -> None:
    connection.execute("begin immediate")
    try:
        # Another process may have been first while we waited for the lock.
        done = connection.execute("select 1 from migrations where name = ?", (step.__name__,)).fetchone()
        if not done:
            step(connection)
            connection.execute(
                "insert into migrations (name, applied_ms) values (?, ?)",
                (step.__name__, now_ms()),
            )
        connection.execute("commit")
    except BaseException:
        connection.execute("rollback")
        raise
    log.info("migration %s applied", step.__name__)


def _backup_first(connection: apsw.Connection, data_dir: DataDir, step: str) -> None:
    target = data_dir.backups / f"before-{step}-{now_ms()}.db"
    connection.execute("vacuum into ?", (str(target),))
    target.chmod(FILE_MODE)


def m001_frames(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table frames (
            id integer primary key,
            capture_id text not null unique,
            captured_ms integer not null,
            ended_ms integer not null,
            utc_offset_min integer,
            monitor text not null default '',
            width_px integer not null,
            height_px integer not null,
            app_name text,
            window_name text,
            browser_url text,
            focused integer check (focused in (0, 1)),
            pid integer,
            trigger text,
            source text not null,
            batch_id text,
            media_path text,
            media_type text not null,
            size_bytes integer not null,
            sha256 text not null,
            pixels_sha256 text not null,
            media_gone_reason text,
            reading_state text not null default 'pending'
                check (reading_state in ('pending', 'read', 'failed', 'unavailable')),
            reading_attempts integer not null default 0,
            reading_error text,
            reading_next_ms integer,
            stored_ms integer not null,
            read_ms integer
        );
        create index frames_by_monitor on frames (monitor, captured_ms, id);
        create index frames_by_app on frames (app_name collate nocase, id);
        create index frames_to_read on frames (id) where reading_state = 'pending';
        create index frames_by_batch on frames (batch_id);

        create table readings (
            id integer primary key,
            frame_id integer not null references frames (id) on delete cascade,
            engine text not null,
            language text not null,
            text text not null,
            layout blob not null,
            words integer not null,
            confidence real,
            duration_ms integer not null,
            read_ms integer not null,
            is_current integer not null check (is_current in (0, 1))
        );
        create index readings_by_frame on readings (frame_id);
        create unique index readings_current on readings (frame_id) where is_current = 1;

        create table frame_urls (
            frame_id integer not null references frames (id) on delete cascade,
            url text not null,
            primary key (frame_id, url)
        ) without rowid;

        create table apps (
            name text primary key,
            colour_slot integer,
            first_ms integer not null
        ) without rowid;

        create table ingest_records (
            capture_id text primary key,
            outcome text not null
                check (outcome in ('stored', 'deduplicated', 'excluded', 'failed', 'deleted')),
            frame_id integer,
            reason text,
            captured_ms integer not null,
            recorded_ms integer not null
        ) without rowid;
        create index ingest_records_by_frame on ingest_records (frame_id);
        """
    )


def m002_text_index(connection: apsw.Connection) -> None:
    # External content: the words are stored once, in `readings` and `frames`. The rowid is the
    # frame id, so deleting goes by rowid (DEL-6) and a time range is a rowid range.
    connection.execute(
        """
        create view frame_texts as
            select f.id, coalesce(r.text, '') as text, coalesce(f.app_name, '') as app_name,
                coalesce(f.window_name, '') as window_name, coalesce(f.browser_url, '') as browser_url
            from frames f
            left join readings r on r.frame_id = f.id and r.is_current = 1;
        create virtual table frames_fts using fts5 (
            text, app_name, window_name, browser_url,
            content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into frames_fts (frames_fts, rank) values ('secure-delete', 1);
        insert into frames_fts (frames_fts) values ('rebuild');
        """
    )


def m003_ledger_and_activity(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table look_batches (
            id text primary key,
            start_ms integer not null,
            end_ms integer not null,
            looks integer not null
        ) without rowid;
        create index look_batches_by_time on look_batches (start_ms);

        create table decisions (
            id integer primary key,
            batch_id text,
            monitor text not null default '',
            decision text not null
                check (decision in ('kept', 'deduped', 'excluded', 'paused', 'failed')),
            reason text not null,
            start_ms integer not null,
            end_ms integer not null,
            looks integer not null
        );
        create index decisions_by_time on decisions (start_ms, end_ms);
        create index decisions_by_batch on decisions (batch_id);

        create table segments (
            id integer primary key,
            start_ms integer not null,
            end_ms integer not null,
            app_name text,
            window_name text,
            browser_url text,
            first_frame_id integer not null,
            last_frame_id integer not null,
            frames integer not null
        );
        create index segments_by_time on segments (start_ms);
        create index segments_by_end on segments (end_ms);
        """
    )


def m004_conversations(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table conversations (
            id integer primary key autoincrement,
            title text not null,
            created_ms integer not null,
            updated_ms integer not null
        );
        create index conversations_by_update on conversations (updated_ms);

        create table messages (
            id integer primary key,
            conversation_id integer not null references conversations (id) on delete cascade,
            turn integer not null,
            role text not null,
            content text not null,
            created_ms integer not null
        );
        create index messages_by_conversation on messages (conversation_id, id);

        create table turns (
            id integer primary key,
            conversation_id integer not null references conversations (id) on delete cascade,
            n integer not null,
            mode text not null,
            model text not null,
            status text not null check (status in ('running', 'done', 'failed')),
            question text not null,
            answer_md text not null default '',
            start_ms integer,
            end_ms integer,
            timezone text not null,
            payload text not null default '{}',
            created_ms integer not null,
            unique (conversation_id, n)
        );

        create table evidence (
            id integer primary key,
            turn_id integer not null references turns (id) on delete cascade,
            n integer,
            frame_id integer references frames (id) on delete set null,
            reading_id integer,
            captured_ms integer not null,
            app_name text,
            window_name text,
            focused integer,
            browser_url text,
            snippet text not null,
            quote text not null,
            boxes text not null default '[]',
            state text not null
        );
        create index evidence_by_turn on evidence (turn_id, n);
        create index evidence_by_frame on evidence (frame_id);
        """
    )


def m005_deletion_and_preferences(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table deletions (
            id integer primary key,
            start_ms integer not null,
            end_ms integer not null,
            deleted_ms integer not null,
            receipt text not null
        );
        create index deletions_by_time on deletions (start_ms);

        -- Files to unlink: written in the transaction that removes the rows, emptied by a sweep,
        -- so that a crash between the two leaves no picture behind (DEL-2).
        create table media_trash (path text primary key) without rowid;

        create table preferences (key text primary key, value text not null) without rowid;

        -- A launch link opens the door once.
        create table used_launch_codes (code_hash text primary key, expires_ms integer not null)
        without rowid;
        """
    )


def m008_access_log(connection: apsw.Connection) -> None:
    # Counts and names of tools, never content: nothing here belongs to a frame.
    connection.execute(
        """
        create table access_log (
            id integer primary key,
            at_ms integer not null,
            door text not null,
            tool text not null,
            outcome text not null check (outcome in ('answered', 'refused', 'failed')),
            returned integer not null,
            withheld integer not null
        );
        """
    )


def m006_vectors(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table embedding_models (
            id integer primary key,
            name text not null unique,
            dimension integer not null,
            is_active integer not null check (is_active in (0, 1))
        );

        -- Autoincrement: an index in memory knows rows by id, so an id must never come back.
        create table vectors (
            id integer primary key autoincrement,
            kind text not null check (kind in ('frame', 'document')),
            thing_id integer not null,
            model_id integer not null references embedding_models (id),
            chunk_start integer not null,
            chunk_end integer not null,
            vector blob not null
        );
        create index vectors_by_thing on vectors (kind, thing_id, model_id);

        -- What waits for its vectors. A row goes in the transaction that stores them, so a restart
        -- goes on where the last run ended.
        create table embedding_queue (
            kind text not null,
            thing_id integer not null,
            primary key (kind, thing_id)
        ) without rowid;
        insert into embedding_queue (kind, thing_id)
        select 'frame', id from frames where reading_state = 'read';
        """
    )


def m009_names(connection: apsw.Connection) -> None:
    # A filter is a piece of a title or an address: looked for among the different ones, of which
    # there are far fewer than frames, and then in the order of an index (`store.names`). Triggers
    # keep the two tables, so that no way of writing or deleting a frame can forget them.
    for column, table in (("window_name", "window_names"), ("browser_url", "browser_urls")):
        connection.execute(
            f"""
            create table {table} (name text primary key) without rowid;
            insert into {table} (name) select distinct {column} from frames where {column} is not null;
            create index frames_by_{column} on frames ({column}, id) where {column} is not null;

            create trigger {table}_insert after insert on frames when new.{column} is not null
            begin
                insert or ignore into {table} (name) values (new.{column});
            end;
            create trigger {table}_update after update of {column} on frames
            begin
                insert or ignore into {table} (name) select new.{column} where new.{column} is not null;
                delete from {table}
                where name = old.{column} and not exists (
                    select 1 from frames where {column} = old.{column}
                );
            end;
            create trigger {table}_delete after delete on frames when old.{column} is not null
            begin
                delete from {table}
                where name = old.{column} and not exists (
                    select 1 from frames where {column} = old.{column}
                );
            end;
            """
        )
    connection.execute(
        """
        create index frames_by_focus on frames (focused, id);
        create index frames_by_screen on frames (monitor, id);
        """
    )


def m007_memory(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- What was done: derived from the frames of one clock hour, so it can be derived again.
        -- `edits` is what a person wrote instead; deriving never touches it.
        create table observations (
            id integer primary key autoincrement,
            hour integer not null,
            place text not null,
            start_ms integer not null,
            end_ms integer not null,
            active_ms integer not null,
            app_name text,
            kind text not null,
            project text,
            title text not null,
            narrative text not null,
            source text not null check (source in ('rule', 'model')),
            edits text not null default '{}',
            is_hidden integer not null default 0 check (is_hidden in (0, 1)),
            fingerprint text not null,
            refine_attempts integer not null default 0,
            refine_next_ms integer,
            refine_error text,
            updated_ms integer not null,
            unique (hour, place)
        );
        create index observations_by_time on observations (start_ms, id);
        create index observations_to_refine on observations (refine_next_ms)
        where refine_next_ms is not null;

        create table observation_frames (
            observation_id integer not null references observations (id) on delete cascade,
            frame_id integer not null,
            primary key (observation_id, frame_id)
        ) without rowid;
        create index observation_frames_by_frame on observation_frames (frame_id);

        -- A line that stood on a frame, word for word.
        create table observation_facts (
            observation_id integer not null references observations (id) on delete cascade,
            n integer not null,
            frame_id integer not null,
            text text not null,
            primary key (observation_id, n)
        ) without rowid;
        create index observation_facts_by_frame on observation_facts (frame_id);

        -- Concepts, files and addresses, as they are now with the person's edits.
        create table observation_terms (
            observation_id integer not null references observations (id) on delete cascade,
            term text not null check (term in ('concept', 'file', 'url')),
            n integer not null,
            value text not null,
            primary key (observation_id, term, n)
        ) without rowid;
        create index observation_terms_by_value on observation_terms (term, value collate nocase);

        create table session_summaries (
            id integer primary key autoincrement,
            start_ms integer not null,
            end_ms integer not null,
            request text,
            investigated text,
            learned text,
            completed text,
            next_steps text,
            notes text,
            project text,
            updated_ms integer not null
        );
        create index session_summaries_by_time on session_summaries (start_ms, id);

        -- Hours whose frames or texts changed since they were derived. `changes` tells whether one
        -- changed again meanwhile. Kept by triggers, so that no way of writing forgets it.
        create table memory_hours (
            hour integer primary key,
            changes integer not null default 1
        );
        create trigger memory_hours_frame after insert on frames
        begin
            insert into memory_hours (hour) values (new.captured_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_shown
        after update of ended_ms, browser_url, window_name, app_name on frames
        begin
            insert into memory_hours (hour) values (new.captured_ms / 3600000), (new.ended_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_gone after delete on frames
        begin
            insert into memory_hours (hour) values (old.captured_ms / 3600000), (old.ended_ms / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        create trigger memory_hours_read after insert on readings
        begin
            insert into memory_hours (hour) values (new.frame_id / 1024 / 3600000)
            on conflict (hour) do update set changes = changes + 1;
        end;
        insert into memory_hours (hour) select distinct captured_ms / 3600000 from frames;

        -- One searchable text per field. Ids are never used again: vectors know documents by id.
        create table memory_documents (
            id integer primary key autoincrement,
            document_id text not null unique,
            doc_type text not null check (doc_type in ('observation', 'session_summary', 'user_prompt')),
            sqlite_id integer not null,
            field text not null,
            session_id integer,
            project text,
            created_ms integer not null,
            ended_ms integer not null,
            prompt_number integer not null default 0,
            text text not null
        );
        create index memory_documents_by_thing on memory_documents (doc_type, sqlite_id);
        create index memory_documents_by_time on memory_documents (created_ms);
        create index messages_asked on messages (created_ms, id) where role = 'user';

        create virtual table memory_fts using fts5 (
            text, content = 'memory_documents', content_rowid = 'id', tokenize = 'recollect'
        );
        insert into memory_fts (memory_fts, rank) values ('secure-delete', 1);

        create trigger memory_documents_insert after insert on memory_documents
        begin
            insert into memory_fts (rowid, text) values (new.id, new.text);
            insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
        end;
        create trigger memory_documents_update after update of text on memory_documents
        begin
            insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
            insert into memory_fts (rowid, text) values (new.id, new.text);
            delete from vectors where kind = 'document' and thing_id = old.id;
            insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
        end;
        create trigger memory_documents_delete after delete on memory_documents
        begin
            insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
            delete from vectors where kind = 'document' and thing_id = old.id;
            delete from embedding_queue where kind = 'document' and thing_id = old.id;
        end;

        -- A question is a document as soon as it is asked, and none when its chat goes.
        create trigger messages_document after insert on messages
        when new.role = 'user' and trim(new.content) <> ''
        begin
            insert into memory_documents (document_id, doc_type, sqlite_id, field, session_id, created_ms,
                ended_ms, prompt_number, text)
            values ('prompt_' || new.id, 'user_prompt', new.id, 'prompt', new.conversation_id,
                new.created_ms, new.created_ms + 1, new.turn, new.content);
        end;
        create trigger messages_document_gone after delete on messages when old.role = 'user'
        begin
            delete from memory_documents where doc_type = 'user_prompt' and sqlite_id = old.id;
        end;
        create trigger observations_document_gone after delete on observations
        begin
            delete from memory_documents where doc_type = 'observation' and sqlite_id = old.id;
        end;
        create trigger session_summaries_document_gone after delete on session_summaries
        begin
            delete from memory_documents where doc_type = 'session_summary' and sqlite_id = old.id;
        end;
        """
    )


STEPS: tuple[Step, ...] = (
    m001_frames,
    m002_text_index,
    m003_ledger_and_activity,
    m004_conversations,
    m005_deletion_and_preferences,
    m006_vectors,
    m007_memory,
    m008_access_log,
    m009_names,
)
