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
from webapp.pages.welcome import excluded


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_every_browser_says_what_tells_of_its_private_windows(browser: Actor) -> None:
    shown = text_of(browser.get("/settings/access").text)
    assert all(known.names[0] in shown for known in BROWSERS)
    chrome = "title of some windows, command line, toolbar"
    assert f"Ungoogled Chromium {chrome} · otherwise hidden" in shown
    assert "Safari title of some windows · otherwise hidden" in shown


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("app=Chromium&title=News+-+Chromium", "The window would be hidden: the window may be private"),
        ("app=Chromium&title=New+Incognito+tab+-+Chromium", "Nothing would be recorded"),
        ("app=Code&title=main.py", "It would be recorded."),
    ],
)
def test_a_tried_window_says_what_becomes_of_it(browser: Actor, query: str, expected: str) -> None:
    assert expected in text_of(browser.get(f"/privacy/test?{query}").text)


def test_the_first_page_says_when_unproved_windows_are_recorded(
    browser: Actor, make_app: Callable[..., Flask]
) -> None:
    shown = text_of(browser.get("/welcome").text)
    assert "Never recorded : works Private windows and password managers" in shown
    app = make_app(Settings(privacy=PrivacySettings(mask_maybe_private=False)))
    with app.test_request_context():
        found = excluded(services(), viewer())
    assert found.kind == "warn" and "unidentified browser windows are recorded" in found.sentence
