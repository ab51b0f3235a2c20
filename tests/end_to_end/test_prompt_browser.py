"""The editor of a system prompt and the blocks that were sent, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from flask import Flask
from playwright.sync_api import Browser, Locator, Page, Route, expect

from assistant.core.models import ChatModels
from store.chats import prompts
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.egress import providers
from store.egress.providers import Provider
from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.programs import eventually
from tests.end_to_end.visits import Served, served, visit
from tests.factories import store_frame
from tests.stub_model import StubModel
from webapp import create_app

QWEN = "library/qwen3:8b"
EDITOR = f"/settings/models?model={QWEN}#prompt"
SAVED = re.compile("^Saved ")


@dataclass
class Site(Served):
    chat: str = ""

    def prompt(self, model: str = QWEN) -> str:
        return prompts.get_prompt(self.database, model)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data_dir = DataDir(tmp_path_factory.mktemp("prompts") / "home").create()
    database = open_database(data_dir)
    store_frame(database, data_dir, now_ms() - 60_000, text="retention set to 14 days")
    with StubModel() as stub:
        stub.reply({"answer_md": "14 days [[e1]].", "evidence": [{"id": "e1", "quote": "14 days"}]})
        for name in (QWEN, "with-tools"):
            added = Provider(0, name, stub.base_url, "m", supports_tools=name != QWEN)
            providers.add(data_dir, added)
        with served(database, lambda settings: _app(settings, database)) as found:
            yield Site(found.origin, found.app)


def _app(settings: Settings, database: Database) -> Flask:
    return create_app(settings, database, chat_models=ChatModels(settings.chat, {}, database.data_dir))


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The editor with nothing in it."""
    for model in (QWEN, "with-tools"):
        prompts.save(site.database, model, "", now_ms(), saved_by="program")
    found = visit(browser, site)
    edit(found.page, site)
    yield found.page
    found.context.close()
    assert [each for each in found.complaints if "Failed to load resource" not in each] == []


def edit(page: Page, site: Site) -> None:
    """Open the editor, and wait for its script, which comes after the page."""
    page.goto(f"{site.origin}{EDITOR}")
    page.locator("[data-prompt][data-ready]").wait_for()


def state(page: Page) -> Locator:
    return page.locator("[data-prompt-state]")


def type_in(page: Page, text: str) -> None:
    page.locator("#prompt-text").press_sequentially(text)


def is_stored(site: Site, text: str) -> None:
    eventually(lambda: site.prompt() == text, what=f"{text[:40]!r} in the store")


def assert_saved(page: Page, site: Site, text: str) -> None:
    """The page says "Saved" of an earlier text too, so the store is asked first."""
    is_stored(site, text)
    expect(state(page)).to_have_text(SAVED)


def test_it_saves_itself_and_counts(page: Page, site: Site) -> None:
    expect(page.locator("#prompt").get_by_role("button", name="Save", exact=True)).to_be_hidden()
    type_in(page, "Brief. 今天")
    expect(page.locator("#prompt-count")).to_contain_text("9 of 8,000 characters")
    assert_saved(page, site, "Brief. 今天")
    expect(page.locator("#prompt-count")).to_have_text("9 of 8,000 characters, about 4 tokens")
    page.reload()
    expect(page.locator("#prompt-text")).to_have_value("Brief. 今天")


def test_switching_the_model_saves_and_loads_its_own(page: Page, site: Site) -> None:
    type_in(page, "not saved yet")
    page.select_option("[data-prompt-model]", "with-tools")
    expect(page).to_have_url(re.compile("model=with-tools"))
    assert site.prompt() == "not saved yet"
    expect(page.locator("#prompt-text")).to_have_value("")


def test_what_was_just_typed_is_saved_when_the_page_goes(page: Page, site: Site) -> None:
    type_in(page, "last words")
    page.goto(f"{site.origin}/status")
    is_stored(site, "last words")  # it goes out as the page goes, beside what the next page asks for
    page.goto(f"{site.origin}{EDITOR}")
    expect(page.locator("#prompt-text")).to_have_value("last words")


def test_what_cannot_be_saved_stays_and_is_tried_again(page: Page, site: Site) -> None:
    page.context.set_offline(True)
    type_in(page, "offline")
    expect(state(page)).to_have_text(re.compile("^Not saved"))
    page.select_option("[data-prompt-model]", "with-tools")  # it does not lead away from unsaved words
    expect(page.locator("[data-prompt-model]")).to_have_value(QWEN)
    expect(page.locator("#prompt-text")).to_have_value("offline")
    page.context.set_offline(False)
    page.get_by_role("button", name="Retry").click()
    assert_saved(page, site, "offline")


