"""Notes the requests of an embedder that asks an endpoint in the ledger of what was sent.

What was on the screen is not kept a second time: of these requests the ledger says when, where to,
how many texts and bytes, and when the screens were taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from engines.chat.protocol import OutgoingRequest
from store.core.database import Database
from store.egress.egress_log import EgressRecorder, RequestContext
from store.embeddings.vectors import Kind
from store.frames.frames import ID_STEP


@dataclass(frozen=True, slots=True)
class _Span:
    """When the screens were taken whose texts are sent; None for entries of memory."""

    first_ms: int | None = None
    last_ms: int | None = None


_span: ContextVar[_Span | None] = ContextVar("span", default=None)


@contextmanager
def texts_of(kind: Kind, ids: Iterable[int]) -> Iterator[None]:
    """What is embedded in here are texts of these frames, or of entries of memory."""
    taken = [frame_id // ID_STEP for frame_id in ids] if kind == "frame" else []
    token = _span.set(_Span(min(taken), max(taken)) if taken else _Span())
    try:
        yield
    finally:
        _span.reset(token)


class EmbeddingRequestLog:
    """The `engines.embeddings.protocol.RequestLog` of the endpoint in the settings of embeddings."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._about = RequestContext("embed", "embedding")
        self._noting = EgressRecorder(database, clock, self._about)

    def __call__(self, sending: OutgoingRequest) -> None:
        """Note a request that is about to leave. Raises `StoreError` when that cannot be done."""
        span = _span.get()
        # Outside of `texts_of` only the length of vectors is asked for, with a word of our own.
        self._noting.about = (
            self._about
            if span is None
            else replace(self._about, first_ms=span.first_ms, last_ms=span.last_ms, keeps_text=False)
        )
        self._noting(sending)

    def finish(self, outcome: str, input_tokens: int | None = None) -> None:
        """Note what became of it."""
        self._noting.finish(outcome, input_tokens)
