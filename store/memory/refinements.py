"""The queue of observations that a chat model may put into better words.

Only observations of settled hours are in it, the newest first. What a model wrote is kept while
the frames stay as they are; a failure waits longer each time and is given up in the end, and the
rules' words stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from store.core.database import Database, rows
from store.memory import observation_writer, observations
from store.memory.observations import Fact, Observation

RETRY_AFTER_MS = (60_000, 600_000, 3_600_000)
"""Waits between the tries at one observation; after the last try it is given up."""


def due(database: Database, now_ms: int, limit: int) -> list[tuple[Observation, str]]:
    """Observations to refine with the fingerprint of what they were made from, newest first."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select o.id, o.fingerprint
            from observations o
            where o.refine_next_ms <= :now and o.is_hidden = 0 and o.fingerprint <> ''
                and (o.hour + 1) * 3600000 < :now
                and not exists (select 1 from memory_hours h where h.hour = o.hour)
            order by o.start_ms desc, o.id desc
            limit :limit
            """,
            {"now": now_ms, "limit": limit},
        )
        fingerprints = dict(found)
        return [(one, fingerprints[one.id]) for one in observations.get_many(database, fingerprints)]


def accept(
    connection: apsw.Connection,
    observation_id: int,
    fingerprint: str,
    *,
    title: str,
    narrative: str,
    facts: Sequence[Fact],
    concepts: Sequence[str],
    now_ms: int,
) -> bool:
    """Keep a model's words; False when the frames changed meanwhile, and nothing is kept."""
    connection.execute(
        """
        update observations
        set title = :title, narrative = :narrative, source = 'model', refine_next_ms = null,
            refine_error = null, updated_ms = :now
        where id = :id and fingerprint = :fingerprint and is_hidden = 0
        """,
        {
            "id": observation_id, "fingerprint": fingerprint, "title": title, "narrative": narrative,
            "now": now_ms,
        },
    )  # fmt: skip
    if not connection.changes():
        return False
    observation_writer.put_parts(connection, observation_id, facts, concepts)
    observation_writer.put_documents(connection, observation_id)
    return True


def fail(connection: apsw.Connection, observation_id: int, fingerprint: str, error: str, now_ms: int) -> None:
    """Note that a try failed, and when the next one is; `error` never holds screen text."""
    waits = ", ".join(f"({n}, {wait})" for n, wait in enumerate(RETRY_AFTER_MS))
    connection.execute(
        f"""
        with waits (attempts, wait_ms) as (values {waits})
        update observations
        set refine_error = :error, refine_attempts = refine_attempts + 1,
            refine_next_ms = (select :now + wait_ms from waits where attempts = refine_attempts)
        where id = :id and fingerprint = :fingerprint
        """,
        {"id": observation_id, "fingerprint": fingerprint, "error": error, "now": now_ms},
    )