def test_too_long_a_text_stays_and_is_refused_in_words(page: Page, site: Site) -> None:
    page.locator("#prompt-text").fill("x" * 8_010)
    expect(page.locator("#prompt-facts")).to_contain_text("Not saved: the text has 8010 characters")
    expect(page.locator("[data-prompt-limit]")).to_have_text("Characters too many: 10")
    page.locator("#prompt-text").fill("x" * 8_000)
    assert_saved(page, site, "x" * 8_000)


def test_a_change_elsewhere_is_shown_beside_ones_own(page: Page, site: Site) -> None:
    prompts.save(site.database, QWEN, "by a program", now_ms(), saved_by="program")
    type_in(page, "mine")
    expect(page.locator("#prompt-facts")).to_contain_text("Not saved: a program changed this")
    assert site.prompt() == "by a program"
    page.get_by_role("button", name="Keep mine").click()
    expect(page.locator("#prompt-facts")).not_to_contain_text("changed this")
    expect(page.locator("#prompt-text")).to_have_value("mine")
    is_stored(site, "mine")


def test_clearing_asks_nothing_and_can_be_undone(page: Page, site: Site) -> None:
    type_in(page, "precious")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert site.prompt() == ""
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#prompt-text")).to_have_value("precious")


@contextmanager
def before_the_script(page: Page) -> Iterator[None]:
    """The editor anew, its script held back until the block ends."""
    held: list[Route] = []
    page.route("**/static/app.js*", lambda route: held.append(route))
    with page.expect_request("**/static/app.js*"):
        page.reload(wait_until="commit")
        yield
    assert held, "the editor's script was not held back"
    for route in held:
        route.continue_()
    page.unroute("**/static/app.js*")


def test_what_was_typed_before_the_scripts_came_is_saved_too(page: Page, site: Site) -> None:
    with before_the_script(page):
        type_in(page, "early")
        expect(page.get_by_role("button", name="Clear")).to_be_disabled()
    expect(page.get_by_role("button", name="Clear")).to_be_enabled()
    assert_saved(page, site, "early")


def test_a_model_chosen_before_the_scripts_came_is_gone_to(page: Page, site: Site) -> None:
    with before_the_script(page):
        type_in(page, "of the first")
        page.select_option("[data-prompt-model]", "with-tools")
    expect(page).to_have_url(re.compile("model=with-tools"))
    is_stored(site, "of the first")
    expect(page.locator("#prompt-text")).to_have_value("")
    page.go_back()
    page.locator("[data-prompt][data-ready]").wait_for()
    expect(page.locator("[data-prompt-model]")).to_have_value(QWEN)
    expect(page.locator("#prompt-text")).to_have_value("of the first")


def test_by_keyboard_alone(page: Page, site: Site) -> None:
    summary = page.locator("#prompt > summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#prompt-text")).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("[data-prompt-model]")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("typed")
    page.keyboard.press("Tab")
    assert_saved(page, site, "typed")


def test_without_scripts_a_button_saves(browser: Browser, site: Site) -> None:
    page = visit(browser, site, java_script_enabled=False).page
    page.goto(f"{site.origin}{EDITOR}")
    page.fill("#prompt-text", "No scripts\nhere")
    page.locator("#prompt").get_by_role("button", name="Save", exact=True).click()
    is_stored(site, "No scripts\nhere")
    page.select_option("select[name=model]", "with-tools")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#prompt-text")).to_have_value(site.prompt("with-tools"))
    page.context.close()


@pytest.fixture(scope="module")
def asked(browser: Browser, site: Site) -> Site:
    """The site with a prompt, its history, and an answer by a model that was told it."""
    for text in ("First line.\nSecond line.", "First line.\nAnother line."):
        prompts.save(site.database, QWEN, text, now_ms(), saved_by="person")
    page = visit(browser, site).page
    page.goto(f"{site.origin}/chat")
    page.fill("#message", "Which retention?")
    page.select_option("select[name=when]", "2h")  # also just after midnight
    page.select_option("select[name=model]", QWEN)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/chat/*#t1")
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false")
    site.chat = page.url.removeprefix(site.origin).partition("#")[0]
    page.context.close()
    return site


def test_what_a_model_was_told_is_a_page_of_its_answer(browser: Browser, asked: Site) -> None:
    page = visit(browser, asked).page
    page.goto(f"{asked.origin}{asked.chat}")
    page.click(".turn .more > summary")
    page.get_by_role("link", name="What was sent").click()
    expect(page.get_by_role("group", name="Block 1, Model prompt")).to_contain_text("Another line.")
    page.context.close()


def test_what_opens_on_pages_of_prompts_is_accessible_and_fits(browser: Browser, asked: Site) -> None:
    found = visit(browser, asked, **FOR_AXE)
    page = found.page
    page.goto(f"{asked.origin}{asked.chat}")
    page.locator(".turn .more > summary").click()
    assert_clean_at_every_width(page, asked.chat)
    found.context.close()
    assert found.complaints == []
