"""What pages of other sites try in a real browser that is signed in: they learn nothing and change nothing.

Each attack runs from another port of the same host, for cookies the same site, and from another name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Response, request
from playwright.sync_api import Browser, BrowserContext, Page

from store.core.database import Database
from store.core.paths import DataDir
from store.egress import access_keys
from tests.end_to_end.conftest import launched
from tests.end_to_end.hostile_site import LEAVES, OPENS, READS, WRITES, Hostile, hostile_site
from tests.end_to_end.pages_site import NOW_MS, Site, served, visit
from tests.end_to_end.programs import chromium_path, eventually
from tests.factories import store_frame
from tests.tables import for_each
from webapp.security.access import make_launch_code

SECRET = "xylophone quark"
NAMES = ("127.0.0.1", "evil.localhost")
OWN = "X-Own-Page"
"""Said with every request of the signed-in page's own visit: a picture of it may be answered late."""


@dataclass
class Seen:
    """What Recollect was asked by others than its own page, and how it answered."""

    asked: list[tuple[str, str, int, str]] = field(default_factory=list)

    def note(self, response: Response) -> Response:
        if OWN in request.headers:
            return response
        site = request.headers.get("Sec-Fetch-Site", "-")
        self.asked.append((request.method, request.full_path, response.status_code, site))
        return response

    def let_in(self) -> list[tuple[str, str, int, str]]:
        """What was answered, but for the style of the page without data."""
        return [
            each
            for each in self.asked
            if each[2] < 400 and not (each[1].startswith("/static/") and each[3] == "same-origin")
        ]


@dataclass
class Battle:
    """A signed-in browser with one page, Recollect and a hostile site."""

    context: BrowserContext
    page: Page
    frame: str
    seen: Seen
    hostile: Hostile
    database: Database

    def state(self) -> Any:
        """What an attack could have changed."""
        home = self.database.data_dir.home
        tables = [
            name
            for name in self.database.column("select name from sqlite_schema where type = 'table'")
            if not name.startswith(("sqlite_", "readings_"))
        ]
        counts = {name: self.database.scalar(f"select count(*) from {name}") for name in tables}
        files = {str(path): path.read_bytes() for path in home.glob("*.json")}
        pause = (home / "spool" / "pause.json").exists()
        return counts, files, pause, [key.id for key in access_keys.listed(self.database)]


@pytest.fixture(scope="module")
def browser(browser: Browser) -> Iterator[Browser]:
    """The whole Chromium, as people have it."""
    with launched(browser.browser_type, chromium_path()) as whole:
        yield whole


@pytest.fixture
def battle(browser: Browser, database: Database, data_dir: DataDir) -> Iterator[Battle]:
    frame = store_frame(database, data_dir, NOW_MS - 60_000, text=SECRET)
    seen = Seen()
    with served(database) as running:
        running.app.after_request(seen.note)
        origin = running.origin
        found = visit(browser, Site(origin, running.app, frame.id), extra_http_headers={OWN: "1"})
        shown = f"{origin}/frames/{frame.id}"
        found.page.goto(shown)
        assert SECRET in found.page.content()
        found.page.goto("about:blank")  # from here on our own page asks for nothing
        found.context.set_extra_http_headers({})
        code = make_launch_code(running.own.token, NOW_MS)
        with hostile_site(
            origin, frame.id, code, lambda: eventually(lambda: seen.asked, what="a request")
        ) as site:
            yield Battle(found.context, found.page, shown, seen, site, database)
        page = found.context.new_page()  # the other may still be on its way to where an attack sent it
        page.goto(shown)
        assert SECRET in page.content()  # still signed in
        page = found.context.new_page()  # nor does a script of this one go anywhere in between
        page.goto(f"{origin}/launch?code={code}")
        assert page.url.startswith(origin) and "launch" not in page.url  # the code was not used up
        found.context.close()


def _attack(battle: Battle, name: str, script: str, *, leaves: bool = False) -> str:
    """What a page of the hostile site under this name learnt by a script."""
    battle.seen.asked.clear()
    page = battle.page
    page.goto(f"http://{name}:{battle.hostile.port}{battle.hostile.page(script)}")
    if leaves:
        page.wait_for_url(f"{battle.hostile.victim}/**")
        learnt = page.content()
    else:
        page.wait_for_function("document.title === 'done'")
        learnt = page.evaluate("got")
    for other in battle.context.pages[1:]:
        assert SECRET not in other.content()
        other.close()
    return str(learnt)


@pytest.mark.parametrize("name", NAMES)
def test_no_page_of_another_site_learns_or_changes_anything(battle: Battle, name: str) -> None:
    before = battle.state()
    scripts = {**READS, **WRITES, **OPENS}
    assert len(scripts) + len(LEAVES) >= 80

    @for_each("attack", [*scripts, *LEAVES])
    def each(attack: str) -> None:
        learnt = _attack(battle, name, scripts.get(attack) or LEAVES[attack], leaves=attack in LEAVES)
        assert SECRET not in learnt and "OPENED" not in learnt and '"frames"' not in learnt, learnt
        assert battle.seen.let_in() == []
        assert battle.seen.asked or attack in ("worker",), learnt

    each()
    assert battle.state() == before
    assert SECRET not in "".join(battle.hostile.sent)


@for_each("name", ["rebound.localhost", "localhost.", "127.0.0.1.localhost"])
def test_a_name_that_is_pointed_at_us_learns_nothing(battle: Battle, name: str) -> None:
    """DNS rebinding: to the browser the hostile page and Recollect are one site."""
    address = battle.hostile.victim.replace("127.0.0.1", name)
    html = "<script>fetch('/api/v1/stats').then((a) => a.text()).then((t) => { document.title = t })</script>"
    battle.context.route(
        f"{address}/rebound", lambda route: route.fulfill(body=html, content_type="text/html")
    )
    battle.seen.asked.clear()
    battle.page.goto(f"{address}/rebound")
    battle.page.wait_for_function("document.title !== ''")
    assert "wrong_host" in battle.page.title()
    assert battle.seen.asked and battle.seen.let_in() == []


@for_each("path", ["/", "/frames", "/api"])
def test_cookies_that_another_port_sets_sign_nobody_out(battle: Battle, path: str) -> None:
    port = battle.hostile.victim.rpartition(":")[2]
    script = f"document.cookie = 'recollect_{port}=planted; path={path}'; await fetch(V, {{mode: 'no-cors'}})"
    _attack(battle, "127.0.0.1", script)
    battle.page.goto(battle.frame)
    assert SECRET in battle.page.content()
