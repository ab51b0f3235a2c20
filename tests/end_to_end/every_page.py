"""Every page there is, with everything in it and with nothing yet: ``python -m tests.end_to_end.every_page``
has axe look at each at three widths, in both themes and both languages, closed and with all open that
opens, with its dialogs, and says what is wrong. The test looks at less, in minutes.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from store.core.database import open_database
from store.core.paths import DataDir
from store.search.filters import Filters
from store.search.search import search
from store.sources import entities
from tests.end_to_end import demo_chats, demo_home, demo_memories
from tests.end_to_end.accessibility import FOR_AXE, WIDTHS, violations
from tests.end_to_end.pages_site import NOW_MS, Site, served, visit, with_models
from tests.end_to_end.programs import headless_path
from tests.stub_model import StubModel
from tests.webapp.served import Walk

LANGUAGES = ("en-GB", "zh-CN")
_VARIANTS = 2  # of one page, by what its address says behind the "?"
_OPEN_ALL = "document.querySelectorAll('main details').forEach(each => { each.open = true })"
_SEARCH = '#search-dialog:popover-open, [data-focus-key="/"]:focus'  # the search has a field of its own
_OVER = {"Control+k": "#palette [role=option]", "?": "#keys", "/": _SEARCH, "light": "#now button"}
"""What opens over any page, by the key for it, and what is there then."""


@contextmanager
def full_site(browser: Browser, folder: Path) -> Iterator[Site]:
    """A day with chats, insights, people, imports and models: more days take longer to draw than to fill."""
    database = demo_home.fill(folder / "full", days=1)
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


@contextmanager
def empty_site(folder: Path) -> Iterator[Site]:
    with served(open_database(DataDir(folder / "empty").create())) as running:
        yield Site(running.origin, running.app, 0)


def pages_of_full(site: Site) -> tuple[list[str], set[str]]:
    """(addresses of its pages, states and refusals among them; rules that nothing leads to)."""
    turn, frame = f"{site.answer}/turns/3", site.frame_id
    people = {person.name: person.id for person in entities.find_entities(site.database)}
    more = [
        "/search?q=command",
        f"/frames/{frame}?q=command&hit=2",
        f"/timeline?frame={frame}&q=command&hit=2",
        "/search?q=zzzz&app=Firefox&when=today",
        "/timeline?day=2026-11-15",
        "/chats?q=zzzz",
        f"/memory/entities/{people['A. Bauer']}/merge?into={people['Anna Bauer']}",
        *(f"{turn}{part}" for part in ("", "/events", "/context")),  # linked in some states only
    ]
    return pages_of(site, more)


def pages_of(site: Site, more: list[str]) -> tuple[list[str], set[str]]:
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


def main() -> int:
    """1 where anything is wrong."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=headless_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        with full_site(browser, Path(folder)) as full, empty_site(Path(folder)) as empty:
            errors = [
                "/frames/5",
                "/nowhere",
                "/timeline?from=2&to=1",
                "/chat?from=2&to=1",
                "/search?after=x",
            ]
            for site, pages in ((full, pages_of_full(full)[0] + errors), (empty, pages_of(empty, [])[0])):
                for locale in LANGUAGES:
                    wrong += _swept(browser, site, pages, locale)
        browser.close()
    sys.stdout.write(f"{wrong} wrong\n")
    return int(wrong > 0)


def _swept(browser: Browser, site: Site, pages: list[str], locale: str) -> int:
    found = visit(browser, site, **FOR_AXE, locale=locale)
    kinds, wrong, states = set[str](), 0, 0
    for address in pages:
        page = found.go(address)
        for state in _states(page, kinds):
            for width, height in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": height})
                wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                    broken = violations(page)
                    states += 1
                    if broken or wide > 0:
                        wrong += 1
                        sys.stdout.write(f"{address} {state} {locale} {width} {scheme}: {broken} {wide}\n")
    sys.stdout.write(f"{locale}, {len(pages)} pages: {states} states looked at\n")
    found.context.close()
    return wrong


def _states(page: Page, kinds: set[str]) -> Iterator[str]:
    """Brings the page into each of its states; dialogs of a kind and what opens over any page but once."""
    yield "closed"
    if page.locator("main details").count():
        page.evaluate(_OPEN_ALL)
        yield "open"
    for link in page.locator("a[data-dialog]").all():
        kind = re.sub(r"\d+", "", link.get_attribute("href") or "")
        if kind not in kinds and link.is_visible():
            kinds.add(kind)
            link.click()
            page.locator("dialog:modal").wait_for()
            yield f"dialog {kind}"
            page.keyboard.press("Escape")
    is_framed = page.locator("#palette").count() > 0  # who is not signed in has no way to anywhere
    for key, there in _OVER.items() if is_framed and "over" not in kinds else ():
        page.locator("h1").first.focus()
        page.locator("#capture-light-link").click() if key == "light" else page.keyboard.press(key)
        page.locator(there).first.wait_for()
        yield f"over {key}"
        if page.locator(":popover-open, :modal").count():  # in a search's own field it would empty the search
            page.keyboard.press("Escape")
    kinds |= {"over"} if is_framed else set()


if __name__ == "__main__":
    sys.exit(main())
