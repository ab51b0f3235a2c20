"""What people come for, done with the keyboard alone: with scripts, and in a browser that runs none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.end_to_end.every_page import full_site
from tests.end_to_end.pages_site import Site, visit
from webapp.core import providers

_MOST = 200  # stops of one page


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with full_site(browser, tmp_path_factory.mktemp("jobs")) as site:
        providers.set_default(site.own, "extractive")  # which cites
        yield site


@dataclass
class Hands:
    """Somebody without a pointer."""

    page: Page
    has_scripts: bool

    def to(self, target: Locator) -> None:
        """Tab until it has the focus."""
        expect(target).to_be_visible()
        for _ in range(_MOST):
            if target.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"no key leads to {target}")

    def enter(self, target: Locator) -> None:
        self.to(target)
        self.page.keyboard.press("Enter")

    def go(self, place: str) -> None:
        self.enter(self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=place))
        expect(self.page.locator("h1")).to_be_visible()


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def hands(browser: Browser, site: Site, request: pytest.FixtureRequest) -> Iterator[Hands]:
    found = visit(browser, site, java_script_enabled=request.param)
    yield Hands(found.go("/timeline"), request.param)
    found.context.close()
    assert found.complaints == []


def test_a_question_is_asked_and_its_proof_opened(hands: Hands) -> None:
    page = hands.page
    hands.go("Ask")
    hands.to(page.locator("#message"))
    page.keyboard.type("What did I do today?")
    hands.enter(page.get_by_role("button", name="Send", exact=True))
    expect(page.locator(".went")).to_be_visible()
    hands.enter(page.locator(".quote figcaption a").first)
    expect(page).to_have_url(re.compile("/frames/"))
    hands.enter(page.get_by_role("link", name="Back to answer"))
    expect(page.locator(".went")).to_be_visible()


def test_words_are_found_on_a_frame(hands: Hands) -> None:
    page = hands.page
    hands.go("Search")
    hands.to(page.locator("#q"))
    page.keyboard.type("command")
    if not hands.has_scripts:
        page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=command"))
    hands.enter(page.locator("[data-hit]").first)
    expect(page).to_have_url(re.compile("/frames/"))
    expect(page.locator(".current rect").first).to_be_attached()


def test_an_episode_of_a_day_is_opened(hands: Hands) -> None:
    page = hands.page
    hands.go("Days")
    hands.enter(page.locator(".episode > summary").filter(visible=True).first)
    if not hands.has_scripts:
        hands.enter(page.get_by_role("link", name="Show the quotes and pictures").first)
    hands.enter(page.locator(".episode[open] a[href^='/frames/']").filter(visible=True).first)
    expect(page).to_have_url(re.compile("/frames/"))


def test_the_last_minutes_are_deleted_after_a_preview(hands: Hands) -> None:
    page, stretch = hands.page, "Last 30 min" if hands.has_scripts else "Last 2 h"
    hands.go("Settings")
    hands.enter(page.get_by_role("link", name="Privacy", exact=True))
    hands.enter(page.get_by_role("link", name=stretch))
    hands.to(page.locator("[name=confirm]"))
    page.keyboard.type("DELETE")
    page.keyboard.press("Enter")
    expect(page.locator("#erase")).to_contain_text("nothing of it is left")
    hands.enter(page.locator("#erase").get_by_role("link", name="Close"))
    expect(page.locator("#erase [name=confirm]")).to_have_count(0)


def test_recording_is_paused_and_resumed(hands: Hands) -> None:
    page, light = hands.page, hands.page.locator("#capture-light-link")
    hands.enter(light)
    hands.enter(page.get_by_role("button", name=re.compile("15 min")))
    expect(light).to_contain_text("Paused")
    hands.enter(light)
    hands.enter(page.get_by_role("button", name=re.compile("Resume")))
    expect(light).to_contain_text("REC")
