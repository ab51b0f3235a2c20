"""The real server with a model that streams from a script, behind a relay, for a browser to talk to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from assistant.core.models import ChatModels
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings
from store.core.times import now_ms
from tests.end_to_end.relay import Relay
from tests.stub_model import StubModel
from webapp import create_app
from webapp.core.services import Services
from webapp.security.access import make_launch_code
from webapp.serving.server import Server


@dataclass(frozen=True, slots=True)
class TalkSite:
    """`origin` is the relay's: what runs over it can be cut."""

    relay: Relay
    stub: StubModel
    own: Services
    notes: Path  # a folder that the file tools may read

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.relay.port}"

    def launch(self) -> str:
        return f"{self.origin}/launch?code={make_launch_code(self.own.token, self.own.clock())}"


@dataclass(slots=True)
class Talk:
    """A signed-in page and everything it complained about."""

    context: BrowserContext
    page: Page
    site: TalkSite
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.site.origin}{path}")
        return self.page

    def ask(self, question: str) -> None:
        """Write a question and send it."""
        self.page.fill("#message", question)
        self.page.get_by_role("button", name="Send", exact=True).click()


@contextmanager
def talk_site(
    folder: Path, database: Database | None = None, *, sees: bool = False, answer_s: float = 60
) -> Iterator[TalkSite]:
    """A site on a home below `folder`, or on the home of `database`; its model `sees` images, and has
    `answer_s` for an answer.
    """
    notes = folder / "notes"
    notes.mkdir()
    (notes / "plan.txt").write_text("the plan for monday", encoding="utf-8")
    database = database or open_database(DataDir(folder / "home").create())
    with StubModel() as stub, Relay() as relay, socket.create_server(("127.0.0.1", 0)) as listener:
        relay.target = listener.getsockname()[1]
        entry = ChatModelSettings(
            "stub", stub.base_url, "stub",
            supports_tools=True, supports_vision=sees, context_tokens=32_768,  # room for every tool
        )  # fmt: skip
        settings = Settings(
            chat=ChatSettings(models=(entry,), timeout_s=answer_s),
            tools=ToolsSettings(read_file_roots=(str(notes),)),
        )
        settings = replace(settings, web=replace(settings.web, port=relay.port))
        models = ChatModels(settings.chat, {})
        app = create_app(settings, database, chat_models=models, clock=now_ms)
        server = Server(app, listener, database.close_thread)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        yield TalkSite(relay, stub, app.extensions["recollect"], notes)
        relay.drop()
        server.stop()
        thread.join(60)
        models.close()
        database.close_thread()


def talk(browser: Browser, site: TalkSite, **options: Any) -> Talk:
    """A visitor of the site."""
    settings = {"viewport": {"width": 1440, "height": 900}, "timezone_id": "Asia/Shanghai", "locale": "en-GB"}
    context = browser.new_context(**{**settings, **options})
    page = context.new_page()
    found = Talk(context, page, site)
    page.on("console", lambda m: found.complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.goto(site.launch())
    return found
