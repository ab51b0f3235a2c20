"""Every page there is, by the app's own list of addresses: with everything in it, and with nothing yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from store.core.database import open_database
from store.core.paths import DataDir
from store.search.filters import Filters
from store.search.search import search
from store.sources import entities
from tests.end_to_end import demo_chats, demo_home, demo_memories
from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.conftest import MOST_S
from tests.end_to_end.pages_site import NOW_MS, Site, served, visit, with_models
from tests.stub_model import StubModel
from tests.webapp.served import Walk

_VARIANTS = 2  # of one page, by what its address says behind the "?"


@pytest.fixture(scope="module")
def full(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A day with chats, insights, people, imports and models: more days take longer to draw than to fill."""
    database = demo_home.fill(tmp_path_factory.mktemp("full") / "home", days=1)
    demo_memories.fill(database)
    demo_home.recording(database.data_dir, NOW_MS)
    with_models(database)
    frame_id = search(database, "command", Filters(0), order="newest").hits[0].frame_id
    with StubModel() as stub, served(database) as running:
        site = Site(running.origin, running.app, frame_id)
        found = visit(browser, site)
        demo_memories.tell(found.page, site.origin, frame_id)
        session_id = demo_chats.past(site.own)
        demo_chats.add_model(site.own, stub)
        site.answer = demo_chats.ask(found.page, site.origin)
        demo_chats.pages(site.own, site.answer, session_id)
        found.context.close()
        yield site


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(open_database(DataDir(tmp_path_factory.mktemp("empty") / "home").create())) as running:
        yield Site(running.origin, running.app, 0)


@pytest.mark.timeout(3 * MOST_S)  # ninety pages, each looked at thrice
def test_every_page_is_accessible_and_fits(browser: Browser, full: Site) -> None:
    """axe finds nothing in either theme, nothing scrolls sideways, no content policy report."""
    turn = f"{full.answer}/turns/3"
    people = {person.name: person.id for person in entities.find_entities(full.database)}
    more = [
        "/search?q=command",
        f"/frames/{full.frame_id}?q=command&hit=2",
        f"/timeline?frame={full.frame_id}&q=command&hit=2",
        "/search?q=zzzz&app=Firefox&when=today",
        "/timeline?day=2026-11-15",
        "/chats?q=zzzz",
        f"/memory/entities/{people['A. Bauer']}/merge?into={people['Anna Bauer']}",
        *(f"{turn}{part}" for part in ("", "/events", "/context")),  # linked in some states only
    ]
    pages, unseen = _pages(full, more)
    assert unseen == set()
    _assert_accessible(browser, full, pages)


def test_every_page_of_an_empty_home_is_accessible_and_fits(browser: Browser, empty: Site) -> None:
    _assert_accessible(browser, empty, _pages(empty, [])[0])


def test_what_a_persona_would_say_is_accessible_and_fits(browser: Browser, full: Site) -> None:
    found = visit(browser, full, **FOR_AXE)
    page = found.go("/personas/2")
    page.get_by_role("button", name="Try it before saving").click()
    page.locator("#tried").wait_for()
    assert_clean_at_every_width(page, "tried")
    found.context.close()


def _pages(site: Site, more: list[str]) -> tuple[list[str], set[str]]:
    """(addresses of whole pages, rules that nothing leads to): from the rules without arguments and from
    `more`, by every address that stands in what they answer.
    """
    headers = {"Authorization": f"Bearer {site.own.token}", "Host": urlsplit(site.origin).netloc}
    walk, pages, drawn = Walk(site.app, headers, more), list[str](), Counter[str]()
    for address, rule, source in walk:
        if "<main" in source:
            drawn[rule] += 1
            if address in more or drawn[rule] <= _VARIANTS:
                pages.append(address)
    return pages, walk.unseen


def _assert_accessible(browser: Browser, site: Site, addresses: list[str]) -> None:
    found = visit(browser, site, **FOR_AXE)
    for address in addresses:
        assert_clean_at_every_width(found.go(address), address)
    found.context.close()
    expected = "Failed to load resource: the server responded with a status of 4"
    assert [text for text in found.complaints if not text.startswith(expected)] == []
