"""A home of three full days, served for all browser tests that look at pages of it.

There is one for the whole package: a test that changes something changes it back, or touches what no
other test asks about.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from flask import Flask
from playwright.sync_api import Browser

from assistant.core.models import ChatModels
from store.chats import conversations
from store.core.database import Database
from store.core.settings import Settings
from store.egress import egress_log, providers
from store.egress.egress_log import OutgoingRequest
from store.egress.providers import Provider
from store.search.filters import Filters
from store.search.search import search
from tests.end_to_end import demo_home, visits
from tests.end_to_end.visits import Served
from webapp import create_app

NOW_MS = round(demo_home.NOW.timestamp() * 1000)


@dataclass
class Site(Served):
    """The running app, and what a visitor may ask of it."""

    frame_id: int
    answer: str = ""
    cite: str = ""


Visit = visits.Visit[Site]


@contextmanager
def served(database: Database) -> Iterator[Served]:
    """The pages of a home, served while the block runs, always at `NOW_MS`."""

    def app(settings: Settings) -> Flask:
        models = ChatModels(settings.chat, {}, database.data_dir)
        return create_app(settings, database, chat_models=models, clock=lambda: NOW_MS)

    with visits.served(database, app) as found:
        yield found


@contextmanager
def pages_site(database: Database) -> Iterator[Site]:
    """The full home, served."""
    demo_home.recording(database.data_dir, NOW_MS)
    with_models(database)
    hit = search(database, "command", Filters(0), order="newest").hits[0]
    with served(database) as found:
        yield Site(found.origin, found.app, hit.frame_id)


def with_models(database: Database) -> None:
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
    """A visitor at `NOW_MS`."""
    return visits.visit(browser, site, demo_home.NOW, **options)


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
