"""Every page there is, by the app's own list of addresses: with everything in it, and with nothing yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.conftest import MOST_S
from tests.end_to_end.every_page import empty_site, full_site, pages_of, pages_of_full
from tests.end_to_end.pages_site import Site, visit


@pytest.fixture(scope="module")
def full(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with full_site(browser, tmp_path_factory.mktemp("full")) as site:
        yield site


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with empty_site(tmp_path_factory.mktemp("empty")) as site:
        yield site


@pytest.mark.timeout(3 * MOST_S)  # ninety pages, each looked at thrice
def test_every_page_is_accessible_and_fits(browser: Browser, full: Site) -> None:
    """axe finds nothing in either theme, nothing scrolls sideways, no content policy report."""
    pages, unseen = pages_of_full(full)
    assert unseen == set()
    _assert_accessible(browser, full, pages)


def test_every_page_of_an_empty_home_is_accessible_and_fits(browser: Browser, empty: Site) -> None:
    _assert_accessible(browser, empty, pages_of(empty, [])[0])


def test_what_a_persona_would_say_is_accessible_and_fits(browser: Browser, full: Site) -> None:
    found = visit(browser, full, **FOR_AXE)
    page = found.go("/personas/2")
    page.get_by_role("button", name="Try it before saving").click()
    page.locator("#tried").wait_for()
    assert_clean_at_every_width(page, "tried")
    found.context.close()


def _assert_accessible(browser: Browser, site: Site, addresses: list[str]) -> None:
    found = visit(browser, site, **FOR_AXE)
    for address in addresses:
        assert_clean_at_every_width(found.go(address), address)
    found.context.close()
    expected = "Failed to load resource: the server responded with a status of 4"
    assert [text for text in found.complaints if not text.startswith(expected)] == []
