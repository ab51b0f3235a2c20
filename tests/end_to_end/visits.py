"""Apps that are served to a browser, and visitors who are signed in to them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page

from store.core.database import Database
from store.core.settings import Settings
from webapp.core.services import Services
from webapp.security.access import make_launch_code
from webapp.serving.server import Server


@dataclass
class Served:
    """An app at an address, and what it stands on."""

    origin: str
    app: Flask

    @property
    def own(self) -> Services:
        services: Services = self.app.extensions["recollect"]
        return services

    @property
    def database(self) -> Database:
        return self.own.database

    def launch(self) -> str:
        """A link that signs a browser in."""
        return f"{self.origin}/launch?code={make_launch_code(self.own.token, self.own.clock())}"


S = TypeVar("S", bound=Served)


@dataclass
class Visit(Generic[S]):
    """A signed-in browser and everything it complained about."""

    context: BrowserContext
    page: Page
    site: S
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.site.origin}{path}")
        return self.page

    def ask(self, question: str) -> None:
        """Write a question and send it."""
        self.page.fill("#message", question)
        self.page.get_by_role("button", name="Send", exact=True).click()


@contextmanager
def served(database: Database, make_app: Callable[[Settings], Flask]) -> Iterator[Served]:
    """The app that is made with settings which name its port, while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = make_app(replace(Settings(), web=replace(Settings().web, port=port)))
        server = Server(app, listener, database.close_thread)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        found = Served(f"http://127.0.0.1:{port}", app)
        yield found
        server.stop()
        thread.join(60)
        found.own.chat_models.close()
        database.close_thread()


def visit(browser: Browser, site: S, now: datetime | None = None, **options: Any) -> Visit[S]:
    """A browser that was signed in by a launch link and has told its zone before, on an empty page.

    What a link leads to, the timeline, is heavier than most of what tests look at, so it is not drawn here.
    """
    settings = {"viewport": {"width": 1440, "height": 900}, "timezone_id": "Asia/Shanghai", "locale": "en-GB"}
    settings |= options
    context = browser.new_context(**settings)
    assert context.request.get(site.launch(), max_redirects=0).status == 303
    if settings.get("java_script_enabled", True):
        context.add_cookies([{"name": "tz", "value": str(settings["timezone_id"]), "url": site.origin}])
    if now:
        context.clock.set_fixed_time(now)
    page = context.new_page()
    found = Visit(context, page, site)
    page.on("console", lambda m: found.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    return found
