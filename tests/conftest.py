"""Fixtures every room shares: a home folder, a database, and where the shared cases are."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path

import hypothesis
import pytest

from store.core import translation
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.frames import desktop_entries
from store.frames.media import Media
from tests import demo_week
from tests.demo_week import DemoHome
from tests.factories import CASES
from tests.stub_model import StubModel

# Times are measured by `make bench`, never in a test; in CI the same examples run every time.
hypothesis.settings.register_profile("recollect", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.register_profile("fuzz", hypothesis.settings.get_profile("recollect"), max_examples=4_000)
hypothesis.settings.load_profile("recollect")


MEMORY_DISK = Path("/dev/shm")
REAL_PROGRAMS = {"demo_home", "demo_copy", "display"}  # fixtures that start Tesseract or an X server


def pytest_configure() -> None:
    """Homes lie in memory where there is room: waiting for the disk at each commit is a third of a run."""
    is_chosen = "TMPDIR" in os.environ  # also in the processes that xdist starts
    if not is_chosen and MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > 6 << 30:
        os.environ["TMPDIR"] = str(MEMORY_DISK)
        tempfile.tempdir = None  # asked for before this, it is remembered


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no process of several is left with one of them at the end."""
    for item in items:
        if REAL_PROGRAMS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("end_to_end")
    items.sort(key=lambda item: item.get_closest_marker("end_to_end") is None)


@pytest.fixture(autouse=True)
def log_level() -> Iterator[None]:
    """A command that is run in this process may make the log talk more; the next test finds it as it was."""
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)


@pytest.fixture(autouse=True)
def english() -> None:
    """A page that was asked for in this thread leaves its language behind."""
    translation.speak(translation.ENGLISH, NullTranslations())


@pytest.fixture(autouse=True)
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of the machine that tests run on have no part in them."""
    monkeypatch.setattr(desktop_entries, "_EVERYWHERE", "/nonexistent")
    monkeypatch.delenv(
        "XDG_DATA_DIRS", raising=False
    )  # what desktop programs need themselves is where it was


@pytest.fixture
def data_dir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path / "home").create()


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database file of today's schema: every step from nothing to it costs 40 ms, a copy 1 ms."""
    home = DataDir(tmp_path_factory.mktemp("empty") / "home").create()
    open_database(home).close_thread()
    return home.database


@pytest.fixture
def migrated(data_dir: DataDir, empty_database: Path) -> DataDir:
    """A home folder whose database is there and empty."""
    shutil.copy(empty_database, data_dir.database)  # with its mode
    return data_dir


@pytest.fixture
def database(migrated: DataDir) -> Iterator[Database]:
    database = open_database(migrated)
    yield database
    database.close_thread()


@pytest.fixture
def media(data_dir: DataDir) -> Media:
    return Media(data_dir.media)


@pytest.fixture
def stub() -> Iterator[StubModel]:
    """An endpoint that answers from a script."""
    with StubModel() as running:
        yield running


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all processes of a run have in common; each works on a copy, so that none finds another's files
    of SQLite.
    """
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def demo_home(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> DemoHome:
    """The first three and a half hours of a sample week, really read: for reading only."""
    made = demo_week.made_once(
        shared_folder / "sample-week", lambda folder: demo_week.make(folder, "--hours", "3.5")
    )
    return demo_week.read(made).copied(tmp_path_factory.mktemp("demo") / "home")


@pytest.fixture
def demo_copy(demo_home: DemoHome, tmp_path: Path) -> DemoHome:
    """The same, to be changed."""
    return demo_home.copied(tmp_path / "demo")


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of shared test vectors."""
    return CASES
