"""Private windows of a real Chromium without its extension: nothing of them is found anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from capture.windows.x11 import X11Windows
from store.core.paths import DataDir
from store.spool.process_state import CaptureState
from tests.end_to_end.programs import Recollect, chromium_path, eventually

SECRET = "zanzibar umbrella combination"


def page_of(title: str, words: str) -> str:
    html = f"<title>{title}</title><body style='font: 40px sans-serif'><h1>{words}</h1><p>{words}</p>"
    return "data:text/html," + quote(html)


@pytest.fixture
def chromium(on_desktop: Callable[..., object], tmp_path: Path) -> Callable[..., object]:
    """Opens a window; of the browser that runs already, when there is one with this profile."""

    def open_window(*arguments: str, profile: str = "profile") -> object:
        return on_desktop(
            chromium_path(), "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1000,700",
            f"--user-data-dir={tmp_path / profile}", *arguments,
        )  # fmt: skip

    return open_window


def test_a_private_window_of_an_ordinary_browser_is_left_out(
    recollect: Recollect, display: str, chromium: Callable[..., object]
) -> None:
    recollect.up(DISPLAY=display)
    chromium(page_of("Harbour", "lighthouse keepers meet"))
    eventually(lambda: recollect.found('"lighthouse keepers"'), what="the page is found")

    chromium("--incognito", page_of("wave", SECRET))  # beside a title without tall letters
    eventually(lambda: in_view(display, "wave"), what="the window is in view")
    begun = looks(recollect)
    eventually(lambda: looks(recollect) > begun + 10, what="capture looks at it")
    recollect.stop()
    assert_nowhere(recollect)


def test_a_browser_started_for_private_windows_only_is_left_out_by_capture(
    recollect: Recollect, display: str, chromium: Callable[..., object]
) -> None:
    recollect.up(DISPLAY=display)
    chromium(page_of("Incognito", "Incognito is a word"), profile="ordinary")
    eventually(lambda: recollect.found('"is a word"'), what="a page that says so is found")

    chromium("--incognito", page_of("Vault", SECRET), profile="private")
    eventually(lambda: "private_window" in excluded(recollect), what="capture leaves it out")
    recollect.stop()
    assert_nowhere(recollect)


def in_view(display: str, title: str) -> bool:
    with closing(X11Windows(display)) as windows:
        return any((window.window_name or "").startswith(title) for window in windows.windows())


def looks(recollect: Recollect) -> int:
    state = CaptureState.read(DataDir(recollect.home).spool)
    return state.looks if state is not None else 0


def excluded(recollect: Recollect) -> str:
    """What capture says while it leaves a look out."""
    state = CaptureState.read(DataDir(recollect.home).spool)
    return state.reason if state is not None else ""


def assert_nowhere(recollect: Recollect) -> None:
    """No file of the home folder holds a word of the page, once every picture has been read."""
    recollect.run("ingest", "--once")
    told = re.compile(rb"zanzibar|umbrella|Vault", re.IGNORECASE)
    files = [path for path in recollect.home.rglob("*") if path.is_file()]
    assert [path for path in files if told.search(path.read_bytes())] == []
    recollect.run("verify")  # index, rows, pictures and ledger agree
