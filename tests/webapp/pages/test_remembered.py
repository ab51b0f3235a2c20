"""People, things and facts as pages: where from, when seen, where used; corrected, merged, forgotten."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.media import Media
from store.sources import entities, fact_curation
from store.sources.entities import Provenance
from tests.factories import NOON_MS, store_frame
from tests.webapp.conftest import Actor, csrf_of, page, words

HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}<script>alert(2)</script>"
PEOPLE = "/memory/entities"


def learn(
    database: Database, name: str, *facts: tuple[str, str], turn_id: int | None = None,
    frame_id: int | None = None,
) -> tuple[int, list[int]]:  # fmt: skip
    """(entity, facts) as a chat stores them, or a person."""
    learned = Provenance(NOON_MS, turn_id, frame_id)
    with database.write() as connection:
        number, _ = entities.store_entity(connection, "person", name, learned)
        return number, [
            entities.store_fact(connection, number, predicate, learned, object_value=value)[0]
            for predicate, value in facts
        ]


def turn(database: Database, question: str = "Who is Anna?") -> int:
    chat = conversations.create(database, question, NOON_MS)
    return conversations.add_turn(
        database, chat, mode="agent", model="m", question=question, start_ms=None, end_ms=None,
        timezone="UTC", now_ms=NOON_MS,
    ).id  # fmt: skip


@pytest.mark.parametrize("path", [PEOPLE, "/memory/facts", "/memory/facts?retracted=1"])
def test_an_empty_home_says_how_something_comes_to_be_remembered(browser: Actor, path: str) -> None:
    html = page(browser, path)
    assert html.count("<h1") == 1 and not re.search(r"\sstyle=|<style|\son[a-z]+=\"|javascript:", html)


def test_one_shows_where_it_is_from_when_it_was_seen_and_where_it_was_used(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    first = store_frame(database, data_dir, NOON_MS - 60_000, "a mail of anna bauer")
    source = store_frame(database, data_dir, NOON_MS, "Contoso: Anna Bauer")
    last = store_frame(database, data_dir, NOON_MS + 60_000, "Anna Bauer again")
    asked = turn(database)
    number, [fact] = learn(database, "Anna Bauer", ("works at", "Contoso"), turn_id=asked, frame_id=source.id)
    with database.write() as connection:
        fact_curation.use(connection, asked, [number], [fact])
    html = page(browser, f"{PEOPLE}/{number}?tz=UTC")
    for frame in (first, source, last):
        assert f'href="/frames/{frame.id}"' in html
    assert "learned in a chat" in html and "used in 1 answer" in words(html)
    assert 'href="/chat/1#t1">Who is Anna?</a>' in html
    assert "Who is Anna?" in page(browser, f"/memory/facts/{fact}")
    assert "Anna Bauer" in page(browser, f"{PEOPLE}?q=bauer&kind=person")
    assert "No remembered people or things match" in page(browser, f"{PEOPLE}?q=zebra")


def test_a_fact_is_retracted_corrected_and_given_back(app: Flask, browser: Actor, database: Database) -> None:
    number, [ulm, kiel] = learn(
        database, "Anna", ("lives in", "Ulm"), ("lives in", "Kiel"), turn_id=turn(database)
    )
    form = {"csrf_token": csrf_of(app, browser), "next": f"{PEOPLE}/{number}"}
    assert "1 statement with more than one answer" in words(page(browser, "/memory/facts"))
    answer = browser.post(f"/memory/facts/{ulm}/retract", data={**form, "reason": "she moved"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PEOPLE}/{number}")
    html = page(browser, f"{PEOPLE}/{number}")
    assert "she moved" in html and "more than one answer" not in html
    assert "she moved" in page(browser, "/memory/facts?retracted=1")
    browser.post(f"/memory/facts/{ulm}/restore", data=form)
    assert entities.fact(database, ulm).retracted_ms is None
    browser.post(f"/memory/facts/{kiel}/correct", data={**form, "value": "Lübeck"})
    facts = {fact.object_value: fact for fact in entities.facts_of(database, [number])}
    assert set(facts) == {"Ulm", "Lübeck"} and facts["Lübeck"].origin == "person"
    assert "you said" in page(browser, f"{PEOPLE}/{number}")
    assert browser.post(f"/memory/facts/{ulm}/correct", data={**form, "value": " "}).status_code == 422


def test_a_persons_description_is_not_replaced_by_a_chat(
    app: Flask, browser: Actor, database: Database
) -> None:
    number, _ = learn(database, "Anna")
    form = {"csrf_token": csrf_of(app, browser), "description": "my sister"}
    assert browser.post(f"{PEOPLE}/{number}/describe", data=form).status_code == 303
    learned = Provenance(NOON_MS, turn(database))
    with database.write() as connection:
        entities.store_entity(connection, "person", "Anna", learned, "a colleague")
    assert entities.get(database, number).description == "my sister"


def test_two_are_compared_merged_and_parted(app: Flask, browser: Actor, database: Database) -> None:
    anna, _ = learn(database, "Anna", ("likes", "tea"))
    bauer, _ = learn(database, "A. Bauer", ("lives in", "Ulm"))
    token = {"csrf_token": csrf_of(app, browser)}
    html = words(page(browser, f"{PEOPLE}/{bauer}/merge?into={anna}"))
    assert "likes tea" in html and "lives in Ulm" in html and "will be recalled as Anna" in html
    assert entities.get(database, bauer).id == bauer, "looking does nothing"
    assert browser.post(f"{PEOPLE}/{bauer}/merge", data={**token, "into": str(anna)}).status_code == 303
    answer = browser.get(f"{PEOPLE}/{bauer}")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{PEOPLE}/{anna}")
    html = page(browser, f"{PEOPLE}/{anna}")
    assert "Ulm" in html and "Undo merge" in html
    assert browser.post(f"{PEOPLE}/{bauer}/unmerge", data=token).status_code == 303
    assert "Ulm" not in page(browser, f"{PEOPLE}/{anna}")
    assert browser.get(f"{PEOPLE}/{bauer}/merge?into=x").status_code == 404
    assert browser.get(f"{PEOPLE}/{bauer}/merge?into={bauer}").status_code == 422


def test_forgetting_asks_for_the_word(app: Flask, browser: Actor, database: Database) -> None:
    number, _ = learn(database, "Anna", ("likes", "tea"))
    form = {"csrf_token": csrf_of(app, browser)}
    answer = browser.post(f"{PEOPLE}/{number}/forget", data=form)
    assert answer.status_code == 422 and "Type FORGET" in answer.text
    assert browser.post(f"{PEOPLE}/{number}/forget", data={**form, "confirm": "FORGET"}).status_code == 303
    page(browser, f"{PEOPLE}/{number}", 404)
    assert entities.facts_of(database) == []


def test_what_was_stored_is_only_text(browser: Actor, database: Database) -> None:
    number, [fact, _] = learn(database, HOSTILE, (HOSTILE, HOSTILE), (HOSTILE, "b"))
    other, _ = learn(database, "Other")
    with database.write() as connection:
        fact_curation.retract(connection, fact, HOSTILE, NOON_MS)
    for path in (PEOPLE, f"{PEOPLE}/{number}", "/memory/facts", "/memory/facts?retracted=1",
                 f"/memory/facts/{fact}", f"{PEOPLE}/{number}/merge?into={other}"):  # fmt: skip
        html = page(browser, path)
        assert "<img src=x" not in html and "<script>alert" not in html, path


def test_people_and_facts_are_added_and_edited_by_hand_and_stand_on_their_frame(
    app: Flask, browser: Actor, database: Database, data_dir: DataDir
) -> None:
    frame, form = store_frame(database, data_dir, NOON_MS, "a page"), {"csrf_token": csrf_of(app, browser)}
    given = {"kind": "place", "name": "Quay 7", "predicate": "closes at", "value": "18:00", "frame": frame.id}
    assert browser.post(PEOPLE, data={**form, **given}).status_code == 303
    [quay] = entities.find_entities(database)
    [fact] = entities.facts_of(database)
    assert (quay.name, quay.origin, fact.origin, fact.source_frame_id) == (
        "Quay 7", "person", "person", frame.id,
    )  # fmt: skip
    assert "Quay 7 closes at 18:00" in words(page(browser, f"/frames/{frame.id}"))
    where = f"{PEOPLE}/{quay.id}"
    browser.post(f"{where}/describe", data={**form, "name": "Quay Seven", "description": "By the old crane"})
    assert "Quay Seven" in page(browser, where) and "By the old crane" in page(browser, where)
    learn(database, "Bo")
    [bo] = entities.find_entities(database, "bo")
    learn(database, "Bea")
    taken = browser.post(f"{PEOPLE}/{bo.id}/describe", data={**form, "name": "bea"})
    assert taken.status_code == 422 and "merged into it" in taken.text
    assert browser.post(PEOPLE, data={**form, "kind": "person", "name": " "}).status_code == 422


def test_a_deleted_frame_takes_along_what_was_learned_from_it_also_when_merged(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "Anna Bauer lives in Ulm")
    said = ("lives in", "Ulm")
    bauer, _ = learn(database, "Anna Bauer", said, frame_id=frame.id, turn_id=turn(database))
    middle, _ = learn(database, "Annie", ("likes", "tea"))
    anna, _ = learn(database, "Anna", ("likes", "rum"))
    with database.write() as connection:
        fact_curation.merge(connection, bauer, middle, NOON_MS)
        fact_curation.merge(connection, middle, anna, NOON_MS)
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    assert entities.get(database, anna).aliases == ((middle, "Annie"),)
    html = page(browser, f"{PEOPLE}/{anna}")
    assert "Ulm" not in html and "tea" in html and "rum" in html


def test_the_heat_strip_counts_the_frames_of_each_local_day(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    """By every name of an entity, and within the twelve weeks that are drawn."""
    day_ms = 86_400_000
    anna, _ = learn(database, "Anna Bauer")
    alias, _ = learn(database, "Annie")
    with database.write() as connection:
        fact_curation.merge(connection, alias, anna, NOON_MS)
    for n, text in enumerate(("Anna Bauer wrote", "Annie wrote", "Bob wrote")):
        store_frame(database, data_dir, NOON_MS + n * 1_000, text)
    store_frame(database, data_dir, NOON_MS - 3 * day_ms, "call anna bauer")
    store_frame(database, data_dir, NOON_MS - 100 * day_ms, "Anna Bauer long ago")
    html = page(browser, f"{PEOPLE}/{anna}?tz=UTC")
    assert "Seen on 2 days of the last 12 weeks, most on Fri 20 Nov." in words(html)
    assert "Fri 20 Nov 2 frames Tue 17 Nov 1 frame" in words(html)
    assert [int(level) for level in re.findall(r'<rect class="l(\d)"', html)] == [2, 4]
    assert html.count("<rect ") == 11 * 7 + 5  # Monday first, up to Friday
    # In Auckland noon of Friday is the first hour of Saturday, and Tuesday's is Wednesday.
    assert "Sat 21 Nov 2 frames Wed 18 Nov 1 frame" in words(
        page(browser, f"{PEOPLE}/{anna}?tz=Pacific/Auckland")
    )
    bob, _ = learn(database, "Nobody Seen")
    assert "As a list" not in page(browser, f"{PEOPLE}/{bob}")
