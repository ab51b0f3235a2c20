"""A library on an empty home, and rules that a person adds later."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from store import privacy
from store.database import Database
from store.media import Media
from store.paths import DataDir
from store.privacy import Rule
from store.settings import EmbeddingSettings, Settings
from tests.webapp.conftest import Clock
from webapp.doors.calls import ReadSources
from webapp.query_embedder import QueryEmbedder

Exclude = Callable[..., None]


@pytest.fixture
def library(database: Database, now: Clock) -> ReadSources:
    off = QueryEmbedder(EmbeddingSettings(engine="off"), database)
    return ReadSources(database, Media(database.data_dir.media), Settings(), off, now)


@pytest.fixture
def exclude(data_dir: DataDir) -> Exclude:
    """Leave a window out from now on."""

    def rule(**parts: str) -> None:
        privacy.save_rules(data_dir, [Rule(**parts)])  # type: ignore[arg-type]

    return rule
