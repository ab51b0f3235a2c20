"""The page of one import: the people or places in it, remembered by a form, and what its deletion takes."""

from __future__ import annotations

import re

import pytest

from store.sources import entities, imports
from store.sources.entities import Provenance
from store.sources.locations import PlaceRecord
from store.sources.messages import MessageRecord
from tests.factories import NOON_MS
from tests.sources import put_events, put_messages, put_places
from tests.webapp.conftest import Actor
from tests.webapp.pages.test_remembered import words
from webapp.core.services import Services

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def page(own: Services) -> str:
    """The address of an import of messages with Anna, Bob and somebody whose name is markup."""
    put_messages(
        own.database,
        (
            MessageRecord("sms", NOON_MS + n, False, "hello", f"+49170{n}", name)
            for n, name in enumerate(("Anna", "Anna", "Bob", HOSTILE, ""))
        ),
    )
    return f"/sources/messages/imports/{imports.listed(own.database)[0].id}"


def token(html: str) -> str:
    found = re.search(r'name="csrf_token" value="([0-9a-f]{64})"', html)
    assert found is not None
    return found[1]


def press(browser: Actor, page: str, **fields: object) -> str:
    html = browser.get(page).text
    answer = browser.post(f"{page}/remember", data={"csrf_token": token(html), **fields})
    assert answer.status_code == 200, answer.text[:400]
    return str(answer.text)


def test_nobody_is_remembered_before_the_button_is_pressed(browser: Actor, own: Services, page: str) -> None:
    html = browser.get(page).text
    assert "3 people in it" in words(html) and "Remember 3 people" in words(html)
    assert "Only the name is remembered" in words(html) and HOSTILE not in html
    assert entities.find_entities(own.database) == []
    assert f'href="{page}"' in browser.get("/sources/messages").text


def test_all_of_them_and_a_second_press_adds_nothing(browser: Actor, own: Services, page: str) -> None:
    assert "3 remembered." in words(press(browser, page, all="1"))
    assert "0 remembered. 3 remembered already." in words(press(browser, page, all="1"))
    assert len(entities.find_entities(own.database)) == 3
    assert 'name="all"' not in browser.get(page).text


def test_those_ticked_alone(browser: Actor, own: Services, page: str) -> None:
    html = press(browser, page, name=["Bob"])
    [bob] = entities.find_entities(own.database)
    assert bob.name == "Bob" and f'href="/memory/entities/{bob.id}">Bob</a>' in html
    assert "Remember 2 people" in words(html)
    gone = browser.post(f"{page}/remember", data={"csrf_token": token(html), "name": "Eve"})
    assert gone.status_code == 422


def test_an_entity_leads_to_the_import_that_names_it(browser: Actor, own: Services, page: str) -> None:
    press(browser, page, all="1")
    anna = next(each for each in entities.find_entities(own.database) if each.name == "Anna")
    html = browser.get(f"/memory/entities/{anna.id}").text
    assert "by you, of the names in an import" in words(html) and f'<a href="{page}">sms.xml</a>' in html
    assert "1 import" in words(browser.get("/memory/entities").text)


def test_the_page_says_what_deleting_takes_and_then_what_it_took(
    browser: Actor, own: Services, page: str
) -> None:
    press(browser, page, all="1")
    with own.database.write() as connection:
        entities.store_entity(connection, "person", "Anna", Provenance(NOON_MS), "my sister")
    html = browser.get(page).text
    assert "Also forgets 2 people known from this file only" in words(html)
    assert "Keeps 1 person named by it" in words(html)
    form = {"csrf_token": token(html), "import_id": page.rpartition("/")[2]}
    told = words(browser.post("/sources/messages/delete", data=form).text)
    assert "5 messages deleted" in told
    assert "2 entries of people and things went, too" in told and "1 entry of people and things stays" in told
    assert [each.name for each in entities.find_entities(own.database)] == ["Anna"]


def test_an_import_stands_under_its_own_kind_only(browser: Actor, own: Services, page: str) -> None:
    assert browser.get(page.replace("messages", "places")).status_code == 404
    assert browser.get(page.replace("messages", "pictures")).status_code == 404
    assert browser.get("/sources/messages/imports/99").status_code == 404


def test_places_and_sources_without_names(browser: Actor, own: Services) -> None:
    put_places(own.database, [PlaceRecord("Old Mill", 48.1, 11.5)])
    number = imports.listed(own.database, "places")[0].id
    html = words(press(browser, f"/sources/places/imports/{number}", all="1"))
    assert "1 place in it" in html and "1 remembered." in html
    assert entities.find_entities(own.database)[0].kind == "place"
    put_events(own.database, [])
    number = imports.listed(own.database, "calendar")[0].id
    html = browser.get(f"/sources/calendar/imports/{number}").text
    assert "Remember" not in html and not re.search(r"\sstyle=|<style|\son[a-z]+=\"", html)
