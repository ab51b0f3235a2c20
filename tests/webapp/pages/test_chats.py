"""The list of chats: by day, searched by words, page by page, with and without scripts."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.ocr import readings
from store.sources.messages import MessageRecord
from tests.factories import NOON_MS, store_frame, text_draft
from tests.sources import put_messages
from tests.store.chats.test_conversation_search import talk
from tests.store.frames.test_activity_intervals import MINUTE, put
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock, csrf_of, page, words
from webapp.pages.chats import view

HTMX = {"HX-Request": "true"}
DAY_MS = 86_400_000


@pytest.fixture
def chats(database: Database, now: Clock) -> list[int]:
    """One of today, one of yesterday."""
    return [
        talk(database, now.now_ms - DAY_MS, ("Which <b>budget</b>?", "The one of Wagner.")),
        talk(database, now.now_ms, ("What did I read?", "The policy & the budget.")),
    ]


def listed(html: str) -> list[int]:
    """Ids of the chats of the page's own list, in order."""
    return [int(found) for found in re.findall(r'<li><a href="/chat/(\d+)"', html)]


def test_all_chats_stand_by_day(browser: Actor, chats: list[int]) -> None:
    html = browser.get("/chats").text
    assert listed(html) == [chats[1], chats[0]]
    assert html.index("<h2>Today</h2>") < html.index("<h2>Yesterday</h2>")
    assert "Which &lt;b&gt;budget&lt;/b&gt;?" in html
    assert browser.get("/chat").text.count('role="search"') >= 1


def test_a_search_without_scripts_is_a_page(browser: Actor, chats: list[int]) -> None:
    html = browser.get("/chats?q=Wagner").text
    assert listed(html) == [chats[0]]
    assert 'name="q" value="Wagner"' in html
    assert "1 chat with “Wagner”" in html
    assert "<title>Chats with “Wagner”" in html
    none = browser.get("/chats?q=%3Cscript%3E").text
    assert listed(none) == []
    assert "0 chats with “&lt;script&gt;”" in none
    assert "No chats yet" not in none


def test_htmx_gets_the_list_alone(browser: Actor, chats: list[int]) -> None:
    part = browser.get("/chats?q=budget", headers=HTMX).text
    assert part.startswith('<div class="chat-list">')
    assert listed(part) == [chats[1], chats[0]]


def test_older_chats_follow(browser: Actor, chats: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "LISTED_CHATS", 1)
    first = browser.get("/chats?q=budget").text
    assert listed(first) == [chats[1]]
    assert "1 chat or more with" in first
    older = re.search(r'href="(/chats\?q=budget&amp;before=[0-9-]+)"', first)
    assert older
    second = browser.get(older[1].replace("&amp;", "&")).text
    assert listed(second) == [chats[0]]
    assert "Older chats" not in second


@for_each("query", ["before=x", "before=1-2-3", f"before={'9' * 40}-1", "q=%00%FF", f"q={'a ' * 5000}"])
def test_strange_addresses_give_a_list(browser: Actor, chats: list[int], query: str) -> None:
    assert browser.get(f"/chats?{query}").status_code == 200


def test_the_api_searches_too(program: Actor, chats: list[int]) -> None:
    found = program.get("/api/v1/chats?q=budget&limit=1").get_json()
    assert [chat["id"] for chat in found["data"]] == [chats[1]]
    cursor = found["pagination"]["next_cursor"]
    again = program.get(f"/api/v1/chats?q=budget&limit=1&cursor={cursor}").get_json()
    assert [chat["id"] for chat in again["data"]] == [chats[0]]
    assert program.get("/api/v1/chats?q=giraffe").get_json()["data"] == []


def test_the_composer_shows_a_follow_up_the_range_of_the_question_before_it(
    app: Flask, browser: Actor, database: Database, now: Clock
) -> None:
    chat_id = conversations.create(database, "Yesterday", now.now_ms)
    started = conversations.add_turn(
        database, chat_id, mode="auto", model="m", question="What did I do yesterday?",
        start_ms=now.now_ms - DAY_MS, end_ms=now.now_ms - DAY_MS // 2, timezone="UTC", now_ms=now.now_ms,
    )  # fmt: skip
    conversations.finish_turn(database, started.id, "Nothing.", {}, (), now.now_ms)
    assert f"hx-vals='{{\"chat\": {chat_id}}}'" in browser.get(f"/chat/{chat_id}").text
    form = {"csrf_token": csrf_of(app, browser), "tz": "UTC", "message": "And who wrote to me?"}
    chips = browser.post("/chat/understood", data={**form, "chat": chat_id}).text
    assert "12 h" in chips
    assert "Everything remembered" in browser.post("/chat/understood", data=form).text


