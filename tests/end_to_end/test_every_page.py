"""Every page there is, by the app's own list of addresses: with everything in it, and with nothing yet."""

from __future__ import annotations

import html
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

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

_ADDRESS = re.compile(r'="(/[^"#]*)')
_NO_PAGES = ("/api/", "/static/", "/ws/", "/openapi.json", "/metrics")
_VARIANTS = 2  # of one page, by what its address says behind the "?"


@pytest.fixture(scope="module")
def full(browser: Browser, full_days: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Days with chats, insights, people, imports and models."""
    database = open_database(DataDir(shutil.copytree(full_days, tmp_path_factory.mktemp("full") / "home")))
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
        *(f"{turn}{part}" for part in ("", "/events", "/context", "/prompt")),  # linked in some states only
        "/personas/2/edit",
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
    adapter = site.app.url_map.bind("localhost")
    rules = [rule for rule in site.app.url_map.iter_rules() if "GET" in (rule.methods or ())]
    rules = [rule for rule in rules if not rule.rule.startswith(_NO_PAGES)]
    unseen = {rule.rule for rule in rules}
    waiting = [*more, *(rule.rule for rule in rules if not rule.arguments)]
    client, known, pages = site.app.test_client(), set[tuple[str, ...]](), list[str]()
    drawn = Counter[str]()
    headers = {"Authorization": f"Bearer {site.own.token}", "Host": urlsplit(site.origin).netloc}
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        try:
            rule, _ = adapter.match(parts.path, "GET", return_rule=True)
        except (HTTPException, RequestRedirect):
            continue  # where a form is sent
        form = rule.rule, *sorted({name for name, _ in parse_qsl(parts.query)})
        if form in known or rule.rule.startswith(_NO_PAGES):
            continue
        known.add(form)
        answer = client.get(address, headers=headers, buffered=False)
        unseen.discard(rule.rule)
        if answer.mimetype == "text/html" and not 300 <= answer.status_code < 400:
            text = answer.text
            waiting += [html.unescape(found) for found in _ADDRESS.findall(text)]
            if "<main" in text:
                drawn[rule.rule] += 1
                if address in more or drawn[rule.rule] <= _VARIANTS:
                    pages.append(address)
        answer.close()
    return pages, unseen


def _assert_accessible(browser: Browser, site: Site, addresses: list[str]) -> None:
    found = visit(browser, site, **FOR_AXE)
    for address in addresses:
        assert_clean_at_every_width(found.go(address), address)
    found.context.close()
    expected = "Failed to load resource: the server responded with a status of 4"
    assert [text for text in found.complaints if not text.startswith(expected)] == []
