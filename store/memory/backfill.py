"""The backfill of memory documents: those that observations, summaries and prompts should have and lack."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from store.core.database import Database, scalar
from store.memory import documents, observation_writer

log = logging.getLogger(__name__)

BACKFILL_LIMIT = 1_000
"""Rows a backfill looks at in one go, newest first."""
BACKFILL_BATCH = 100
"""Documents that are written in one transaction."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill came across and what it added."""

    prompts: int
    observations: int
    sessions: int
    created: int
    queued: int  # documents that were there and had no vectors


def backfill(
    database: Database,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    limit: int = BACKFILL_LIMIT,
    batch: int = BACKFILL_BATCH,
) -> Backfill:
    """Write the documents that are missing, newest first, `limit` rows at a time.

    `progress(done, total)` is called after every transaction. Safe to stop anywhere and to repeat:
    what is there is left alone, and a second run creates nothing.
    """
    found = {
        "user_prompt": database.column(_PROMPTS_MISSING),
        "observation": database.column(_THINGS_MISSING.format(table="observations", doc="observation")),
        "session_summary": database.column(
            _THINGS_MISSING.format(table="session_summaries", doc="session_summary")
        ),
    }
    writers: dict[str, Callable[[apsw.Connection, int], int]] = {
        "user_prompt": _put_prompt,
        "observation": observation_writer.put_documents,
        "session_summary": documents.put_documents,
    }
    total, done, created = sum(map(len, found.values())), 0, 0
    for kind, ids in found.items():
        for start in range(0, len(ids), limit):
            chunk = ids[start : start + limit]
            for at in range(0, len(chunk), batch):
                part = chunk[at : at + batch]
                with database.write() as connection:
                    created += sum(writers[kind](connection, number) for number in part)
                done += len(part)
                progress(done, total)
            log.info("documents of %d %ss looked at, %d created so far", len(chunk), kind, created)
    counts = _counts(database)
    return Backfill(**counts, created=created, queued=_queue(database))


def _counts(database: Database) -> dict[str, int]:
    with database.read() as connection:
        return {
            "prompts": scalar(connection, "select count(*) from messages where role = 'user'"),
            "observations": scalar(connection, "select count(*) from observations where is_hidden = 0"),
            "sessions": scalar(connection, "select count(*) from session_summaries"),
        }


def _queue(database: Database) -> int:
    """Have the embedder make the vectors that documents lack."""
    return database.change(
        """
        insert or ignore into embedding_queue (kind, thing_id)
        select 'document', d.id
        from memory_documents d
        where not exists (
            select 1 from vectors v
            join embedding_models m on m.id = v.model_id and m.is_active = 1
            where v.kind = 'document' and v.thing_id = d.id
        )
        """
    )


def _put_prompt(connection: apsw.Connection, message_id: int) -> int:
    connection.execute(
        """
        insert or ignore into memory_documents (document_id, doc_type, sqlite_id, field, session_id,
            created_ms, ended_ms, prompt_number, text)
        select 'prompt_' || id, 'user_prompt', id, 'prompt', conversation_id, created_ms, created_ms + 1,
            coalesce(turn, 0), content
        from messages
        where id = ? and role = 'user' and trim(content) <> ''
        """,
        (message_id,),
    )
    return connection.changes()


_PROMPTS_MISSING = """
select m.id from messages m
where m.role = 'user' and trim(m.content) <> '' and not exists (
    select 1 from memory_documents d where d.doc_type = 'user_prompt' and d.sqlite_id = m.id
)
order by m.created_ms desc, m.id desc
"""
_THINGS_MISSING = """
select t.id from {table} t
where not exists (select 1 from memory_documents d where d.doc_type = '{doc}' and d.sqlite_id = t.id)
order by t.start_ms desc, t.id desc
"""
