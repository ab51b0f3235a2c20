"""A library on an empty home, and rules that a person adds later."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import EmbeddingSettings, Settings
from store.frames.media import Media
from store.privacy.rules import Rule
from tests.factories import save_rules
from tests.webapp.conftest import Clock

Exclude = Callable[..., None]


@pytest.fixture
def library(database: Database, now: Clock) -> ReadSources:
    off = QueryEmbedder(EmbeddingSettings(engine="off"), database)
    return ReadSources(database, Media(database.data_dir.media), Settings(), off, now)


@pytest.fixture
def exclude(data_dir: DataDir) -> Exclude:
    """Leave a window out from now on."""

    def rule(**parts: str) -> None:
        save_rules(data_dir, [Rule(**parts)])  # type: ignore[arg-type]

    return rule
