"""A database with an afternoon in it, a stub model, and turns that run against both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assistant.core.models import ChatModels
from assistant.core.records import TurnRequest, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatSettings
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon
from tests.stub_model import StubModel

Ask = Callable[..., TurnResult]


@pytest.fixture
def afternoon(database: Database, data_dir: DataDir) -> Afternoon:
    return Afternoon(database, data_dir)


@pytest.fixture
def deps(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    models = ChatModels(ChatSettings(base_url=stub.base_url, model="stub", timeout_s=60), {}, waits_s=())
    yield TurnServices(database, models, lambda: NOW_MS)
    models.close()


@pytest.fixture
def ask(deps: TurnServices) -> Ask:
    """Ask about the afternoon; keywords change the request."""

    def asked(message: str = "What did I do?", **changes: Any) -> TurnResult:
        values: dict[str, Any] = {
            "timezone": "Asia/Shanghai",
            "now_ms": NOW_MS,
            "start_ms": START_MS,
            "end_ms": START_MS + 3 * 3_600_000,
            **changes,
        }
        return answer(deps, TurnRequest(message=message, **values))

    return asked
