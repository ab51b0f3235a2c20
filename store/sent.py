"""The ledger of what was sent where: one row per request to a model, with its exact text.

A row is written before the request leaves, so that nothing leaves unrecorded, and is completed when
its outcome is known. `body` is the text of the request as it was sent. It goes when a frame is
deleted that it may show (`forget`), when its chat is deleted, and when `MAX_TEXTS` newer ones are
there; when, where to, how much and what it cost stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import apsw

from store.database import Database, rows
from store.frames import ID_STEP

MAX_TEXTS = 1_000
"""Texts kept: some 40 MB, a request being at most 72 frames with 160 characters each and their titles."""

MAX_ROWS = 100_000

Purpose = Literal["answer", "test"]


@dataclass(frozen=True, slots=True)
class Leaving:
    """A request about to leave. `url` and `body` as they go out, without the key."""

    purpose: Purpose
    at_ms: int
    provider: str  # the name it was chosen by
    model: str
    url: str
    is_local: bool
    body: str
    size_bytes: int
    turn_id: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request: ``answered`` or the code of its error, and what it took."""

    outcome: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    is_estimated: bool = False
    cost: float | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A row. `body` is None once the text was erased; `chat_id` and `turn` while the chat is there."""

    id: int
    purpose: Purpose
    at_ms: int
    provider: str
    model: str
    url: str
    is_local: bool
    size_bytes: int
    body: str | None
    outcome: str  # sent, answered, or the code of an error
    input_tokens: int | None
    output_tokens: int | None
    is_estimated: bool
    cost: float | None
    currency: str
    chat_id: int | None
    turn: int | None


@dataclass(frozen=True, slots=True)
class SentTotal:
    """What one model at one address was sent since a moment."""

    provider: str
    model: str
    url: str
    is_local: bool
    requests: int
    size_bytes: int
    input_tokens: int
    output_tokens: int
    cost: float | None  # in `currency`; None where no price was set
    currency: str


def record(database: Database, leaving: Leaving) -> int:
    """Note a request before it leaves; returns its id. The oldest texts and rows go."""
    with database.write() as connection:
        connection.execute(
            """
            insert into sent_requests (purpose, turn_id, at_ms, provider, model, url, is_local, size_bytes,
                body)
            values (:purpose, :turn_id, :at_ms, :provider, :model, :url, :is_local, :size_bytes, :body)
            """,
            {
                "purpose": leaving.purpose,
                "turn_id": leaving.turn_id,
                "at_ms": leaving.at_ms,
                "provider": leaving.provider,
                "model": leaving.model,
                "url": leaving.url,
                "is_local": int(leaving.is_local),
                "size_bytes": leaving.size_bytes,
                "body": leaving.body,
            },
        )
        request_id = connection.last_insert_rowid()
        connection.execute(
            "update sent_requests set body = null where id <= ? and body is not null",
            (request_id - MAX_TEXTS,),
        )
        connection.execute("delete from sent_requests where id <= ?", (request_id - MAX_ROWS,))
    return request_id


def complete(database: Database, request_id: int, outcome: Outcome) -> None:
    """Note what became of a request."""
    with database.write() as connection:
        connection.execute(
            """
            update sent_requests
            set outcome = :outcome, input_tokens = :input_tokens, output_tokens = :output_tokens,
                is_estimated = :is_estimated, cost = :cost, currency = :currency
            where id = :id
            """,
            {
                "id": request_id,
                "outcome": outcome.outcome,
                "input_tokens": outcome.input_tokens,
                "output_tokens": outcome.output_tokens,
                "is_estimated": int(outcome.is_estimated),
                "cost": outcome.cost,
                "currency": outcome.currency,
            },
        )


def of_turn(database: Database, chat_id: int, n: int) -> list[SentRequest]:
    """What was sent for one answer, in order."""
    return _requests(
        database, "t.conversation_id = :chat_id and t.n = :n order by r.id", {"chat_id": chat_id, "n": n}
    )


def latest(database: Database, limit: int = 50, before_id: int | None = None) -> list[SentRequest]:
    """The newest requests, newest first; `before_id` is the id of the last one of a page."""
    return _requests(
        database,
        "(:before is null or r.id < :before) order by r.id desc limit :limit",
        {"before": before_id, "limit": limit},
    )


def get(database: Database, request_id: int) -> SentRequest | None:
    """One request, or None."""
    return next(iter(_requests(database, "r.id = :id", {"id": request_id})), None)


def totals_since(database: Database, start_ms: int) -> list[SentTotal]:
    """What each model was sent since a moment, the most asked first. Currencies are not added up."""
    with database.read() as connection:
        found = rows(
            connection,
            """
            select provider, model, url, max(is_local), count(*), sum(size_bytes),
                coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(cost), currency
            from sent_requests
            where at_ms >= ?
            group by provider, model, url, currency
            order by count(*) desc, provider
            """,
            (start_ms,),
        )
    return [_total(*row) for row in found]


def _total(provider: str, model: str, url: str, is_local: int, *counts: Any) -> SentTotal:
    return SentTotal(provider, model, url, bool(is_local), *counts)


def _requests(database: Database, condition: str, parameters: dict[str, Any]) -> list[SentRequest]:
    with database.read() as connection:
        found = [
            SentRequest(*row)
            for row in rows(
                connection,
                f"""
            select r.id, r.purpose, r.at_ms, r.provider, r.model, r.url, r.is_local, r.size_bytes, r.body,
                r.outcome, r.input_tokens, r.output_tokens, r.is_estimated, r.cost, r.currency,
                t.conversation_id, t.n
            from sent_requests r
            left join turns t on t.id = r.turn_id
            where {condition}
            """,
                parameters,
            )
        ]
    return [replace(row, is_local=bool(row.is_local), is_estimated=bool(row.is_estimated)) for row in found]


# -- forgetting (inside `database.write()`) -----------------------------------------------

_DAY = 86_400_000

# A frame that was on the screen before a range began may still count in its totals.
_AFFECTED = f"""
from sent_requests request
join turns asked on asked.id = request.turn_id
where request.body is not null and exists (
    select 1
    from turns t
    where t.conversation_id = asked.conversation_id and t.n <= asked.n and (
        exists (
            select 1 from doomed d where d.id >= t.start_ms * {ID_STEP} and d.id < t.end_ms * {ID_STEP}
        )
        or exists (
            select 1
            from doomed d
            cross join frames f on f.id = d.id
            where d.id >= (t.start_ms - {_DAY}) * {ID_STEP} and d.id < t.start_ms * {ID_STEP}
                and f.ended_ms >= t.start_ms
        )
    )
)
"""

COUNT = f"select count(*) {_AFFECTED}"


def forget(connection: apsw.Connection) -> None:
    """Erase the texts that may show one of the frames in ``doomed``.

    A text tells of its turn's whole range (apps are counted that no frame in it shows), and repeats
    earlier answers of its chat. So it goes when a doomed frame lies in the range of its turn or of
    one before it: in doubt the text goes.
    """
    connection.execute(f"update sent_requests set body = null where id in (select request.id {_AFFECTED})")
