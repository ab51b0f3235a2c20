"""Pages of people, facts, days, insights, sources and personas with something in them, at every width."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from store.core.paths import DataDir
from store.search.filters import Filters
from store.search.search import search
from tests.end_to_end import demo_home, demo_memories
from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.pages_site import Site, served, visit
from tests.end_to_end.test_pages_browser import assert_accessible


@pytest.fixture(scope="module")
def remembering(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, list[str]]]:
    """A day with all of it, and the addresses to look at."""
    database = demo_home.fill(DataDir(tmp_path_factory.mktemp("memories") / "home").create(), days=1)
    demo_memories.fill(database)
    frame_id = search(database, "command", Filters(0), order="newest").hits[0].frame_id
    with served(database) as running:
        site = Site(running.origin, running.app, frame_id)
        found = visit(browser, site)
        told = demo_memories.tell(found.page, site.origin, frame_id)
        found.context.close()
        yield site, [*(told | demo_memories.pages(database)).values()]


def test_pages_with_content_are_accessible_and_fit(
    browser: Browser, remembering: tuple[Site, list[str]]
) -> None:
    site, paths = remembering
    assert_accessible(browser, site, paths)


def test_what_a_persona_would_say_is_accessible_and_fits(
    browser: Browser, remembering: tuple[Site, list[str]]
) -> None:
    site, _ = remembering
    found = visit(browser, site, **FOR_AXE)
    page = found.go("/personas/2")
    page.get_by_role("button", name="Try it before saving").click()
    page.locator("#tried").wait_for()
    assert_clean_at_every_width(page, "tried")
    found.context.close()
