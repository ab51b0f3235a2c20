"""Notes requests in the ledger of what was sent (`store.egress.egress_log`), one undertaking at a time.

Handed to an engine as what it calls before a request leaves: a request that cannot be noted does
not leave. One undertaking may take several requests, as when one is refused and repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import apsw

from store.core.database import Database
from store.core.errors import StoreError
from store.egress import egress_log
from store.egress.egress_log import Outcome, OutgoingRequest, Purpose

ASKED_AGAIN = "asked_again"
"""The outcome of a request that was refused and repeated, perhaps in another form."""


class Sending(Protocol):
    """A request as an engine announces it. `model` may be empty where `About` names it."""

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
    `blocks` and `prefix_sha256` as in `Leaving`.
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


class EgressRecorder:
    """The requests of one undertaking, in order; the last one gets the outcome.

    `still` is asked in the transaction that notes a request; where it says no, nothing leaves.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        about: RequestContext,
        still: Callable[[apsw.Connection], bool] | None = None,
    ) -> None:
        self.about = about
        self._database = database
        self._clock = clock
        self._still = still
        self._open: int | None = None

    def __call__(self, sending: Sending) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        self.finish(ASKED_AGAIN)
        about = self.about
        leaving = OutgoingRequest(
            purpose=about.purpose,
            at_ms=self._clock(),
            provider=about.provider,
            model=sending.model or about.model,
            url=sending.url,
            is_local=sending.is_local,
            body=about.body(sending.body),
            size_bytes=len(sending.body),
            turn_id=about.turn_id,
            texts=sending.texts,
            first_ms=about.first_ms,
            last_ms=about.last_ms,
            pictures=len(about.named),
            blocks=about.blocks,
            prefix_sha256=about.prefix_sha256,
        )
        self._open = egress_log.record(self._database, leaving, self._still)

    def finish(
        self,
        outcome: str,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        is_estimated: bool = False,
        cost: float | None = None,
        currency: str = "",
    ) -> None:
        """Note what became of the last request; nothing when none left."""
        if self._open is None:
            return
        took = Outcome(outcome, input_tokens, output_tokens, is_estimated, cost, currency)
        egress_log.complete(self._database, self._open, took)
        self._open = None
