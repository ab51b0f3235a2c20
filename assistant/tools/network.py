"""What tools send out of this program: a web search, or one picture to the model that answers.

Each request is noted in the ledger of what was sent before it leaves, as what a turn sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.core.egress_log import SentLedger, usage_of
from assistant.core.models import Endpoint
from engines.chat.addresses import host_of, is_local
from engines.chat.protocol import ChatModel, Message, ModelError, Usage
from engines.web_search import SearchFailed, WebHit, WebSearch
from store.core.database import Database
from store.core.errors import StoreError
from store.egress.egress_log import EgressRecorder, RequestContext
from store.frames import frames
from store.frames.frames import FrameRow

PROVIDER = "web_search"
"""The name in the ledger of what answers web searches."""


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The search endpoint, for one turn."""

    engine: WebSearch
    database: Database
    clock: Callable[[], int]
    turn_id: int | None

    def search(self, query: str, limit: int, timeout_s: float) -> list[WebHit]:
        """Results. Raises `SearchFailed`; `StoreError` when what is sent cannot be noted."""
        noting = EgressRecorder(
            self.database, self.clock, RequestContext("web_search", PROVIDER, turn_id=self.turn_id)
        )
        try:
            hits = self.engine.search(query, limit, timeout_s=timeout_s, on_send=noting)
        except SearchFailed as error:
            noting.finish(error.code)
            raise
        noting.finish("answered")
        return hits


@dataclass(frozen=True, slots=True)
class VisionAccess:
    """The model of one turn, which can see. `usages` grows by what each picture took."""

    model: ChatModel
    endpoint: Endpoint
    database: Database
    clock: Callable[[], int]
    turn_id: int | None
    usages: list[Usage] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Whom a picture is shown to, in words."""
        return f"{self.endpoint.name} {told_to(self.endpoint)}"

    def look(self, messages: list[Message], frame: FrameRow, named: str, timeout_s: float) -> str:
        """What the model says about the one picture in `messages`, which the ledger calls `named`.

        Nothing is sent once the frame is gone. Raises `ModelError`, `StoreError`.
        """
        pictures = [picture for message in messages for picture in message.pictures]
        assert len(pictures) == 1
        ledger = SentLedger(
            self.database,
            self.clock,
            self.endpoint,
            "describe",
            self.turn_id,
            shows=(frame.captured_ms, frame.captured_ms),
            named=((pictures[0].data_url, named),),
            still=lambda connection: frames.has_picture(connection, frame.id, frame.sha256),
        )
        try:
            completion = self.model.complete(messages, timeout_s=timeout_s, on_send=ledger)
        except (ModelError, StoreError) as error:
            ledger.finish(error.code if isinstance(error, ModelError) else "failed")
            raise
        usage = usage_of(completion, messages, self.endpoint)
        ledger.finish("answered", usage)
        self.usages.append(usage)
        return completion.text.strip()


def told_to(endpoint: Endpoint | None) -> str:
    """Where a model is, in words: ``on this computer``, ``at api.example``."""
    if endpoint is None or is_local(endpoint.base_url):
        return "on this computer"
    return f"at {host_of(endpoint.base_url)}"
