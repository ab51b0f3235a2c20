"""What tests of turns with tools share: a model that can call, and the events of a turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from assistant.core.records import (
    ApprovalEvent,
    FinalEvent,
    ToolCallEvent,
    TurnEvent,
    TurnRequest,
    TurnResult,
)
from assistant.read_api.calls import ReadSources
from assistant.tools.registry import AgentServices, registry
from assistant.turns.plan import TurnServices
from assistant.turns.turn import run_turn
from engines.cancellation import CancelToken
from store.chats import tool_calls
from store.chats.tool_calls import ApprovalScope, ToolCall
from store.core.database import Database
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings
from store.frames.media import Media
from tests.assistant.helpers import NOW_MS
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel


@contextmanager
def agent_deps(
    database: Database,
    stub: StubModel,
    form: str = "",
    timeout_s: float = 60,
    *,
    sees: bool = False,
    context_tokens: int = 32_768,
    flags: Mapping[str, bool] | None = None,
    **tools: Any,
) -> Iterator[TurnServices]:
    """Deps with a model that calls natively, or in a text format; one that `sees` takes pictures;
    `flags` are more of what its entry says.
    """
    entry = ChatModelSettings(
        "stub",
        stub.base_url,
        "stub",
        supports_vision=sees,
        supports_tools=not form,
        tool_format=form,
        context_tokens=context_tokens,
        **(flags or {}),
    )
    models = ChatModels(ChatSettings(models=(entry,), timeout_s=timeout_s), {}, waits_s=())
    settings = Settings(tools=ToolsSettings(**tools))
    embedder = QueryEmbedder(settings.embedding, FakeEmbedder)
    library = ReadSources(database, Media(database.data_dir.media), settings, embedder, lambda: NOW_MS)
    agent = AgentServices(library, settings.tools, registry(settings.tools))
    yield TurnServices(database, models, lambda: NOW_MS, agent=agent)
    models.close()


@dataclass(frozen=True, slots=True)
class Ran:
    """A turn with tools, its events kept."""

    events: list[TurnEvent]

    @property
    def result(self) -> TurnResult:
        last = self.events[-1]
        assert isinstance(last, FinalEvent)
        return last.result

    @property
    def calls(self) -> list[ToolCall]:
        """Each call as it stood last."""
        found = {each.call.id: each.call for each in self.events if isinstance(each, ToolCallEvent)}
        return list(found.values())


def asked(message: str = "Which policy did I read about?", **changes: Any) -> TurnRequest:
    values: dict[str, Any] = {"timezone": "Asia/Shanghai", "now_ms": NOW_MS, "mode": "agent", **changes}
    return TurnRequest(message=message, **values)


def run(deps: TurnServices, *, stop: CancelToken | None = None, **changes: Any) -> Ran:
    return Ran(list(run_turn(deps, asked(**changes), stop)))


def decided(deps: TurnServices, scope: ApprovalScope | None, **changes: Any) -> tuple[Ran, list[ToolCall]]:
    """(the turn, the calls that waited); another thread allows each with that scope, or denies it."""
    events: list[TurnEvent] = []
    waited: list[ToolCall] = []

    def act(calls: tuple[ToolCall, ...]) -> None:
        for call in calls:
            if scope is None:
                tool_calls.deny(deps.database, call.id, NOW_MS)
            else:
                tool_calls.approve(deps.database, call.id, scope, NOW_MS)
        deps.database.close_thread()

    for event in run_turn(deps, asked(**changes)):
        events.append(event)
        if isinstance(event, ApprovalEvent):
            waited += event.calls
            thread = threading.Thread(target=act, args=(event.calls,))
            thread.start()
            thread.join()
    return Ran(events), waited


def offered(stub: StubModel, n: int = -1) -> set[str]:
    """Names of the tools in a request."""
    return {each["function"]["name"] for each in stub.requests[n]["tools"]}
