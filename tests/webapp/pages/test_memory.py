"""The pages of memory, as they come from the server: cold, without scripts."""

from __future__ import annotations

from flask import Flask

from store.core.database import Database
from store.memory import observations
from tests.factories import NOON_MS
from tests.memories import put_observation
from tests.tables import for_each
from tests.webapp.conftest import Actor, csrf_of, page

HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}</textarea><script>alert(2)</script>"


@for_each("path", ["/search", "/insights"])
def test_a_time_that_is_not_understood_is_told_on_the_page(browser: Actor, path: str) -> None:
    html = page(browser, f"{path}?q=x&when=custom&phrase=nonsense", 400)
    assert "“nonsense” is not a time I know" in html


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
