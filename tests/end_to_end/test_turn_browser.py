"""A running turn in a real browser: streamed, cut, reloaded, decided about, stopped, without scripts."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from simple_websocket import Client

from assistant.core.records import DeltaEvent
from store.chats import conversations, personas
from store.sources import entities
from tests.end_to_end.programs import PATIENCE_S, eventually
from tests.end_to_end.talk_site import Talk, TalkSite, talk, talk_site
from webapp.api.event_stream import MAX_FOLLOWERS

SAID = "\n\n".join(" ".join(f"line{line}word{word}" for word in range(30)) for line in range(20)) + " 完。"
LONG = "\n".join(f"{n}. The same words again and again, with a number in front of them." for n in range(160))

_RECORD = """
addEventListener('DOMContentLoaded', () => {
  window.seen = []
  window.removed = 0
  new MutationObserver(records => {
    for (const record of records) {
      const target = record.target.closest?.('.draft')
      if (target) window.removed += record.removedNodes.length
    }
    const drafts = document.querySelectorAll('[data-turn]:last-of-type .draft')
    const text = drafts.length ? drafts[drafts.length - 1].textContent : ''
    if (text && text !== window.seen.at(-1)) window.seen.push(text)
  }).observe(document, { subtree: true, childList: true, characterData: true })
})
"""

_HEAR = """
window.heard = []
window.whole = 0
const listen = EventSource.prototype.addEventListener
EventSource.prototype.addEventListener = function (type, call) {
  listen.call(this, type, event => {
    if (type === 'text') window.heard.push(+event.lastEventId)
    else window.whole += 1
    call(event)
  })
}
"""


@pytest.fixture
def site(tmp_path: Any) -> Iterator[TalkSite]:
    with talk_site(tmp_path, answer_s=600) as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, site: TalkSite) -> Iterator[Talk]:
    found = talk(browser, site)
    found.page.add_init_script(_RECORD)
    yield found
    found.context.close()
    # What the browser itself says of a stream that was cut.
    assert [each for each in found.complaints if "net::ERR_INCOMPLETE_CHUNKED_ENCODING" not in each] == []


def begun(visitor: Talk, question: str = "Tell me everything") -> Page:
    """A new chat whose first turn is on its page."""
    page = visitor.go("/chat")
    visitor.ask(question)
    page.wait_for_url("**/chat/*#t1")
    return page


def slowly(site: TalkSite, text: str, pace_s: float = 0.05) -> threading.Event:
    """The model says this for minutes, so that no machine is too slow for what happens meanwhile; once the
    event is set, it says the rest at once.
    """
    hurry = threading.Event()
    site.stub.reply(text, pace_s=pace_s, hurry=hurry)
    return hurry


def see(page: Page, state: str) -> None:
    """Say to the page that it is ``hidden`` or ``visible``; a headless browser hides none."""
    page.evaluate(
        """state => {
          for (const [name, value] of [['hidden', state === 'hidden'], ['visibilityState', state]])
            Object.defineProperty(document, name, { value, configurable: true })
          document.dispatchEvent(new Event('visibilitychange'))
        }""",
        state,
    )


def ended(page: Page, n: int = 1) -> None:
    expect(page.locator(f"#t{n}")).to_have_attribute("aria-busy", "false")


def said(page: Page) -> list[str]:
    """What stood in the draft, each time it changed."""
    found: list[str] = page.evaluate("window.seen")
    return found


def draft(page: Page) -> str:
    """What stands in it now."""
    return str(page.evaluate("window.seen.at(-1) ?? ''"))


def grown(page: Page, length: int = 0) -> None:
    """Wait until more than `length` characters stand there. (The policy forbids `wait_for_function`.)"""
    eventually(lambda: len(draft(page)) > length, what="more text")


def assert_only_appended(found: list[str], whole: str) -> None:
    """Each text goes on from the one before."""
    assert found, "nothing was shown before the answer was complete"
    assert all(whole.startswith(text) for text in found)
    assert [len(text) for text in found] == sorted(len(text) for text in found)


def test_text_is_appended_and_never_made_again(visitor: Talk, site: TalkSite) -> None:
    is_seen = slowly(site, SAID)
    page = begun(visitor)
    eventually(lambda: len(said(page)) > 5, what="more text")
    is_seen.set()
    ended(page)
    assert_only_appended(said(page), SAID)
    assert page.evaluate("window.removed") == 0
    expect(page.locator("#t1 .answer")).to_contain_text("line19word29 完。")


def test_fifty_drops_lose_and_double_nothing(visitor: Talk, site: TalkSite) -> None:
    """What stands in the draft is what the server told, from its first character on, and the answer has all
    of it; each event came once, and each connection goes on behind the last one heard.
    """
    all_dropped = slowly(site, LONG, 0.1)
    visitor.page.add_init_script(_HEAR)
    page = begun(visitor)
    grown(page)
    for n in range(1, 51):
        assert site.relay.drop() == 1, n
        eventually(lambda n=n: site.relay.opened > n, what="another connection")
        grown(page, len(draft(page)))
    assert page.locator("#t1").get_attribute("aria-busy") == "true", "it ended before all drops"
    all_dropped.set()
    ended(page)
    live = site.own.turns.get(1, 1)
    assert live
    told = live.after(0)
    words = "".join(event.text for _, event in told if isinstance(event, DeltaEvent))
    assert words == LONG
    assert_only_appended(said(page), words)
    # The last words and the whole answer may come in one piece: then the draft is drawn over unseen.
    shown = page.locator("#t1 .answer").inner_text()
    assert shown.count("The same words again and again") == LONG.count("The same words again and again")
    assert page.evaluate("window.removed") == 0
    heard: list[int] = page.evaluate("window.heard")
    assert heard == sorted(set(heard)), "words came twice"
    # All of it is told at first, with the first words, and with each event that is no word; never for a drop.
    others = sum(not isinstance(event, DeltaEvent) for _, event in told)
    assert page.evaluate("window.whole") <= others + 2 < 50, "words that were heard were told again"


def test_the_seventeenth_page_asks_now_and_then(visitor: Talk, site: TalkSite) -> None:
    taken = [_socket(site) for _ in range(MAX_FOLLOWERS)]
    is_asked = slowly(site, SAID)
    page = begun(visitor)
    eventually(lambda: site.relay.opened > 2, what="the page to ask again")
    grown(page)
    is_asked.set()
    ended(page)
    found = said(page)
    assert all(SAID.startswith(text) for text in found) and page.evaluate("window.removed") == 0
    expect(page.locator("#t1 .answer")).to_contain_text("line19word29 完。")
    for client in taken:
        client.close()


def test_a_page_that_nobody_sees_hears_nothing(visitor: Talk, site: TalkSite) -> None:
    """Browsers open six connections to a server: six hidden pages that listen would stop the seventh."""
    is_seen = slowly(site, SAID)
    page = begun(visitor)
    grown(page)
    see(page, "hidden")
    eventually(lambda: not site.relay.running, what="the connection to end")
    before = draft(page)
    see(page, "visible")
    grown(page, len(before))
    is_seen.set()
    ended(page)
    assert_only_appended(said(page), SAID)
    assert page.evaluate("window.removed") == 0


def test_a_reload_in_the_middle_keeps_everything(visitor: Talk, site: TalkSite) -> None:
    is_reloaded = slowly(site, SAID)
    page = begun(visitor)
    for _ in range(3):
        grown(page, 50)
        before = draft(page)
        page.reload()
        now = page.locator("#t1 .draft").text_content() or ""
        assert now.startswith(before)
    grown(page)
    is_reloaded.set()
    ended(page)
    assert_only_appended(said(page), SAID)
    expect(page.locator("#t1 .answer")).to_contain_text("line19word29 完。")


def test_stop_keeps_what_was_said(visitor: Talk, site: TalkSite) -> None:
    site.stub.drip(said=LONG[:300])  # it does not end by itself, however late Stop is clicked
    page = begun(visitor)
    grown(page, 50)
    page.locator("#t1").get_by_role("button", name="Stop").click()
    ended(page)
    expect(page.locator("#t1")).to_contain_text("You stopped this answer before it was complete.")
    expect(page.locator("#t1 .answer")).to_contain_text("The same words again and again")
    expect(page.locator("[data-chat-status]")).to_contain_text("Answer complete")


# -- calls -------------------------------------------------------------------------------------


def test_cards_change_in_place_and_a_decision_survives_a_reload(visitor: Talk, site: TalkSite) -> None:
    plan, missing = {"path": str(site.notes / "plan.txt")}, {"path": str(site.notes / "none.txt")}
    site.stub.call(
        ("calculator", {"expression": "6*7"}), ("read_file", plan), ("read_file", missing), text="I look."
    )
    site.stub.reply("It is for monday.")
    page = begun(visitor, "What is my plan?")
    waiting = page.locator("[data-waits]")
    expect(waiting).to_have_count(2)
    expect(page.locator("#t1 .draft")).to_have_text("I look.")
    expect(page.locator("#t1 .calls")).to_have_count(2)  # the calculator, and read_file twice
    page.reload()
    expect(waiting).to_have_count(2)
    buttons = waiting.first.get_by_role("button").all_inner_texts()
    assert buttons[:3] == ["Deny", "Allow once", "Allow in this chat"]
    done = page.locator("#call-1 details")
    done.locator("summary").click()
    page.evaluate("document.querySelector('#call-1').isTheSame = true")
    decide = f"{site.origin}/api/v1/tool-calls/2/approve"  # by another page, so that this one is told
    headers = {"Authorization": f"Bearer {site.own.token}", "Content-Type": "application/json"}
    assert visitor.context.request.post(decide, headers=headers, data="{}").status == 200
    expect(page.locator("#call-2")).to_contain_text("Done")
    assert page.evaluate("document.querySelector('#call-1').isTheSame"), "a card was not kept"
    expect(done).to_have_attribute("open", "")
    waiting.first.get_by_text("Always allow…").click()
    expect(waiting.first).to_contain_text("in every chat, for")
    waiting.first.get_by_role("button", name="Deny").click()
    ended(page)
    expect(page.locator("#t1 .answer")).to_contain_text("It is for monday.")
    page.locator("#t1 .went > summary").click()
    expect(page.locator("#call-3")).to_contain_text("Denied")


def test_what_it_would_remember_is_one_card_after_the_answer(visitor: Talk, site: TalkSite) -> None:
    anna, ben = ({"kind": "person", "name": name} for name in ("Anna Bauer", "Ben Ho"))
    site.stub.call(("calculator", {"expression": "6*7"}), ("store_entity", anna))
    site.stub.call(("store_entity", ben))
    site.stub.reply("Done.")
    page = begun(visitor, "Remember Anna and Ben")
    ended(page)
    expect(page.locator("#t1 .answer")).to_contain_text("Done.")
    card = page.locator("#t1 .proposals")
    expect(card).to_contain_text("Remember these 2?")
    card.get_by_label("Remembers the person “Ben Ho”.").uncheck()
    card.get_by_role("button", name="Remember", exact=True).click()
    expect(card).to_contain_text("Remembered")
    expect(card.locator("li")).to_have_text(["Remembers the person “Anna Bauer”."])
    assert [each.name for each in entities.find_entities(site.own.database)] == ["Anna Bauer"]


def test_a_failed_call_is_tried_again_below(visitor: Talk, site: TalkSite) -> None:
    site.stub.call(("calculator", {"expression": "7/0"})).reply("It cannot be divided.")
    page = begun(visitor, "What is seven by nothing?")
    ended(page)
    page.get_by_role("button", name="Try again").click()
    ended(page, 2)
    expect(page.locator("#t2 .call-error")).to_have_text("Division by zero.")
    expect(page.locator("#t1 .call-error")).to_have_count(1)
    assert page.locator("#message").input_value() == ""


def test_a_question_meanwhile_waits_for_the_answer(visitor: Talk, site: TalkSite) -> None:
    go_on = threading.Event()
    site.stub.reply("First answer.", wait_for=go_on).reply("Second answer.")
    page = begun(visitor)
    visitor.ask("And then?")
    expect(page.locator("[data-queued]")).to_be_visible()
    expect(page.locator("#message")).to_have_value("And then?")
    assert page.locator("[data-turn]").count() == 1
    go_on.set()
    ended(page, 2)
    expect(page.locator("#t2 .question")).to_have_text("And then?")
    expect(page.locator("#message")).to_have_value("")


def test_a_draft_survives_and_is_gone_once_sent(visitor: Talk, site: TalkSite) -> None:
    site.stub.reply("Four.")
    page = visitor.go("/chat")
    with page.expect_response(re.compile("/chat/draft$")):
        page.locator("#message").press_sequentially("How many", delay=5)
    page.locator("#message").press_sequentially(" are there?", delay=5)
    page.goto("about:blank")  # at once: what was written last goes out with the page
    eventually(
        lambda: conversations.get_draft(site.own.database, None) == "How many are there?", what="the draft"
    )
    visitor.go("/chat")
    expect(page.locator("#message")).to_have_value("How many are there?")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url("**/chat/*#t1")
    ended(page)
    expect(page.locator("#message")).to_have_value("")
    visitor.go("/chat")
    expect(page.locator("#message")).to_have_value("")


def test_a_question_is_edited(visitor: Talk, site: TalkSite) -> None:
    site.stub.reply("Four.").reply("Five.")
    page = begun(visitor, "How many?")
    ended(page)
    page.get_by_label("Edit question 1 and ask again").click()
    expect(page.locator("#message")).to_be_focused()
    page.locator("#message").fill("How many exactly?")
    page.get_by_role("button", name="Send", exact=True).click()
    ended(page, 2)
    expect(page).to_have_url(re.compile("/chat/1#t2$"))
    expect(page.locator("#t1 .answer")).to_contain_text("Four.")
    expect(page.locator("#t2 .answer")).to_contain_text("Five.")
    expect(page.locator("#editing")).to_have_count(0)


# -- without scripts ---------------------------------------------------------------------------


def test_all_of_it_works_without_scripts(browser: Browser, site: TalkSite) -> None:
    go_on = threading.Event()
    site.stub.call(("read_file", {"path": str(site.notes / "plan.txt")}))
    site.stub.reply("It is for monday.", wait_for=go_on)
    found = talk(browser, site, java_script_enabled=False)
    page = found.go("/chat")
    found.ask("What is my plan?")
    page.wait_for_url("**/chat/*#t1")
    page.locator("[data-waits]").get_by_role("button", name="Allow once").click()
    assert page.locator("#t1").get_attribute("aria-busy") == "true"
    go_on.set()
    ended(page)  # the page comes back by itself
    assert "It is for monday." in page.inner_text("#t1 .answer")
    site.stub._script.clear()
    slowly(site, LONG)
    found.ask("Tell me everything")
    page.locator("#t2").get_by_role("button", name="Stop").click()
    ended(page, 2)
    found.context.close()
    assert found.complaints == []


class _Client(Client):  # type: ignore[misc]  # simple_websocket is untyped
    """Names the relay's port in its Host header, as browsers behind it do."""

    def __init__(self, site: TalkSite) -> None:
        self.named = f"127.0.0.1:{site.relay.port}"
        address = f"ws://127.0.0.1:{site.relay.target}/ws/chat/1"
        super().__init__(address, headers={"Authorization": f"Bearer {site.own.token}"})

    def handshake(self) -> None:
        self.host = self.named
        super().handshake()


def _socket(site: TalkSite) -> Client:
    """A socket that has its place. It goes past the relay, which counts the browser's."""
    client = _Client(site)
    client.send("?")
    assert json.loads(client.receive(timeout=PATIENCE_S))["type"] == "refused"
    return client


def test_a_chat_that_is_gone_back_to_shows_who_speaks_and_answers_now(visitor: Talk, site: TalkSite) -> None:
    page = visitor.go("/chat")
    pickers = page.locator("select[name=persona_id]"), page.locator("select[name=model]")
    with page.expect_response("**/personas/active"):
        pickers[0].select_option("")
    pickers[1].select_option("extractive")
    page.fill("#message", "What did")
    page.locator("a", has_text="Voices").first.click()
    page.wait_for_url("**/personas/*")
    journal = next(each for each in personas.list_personas(site.database) if each.builtin == "journal")
    personas.activate(site.database, journal.id)
    page.go_back()
    expect(page.locator("#message")).to_have_value("What did")
    expect(pickers[0]).to_have_value(str(journal.id))
    expect(pickers[1]).to_have_value("stub")
