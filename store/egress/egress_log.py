"""The ledger of what was sent where: one row per request that carries text or a picture, to a model,
for vectors, or to a search engine of the web.

A row is written before the request leaves, so that nothing leaves unrecorded, and is completed when
its outcome is known. `body` is the text of the request as it was sent. It goes when a frame is
deleted that it may show (`store.deletion.chat_hooks`), when its chat is deleted, and when `MAX_TEXTS`
newer ones of its purpose are there; when, where to, how much and what it cost stays.

Requests for vectors of what was on the screen have no body: it would be the frames' own texts once
more. They say how many texts and of which time. For the same reason a picture is named in its request's
body (frame, SHA-256, size) and not kept there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

import apsw

from store.core.database import Database, scalar
from store.core.errors import Outdated, StoreError, existing
from store.core.records import columns, insert

MAX_TEXTS = 1_000
"""Texts kept of each purpose: some 40 MB of answers, a request being at most 72 frames with 160
characters each and their titles; at most 30 MB of refinements; little of the others."""

MAX_ROWS = 100_000
"""Rows kept of each purpose, some 20 MB."""

Purpose = Literal["answer", "test", "refine", "embed", "search", "describe", "web_search"]


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request about to leave. `url` and `body` as they go out, without the key; None is not kept.

    `texts` counts those to be embedded; `first_ms` and `last_ms` are when the screens that it shows
    were taken, where no turn says so. `blocks` says what the system prompt in `body` is made of, without
    its text, in the caller's words; `prefix_sha256` names the bytes that it begins with.
    """

    purpose: Purpose
    at_ms: int
    provider: str  # the name it was chosen by; `embedding` is the endpoint of that section of the settings
    model: str
    url: str
    is_local: bool
    body: str | None
    size_bytes: int
    turn_id: int | None = None
    texts: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    pictures: int = 0
    blocks: str = ""
    prefix_sha256: str = ""


@dataclass(frozen=True, slots=True)
class SentRequest(OutgoingRequest):
    """A row. `body` is None once the text was erased; `chat_id` and `turn` while the chat is there."""

    id: int = 0
    outcome: str = "sent"  # or answered, or the code of an error
    input_tokens: int | None = None
    output_tokens: int | None = None
    is_estimated: bool = False
    cost: float | None = None
    currency: str = ""
    chat_id: int | None = None
    turn: int | None = None


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


def record(
    database: Database, leaving: OutgoingRequest, is_current: Callable[[apsw.Connection], bool] | None = None
) -> int:
    """Note a request before it leaves; returns its id. The oldest texts and rows of its purpose go.

    Raises `Outdated`, and has noted nothing, where its turn has gone or `is_current` says no in the same
    transaction.
    """
    with database.write() as connection:
        sql, turn_id = "select 1 from turns where id = ?", leaving.turn_id
        has_turn = turn_id is None or scalar(connection, sql, (turn_id,))
        if not has_turn or (is_current is not None and not is_current(connection)):
            raise Outdated("something was deleted while the request was made")
        request_id = insert(connection, "sent_requests", **asdict(leaving))
        bounds = {"purpose": leaving.purpose, "texts": MAX_TEXTS, "rows": MAX_ROWS}
        connection.execute(
            """
            update sent_requests set body = null
            where purpose = :purpose and body is not null and id <= (
                select id from sent_requests where purpose = :purpose and body is not null
                order by id desc limit 1 offset :texts
            )
            """,
            bounds,
        )
        connection.execute(
            """
            delete from sent_requests
            where purpose = :purpose and id <= (
                select id from sent_requests where purpose = :purpose
                order by id desc limit 1 offset :rows
            )
            """,
            bounds,
        )
    return request_id


def of_turn(database: Database, chat_id: int, n: int) -> list[SentRequest]:
    """What was sent for one answer, in order."""
    return _requests(
        database, "t.conversation_id = :chat_id and t.n = :n order by r.id", {"chat_id": chat_id, "n": n}
    )


def latest(
    database: Database, limit: int = 50, before_id: int | None = None, purpose: Purpose | None = None
) -> list[SentRequest]:
    """The newest requests, newest first; `before_id` is the id of the last one of a page."""
    return _requests(
        database,
        "r.id < coalesce(:before, 9223372036854775807)"
        f"{' and r.purpose = :purpose' if purpose else ''} order by r.id desc limit :limit",
        {"before": before_id, "limit": limit, "purpose": purpose},
    )


