"""Sessions and topics on the pages of memory: read, corrected, retracted, forgotten."""

from __future__ import annotations

import pytest
from flask import Flask

from assistant.context import session_closing, session_summary
from store.chats.records import StoredEvidence
from store.core.paths import DataDir
from store.core.times import MAX_MS
from store.deletion import deletion
from store.frames.media import Media
from store.memory import chat_digests, chat_sessions, chat_summaries
from store.sources import entities
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS, store_frame
from tests.webapp.conftest import Actor, Clock, csrf_of
from webapp.core.services import Services

LEARNED = "It is 14 days."
SETTLED = "Then we keep the archive for 14 days."


@pytest.fixture
def past(own: Services, now: Clock) -> Past:
    return Past(own.context, now)


@pytest.fixture
def session_id(past: Past) -> int:
    return past.window(f"What did I set <retention> to? {SETTLED}", answers=[LEARNED])


@pytest.fixture
def form(app: Flask, browser: Actor) -> dict[str, str]:
    return {"csrf_token": csrf_of(app, browser)}


def test_sessions_are_listed_newest_first_and_open_one(browser: Actor, past: Past, session_id: int) -> None:
    assert "Nothing yet" not in browser.get("/memory/sessions").text
    open_one = past.window("And the invoice?", closed=False)
    shown = browser.get("/memory/sessions").text
    assert "What did I set &lt;retention&gt; to?" in shown and shown.index(SETTLED) < shown.index(LEARNED)
    assert shown.index(f"/memory/sessions/{open_one}") < shown.index(f"/memory/sessions/{session_id}")
    assert "open now" in shown and "Not summarised yet" in shown
    one = browser.get(f"/memory/sessions/{session_id}").text
    assert 'href="/chat/1#t1"' in one and LEARNED in one
    assert browser.get("/memory/sessions/999").status_code == 404


def test_pages_of_sessions_have_neither_gap_nor_double(browser: Actor, past: Past) -> None:
    ids = [past.window(f"question {number}") for number in range(53)]
    first = browser.get("/memory/sessions").text
    second = browser.get(f"/memory/sessions?before={ids[3]}").text
    assert f'href="/memory/sessions?before={ids[3]}"' in first
    found = [number for number in ids if f'<h2><a href="/memory/sessions/{number}"' in first]
    rest = [number for number in ids if f'<h2><a href="/memory/sessions/{number}"' in second]
    assert (found, rest) == (ids[3:], ids[:3])


def test_a_summary_is_edited_kept_and_made_again(
    browser: Actor, own: Services, session_id: int, form: dict[str, str]
) -> None:
    where = f"/memory/sessions/{session_id}"
    said = {**form, "request": "Retention", "learned": "30 days, password: hunter2"}
    assert browser.post(where, data=said).status_code == 303
    found = chat_summaries.get(own.database, [session_id])[session_id]
    assert (found.learned, found.made_by, found.notes) == ("30 days, password: [redacted]", "person", None)
    assert chat_digests.candidates(own.database, "fake").vectors is not None
    browser.post(f"{where}/again", data=form)
    assert chat_summaries.get(own.database, [session_id])[session_id].learned == LEARNED
    assert browser.post("/memory/sessions/999", data=said).status_code == 404


