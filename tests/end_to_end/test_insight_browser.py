"""A persona made, chosen and heard, an insight told, amended, compared and put back: in a real browser, with
scripts and without.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from assistant.core.models import ChatModels
from assistant.turns.insights import NAME_IT
from store.chats import personas
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.egress import providers
from store.egress.providers import Provider
from store.frames.frames import FrameRow
from store.memory import insights
from store.timeline.segments import heartbeat
from tests.end_to_end.visits import Served, served, visit
from tests.factories import store_frame
from tests.stub_model import Request, StubModel
from webapp import create_app

PROMPT = "Voice: a pirate's.\nShape: one line.\nLength: ten words."


@dataclass
class Site(Served):
    stub: StubModel
    frame: FrameRow

    def identity(self, n: int) -> str:
        """As whom the model was asked in a request."""
        return str(self.stub.requests[n]["messages"][0]["content"])


def said(request: Request) -> str | dict[str, object]:
    """A title when one is asked for; else what tells who was asked to speak, and about what."""
    messages = request["messages"]
    asked = str(messages[-1]["content"])
    if asked.startswith(NAME_IT):
        return "Retention, as it was set"
    voice = "Arr" if str(messages[0]["content"]).startswith("Voice: a pirate") else "You see"
    shorter = ", briefly" if "Shorter" in asked else ""
    return {
        "answer_md": f"{voice}: retention set to 14 days{shorter} [[e1]].",
        "evidence": [{"id": "e1", "quote": "retention set to 14 days"}],
    }


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data_dir = DataDir(tmp_path_factory.mktemp("insights") / "home").create()
    database = open_database(data_dir)
    frame = store_frame(database, data_dir, now_ms() - 60_000, text="retention set to 14 days")
    with database.write() as connection:
        heartbeat(connection, frame)
    with StubModel() as stub:
        stub.reply(said)
        providers.add(data_dir, Provider(0, "stub", stub.base_url, "m", supports_tools=True))
        providers.set_default(data_dir, "stub")
        with served(database, lambda settings: _app(settings, database)) as found:
            yield Site(found.origin, found.app, stub, frame)


def _app(settings: Settings, database: Database) -> Flask:
    return create_app(settings, database, chat_models=ChatModels(settings.chat, {}, database.data_dir))


def told(page: Page, asked_on: str) -> int:
    """The number of the insight that was asked for on a page, once it can be opened.

    Without scripts the page of an answer that takes its time loads itself anew until the link is there.
    """
    expect(page).not_to_have_url(asked_on)
    if "/chat/" in page.url:
        page.get_by_role("link", name="Open the insight").last.click()
    expect(page).to_have_url(re.compile(r"/insights/\d+"))
    found = re.search(r"/insights/(\d+)", page.url)
    assert found
    return int(found[1])


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_from_a_persona_to_an_insight_put_back(
    browser: Browser, site: Site, scripts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("insights", "chats.routes", "chats.turns") if scripts else ():
        # Every answer is followed, however quick it is.
        monkeypatch.setattr(f"webapp.pages.{module}.PATIENCE_S", 0)
    page = visit(browser, site, java_script_enabled=scripts).page

    # A persona: tried before it is saved, made, chosen.
    page.goto(f"{site.origin}/personas/new")
    page.get_by_label("Name").fill("Pirate")
    page.get_by_label("Instructions").fill(PROMPT)
    page.get_by_role("button", name="Try it before saving").click()
    expect(page.locator("#tried")).to_contain_text("Arr: retention set to 14 days")
    assert [each.name for each in personas.list_personas(site.database)] == ["Assistant", "Journal"]
    page.get_by_role("button", name="Add the voice").click()
    page.get_by_role("button", name="Let it speak").click()
    expect(page.locator(".persona-list a[aria-current]")).to_contain_text("Speaks now")

    # A chat with a style note, which is gone afterwards.
    page.goto(f"{site.origin}/chat")
    page.locator("#message").fill("What did I set?")
    page.click(".composer .more > summary")
    page.get_by_placeholder("Style note").fill("In rhyme.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".turn .answer")).to_contain_text("Arr")
    assert site.identity(1).startswith(f"{PROMPT}\n\nIn rhyme.\n\n")
    expect(page.get_by_placeholder("Style note")).to_have_value("")

    # An insight of the frame.
    page.goto(f"{site.origin}/frames/{site.frame.id}")
    asked_on = page.url
    page.get_by_role("button", name="Write an insight").click()
    first = told(page, asked_on)
    expect(page.locator(".answer").first).to_contain_text("Arr: retention set to 14 days")
    expect(page.locator(".answer .quote").first).to_be_visible()

    # Amended without the note, told again as another persona, compared, put back.
    page.get_by_label("What should be different?").fill("Shorter, please.")
    page.get_by_label("Style note, for this once").first.fill("In rhyme.")
    asked_on = page.url
    page.get_by_role("button", name="Amend without the note").click()
    second = told(page, asked_on)
    assert insights.messages(site.database, second)[0]["content"] == PROMPT
    page.goto(f"{site.origin}/insights/{second}?compare={first}")
    expect(page.locator(".difference .added")).to_contain_text("briefly")
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    if scripts:
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found] == []
    page.get_by_role("button", name="Make version 1 the current one").click()
    expect(page).to_have_url(f"{site.origin}/insights/{first}")
    expect(page.get_by_text("Current", exact=True).first).to_be_visible()
    assert [each.id for each in insights.list_insights(site.database)] == [first]
    page.context.close()