def get(database: Database, request_id: int) -> SentRequest:
    """One request. Raises `NotFound`, also for one that was too old to be kept."""
    requests = _requests(database, "r.id = :id", {"id": request_id})
    return existing(next(iter(requests), None), "request", request_id)


def totals_since(database: Database, start_ms: int) -> list[SentTotal]:
    """What each model was sent since a moment, the most asked first. Currencies are not added up."""
    return database.records(
        SentTotal,
        """
        select provider, model, url, max(is_local), count(*), sum(size_bytes),
            coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(cost), currency
        from sent_requests where at_ms >= ? group by provider, model, url, currency
        order by count(*) desc, provider
        """,
        (start_ms,),
    )


def cost_of(
    input_tokens: int | None, output_tokens: int | None, input_price: float, output_price: float
) -> float | None:
    """What a request cost by prices per million tokens; None where none is set."""
    if not input_price and not output_price:
        return None
    return ((input_tokens or 0) * input_price + (output_tokens or 0) * output_price) / 1_000_000


def _requests(database: Database, condition: str, parameters: dict[str, Any]) -> list[SentRequest]:
    own = columns(SentRequest, "r", chat_id="t.conversation_id", turn="t.n")
    sql = f"select {own} from sent_requests r left join turns t on t.id = r.turn_id where {condition}"
    return database.records(SentRequest, sql, parameters)


# -- the recorder -------------------------------------------------------------------------
# Notes requests in the ledger of what was sent, one undertaking at a time.
#
# Handed to an engine as what it calls before a request leaves: a request that cannot be noted does
# not leave. One undertaking may take several requests, as when one is refused and repeated.

ASKED_AGAIN = "asked_again"
"""The outcome of a request that was refused and repeated, perhaps in another form."""


class Sending(Protocol):
    """A request as an engine announces it. `model` may be empty where `RequestContext` names it."""

    @property
    def url(self) -> str: ...
    @property
    def is_local(self) -> bool: ...
    @property
    def body(self) -> bytes: ...
    @property
    def model(self) -> str: ...
    @property
    def texts(self) -> int: ...


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What requests are for. `first_ms` and `last_ms` are when the screens were taken that they show.

    Without `keeps_text` the bytes are counted and not kept. `named` are pictures in the body, as
    (their text in it, what is kept in its place).
    `blocks` and `prefix_sha256` as in `OutgoingRequest`.
    """

    purpose: Purpose
    provider: str
    model: str = ""
    turn_id: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    keeps_text: bool = True
    named: tuple[tuple[str, str], ...] = ()
    blocks: str = ""
    prefix_sha256: str = ""

    def body(self, sent: bytes) -> str | None:
        """What is kept of a body. Raises `StoreError` for a picture that does not stand in it once."""
        if not self.keeps_text:
            return None
        text = sent.decode("utf-8")
        for picture, name in self.named:
            if text.count(picture) != 1:
                raise StoreError("a picture that was announced does not stand in the request")
            text = text.replace(picture, name)
        return text


_OF_CONTEXT = ("purpose", "provider", "turn_id", "first_ms", "last_ms", "blocks", "prefix_sha256")


class EgressRecorder:
    """The requests of one undertaking, in order; the last one gets the outcome.

    `is_current` is asked in the transaction that notes a request; where it says no, nothing leaves.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        about: RequestContext,
        is_current: Callable[[apsw.Connection], bool] | None = None,
    ) -> None:
        self.about = about
        self._database = database
        self._clock = clock
        self._is_current = is_current
        self._open: int | None = None

    def __call__(self, sending: Sending) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        self.finish(ASKED_AGAIN)
        about = self.about
        leaving = OutgoingRequest(
            at_ms=self._clock(),
            model=sending.model or about.model,
            url=sending.url,
            is_local=sending.is_local,
            body=about.body(sending.body),
            size_bytes=len(sending.body),
            texts=sending.texts,
            pictures=len(about.named),
            **{name: getattr(about, name) for name in _OF_CONTEXT},
        )
        self._open = record(self._database, leaving, self._is_current)

    def finish(
        self,
        outcome: str,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        is_estimated: bool = False,
        cost: float | None = None,
        currency: str = "",
    ) -> None:
        """Note what became of the last request, ``answered`` or the code of its error, and what it took.

        Nothing where none left.
        """
        sql = """
            update sent_requests
            set outcome = ?, input_tokens = ?, output_tokens = ?, is_estimated = ?, cost = ?, currency = ?
            where id = ?
            """
        if self._open is not None:
            took = outcome, input_tokens, output_tokens, is_estimated, cost, currency
            self._database.change(sql, (*took, self._open))
            self._open = None
