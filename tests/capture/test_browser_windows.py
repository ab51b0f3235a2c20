"""Browser windows told apart by the extension's list."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.windows.browser_extension import ExtensionHints, ExtensionWindows, fits
from capture.windows.protocol import WindowInfo
from store.spool import window_hints
from store.spool.window_hints import SILENT_AFTER_MS, ExtensionReport, OrdinaryWindow
from tests.capture.fakes import FakeWindows, window
from tests.tables import for_each

NEWS = OrdinaryWindow("News", "https://news.example/")
NOW_MS = 1_000_000


def chromium(title: str | None = "News - Chromium", number: int = 1, **changes: object) -> WindowInfo:
    return window("Chromium", title, window_id=number, **changes)


class Desk:
    """Windows that are listed, words that were said, and what is told of the windows."""

    def __init__(self, *words: ExtensionReport) -> None:
        self.words = list(words)
        self.source = FakeWindows([])
        self.now_ms = NOW_MS
        self._witnessed = ExtensionWindows(self.source, lambda: self.words, lambda: self.now_ms)

    def told(self, *windows: WindowInfo) -> list[tuple[bool | None, bool, str | None]]:
        self.source.listed = list(windows)
        return [(w.incognito, w.witnessed, w.browser_url) for w in self._witnessed.windows()]


ORDINARY = (False, True, NEWS.url)
UNKNOWN = (None, True, None)
NOT_ASKED = (None, False, None)


def said(*windows: OrdinaryWindow, browser: str = "Chromium") -> ExtensionReport:
    return ExtensionReport(browser, NOW_MS, windows)


def test_without_an_extension_nothing_changes() -> None:
    assert Desk().told(chromium(), window()) == [NOT_ASKED, NOT_ASKED]


def test_a_listed_window_is_ordinary_and_has_its_address() -> None:
    assert Desk(said(NEWS)).told(chromium(), window()) == [ORDINARY, NOT_ASKED]


def test_a_window_that_is_not_listed_is_unknown() -> None:
    assert Desk(said(NEWS)).told(chromium("Secret - Chromium", 2), chromium()) == [UNKNOWN, ORDINARY]


def test_two_windows_of_one_title_need_two_on_the_list() -> None:
    assert Desk(said(NEWS)).told(chromium(), chromium(number=2)) == [UNKNOWN, UNKNOWN]
    assert Desk(said(NEWS, NEWS)).told(chromium(), chromium(number=2)) == [ORDINARY, ORDINARY]


def test_one_title_with_two_addresses_has_none() -> None:
    other = OrdinaryWindow("News", "https://other.example/")
    assert Desk(said(NEWS, other)).told(chromium()) == [(False, True, None)]


def test_a_known_window_stays_ordinary_while_its_title_changes() -> None:
    desk = Desk(said(NEWS))
    desk.told(chromium())
    assert desk.told(chromium("Weather - Chromium")) == [(False, True, None)]
    assert desk.told() == []
    assert desk.told(chromium("Weather - Chromium")) == [UNKNOWN]


def test_a_private_window_of_a_known_title_does_not_become_ordinary() -> None:
    desk = Desk(said(NEWS))
    desk.told(chromium())
    assert desk.told(chromium(), chromium(number=2)) == [ORDINARY, UNKNOWN]


def test_a_menu_goes_by_its_window() -> None:
    menu = chromium(number=9, kind="popup")
    assert Desk(said(NEWS)).told(menu, chromium()) == [ORDINARY, ORDINARY]
    assert Desk(said(NEWS)).told(chromium("Secret - Chromium", 9, kind="popup")) == [UNKNOWN]
    assert Desk(said(NEWS)).told(chromium(None, 9, kind="popup"), chromium()) == [UNKNOWN, ORDINARY]


def test_a_silent_extension_knows_no_window() -> None:
    desk = Desk(said(NEWS))
    desk.now_ms += SILENT_AFTER_MS + 1
    assert desk.told(chromium()) == [UNKNOWN]


def test_profiles_of_one_browser_have_a_list_each_and_other_browsers_none() -> None:
    desk = Desk(said(), said(NEWS))
    brave = window("Brave-browser", "News - Brave", window_id=3)
    assert desk.told(chromium(), brave) == [ORDINARY, NOT_ASKED]


def test_words_that_cannot_be_read_make_every_browser_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = ExtensionHints(tmp_path)
    assert words() == []
    window_hints.extension_path(tmp_path).write_bytes(b"{")
    witnessed = ExtensionWindows(FakeWindows([chromium()]), words, lambda: NOW_MS)
    assert [(w.incognito, w.witnessed) for w in witnessed.windows()] == [(None, True)]
    assert "cannot be read" in caplog.text
    window_hints.extension_path(tmp_path).unlink()
    assert [w.witnessed for w in witnessed.windows()] == [False]


def test_words_are_read_again_when_they_change(tmp_path: Path) -> None:
    words = ExtensionHints(tmp_path)
    window_hints.save_report(tmp_path, "one", said(NEWS))
    assert words() == [said(NEWS)]
    window_hints.save_report(tmp_path, "one", said())
    assert words() == [said()]


@for_each(
    ("title", "shown", "is_it"),
    [
        ("News", "News - Chromium", True),
        ("News", "News – Brave", True),
        ("News", "News", True),  # an installed web app
        ("News", "Reader - News", True),
        ("News  of\tthe day", "News of the day - Chromium", True),
        ("News", "Newspaper - Chromium", False),
        ("News", "Old News", False),
        ("", " - Chromium", False),
        ("  ", "Chromium", False),
        ("News", None, False),
    ],
)
def test_a_window_s_title_is_made_of_its_tab_s(title: str, shown: str | None, is_it: bool) -> None:
    assert fits(OrdinaryWindow(title), shown) is is_it