def test_a_form_that_shows_what_was_deleted_since_is_not_kept(
    browser: Actor, own: Services, past: Past, form: dict[str, str], data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(own.database, data_dir, NOON_MS - 1_000, "zanzibarquill")
    evidence = [StoredEvidence(1, frame.id, NOON_MS, state="found")]
    answer = "The zanzibarquill was signed."
    session_id = past.window("What is it?", answers=[answer], evidence=evidence)
    where = f"/memory/sessions/{session_id}"
    version = chat_summaries.get(own.database, [session_id])[session_id].version
    assert f'name="version" value="{version}"' in browser.get(where).text
    deletion.delete_frames(own.database, media, [frame.id])
    session_closing.look(own.context)
    stale = {**form, "version": version, "request": "Mine", "completed": answer}
    assert browser.post(where, data=stale).status_code == 409
    assert "zanzibarquill" not in browser.get(where).text


def test_a_field_as_long_as_rules_write_it_is_not_cut_into_the_persons_words(
    browser: Actor, own: Services, past: Past, form: dict[str, str]
) -> None:
    answers = [
        f"Clause {n} names Harbour {n * 7} and the freight, {'all of it ' * 13}paid." for n in range(8)
    ]
    session_id = past.window(*[f"What says clause {n}?" for n in range(8)], answers=answers)
    made = chat_summaries.get(own.database, [session_id])[session_id]
    assert made.learned is not None and 1_000 < len(made.learned) <= session_summary.MAX_FIELD_CHARS
    said = {name: text or "" for name, text in made.fields.items()} | {"notes": "mine"}
    browser.post(f"/memory/sessions/{session_id}", data={**form, **said, "version": made.version})
    found = chat_summaries.get(own.database, [session_id])[session_id]
    assert found.learned == made.learned and "learned" in found.untyped


def test_a_summary_is_retracted_and_brought_back(
    browser: Actor, own: Services, session_id: int, form: dict[str, str]
) -> None:
    where = f"/memory/sessions/{session_id}"
    browser.post(f"{where}/retract", data=form)
    assert "given to no model" in browser.get("/memory/sessions").text
    assert chat_digests.ended_between(own.database, 0, MAX_MS, 10) == []
    browser.post(f"{where}/restore", data=form)
    assert chat_digests.ended_between(own.database, 0, MAX_MS, 10) == [session_id]


def test_what_a_person_decides_about_memory_is_one_page(
    browser: Actor, own: Services, session_id: int, form: dict[str, str]
) -> None:
    where, told = "/settings/memory", {"chars": "2000", "summaries": "off"}
    assert browser.post(where, data={**form, **told}).status_code == 303
    assert chat_sessions.is_off(own.database)
    assert (chat_sessions.pack_chars(own.database, 3_000), own.settings.context.summaries) == (2_000, "local")
    assert chat_sessions.summarised_by(own.database, "local") == "off"
    # Nothing leaves for a summary without a clear yes.
    anywhere = {**form, **told, "told": "on", "summaries": "any"}
    assert browser.post(where, data=anywhere).status_code == 422
    assert chat_sessions.summarised_by(own.database, "local") == "off"
    browser.post(where, data={**anywhere, "consent": "yes", "host": "api.example"})
    browser.post(where, data={**anywhere, "host": "later.example"})  # named without a yes
    assert chat_sessions.summarised_by(own.database, "local") == "any"
    assert chat_sessions.summary_hosts(own.database) == {"api.example"}
    assert not chat_sessions.is_off(own.database)
    # Whose screen it is, is a person of memory; one that is merged or forgotten is followed.
    browser.post(f"{where}/owner", data={**form, "name": "Ida Okafor"})
    ida = entities.owner(own.database)
    assert ida is not None and (ida.name, ida.kind, ida.origin) == ("Ida Okafor", "person", "person")
    # All of it is named before it goes, and counted after.
    page = browser.get(where).text
    assert "Ida Okafor" in page and "Chats: 1" in page
    assert browser.post(f"{where}/forget", data={**form, "confirm": "yes"}).status_code == 422
    browser.post(f"{where}/forget", data={**form, "confirm": "FORGET"})
    assert "summaries of 1 chat" in browser.get(where).text
    assert entities.owner(own.database) is None and entities.find_entities(own.database) == []
    assert LEARNED not in browser.get("/memory/sessions").text
    assert browser.get("/chat/1").status_code == 200


def topic(own: Services, name: str, now: Clock) -> int:
    with own.database.write() as connection:
        chat_digests.put_topic(connection, name, name.title(), (), 0.5, now(), now())
    found = chat_digests.topic(own.database, name)
    assert found is not None
    return found.id


def test_topics_are_listed_renamed_dismissed(
    browser: Actor, own: Services, now: Clock, form: dict[str, str]
) -> None:
    Past(own.context, now).window("Which retention?")
    number = topic(own, "retention", now)
    assert "Topic Retention: " in browser.get("/memory/sessions").text
    browser.post(f"/memory/topics/{number}", data={**form, "title": "Keeping"})
    assert "Topic Keeping: " in browser.get("/memory/sessions").text
    assert browser.post(f"/memory/topics/{number}", data={**form, "title": " "}).status_code == 422
    browser.post(f"/memory/topics/{number}/dismiss", data=form)
    assert chat_digests.dismissed(own.database) == {"retention"}
    browser.post(f"/memory/topics/{number}/restore", data=form)
    assert chat_digests.dismissed(own.database) == set()
    assert browser.post("/memory/topics/999", data={**form, "title": "x"}).status_code == 404


def test_what_a_summary_says_is_escaped(browser: Actor, past: Past) -> None:
    session_id = past.window("What did I set <retention> to?", answers=[LEARNED])
    for path in (f"/memory/sessions/{session_id}", "/memory/sessions"):
        shown = browser.get(path).text
        assert LEARNED in shown and "What did I set &lt;retention&gt; to?" in shown, path


def test_the_lines_of_a_topic_and_of_old_months_lead_to_their_sessions(
    browser: Actor, own: Services, now: Clock, past: Past
) -> None:
    old = [past.window(f"the invoice of Wagner {n}", days_ago=40 + n) for n in range(2)]
    fresh = past.window("the retention of frames", answers=["Kept for 14 days."])
    number = topic(own, "retention", now)
    shown = browser.get("/memory/sessions").text
    by_week, of_topic = shown.split("Older than four weeks, by week")[1].split(f'id="topic-{number}"')
    assert f'href="/memory/sessions/{fresh}"' in of_topic.split("</details>")[0]
    for each in old:
        assert f'href="/memory/sessions/{each}"' in by_week
