"""A chat window in a real browser: its session, its topic, and the pages of memory about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from assistant.core.models import ChatModels
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.egress import providers
from store.egress.providers import Provider
from store.memory import chat_sessions, chat_summaries
from store.memory.chat_sessions import ChatSession
from tests.end_to_end.accessibility import FOR_AXE, assert_clean_at_every_width
from tests.end_to_end.programs import eventually
from tests.end_to_end.visits import Served, served, visit
from tests.factories import store_frame
from tests.stub_model import StubModel
from tests.webapp.mouths import with_pace
from webapp import create_app

QUESTIONS = ("What did I set retention to?", "Who changed the retention policy?", "Is the retention final?")
ASIDE = "Which pump fits the pond?"
"""Of another subject: what earlier chats were about bears on the topic of a later one."""


@dataclass
class Site(Served):
    stub: StubModel


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data_dir = DataDir(tmp_path_factory.mktemp("windows") / "home").create()
    database = open_database(data_dir)
    store_frame(database, data_dir, now_ms() - 60_000, text="retention set to 14 days")

    def app(settings: Settings) -> Flask:
        made = create_app(settings, database, chat_models=ChatModels(settings.chat, {}, data_dir))
        return with_pace(made, heartbeat_s=1.0)

    with StubModel() as stub:
        stub.reply({"answer_md": "I do not know.", "evidence": []})
        providers.add(data_dir, Provider(0, "with-tools", stub.base_url, "m", supports_tools=True))
        providers.set_default(data_dir, "with-tools")
        with served(database, app) as found:
            yield Site(found.origin, found.app, stub)


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    found = visit(browser, site)
    yield found.page
    found.context.close()
    assert [each for each in found.complaints if "Failed to load resource" not in each] == []


def ask(page: Page, message: str) -> None:
    """Ask, and wait for the answer's end. The first question leads to another page, which has to be ready."""
    page.locator("[data-composer][data-ready]").wait_for()
    turns = page.locator("[data-turn]").count()
    page.locator("#message").fill(message)
    page.locator("#message").press("Enter")
    expect(page.locator("[data-turn]:not([aria-busy=true])")).to_have_count(turns + 1)


def session_of(page: Page, site: Site) -> ChatSession:
    """The session that the page's composer names, once it does."""
    page.locator("#message").focus()
    page.wait_for_function("() => Number(document.querySelector('[data-composer]').dataset.session) > 0")
    found = chat_sessions.get(site.database, int(page.locator("[name=session_id]").input_value()))
    assert found is not None
    return found


def test_a_window_is_one_session_from_the_first_word_to_its_end(page: Page, site: Site) -> None:
    """Opened, heard of, the same after the first answer and a reload, closed when left."""
    page.goto(f"{site.origin}/chat")
    opened = session_of(page, site)
    assert (opened.chat_id, opened.state) == (None, "open")
    eventually(lambda: current(site, opened).seen_ms > opened.seen_ms, what="a sign of life")
    ask(page, ASIDE)
    again = session_of(page, site)
    assert again.id == opened.id and again.chat_id is not None
    page.reload()
    assert session_of(page, site).id == opened.id
    is_in(site, opened, "open")
    page.goto(f"{site.origin}/search")
    is_in(site, opened, "closed")
    assert current(site, opened).closed_by == "window"
    eventually(lambda: opened.id in chat_summaries.get(site.database, [opened.id]), what="a summary")
    # Another chat in the same tab is another session.
    page.goto(f"{site.origin}/chat")
    assert session_of(page, site).id != opened.id


def test_a_window_that_was_taken_for_closed_goes_on(page: Page, site: Site) -> None:
    page.goto(f"{site.origin}/chat")
    ask(page, ASIDE)
    opened = session_of(page, site)
    chat_sessions.close(site.database, opened.id, "stale", now_ms())
    is_in(site, opened, "open")


def test_two_tabs_are_two_sessions(browser: Browser, page: Page, site: Site) -> None:
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"{site.origin}/chat")
    assert session_of(page, site).id != session_of(other, site).id


def test_the_chip_appears_beside_the_answers_and_the_model_is_told(page: Page, site: Site) -> None:
    page.goto(f"{site.origin}/chat")
    ask(page, "What did I do?")
    expect(page.locator("#topic-chip a")).to_have_count(0)
    for message in QUESTIONS:
        ask(page, message)
    expect(page.locator("#topic-chip a")).to_contain_text("Retention")
    page.locator("#topic-chip a").click()
    expect(page.locator("h1")).to_have_text("Memory of this chat")
    page.get_by_label("What this chat is about").fill("How long we keep frames")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Ask", exact=True).first.click()


def test_the_console_says_it_only_while_it_is_wanted(page: Page, site: Site) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{site.origin}/chat")
    ask(page, QUESTIONS[0])
    ask(page, QUESTIONS[1])
    assert [line for line in said if "recollect context" in line] == []
    chat_sessions.set_verbose(site.database, True, now_ms())
    try:
        page.goto(f"{site.origin}/chat")  # the first question leads to another page, and counts as well
        for message in (ASIDE, QUESTIONS[2]):
            with page.expect_console_message(lambda message: "recollect context" in message.text):
                ask(page, message)
    finally:
        chat_sessions.set_verbose(site.database, False, now_ms())
    assert len([line for line in said if "recollect context" in line]) == 2


def test_the_drawer_of_an_answer_is_accessible_and_fits_every_width(browser: Browser, site: Site) -> None:
    page = visit(browser, site, **FOR_AXE).page
    page.goto(f"{site.origin}/chat")
    for message in QUESTIONS:
        ask(page, message)
    chat_sessions.set_verbose(site.database, True, now_ms())
    try:
        page.reload()
        check_drawer(page)
    finally:
        chat_sessions.set_verbose(site.database, False, now_ms())
    page.context.close()


def is_in(site: Site, session: ChatSession, state: str) -> None:
    eventually(lambda: current(site, session).state == state, what=f"a session that is {state}")


def check_drawer(page: Page) -> None:
    """The last turn's drawer is filled when it is opened, by keyboard, and the chat stays as it was."""
    turn = page.locator("[data-turn]").last
    drawer = turn.locator(".went")
    expect(drawer).to_be_visible()
    assert drawer.locator(".told-pack").count() == 0, "nothing is loaded before it is wanted"
    drawer.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(drawer.locator(".told-pack")).to_be_visible()
    expect(drawer.locator(".told-pack > p").first).to_contain_text(".")
    assert_clean_at_every_width(page, "drawer")
    page.keyboard.press("Enter")
    expect(drawer.locator(".told-pack")).to_be_hidden()


def current(site: Site, session: ChatSession) -> ChatSession:
    found = chat_sessions.get(site.database, session.id)
    assert found is not None
    return found
