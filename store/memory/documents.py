"""Memory documents: the searchable texts of what was done, learned and asked.

An observation gives a document for its narrative, its facts and the text of its labels, a session
summary one per field that is not null, a user prompt one as a whole. Triggers keep the words, the
queue of the embedder and prompts in step, so a document that is there can be found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import apsw

from store.core.database import Database, rows, scalar
from store.core.records import columns, insert, load
from store.core.records import put as put_row

DocType = Literal["observation", "session_summary", "user_prompt", "insight", "chat_summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a session came to; None where nothing honest can be said."""

    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None

    @property
    def fields(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in SUMMARY_FIELDS}


SUMMARY_FIELDS = tuple(each.name for each in fields(Summary))

# -- writing (inside `database.write()`) --------------------------------------------------


def put(
    connection: apsw.Connection,
    doc_type: Literal["observation", "session_summary"],
    sqlite_id: int,
    fields: Mapping[str, str | None],
    *,
    created_ms: int,
    ended_ms: int,
    project: str | None,
) -> int:
    """Let a thing have exactly these documents; returns how many are new.

    Blank fields make none. A text that did not change keeps its document and its vectors.
    """
    wanted = {field: text for field, text in fields.items() if text and text.strip()}
    sql = "select field, id from memory_documents where doc_type = ? and sqlite_id = ?"
    known = dict(rows(connection, sql, (doc_type, sqlite_id)))
    for field in known.keys() - wanted:
        connection.execute("delete from memory_documents where id = ?", (known[field],))
    prefix = "obs" if doc_type == "observation" else "summary"
    about = {"project": project, "created_ms": created_ms, "ended_ms": ended_ms}
    for field, text in wanted.items():
        if field not in known:
            insert(
                connection, "memory_documents", document_id=f"{prefix}_{sqlite_id}_{field}",
                doc_type=doc_type, sqlite_id=sqlite_id, field=field, text=text, **about,
            )  # fmt: skip
            continue
        values = {"id": known[field], "text": text, **about}
        connection.execute(_UPDATE, values)
        connection.execute(
            "update memory_documents set text = :text where id = :id and text <> :text", values
        )
    return len(wanted.keys() - known.keys())


_UPDATE = """
update memory_documents set project = :project, created_ms = :created_ms, ended_ms = :ended_ms where id = :id
"""


def rebuild_index(database: Database) -> int:
    """Make the index of documents' words anew; returns its rows. 60,000 documents take a second or two."""
    with database.write() as connection:
        connection.execute("insert into memory_fts (memory_fts) values ('rebuild')")
        return int(scalar(connection, "select count(*) from memory_fts_docsize"))


# -- summaries ----------------------------------------------------------------------------
# Session summaries and user prompts: what was learned and what was asked.
#
# A capture session is a stretch of use without a pause of half an hour. Its summary has six fields;
# rules fill only what they can know, and the others are null.

SESSION_GAP_MS = 30 * 60_000


@dataclass(frozen=True, slots=True)
class SessionSummary(Summary):
    id: int
    start_ms: int
    end_ms: int
    project: str | None


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """A question that was asked in a chat."""

    id: int
    chat_id: int
    prompt_number: int
    text: str
    created_ms: int


def get_sessions(database: Database, ids: Iterable[int]) -> list[SessionSummary]:
    """The summaries that exist among these ids, in their order."""
    sql = f"""
        select {columns(SessionSummary, "s")}
        from json_each(?) j
        cross join session_summaries s on s.id = j.value
        order by j.key
        """
    return database.records(SessionSummary, sql, (str(list(dict.fromkeys(ids))),))


def get_prompts(database: Database, ids: Iterable[int]) -> list[UserPrompt]:
    """The person's messages that exist among these ids, in their order."""
    sql = """
        select m.id, m.conversation_id, coalesce(m.turn, 0), m.content, m.created_ms
        from json_each(?) j
        cross join messages m on m.id = j.value and m.role = 'user'
        order by j.key
        """
    return database.records(UserPrompt, sql, (str(list(dict.fromkeys(ids))),))


# -- writing (inside `database.write()`) --------------------------------------------------


def put_session(
    connection: apsw.Connection,
    start_ms: int,
    end_ms: int,
    fields: Mapping[str, str | None],
    project: str | None,
    now_ms: int,
) -> int:
    """Let the session of ``[start_ms, end_ms)`` have this summary; returns its id.

    One that overlaps is this session as it was known before, and keeps its id.
    """
    connection.execute(
        """
        delete from session_summaries
        where start_ms < :end and end_ms > :start and id <> (
            select min(id) from session_summaries where start_ms < :end and end_ms > :start
        )
        """,
        {"start": start_ms, "end": end_ms},
    )
    known = scalar(
        connection, "select id from session_summaries where start_ms < ? and end_ms > ?", (end_ms, start_ms)
    )
    put_row(
        connection, "session_summaries", "id",
        id=known, start_ms=start_ms, end_ms=end_ms, project=project, updated_ms=now_ms,
        **{name: fields.get(name) for name in SUMMARY_FIELDS},
    )  # fmt: skip
    number = int(known or connection.last_insert_rowid())
    put_documents(connection, number)
    return number


def keep_only(connection: apsw.Connection, start_ms: int, end_ms: int, ids: Sequence[int]) -> None:
    """Of the summaries that overlap ``[start_ms, end_ms)`` remove those with other ids."""
    connection.execute(
        """
        delete from session_summaries
        where start_ms < :end and end_ms > :start and id not in (select value from json_each(:ids))
        """,
        {"start": start_ms, "end": end_ms, "ids": json.dumps(list(ids))},
    )


def put_documents(connection: apsw.Connection, session_id: int) -> int:
    """Let the documents say what the summary says; returns how many are new."""
    sql = f"select {columns(SessionSummary)} from session_summaries where id = ?"
    [summary] = load(SessionSummary, rows(connection, sql, (session_id,)))
    return put(
        connection, "session_summary", session_id, summary.fields,
        created_ms=summary.start_ms, ended_ms=summary.end_ms, project=summary.project,
    )  # fmt: skip
