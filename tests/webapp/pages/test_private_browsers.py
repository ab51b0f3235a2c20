"""What the pages say of private windows of browsers."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from flask import Flask

from store.core.settings import PrivacySettings, Settings
from store.privacy.defaults import BROWSERS
from tests.webapp.conftest import Actor
from webapp.core.services import services, viewer
from webapp.pages.welcome import setup_rows


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_every_browser_says_what_tells_of_its_private_windows(browser: Actor) -> None:
    shown = text_of(browser.get("/privacy").text)
    assert all(known.names[0] in shown for known in BROWSERS)
    chrome = "title of some windows, command line, toolbar"
    assert f"Ungoogled Chromium {chrome}; otherwise blacked out" in shown
    assert "Safari title of some windows; otherwise blacked out" in shown


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("app=Chromium&title=News+-+Chromium", "It would be blacked out: the window may be private"),
        ("app=Chromium&title=New+Incognito+tab+-+Chromium", "The frame would be left out"),
        ("app=Code&title=main.py", "It would be recorded."),
    ],
)
def test_a_tried_window_says_what_becomes_of_it(browser: Actor, query: str, expected: str) -> None:
    assert expected in text_of(browser.get(f"/privacy/test?{query}").text)


def test_the_first_page_says_how_private_windows_are_left_out(browser: Actor) -> None:
    assert "Left out, as is every browser window that nothing tells to be ordinary." in text_of(
        browser.get("/welcome").text
    )


def test_the_first_page_says_when_unproved_windows_are_recorded(make_app: Callable[..., Flask]) -> None:
    app = make_app(Settings(privacy=PrivacySettings(mask_maybe_private=False)))
    with app.test_request_context():
        own = services()
        row = next(row for row in setup_rows(own, viewer()) if row.name == "Private windows")
    assert row.verdict == "!" and "are recorded, as you chose" in row.sentence
