"""Notes every request of one answer in the ledger of what was sent (`store.egress.egress_log`).

Handed to a model as its `on_send`: a request is noted before it leaves, and one that cannot be
noted does not leave. What an answer took and cost is worked out here, by the person's own prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from typing import Any, TypeVar

import apsw

from assistant.core import prompt_blocks
from assistant.core.endpoints import Endpoint
from assistant.core.prompt_blocks import Block
from assistant.core.texts import estimate_tokens, without_thinking
from engines.chat.protocol import ChatModel, Completion, Message, ModelError, Schema, Usage
from store.core.database import Database
from store.egress.egress_log import EgressRecorder, Purpose, RequestContext, cost_of

T = TypeVar("T")


class SentLedger(EgressRecorder):
    """The requests of one answer (or one test), in order; the last one gets the outcome."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        endpoint: Endpoint,
        purpose: Purpose = "answer",
        turn_id: int | None = None,
        *,
        blocks: Sequence[Block] = (),
        shows: tuple[int | None, int | None] = (None, None),
        named: tuple[tuple[str, str], ...] = (),
        is_current: Callable[[apsw.Connection], bool] | None = None,
    ) -> None:
        """`blocks` are what the system prompt is made of; `shows`, `named` and `is_current` as in
        `RequestContext` and `EgressRecorder`.
        """
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
        super().__init__(database, clock, about, is_current)
        self._endpoint = endpoint

    def complete(
        self, model: ChatModel, messages: Sequence[Message], **options: Any
    ) -> tuple[Completion, Usage]:
        """One answer without what was thought aloud, and what it took; `options` as of `ChatModel.complete`.

        Raises `ModelError` and `StoreError`.
        """
        with self.asking():
            completion = model.complete(messages, **options, on_send=self)
            usage = self.answered(completion, messages)
            return replace(completion, text=without_thinking(completion.text)), usage

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Whatever keeps the last request of the block from being `answered` is noted as its outcome."""
        outcome = "stopped"
        try:
            yield
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            self.finish(outcome)

    def answered(self, completion: Completion, messages: Sequence[Message]) -> Usage:
        """Note an answer and what it took: as the endpoint counted, or estimated and marked so; its cost."""
        counted = completion.usage or Usage()
        read, written = counted.input_tokens, counted.output_tokens
        is_estimated = read is None or written is None
        read = prompt_blocks.tokens_of(messages) if read is None else read
        written = estimate_tokens(completion.text) if written is None else written
        place = self._endpoint
        cost = cost_of(read, written, place.input_price, place.output_price)
        usage = Usage(read, written, is_estimated, cost, "" if cost is None else place.currency)
        self.finish("answered", *astuple(usage))
        return usage


def ask_once(
    place: tuple[Database, Callable[[], int], Endpoint],
    model: ChatModel,
    messages: Sequence[Message],
    check: Callable[[str], T],
    purpose: Purpose = "answer",
    *,
    timeout_s: float,
    schema: Schema | None = None,
    **about: Any,
) -> T:
    """What `check` makes of a model's answer to one request that is a whole conversation: a title, a summary,
    an opinion. `about` is what the ledger notes of it.

    Raises `ModelError`, also where `check` finds no answer in it, and `StoreError` where it cannot be noted.
    """
    completion, _ = SentLedger(*place, purpose, **about).complete(
        model, messages, schema=schema, timeout_s=timeout_s
    )
    return check(completion.text)


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
