"""The backfill of memory documents: those that observations, summaries and prompts should have and lack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import apsw

from store.core.database import Database, change
from store.memory import documents, observation_writer

BATCH = 100
"""Things whose documents are written in one transaction."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """How many prompts there are, and how many documents were added."""

    prompts: int
    created: int


def backfill(database: Database) -> Backfill:
    """Write the documents that are missing, newest first.

    Safe to stop anywhere and to repeat: what is there is left alone, and a second run creates nothing.
    """
    created = 0
    for missing, put in _WRITERS.items():
        ids = database.column(missing)
        for start in range(0, len(ids), BATCH):
            with database.write() as connection:
                created += sum(put(connection, number) for number in ids[start : start + BATCH])
    return Backfill(database.scalar("select count(*) from messages where role = 'user'"), created)


def _put_prompt(connection: apsw.Connection, message_id: int) -> int:
    sql = """
        insert or ignore into memory_documents (document_id, doc_type, sqlite_id, field, session_id,
            created_ms, ended_ms, prompt_number, text)
        select 'prompt_' || id, 'user_prompt', id, 'prompt', conversation_id, created_ms, created_ms + 1,
            coalesce(turn, 0), content
        from messages
        where id = ? and role = 'user' and trim(content) <> ''
        """
    return change(connection, sql, (message_id,))


def _missing(table: str, doc_type: str, time: str = "start_ms", where: str = "true") -> str:
    return f"""
        select t.id from {table} t
        where {where} and not exists (
            select 1 from memory_documents d where d.doc_type = '{doc_type}' and d.sqlite_id = t.id
        )
        order by t.{time} desc, t.id desc
        """


_ASKED = "t.role = 'user' and trim(t.content) <> ''"
_WRITERS: dict[str, Callable[[apsw.Connection, int], int]] = {
    _missing("messages", "user_prompt", "created_ms", _ASKED): _put_prompt,
    _missing("observations", "observation"): observation_writer.put_documents,
    _missing("session_summaries", "session_summary"): documents.put_documents,
}
