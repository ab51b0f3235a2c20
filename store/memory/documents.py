"""Memory documents: the searchable texts of what was done, learned and asked (R4.1 to R4.7).

An observation gives a document for its narrative, its facts and the text of its labels, a session
summary one per field that is not null, a user prompt one as a whole. Triggers keep the words, the
queue of the embedder and prompts in step (m007), so a document that is there can be found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import apsw

from store.core.database import Database, rows, scalar

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


def rebuild_index(database: Database) -> int:
    """Make the index of documents' words anew; returns its rows. 60,000 documents take a second or two."""
    with database.write() as connection:
        connection.execute("insert into memory_fts (memory_fts) values ('rebuild')")
        return int(scalar(connection, "select count(*) from memory_fts_docsize"))