def test_a_number_that_is_no_time_anybody_saw_is_read_alike_by_the_chips_and_by_the_answer(
    app: Flask, browser: Actor, database: Database, data_dir: DataDir, now: Clock
) -> None:
    store_frame(database, data_dir, now.now_ms - DAY_MS, "Buoy 3 is fast")
    seen_on_the_timeline = f"{now.now_ms - DAY_MS}-{now.now_ms}"
    form = {"csrf_token": csrf_of(app, browser), "tz": "UTC", "selection": seen_on_the_timeline}
    form["message"] = "How fast was the clock of the buoy of 3 January?"
    chips = browser.post("/chat/understood", data=form).text
    assert "Everything remembered" in chips and "what it says of “3 January”" in chips
    answer = browser.post("/chat", data=form, follow_redirects=True).text
    assert "everything" in answer and "what it says of “3 January”" in answer


def test_of_a_long_chat_the_newest_answers_are_drawn_and_the_others_when_asked_for(
    browser: Actor, database: Database, now: Clock
) -> None:
    chat_id = conversations.create(database, "Long", now.now_ms)
    for n in range(1, view.DRAWN_TURNS + 4):
        started = conversations.add_turn(
            database, chat_id, mode="auto", model="m", question=f"Question {n}", start_ms=None, end_ms=None,
            timezone="UTC", now_ms=now.now_ms,
        )  # fmt: skip
        conversations.finish_turn(database, started.id, f"Answer {n}.", {}, (), now.now_ms)

    def drawn(address: str) -> list[int]:
        html = browser.get(address).text
        assert len(re.findall(r"Question \d+</h2>", html)) == view.DRAWN_TURNS + 3
        return [int(n) for n in re.findall(r"Answer (\d+)\.</p>", html)]

    assert drawn(f"/chat/{chat_id}") == list(range(4, view.DRAWN_TURNS + 4))
    assert drawn(f"/chat/{chat_id}?first=2") == list(range(2, view.DRAWN_TURNS + 4))
    fragment = browser.get(f"/chat/{chat_id}/turns/1", headers={"HX-Request": "true"}).text
    assert "Answer 1." in fragment and 'id="t1"' in fragment


def test_questions_are_suggested_of_what_stands_on_the_last_day(
    browser: Actor, database: Database, now: Clock
) -> None:
    """A matter is what a window is called and another app shows; a look at a Chinese page in a browser is no
    reason to ask in Chinese, an app that was Chinese for most of its time is.
    """
    shown = [
        ("Web", "Carillon - Web", 30, "Bells"), ("Web", "皮影剧团巡演手记 - Web", 5, "Tour"),
        ("Code", "* tower.py - Code", 20, "tune the carillon"), ("Mail", "(2) Inbox - Mail", 3, "Dinner"),
        ("WPS", "潮汐周报 第46期 - WPS", 10, "Tides"), ("WPS", "Untitled - WPS", 2, "Nothing"),
    ]  # fmt: skip
    at_ms = 0
    for app, title, minutes, text in shown:
        number = put(database, at_ms, app, window=title, ended_ms=at_ms + minutes * MINUTE)
        with database.write() as connection:
            readings.add(connection, number, text_draft(text), (), NOON_MS)
        at_ms += minutes * MINUTE
    now.now_ms = NOON_MS + at_ms
    html = words(page(browser, "/chat?tz=UTC"))
    listed = html[html.index("What did I do today?") :]
    expected = [
        "What did I do today? 4 apps · 1 h 10 min", "What did I see about Carillon today? Code · Web",
        "How long did I have tower.py open today? Code", "“潮汐周报 第46期”说了什么？ WPS",
    ]  # fmt: skip
    assert listed.startswith(" ".join(expected))
    sender = MessageRecord("sms", NOON_MS + MINUTE, is_outgoing=False, body="Come at six", name="Ines")
    put_messages(database, [sender])
    assert "What did Ines write today? 1 message" in words(page(browser, "/chat?tz=UTC"))


@for_each("query", ["from=2&to=1", "from=noon", "q=What&from=2&to=1"])
def test_a_range_in_an_address_that_is_none_is_said(browser: Actor, query: str) -> None:
    answer = browser.get(f"/chat?{query}")
    assert answer.status_code == 400 and 'id="refusal"' in answer.text
