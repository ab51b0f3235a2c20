"""What a person does to observations: write their own words, take them back, hide one for good."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw

from store.core.database import Database, rows, scalar
from store.memory import observation_writer

EDITABLE = ("title", "narrative", "facts", "concepts", "kind", "project")


def edit(database: Database, observation_id: int, words: Mapping[str, Any], now_ms: int) -> bool:
    """Let a person's words be these, by the fields `EDITABLE`; False when there is no such id.

    A field that is missing, or reads as it is derived, follows the frames. Raises `ValueError` for
    another field.
    """
    unknown = set(words) - set(EDITABLE)
    if unknown:
        raise ValueError(f"cannot be edited: {sorted(unknown)}; can: {', '.join(EDITABLE)}")
    with database.write() as connection:
        if not _is_there(connection, observation_id):
            return False
        derived = _derived(connection, observation_id)
        kept = {name: value for name, value in words.items() if value != derived[name]}
        _keep_edits(connection, observation_id, kept, now_ms)
    return True


def hide(database: Database, observation_id: int, now_ms: int) -> bool:
    """Take an observation out of memory for good; False when there is none.

    Its text goes; the empty row stays, so that deriving again does not bring it back.
    """
    with database.write() as connection:
        if not _is_there(connection, observation_id):
            return False
        observation_writer.blank(connection, observation_id)
        connection.execute(
            "update observations set is_hidden = 1, edits = '{}', updated_ms = ? where id = ?",
            (now_ms, observation_id),
        )
        observation_writer.put_documents(connection, observation_id)
    database.checkpoint()
    return True


def _is_there(connection: apsw.Connection, observation_id: int) -> bool:
    sql = "select 1 from observations where id = ? and is_hidden = 0"
    return scalar(connection, sql, (observation_id,)) is not None


def _derived(connection: apsw.Connection, observation_id: int) -> dict[str, Any]:
    """The editable fields without the edits."""
    [(kind, project, title, narrative)] = rows(
        connection, "select kind, project, title, narrative from observations where id = ?", (observation_id,)
    )
    facts = rows(
        connection,
        "select text from observation_facts where observation_id = ? order by n",
        (observation_id,),
    )
    concepts = rows(
        connection,
        "select value from observation_terms where observation_id = ? and term = 'concept' order by n",
        (observation_id,),
    )
    return {
        "title": title, "narrative": narrative, "kind": kind, "project": project,
        "facts": [text for (text,) in facts], "concepts": [value for (value,) in concepts],
    }  # fmt: skip


def _keep_edits(
    connection: apsw.Connection, observation_id: int, edits: Mapping[str, Any], now_ms: int
) -> None:
    connection.execute(
        "update observations set edits = ?, updated_ms = ? where id = ?",
        (json.dumps(edits, ensure_ascii=False, sort_keys=True), now_ms, observation_id),
    )
    observation_writer.put_documents(connection, observation_id)
