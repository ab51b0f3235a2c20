"""Memory of chats over a real database: windows that asked, were closed and came to something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.context.session_closing import ContextPace, ContextServices
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from store.core.database import Database
from store.core.settings import ChatSettings, ContextSettings, EmbeddingSettings
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS, Clock
from tests.fake_embedder import FakeEmbedder


@pytest.fixture
def now() -> Clock:
    return Clock(NOON_MS)


@pytest.fixture
def context(database: Database, now: Clock) -> Iterator[ContextServices]:
    """Without a model; meaning by the deterministic embedder."""
    models = ChatModels(ChatSettings(), {}, waits_s=())
    embedder = QueryEmbedder(EmbeddingSettings(), database, FakeEmbedder)
    # A busy machine is slow, not wrong: the time is tested where it is what matters.
    pace = ContextPace(build_budget_ms=60_000.0)
    yield ContextServices(database, ContextSettings(), models, embedder.asked, now, pace)
    models.close()


@pytest.fixture
def past(context: ContextServices, now: Clock) -> Past:
    return Past(context, now)


def changed(context: ContextServices, **settings: Any) -> ContextServices:
    """The same with other settings."""
    return replace(context, settings=replace(context.settings, **settings))


def paced(context: ContextServices, **pace: float) -> ContextServices:
    """The same at another pace."""
    return replace(context, pace=replace(context.pace, **pace))
