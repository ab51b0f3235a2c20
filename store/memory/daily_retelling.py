"""Which hours of days a chat model is to be asked about, and what became of asking it.

The mark of an hour, `model_next_ms`, goes only with an answer that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from store.core.database import Database, scalar
from store.memory.daily_hours import Hour, Point, load, put_points


def next_rewrite(database: Database, now_ms: int) -> Hour | None:
    """The newest hour that a model is to be asked about, once its observations have their last words."""
    with database.read() as connection:
        number = scalar(
            connection,
            """
            select max(d.hour) from daily_hours d
            where d.model_next_ms <= :now
                and not exists (select 1 from daily_hours_due w where w.hour = d.hour)
                and not exists (
                    select 1 from observations o
                    where o.hour = d.hour and o.is_hidden = 0 and o.refine_next_ms <= :now
                )
            """,
            {"now": now_ms},
        )
        return None if number is None else load(connection, "d.hour = :hour", {"hour": number})[0]


def accept_rewrite(
    connection: apsw.Connection, hour: int, fingerprint: str, points: Sequence[Point], now_ms: int
) -> bool:
    """Keep a model's words; False when the observations changed meanwhile, and nothing is kept."""
    connection.execute(
        """
        update daily_hours
        set source = 'model', model_next_ms = null, model_error = null, updated_ms = :now
        where hour = :hour and fingerprint = :fingerprint
        """,
        {"hour": hour, "fingerprint": fingerprint, "now": now_ms},
    )
    if not connection.changes():
        return False
    put_points(connection, hour, points)
    return True


def fail_rewrite(
    connection: apsw.Connection, hour: int, fingerprint: str, error: str, retry_ms: int, now_ms: int
) -> None:
    """Note that a model failed, and that it is asked again `retry_ms` later, twice as late each time.

    `error` never holds screen text. The rules' words stay, and so does the mark.
    """
    connection.execute(
        """
        update daily_hours
        set model_error = :error, model_attempts = model_attempts + 1,
            model_next_ms = :now + min(:retry << min(model_attempts, 16), 86400000)
        where hour = :hour and fingerprint = :fingerprint
        """,
        {"hour": hour, "fingerprint": fingerprint, "error": error, "retry": retry_ms, "now": now_ms},
    )
