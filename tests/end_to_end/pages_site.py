"""A home of three full days, served for all browser tests that look at pages of it.

It takes eighteen seconds to fill, so there is one for the whole package: a test that changes something
changes it back, or touches what no other test asks about.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page

from assistant.core.models import ChatModels
from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.egress import egress_log, providers
from store.egress.egress_log import OutgoingRequest
from store.egress.providers import Provider
from store.search.filters import Filters
from store.search.search import search
from store.sources.calendars import EventRecord
from store.sources.locations import PointRecord
from store.sources.messages import MessageRecord
from tests.end_to_end import demo_home
from tests.sources import put_events, put_messages, put_points
from webapp import create_app
from webapp.core.services import Services
from webapp.security.access import make_launch_code
from webapp.serving.server import Server

NOW_MS = round(demo_home.NOW.timestamp() * 1000)


@dataclass
class Site:
    """The running app, and what a visitor may ask of it."""

    origin: str
    own: Services
    frame_id: int
    answer: str = ""
    cite: str = ""

    def launch(self) -> str:
        return f"{self.origin}/launch?code={make_launch_code(self.own.token, NOW_MS)}"


@dataclass
class Visit:
    """A signed-in browser and everything it complained about."""

    context: BrowserContext
    page: Page
    site: Site
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.site.origin}{path}")
        return self.page


@contextmanager
def served(database: Database, chat_models: ChatModels | None = None) -> Iterator[tuple[str, Flask]]:
    """(origin, app) of a home whose pages are served while the block runs, always at `NOW_MS`."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    settings = replace(Settings(), web=replace(Settings().web, port=port))
    models = chat_models or ChatModels(settings.chat, {}, database.data_dir)
    app = create_app(settings, database, chat_models=models, clock=lambda: NOW_MS)
    server = Server(app, listener, database.close_thread)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}", app
    server.stop()
    thread.join(60)
    listener.close()
    database.close_thread()


@contextmanager
def pages_site(data_dir: DataDir) -> Iterator[Site]:
    """The full home, filled and served."""
    database = demo_home.fill(data_dir)
    demo_home.recording(data_dir, NOW_MS)
    _with_models(database)
    _with_sources(database)
    hit = search(database, "command", Filters(0), order="newest").hits[0]
    with served(database) as (origin, app):
        yield Site(origin, app.extensions["recollect"], hit.frame_id)


def _with_sources(database: Database) -> None:
    """Messages, events and positions; of places there are none yet."""
    words = "A message with a_very_long_name_of_a_file_that_does_not_break_anywhere_by_itself.tar.gz " * 3
    put_messages(database, [MessageRecord("sms", NOW_MS - n, n % 2 == 0, words, "+49170") for n in range(60)])
    put_events(database, [EventRecord("Review", NOW_MS, NOW_MS, attendees=("Anna",), is_all_day=True)])
    put_points(database, [PointRecord(NOW_MS, 48.1, -171.512345, 12.0)])


def _with_models(database: Database) -> None:
    """A model that may be asked, one that waits for a permission, and something that was sent."""
    cloud = Provider(0, "cloud", "https://api.example/v1", "big", "sk-1", "api.example")
    providers.add(database.data_dir, cloud)
    providers.add(database.data_dir, replace(cloud, name="waiting", allowed_host=""))
    providers.set_default(database.data_dir, "extractive")
    body = '{"model": "big", "messages": [{"role": "user", "content": "Answer with JSON."}]}'
    leaving = OutgoingRequest(
        "test", NOW_MS, "cloud", "big", "https://api.example/v1/chat/completions", False, body, len(body)
    )
    egress_log.record(database, leaving)
    day_ms = 24 * 3_600_000
    egress_log.record(
        database,
        replace(leaving, purpose="embed", body=None, texts=12, first_ms=NOW_MS - day_ms, last_ms=NOW_MS),
    )


def visit(browser: Browser, site: Site, **options: Any) -> Visit:
    settings = {"viewport": {"width": 1440, "height": 900}, "timezone_id": "Asia/Shanghai", "locale": "en-GB"}
    context = browser.new_context(**{**settings, **options})
    context.clock.set_fixed_time(demo_home.NOW)
    page = context.new_page()
    found = Visit(context, page, site)
    page.on("console", lambda m: found.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.goto(site.launch())
    return found


def ask_first(browser: Browser, site: Site) -> None:
    """Ask what the citations of all tests belong to."""
    found = visit(browser, site, java_script_enabled=False)
    page = found.go("/chat")
    page.fill("#message", "What did I do today?")
    page.select_option("select[name=when]", "today")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/chat/*#t1")
    site.answer = page.url.removeprefix(site.origin)
    site.cite = page.locator("a.cite").first.get_attribute("href") or ""
    found.context.close()
    _sent_for(site)


def _sent_for(site: Site) -> None:
    """What a model would have been sent for the answer, which the built-in one wrote."""
    chat_id = int(site.answer.split("#")[0].rsplit("/", 1)[1])
    turn = conversations.turn(site.own.database, chat_id, 1)
    assert turn is not None
    body = '{"model": "big", "messages": [{"role": "user", "content": "What did I do today?"}]}'
    leaving = OutgoingRequest(
        "answer", NOW_MS, "cloud", "big", "https://api.example/v1/chat/completions", False, body, len(body),
        turn.id,
    )  # fmt: skip
    egress_log.record(site.own.database, leaving)
