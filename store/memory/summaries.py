"""Session summaries and user prompts: what was learned and what was asked (R4.17).

A capture session is a stretch of use without a pause of half an hour. Its summary has six fields;
rules fill only what they can know, and the others are null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core.database import Database, rows, scalar
from store.memory import documents
from store.memory.documents import SUMMARY_FIELDS

SESSION_GAP_MS = 30 * 60_000

By = Literal["date_desc", "date_asc"]
_ORDER = {"date_desc": "desc", "date_asc": "asc"}


@dataclass(frozen=True, slots=True)
class SessionSummary:
    id: int
    start_ms: int
    end_ms: int
    request: str | None
    investigated: str | None
    learned: str | None
    completed: str | None
    next_steps: str | None
    notes: str | None
    project: str | None

    @property
    def fields(self) -> dict[str, str | None]:
        """The six fields by name."""
        return {name: getattr(self, name) for name in SUMMARY_FIELDS}


@dataclass(frozen=True, slots=True)
class UserPrompt:
    """A question that was asked in a chat."""

    id: int
    chat_id: int
    prompt_number: int
    text: str
    created_ms: int


def get_sessions(
    database: Database, ids: Iterable[int], order_by: By | None = None, limit: int | None = None
) -> list[SessionSummary]:
    """The summaries that exist among these ids, in their order unless `order_by` says otherwise."""
    return [
        SessionSummary(*row)
        for row in _by_ids(
            database,
            "s.id, s.start_ms, s.end_ms, s.request, s.investigated, s.learned, s.completed, s.next_steps,"
            " s.notes, s.project",
            "session_summaries s on s.id = j.value",
            "s.start_ms",
            ids,
            order_by,
            limit,
        )
    ]


def get_prompts(
    database: Database, ids: Iterable[int], order_by: By | None = None, limit: int | None = None
) -> list[UserPrompt]:
    """The person's messages that exist among these ids."""
    return [
        UserPrompt(*row)
        for row in _by_ids(
            database,
            "m.id, m.conversation_id, coalesce(m.turn, 0), m.content, m.created_ms",
            "messages m on m.id = j.value and m.role = 'user'",
            "m.created_ms",
            ids,
            order_by,
            limit,
        )
    ]


def _by_ids(
    database: Database,
    columns: str,
    source: str,
    date: str,
    ids: Iterable[int],
    order_by: By | None,
    limit: int | None,
) -> list[tuple[Any, ...]]:
    order = f"{date} {_ORDER[order_by]}, j.value {_ORDER[order_by]}" if order_by else "j.key"
    with database.read() as connection:
        return rows(
            connection,
            f"""
            select {columns}
            from json_each(:ids) j
            cross join {source}
            order by {order}
            limit :limit
            """,
            {"ids": json.dumps(list(dict.fromkeys(ids))), "limit": -1 if limit is None else limit},
        )


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
        connection,
        "select id from session_summaries where start_ms < ? and end_ms > ?",
        (end_ms, start_ms),
    )
    values = {
        "id": known, "start_ms": start_ms, "end_ms": end_ms, "project": project,
        "now": now_ms, **{name: fields.get(name) for name in SUMMARY_FIELDS},
    }  # fmt: skip
    number = scalar(
        connection,
        """
        insert into session_summaries (id, start_ms, end_ms, request, investigated, learned, completed,
            next_steps, notes, project, updated_ms)
        values (:id, :start_ms, :end_ms, :request, :investigated, :learned, :completed,
            :next_steps, :notes, :project, :now)
        on conflict (id) do update
        set start_ms = :start_ms, end_ms = :end_ms, request = :request, investigated = :investigated,
            learned = :learned, completed = :completed, next_steps = :next_steps, notes = :notes,
            project = :project, updated_ms = :now
        returning id
        """,
        values,
    )
    put_documents(connection, number)
    return int(number)


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
    """Let the documents say what the summary says (R4.5); returns how many are new."""
    [(start_ms, end_ms, project, *texts)] = rows(
        connection,
        f"select start_ms, end_ms, project, {', '.join(SUMMARY_FIELDS)} from session_summaries where id = ?",
        (session_id,),
    )
    fields = dict(zip(SUMMARY_FIELDS, texts, strict=True))
    return documents.put(
        connection, "session_summary", session_id, fields,
        created_ms=start_ms, ended_ms=end_ms, project=project,
    )  # fmt: skip
