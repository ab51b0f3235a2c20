"""The persona manager, without scripts: every form answers with a page or leads to one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask

from store.chats import conversations, personas
from store.chats.personas import Persona
from store.core.database import Database, scalar
from store.core.paths import DataDir
from store.core.settings import ChatSettings, Settings
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, csrf_of
from webapp.security.access import make_launch_code


@pytest.fixture
def send(app: Flask, browser: Actor) -> Any:
    token = csrf_of(app, browser)

    def post(path: str, **form: Any) -> Any:
        return browser.post(path, data={"csrf_token": token, **form}, content_type="multipart/form-data")

    return post


def named(database: Database, name: str) -> Persona:
    return next(each for each in personas.list_personas(database) if each.name == name)


def text_of(browser: Actor, path: str) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", browser.get(path).get_data(as_text=True))


def test_the_manager_shows_who_speaks_and_explains_a_note(browser: Actor) -> None:
    page = text_of(browser, "/personas")
    assert "Speaks now" in page and "Built in" in page
    assert "It may contradict them, and then it is the note that counts." in page
    assert 'href="/personas"' in browser.get("/settings/models").get_data(as_text=True)


def test_a_built_in_voice_is_edited_in_the_language_of_the_person(
    browser: Actor, send: Any, database: Database
) -> None:
    before = named(database, "Assistant")
    browser.headers |= {"Accept-Language": "zh-CN"}
    page = browser.get(f"/personas/{before.id}").get_data(as_text=True)
    assert 'value="助理"' in page and 'value="先说结论' in page and "Answers first" not in page
    form = {
        "name": "助理",
        "description": "先说结论，再说细节。简短。",
        "system_prompt": before.system_prompt,
    }
    send(f"/personas/{before.id}", **form)
    assert named(database, "Assistant") == before  # nothing was changed
    send(f"/personas/{before.id}", **form | {"name": "阿福"})
    assert named(database, "阿福").description == before.description


def test_a_persona_is_made_changed_compared_restored_and_removed(
    browser: Actor, send: Any, database: Database
) -> None:
    made = send("/personas", name="Analyst", system_prompt="Voice: dry.\nShape: bullets.", description="")
    own = named(database, "Analyst")
    assert (made.status_code, made.location) == (303, f"/personas/{own.id}?saved=1")
    send(f"/personas/{own.id}", name="Analyst", system_prompt="Voice: drier.\nShape: bullets.")
    compared = browser.get(f"/personas/{own.id}?compare=1").get_data(as_text=True)
    assert 'class="removed"' in compared and "Voice: dry." in compared and "Voice: drier." in compared
    send(f"/personas/{own.id}/restore", version="1")
    assert named(database, "Analyst").system_prompt == "Voice: dry.\nShape: bullets."
    assert send("/personas/active", persona_id=str(own.id)).status_code == 303
    assert (chosen := personas.active(database)) is not None and chosen.id == own.id
    assert send(f"/personas/{own.id}/remove").location == "/personas"
    assert len(personas.list_personas(database)) == 2


def test_what_was_typed_stays_beside_what_is_wrong(send: Any) -> None:
    answer = send("/personas", name="Journal", system_prompt="Voice: <b>mine</b>", description="mine")
    html = answer.get_data(as_text=True)
    assert answer.status_code == 422
    assert "Name is taken." in html and "Voice: &lt;b&gt;mine&lt;/b&gt;" in html


def test_nobody_may_speak_when_the_person_wants_that(browser: Actor, send: Any, database: Database) -> None:
    send("/personas/active")
    assert personas.active(database) is None
    assert "No voice is in use" in text_of(browser, "/personas")


def test_an_unknown_persona_is_a_page_that_says_so(browser: Actor) -> None:
    assert browser.get("/personas/999").status_code == 404


def test_a_persona_is_tried_on_a_real_moment_and_nothing_is_kept(
    make_app: Any, stub: StubModel, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, text="retention set to 14 days")
    with database.write() as connection:
        heartbeat(connection, frame)
    app = make_app(Settings(chat=ChatSettings(base_url=stub.base_url, model="stub")))
    own = app.extensions["recollect"]
    actor = Actor(app.test_client(), {"Sec-Fetch-Site": "same-origin"})
    code = make_launch_code(own.token, own.clock())
    actor.get(f"/launch?code={code}", headers={"Sec-Fetch-Site": "none"})
    page = actor.get("/personas/new").get_data(as_text=True)
    moments = re.findall(r'<option value="(\d+-\d+)"', page)
    assert moments and 'formaction="/personas/preview"' in page
    stub.reply({"answer_md": "Arr [[e1]].", "evidence": [{"id": "e1", "quote": "retention set to 14 days"}]})
    form = {"name": "Pirate", "system_prompt": "Voice: a pirate's.", "description": "", "moment": moments[0],
            "csrf_token": csrf_of(app, actor)}  # fmt: skip
    tried = actor.post("/personas/preview", data=form).get_data(as_text=True)
    assert "Arr" in tried and "retention set to 14 days" in tried and "Voice: a pirate&#39;s." in tried
    assert stub.requests[0]["messages"][0]["content"].startswith("Voice: a pirate's.\n\n")
    assert conversations.list_chats(database) == []
    assert [each.name for each in personas.list_personas(database)].count("Pirate") == 0
    with database.read() as connection:
        assert scalar(connection, "select count(*) from sent_requests where body is not null") == 0
    blank = actor.post("/personas/preview", data={**form, "system_prompt": " "})
    assert blank.status_code == 422 and "The text is missing." in blank.get_data(as_text=True)
    stub.anew().fail(500, "broken")
    failed = actor.post("/personas/preview", data=form).get_data(as_text=True)
    assert 'role="alert"' in failed and conversations.list_chats(database) == []
    own.chat_models.close()
