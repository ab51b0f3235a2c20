"""Real programs on a real X display, driven as a person would."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, expect, sync_playwright

from store.core.database import open_database
from store.core.paths import DataDir
from tests.demo_week import made_once
from tests.end_to_end import demo_home
from tests.end_to_end.pages_site import Site, ask_first, pages_site
from tests.end_to_end.programs import PATIENCE_S, Recollect, headless_path, x_display
from tests.webapp.conftest import compiled_once

__all__ = ["compiled_once"]
MOST_S = 900  # several programs, each of which may take as long as a busy machine makes it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.end_to_end)
            item.add_marker(pytest.mark.timeout(MOST_S))


@pytest.fixture
def display() -> Iterator[str]:
    """A 1920x1080 X display with a window manager; gives its name, such as ``:7``."""
    with x_display("1920x1080x24") as name:
        manager = subprocess.Popen(
            ["openbox"],
            env={**os.environ, "DISPLAY": name},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield name
        manager.terminate()
        manager.wait(PATIENCE_S)


@pytest.fixture
def on_desktop(display: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts programs on the display and stops them, with their children, at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            env={**os.environ, "DISPLAY": display, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


@pytest.fixture
def recollect(tmp_path: Path) -> Iterator[Recollect]:
    """The installed program on an empty home; stopped at the end."""
    program = Recollect(tmp_path / "home", sys.executable)
    yield program
    program.stop()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Headless Chromium, the system's own.

    For this package and no longer: Playwright keeps an event loop running in the main thread,
    beside which no other test could run one.
    """
    expect.set_options(timeout=PATIENCE_S * 1000)
    with sync_playwright() as playwright, launched(playwright.chromium, headless_path()) as browser:
        yield browser


@contextmanager
def launched(kind: BrowserType, path: str) -> Iterator[Browser]:
    """A headless browser of this program, as patient as a busy machine needs it."""
    browser = kind.launch(
        executable_path=path,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    )
    browser.on("context", lambda context: context.set_default_timeout(PATIENCE_S * 1000))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def full_days(shared_folder: Path) -> Path:
    """A home of three full days, to be copied."""
    return made_once(shared_folder / "full-days", lambda folder: demo_home.fill(folder).close_thread())


@pytest.fixture(scope="package")
def site(full_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three full days, served."""
    home = shutil.copytree(full_days, tmp_path_factory.mktemp("pages") / "home")
    with pages_site(open_database(DataDir(home))) as found:
        yield found


@pytest.fixture(scope="package")
def answered(browser: Browser, site: Site) -> Site:
    """The site with one question asked and answered."""
    ask_first(browser, site)
    return site
