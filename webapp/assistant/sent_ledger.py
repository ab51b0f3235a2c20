"""Notes every request of one answer in the ledger of what was sent (`store.sent`).

Handed to a model as its `on_send`: a request is noted before it leaves, and one that cannot be
noted does not leave. What an answer took and cost is worked out here, by the person's own prices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engines.addresses import is_local, public_url
from engines.chat import Completion, Message, Sending, Usage
from store import sent
from store.database import Database
from store.sent import Leaving, Outcome, Purpose
from webapp.assistant.models import Endpoint
from webapp.assistant.texts import tokens

ASKED_AGAIN = "asked_again"
"""The outcome of a request that was refused and repeated, perhaps in another form."""

_MILLION = 1_000_000


class SentLedger:
    """The requests of one answer (or one test), in order; the last one gets the outcome."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        endpoint: Endpoint,
        purpose: Purpose = "answer",
        turn_id: int | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._endpoint = endpoint
        self._purpose = purpose
        self._turn_id = turn_id
        self._open: int | None = None

    def __call__(self, sending: Sending) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        self.finish(ASKED_AGAIN)
        self._open = sent.record(
            self._database,
            Leaving(
                purpose=self._purpose,
                at_ms=self._clock(),
                provider=self._endpoint.name,
                model=self._endpoint.model,
                url=public_url(sending.url),
                is_local=is_local(sending.url),
                body=sending.body.decode("utf-8"),
                size_bytes=len(sending.body),
                turn_id=self._turn_id,
            ),
        )

    def finish(self, outcome: str, usage: Usage | None = None) -> None:
        """Note what became of the last request; nothing when none left."""
        if self._open is None:
            return
        took = usage or Usage()
        sent.complete(
            self._database,
            self._open,
            Outcome(
                outcome, took.input_tokens, took.output_tokens, took.is_estimated, took.cost, took.currency
            ),
        )
        self._open = None


def usage_of(completion: Completion, messages: Sequence[Message], endpoint: Endpoint | None) -> Usage:
    """What an answer took: as the endpoint counted, or estimated and marked so; with its cost."""
    told = completion.usage or Usage()
    read, written = told.input_tokens, told.output_tokens
    is_estimated = read is None or written is None
    if read is None:
        read = sum(tokens(message.content) for message in messages)
    if written is None:
        written = tokens(completion.text)
    counted = Usage(read, written, is_estimated)
    return counted if endpoint is None else priced(counted, endpoint)


def priced(usage: Usage, endpoint: Endpoint) -> Usage:
    """The usage with its cost by the person's prices; as it is where none is set."""
    if not endpoint.input_price and not endpoint.output_price:
        return usage
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    cost = (read * endpoint.input_price + written * endpoint.output_price) / _MILLION
    return replace(usage, cost=cost, currency=endpoint.currency)
