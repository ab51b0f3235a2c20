"""Notes every request of one answer in the ledger of what was sent (`store.egress.egress_log`).

Handed to a model as its `on_send`: a request is noted before it leaves, and one that cannot be
noted does not leave. What an answer took and cost is worked out here, by the person's own prices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import apsw

from assistant.core import prompt_blocks
from assistant.core.endpoints import Endpoint
from assistant.core.prompt_blocks import Block
from assistant.core.texts import estimate_tokens
from engines.chat.protocol import Completion, Message, OutgoingRequest, Usage
from store.core.database import Database
from store.egress.egress_log import EgressRecorder, Purpose, RequestContext, cost_of


class SentLedger:
    """The requests of one answer (or one test), in order; the last one gets the outcome."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        endpoint: Endpoint | None,
        purpose: Purpose = "answer",
        turn_id: int | None = None,
        *,
        blocks: Sequence[Block] = (),
        shows: tuple[int | None, int | None] = (None, None),
        named: tuple[tuple[str, str], ...] = (),
        is_current: Callable[[apsw.Connection], bool] | None = None,
    ) -> None:
        """`blocks` are what the system prompt is made of; `shows`, `named` and `is_current` as in
        `RequestContext` and `EgressRecorder`. Without an endpoint nothing leaves, and there is nothing
        to note.
        """
        self._recorder: EgressRecorder | None = None
        if endpoint is None:
            return
        about = RequestContext(
            purpose,
            endpoint.name,
            endpoint.model,
            turn_id,
            *shows,
            named=named,
            blocks=prompt_blocks.layout(blocks) if blocks else "",
            prefix_sha256=prompt_blocks.prefix_sha256(blocks) if blocks else "",
        )
        self._recorder = EgressRecorder(database, clock, about, is_current)

    def __call__(self, sending: OutgoingRequest) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        if self._recorder:
            self._recorder(sending)

    def finish(self, outcome: str, usage: Usage | None = None) -> None:
        """Note what became of the last request; nothing when none left."""
        took = usage or Usage()
        if self._recorder:
            self._recorder.finish(
                outcome, took.input_tokens, took.output_tokens, took.is_estimated, took.cost, took.currency
            )


def usage_of(completion: Completion, messages: Sequence[Message], endpoint: Endpoint | None) -> Usage:
    """What an answer took: as the endpoint counted, or estimated and marked so; with its cost."""
    reported = completion.usage or Usage()
    read, written = reported.input_tokens, reported.output_tokens
    is_estimated = read is None or written is None
    if read is None:
        read = prompt_blocks.tokens_of(messages)
    if written is None:
        written = estimate_tokens(completion.text)
    counted = Usage(read, written, is_estimated)
    return counted if endpoint is None else priced(counted, endpoint)


def priced(usage: Usage, endpoint: Endpoint) -> Usage:
    """The usage with its cost by the person's prices; as it is where none is set."""
    cost = cost_of(usage.input_tokens, usage.output_tokens, endpoint.input_price, endpoint.output_price)
    return usage if cost is None else replace(usage, cost=cost, currency=endpoint.currency)


def total_of(usages: Sequence[Usage]) -> Usage | None:
    """What all answers of the turn took together."""
    if not usages:
        return None
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return Usage(
        sum(usage.input_tokens or 0 for usage in usages),
        sum(usage.output_tokens or 0 for usage in usages),
        any(usage.is_estimated for usage in usages),
        sum(costs) if costs else None,
        usages[-1].currency,
    )
