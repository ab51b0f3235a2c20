"""Quotes whose frame was read again: which they are, and what became of them.

Triggers on `readings` mark them (``migrations/001_initial.sql``); looking for them again is the
work of whoever can match a quote, inside one `database.write()`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from store.chats.records import StoredEvidence, evidence_of
from store.core.database import Database, scalar
from store.core.schema import Evidence


def pending_rechecks(database: Database, turn_id: int) -> list[StoredEvidence]:
    """Evidence of a turn whose quotes have to be looked for again."""
    query = Evidence.select().where(Evidence.turn_id == turn_id, Evidence.needs_check == 1)
    return [evidence_of(row) for row in query.order_by(Evidence.n).execute(database.peewee)]


def save_recheck(
    connection: apsw.Connection, turn_id: int, found: Iterable[StoredEvidence], claims: Sequence[Any]
) -> None:
    """Store what the check said, and the turn's claims as they stand now (JSON objects)."""
    connection.executemany(
        """
        update evidence
        set state = :state, quote = :quote, boxes = :boxes, reading_id = :reading_id,
            checked_ms = :checked_ms, confidence = :confidence, needs_check = 0
        where turn_id = :turn_id and n = :n and needs_check = 1
        """,
        [
            {
                "state": item.state,
                "quote": item.quote,
                "boxes": json.dumps(item.boxes),
                "reading_id": item.reading_id,
                "checked_ms": item.checked_ms,
                "confidence": item.confidence,
                "turn_id": turn_id,
                "n": item.n,
            }
            for item in found
        ],
    )
    payload = json.loads(scalar(connection, "select payload from turns where id = ?", (turn_id,)))
    payload["claims"] = list(claims)
    connection.execute(
        "update turns set payload = ? where id = ?", (json.dumps(payload, ensure_ascii=False), turn_id)
    )
