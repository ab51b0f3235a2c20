"""Fixtures every room shares: a home folder, a database, and where the shared cases are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from store.database import Database, open_database
from store.paths import DataDir
from tests.factories import CASES

# Times are measured by `make bench`, never in a test; in CI the same examples run every time.
hypothesis.settings.register_profile("recollect", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("recollect")


@pytest.fixture
def data_dir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "home").create()


@pytest.fixture
def database(data_dir: DataDir) -> Iterator[Database]:
    database = open_database(data_dir)
    yield database
    database.close_thread()


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of shared test vectors."""
    return CASES
