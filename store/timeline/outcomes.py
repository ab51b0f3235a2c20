"""Captures that do not become a frame of their own: their outcome and their place in the ledger.

Each call runs inside `database.write()` and may be repeated: what is already noted is not noted
twice, so a worker that died between its commit and the spool changes nothing when it starts again
(CAP-4). The ledger row names no app, title or address.
"""

from __future__ import annotations

from typing import Literal

import apsw

from store.core.database import scalar
from store.frames import frames
from store.spool.queue import Capture
from store.timeline import ledger

Skipped = Literal["deduplicated", "excluded", "failed"]

_DECISIONS: dict[Skipped, str] = {
    "deduplicated": "deduped",
    "excluded": "excluded",
    "failed": "failed",
}
# Ledger reasons of this module, so that a retry finds its own row and never capture's.
PREFIX = "ingest_"


def record_skipped(
    connection: apsw.Connection,
    capture: Capture,
    outcome: Skipped,
    reason: str,
    *,
    frame_id: int | None = None,
    detail: str | None = None,
) -> None:
    """Note that a capture was left out, once: its outcome, and one look in the ledger.

    `reason` is a machine word (``exact``, ``rule:app``, ``bad_picture``); `detail` the sentence
    that GET /ingest/{capture_id} shows instead. `frame_id` is the frame a duplicate equals.
    """
    before = _recorded(connection, capture.capture_id)
    if before not in (None, "failed") or before == outcome:
        return  # what is stored, or deleted while it waited, stays so
    clear_failure(connection, capture)
    frames.record_outcome(
        connection, capture.capture_id, outcome, capture.captured_ms, frame_id, detail or reason
    )
    ledger.add(
        connection,
        _DECISIONS[outcome],
        f"{PREFIX}{reason}",
        capture.captured_ms,
        capture.captured_ms,
        monitor=capture.monitor,
        batch_id=capture.batch_id,
    )


def clear_failure(connection: apsw.Connection, capture: Capture) -> None:
    """A capture that had failed is tried again: take its failure out of the ledger."""
    if _recorded(connection, capture.capture_id) != "failed":
        return
    connection.execute(
        """
        delete from decisions
        where id = (
            select min(id) from decisions
            where decision = 'failed' and reason glob :reasons and monitor = :monitor
                and start_ms = :at and end_ms = :at and batch_id is :batch_id
        )
        """,
        {
            "reasons": f"{PREFIX}*",
            "monitor": capture.monitor,
            "at": capture.captured_ms,
            "batch_id": capture.batch_id,
        },
    )
    connection.execute("delete from ingest_records where capture_id = ?", (capture.capture_id,))


def _recorded(connection: apsw.Connection, capture_id: str) -> str | None:
    found = scalar(connection, "select outcome from ingest_records where capture_id = ?", (capture_id,))
    return None if found is None else str(found)
