"""The pages of memory, as they come from the server: cold, without scripts."""

from __future__ import annotations

import re

from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.memory import observations
from tests.factories import NOON_MS
from tests.memories import put_observation, put_session
from tests.tables import for_each
from tests.webapp.conftest import Actor, csrf_of, page

HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}</textarea><script>alert(2)</script>"


@for_each("path", ["/memory/around?anchor=2026-11-20T12:00:00Z"])
def test_every_page_opens_on_an_empty_home(browser: Actor, path: str) -> None:
    html = page(browser, path)
    assert html.count("<h1") == 1
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=\"|javascript:", html)


@for_each("path", ["/search", "/insights"])
def test_a_time_that_is_not_understood_is_told_on_the_page(browser: Actor, path: str) -> None:
    page(browser, f"{path}?q=x&when=custom&phrase=nonsense")
    assert "“nonsense” is not a time I know" in page(browser, "/search?when=custom&phrase=nonsense")


def test_what_was_looked_for_in_memory_is_looked_for_in_search(browser: Actor) -> None:
    for old, new in {"q=a+b": "a+b", "concept=how": "how", "file=main.py": "main.py", "": ""}.items():
        assert browser.get(f"/memory/search?{old}").headers["Location"] == f"/search?q={new}"


def test_around_mixes_types_and_marks_the_anchor(browser: Actor, database: Database) -> None:
    number = put_observation(database)
    session = put_session(database, start_ms=NOON_MS - 60_000, notes="three hours")
    chat = conversations.create(database, "q", NOON_MS)
    conversations.add_turn(
        database, chat, mode="evidence", model="m", question="what was it?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=NOON_MS + 60_000,
    )  # fmt: skip
    html = page(browser, f"/memory/around?anchor={number}")
    marks = re.findall(r'id="(\w+-\d+)"( aria-current="true")?', html)
    assert [name for name, _ in marks if name.split("-")[0] in ("session", "observation", "prompt")] == [
        f"session-{session}", f"observation-{number}", "prompt-1",
    ]  # fmt: skip
    assert [name for name, mark in marks if mark] == [f"observation-{number}"]


@for_each(("anchor", "status"), [("999", 404), ("session:9", 404), ("yesterday", 400), ("", 400)])
def test_an_anchor_that_is_none_is_an_error_page(browser: Actor, anchor: str, status: int) -> None:
    page(browser, f"/memory/around?anchor={anchor}", status)


def test_a_persons_words_win_and_can_be_dropped(app: Flask, browser: Actor, database: Database) -> None:
    number = put_observation(database, title="By rule", facts=[("a line of a frame", NOON_MS * 1024)])
    path = f"/memory/observations/{number}"
    form = {
        "csrf_token": csrf_of(app, browser), "title": "In my words", "narrative": "n", "kind": "coding",
        "facts": "a line of a frame\r\nand one of mine", "concepts": "one, two", "project": "",
    }  # fmt: skip
    assert browser.post(path, data=form).status_code == 303
    found = observations.get(database, number)
    assert found is not None
    assert (found.title, found.source, found.concepts) == ("In my words", "user", ("one", "two"))
    assert [fact.frame_id for fact in found.facts] == [NOON_MS * 1024, None]
    assert "you said" in page(browser, path)
    assert browser.post(f"{path}/revert", data={"csrf_token": form["csrf_token"]}).status_code == 303
    assert observations.get(database, number).title == "By rule"


def test_a_title_is_needed_and_nothing_is_kept_without(
    app: Flask, browser: Actor, database: Database
) -> None:
    number = put_observation(database, title="By rule")
    form = {"csrf_token": csrf_of(app, browser), "title": " ", "kind": "coding"}
    answer = browser.post(f"/memory/observations/{number}", data=form)
    assert answer.status_code == 422 and "Needs at least one word" in answer.text
    assert observations.get(database, number).edited == ()


def test_what_is_taken_out_of_memory_is_gone(app: Flask, browser: Actor, database: Database) -> None:
    number = put_observation(database, narrative="zebra")
    form = {"csrf_token": csrf_of(app, browser)}
    answer = browser.post(f"/memory/observations/{number}/hide", data=form)
    assert (answer.status_code, answer.headers["Location"][:6]) == (303, "/days/")
    page(browser, f"/memory/observations/{number}", 404)


def test_screen_text_is_shown_and_never_obeyed(browser: Actor, database: Database) -> None:
    number = put_observation(
        database, title=HOSTILE, narrative=HOSTILE, facts=[(HOSTILE, NOON_MS * 1024)], concepts=[HOSTILE]
    )
    for path in ("/days/2026-11-20?tz=UTC", f"/memory/observations/{number}"):
        html = page(browser, path)
        assert "<img src=x" not in html and "<script>alert" not in html and "7*7" in html, path
