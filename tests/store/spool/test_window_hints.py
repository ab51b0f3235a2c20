"""What the browser extension said: kept by copy, silent after a while, unusable files refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.spool import window_hints
from store.spool.window_hints import MAX_COPIES, SILENT_AFTER_MS, ExtensionReport, OrdinaryWindow
from tests.tables import for_each

NEWS = OrdinaryWindow("News", "https://news.example/")


def test_each_copy_replaces_its_own_word(tmp_path: Path) -> None:
    window_hints.save_report(tmp_path, "one", ExtensionReport("Chromium", 1, (NEWS,)))
    window_hints.save_report(tmp_path, "two", ExtensionReport("Brave", 2))
    window_hints.save_report(tmp_path, "one", ExtensionReport("Chromium", 3))
    assert window_hints.read_reports(tmp_path) == [
        ExtensionReport("Brave", 2),
        ExtensionReport("Chromium", 3),
    ]
    assert window_hints.extension_path(tmp_path).stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_nothing_said_is_nothing_heard(tmp_path: Path) -> None:
    assert window_hints.read_reports(tmp_path) == []


def test_the_longest_silent_copies_make_room(tmp_path: Path) -> None:
    for number in range(MAX_COPIES + 5):
        window_hints.save_report(tmp_path, str(number), ExtensionReport("Chromium", number))
    assert [word.said_ms for word in window_hints.read_reports(tmp_path)] == list(range(5, MAX_COPIES + 5))


def test_a_forgotten_browser_counts_as_never_paired(tmp_path: Path) -> None:
    window_hints.save_report(tmp_path, "one", ExtensionReport("Chromium", 1))
    window_hints.save_report(tmp_path, "two", ExtensionReport("Brave", 2))
    window_hints.forget(tmp_path, "Chromium")
    assert window_hints.read_reports(tmp_path) == [ExtensionReport("Brave", 2)]


def test_a_deletion_leaves_no_title_of_a_closed_browser(tmp_path: Path) -> None:
    window_hints.save_report(tmp_path, "closed", ExtensionReport("Chromium", 0, (NEWS,)))
    window_hints.save_report(tmp_path, "open", ExtensionReport("Brave", SILENT_AFTER_MS, (NEWS,)))
    window_hints.drop_silent(tmp_path, SILENT_AFTER_MS + 1)
    assert window_hints.read_reports(tmp_path) == [
        ExtensionReport("Chromium", 0),
        ExtensionReport("Brave", SILENT_AFTER_MS, (NEWS,)),
    ]


@pytest.mark.parametrize(
    "content",
    [b"{", b"[1]", b"3", b'{"a": 1}', b'{"a": {"browser": "x"}}', b"\xff", b'{"a": {"windows": 1}}'],
)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, content: bytes) -> None:
    window_hints.extension_path(tmp_path).write_bytes(content)
    with pytest.raises(ValueError):
        window_hints.read_reports(tmp_path)


@for_each(
    ("browser", "app", "same"),
    [
        ("Chromium", "Chromium", True),
        ("Chromium", "chromium-browser", True),
        ("Chromium", "org.chromium.Chromium", True),
        ("Google Chrome", "Google-chrome", True),
        ("Google Chrome", "chrome", True),
        ("Microsoft Edge", "msedge", True),
        ("Microsoft Edge", "microsoft-edge", True),
        ("Brave", "Brave-browser", True),
        ("Google Chrome", "Chromium", False),
        ("Chromium", "chrome", False),
        ("Brave", "Vivaldi-stable", False),
        ("Chromium", "", False),
    ],
)
def test_a_browser_s_own_name_and_its_windows_names(browser: str, app: str, same: bool) -> None:
    assert ExtensionReport(browser, 0).is_about(app) is same


def test_silence_begins_after_two_heartbeats_and_a_clock_set_back_is_silence() -> None:
    word = ExtensionReport("Chromium", 1_000_000)
    assert not word.is_silent(1_000_000 + SILENT_AFTER_MS)
    assert word.is_silent(1_000_001 + SILENT_AFTER_MS)
    assert word.is_silent(999_999)
