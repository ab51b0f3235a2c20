"""Memory documents: the searchable texts of what was done, learned and asked (R4.1 to R4.7).

An observation gives a document for its narrative, its facts and the text of its labels, a session
summary one per field that is not null, a user prompt one as a whole. Triggers keep the words, the
queue of the embedder and prompts in step (m007), so a document that is there can be found.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import apsw

from store.database import Database, rows, scalar

log = logging.getLogger(__name__)

BACKFILL_LIMIT = 1_000
"""Rows a backfill looks at in one go, newest first (R4.6)."""
BACKFILL_BATCH = 100
"""Documents that are written in one transaction."""

DocType = Literal["observation", "session_summary", "user_prompt", "insight", "chat_summary"]
SUMMARY_FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")

_PREFIXES: dict[str, DocType] = {"obs": "observation", "summary": "session_summary"}
_WHOLE: dict[str, DocType] = {"prompt": "user_prompt", "insight": "insight", "chat": "chat_summary"}
"""Things with one document (R4.1)."""
_ID = re.compile(
    r"(?P<prefix>obs|summary)_(?P<id>[0-9]{1,18})_(?P<field>[a-z_]+)|(?P<whole>prompt|insight|chat)_(?P<number>[0-9]{1,18})"
)


@dataclass(frozen=True, slots=True)
class DocumentId:
    """What a document id says: ``obs_7_facts``, ``summary_3_notes``, ``prompt_12``."""

    doc_type: DocType
    sqlite_id: int
    field: str

    def __str__(self) -> str:
        for name, doc_type in _WHOLE.items():
            if self.doc_type == doc_type:
                return f"{name}_{self.sqlite_id}"
        return f"{'obs' if self.doc_type == 'observation' else 'summary'}_{self.sqlite_id}_{self.field}"


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill came across and what it added."""

    prompts: int
    observations: int
    sessions: int
    created: int
    queued: int  # documents that were there and had no vectors


def parse_id(text: str) -> DocumentId | None:
    """The parts of a document id, or None when it is none (R4.14)."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    if match["whole"] is not None:
        return DocumentId(_WHOLE[match["whole"]], int(match["number"]), match["whole"])
    return DocumentId(_PREFIXES[match["prefix"]], int(match["id"]), match["field"])


def texts(database: Database, document_ids: Iterable[int]) -> dict[int, str]:
    """The texts of the documents that exist among these (integer) ids."""
    with database.read() as connection:
        found = rows(
            connection,
            "select d.id, d.text from json_each(?) j cross join memory_documents d on d.id = j.value",
            (json.dumps(list(document_ids)),),
        )
    return dict(found)


# -- writing (inside `database.write()`) --------------------------------------------------


def put(
    connection: apsw.Connection,
    doc_type: DocType,
    sqlite_id: int,
    fields: Mapping[str, str | None],
    *,
    created_ms: int,
    ended_ms: int,
    project: str | None,
) -> int:
    """Let a thing have exactly these documents; returns how many are new.

    Blank fields make none (R4.32). A text that did not change keeps its document and its vectors.
    """
    wanted = {field: text for field, text in fields.items() if text and text.strip()}
    known = dict(
        rows(
            connection,
            "select field, id from memory_documents where doc_type = ? and sqlite_id = ?",
            (doc_type, sqlite_id),
        )
    )
    for field, number in known.items():
        if field not in wanted:
            connection.execute("delete from memory_documents where id = ?", (number,))
    for field, text in wanted.items():
        values = {
            "id": known.get(field), "document_id": str(DocumentId(doc_type, sqlite_id, field)),
            "doc_type": doc_type, "sqlite_id": sqlite_id, "field": field, "project": project,
            "created_ms": created_ms, "ended_ms": ended_ms, "text": text,
        }  # fmt: skip
        if field not in known:
            connection.execute(_INSERT, values)
            continue
        connection.execute(
            """
            update memory_documents
            set project = :project, created_ms = :created_ms, ended_ms = :ended_ms
            where id = :id
            """,
            values,
        )
        connection.execute(
            "update memory_documents set text = :text where id = :id and text <> :text", values
        )
    return len(wanted.keys() - known.keys())


_INSERT = """
insert into memory_documents (document_id, doc_type, sqlite_id, field, project, created_ms, ended_ms, text)
values (:document_id, :doc_type, :sqlite_id, :field, :project, :created_ms, :ended_ms, :text)
"""


# -- backfill -----------------------------------------------------------------------------


def backfill(
    database: Database,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    limit: int = BACKFILL_LIMIT,
    batch: int = BACKFILL_BATCH,
) -> Backfill:
    """Write the documents that are missing, newest first, `limit` rows at a time (R4.6, R4.30).

    `progress(done, total)` is called after every transaction. Safe to stop anywhere and to repeat:
    what is there is left alone, and a second run creates nothing.
    """
    from store import observation_rows, summaries  # they write their documents through this module

    found = {
        "user_prompt": _missing(database, _PROMPTS_MISSING),
        "observation": _missing(database, _THINGS_MISSING.format(table="observations", doc="observation")),
        "session_summary": _missing(
            database, _THINGS_MISSING.format(table="session_summaries", doc="session_summary")
        ),
    }
    writers: dict[str, Callable[[apsw.Connection, int], int]] = {
        "user_prompt": _put_prompt,
        "observation": observation_rows.put_documents,
        "session_summary": summaries.put_documents,
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


def rebuild_index(database: Database) -> int:
    """Make the index of documents' words anew; returns its rows. 60,000 documents take a second or two."""
    with database.write() as connection:
        connection.execute("insert into memory_fts (memory_fts) values ('rebuild')")
        return int(scalar(connection, "select count(*) from memory_fts_docsize"))


def _missing(database: Database, sql: str) -> list[int]:
    with database.read() as connection:
        return [number for (number,) in rows(connection, sql)]


def _counts(database: Database) -> dict[str, int]:
    with database.read() as connection:
        return {
            "prompts": scalar(connection, "select count(*) from messages where role = 'user'"),
            "observations": scalar(connection, "select count(*) from observations where is_hidden = 0"),
            "sessions": scalar(connection, "select count(*) from session_summaries"),
        }


def _queue(database: Database) -> int:
    """Have the embedder make the vectors that documents lack."""
    with database.write() as connection:
        connection.execute(
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
        return connection.changes()


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
