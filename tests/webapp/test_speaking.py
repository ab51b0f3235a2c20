"""Who speaks in a turn: the persona a person chose, a note for one answer, and what a chat began with."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from assistant.turns.model_session import EVIDENCE_RULES
from assistant.turns.voices import NEUTRAL
from store.chats import conversations, personas
from store.chats.personas import BUILT_IN, Persona, PersonaText
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatSettings, Settings
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, csrf_of

ASK = {
    "message": "What did I do?",
    "start_time": NOON_MS / 1000,
    "end_time": NOON_MS / 1000 + 60,
    "timezone": "UTC",
}
PIRATE = PersonaText("Pirate", "Voice: a pirate's.\nShape: one line.\nLength: ten words.")


@pytest.fixture
def app(
    make_app: Callable[..., Flask], stub: StubModel, database: Database, data_dir: DataDir
) -> Iterator[Flask]:
    store_frame(database, data_dir, NOON_MS + 1_000, text="the retention policy was changed")
    made = make_app(Settings(chat=ChatSettings(base_url=stub.base_url, model="stub")))
    yield made
    made.extensions["recollect"].chat_models.close()


@pytest.fixture
def pirate(app: Flask, database: Database) -> Persona:
    return personas.create(database, PIRATE, NOON_MS)


@pytest.fixture
def spoken(program: Actor, stub: StubModel) -> Callable[..., str]:
    """Asks over JSON, or with `stream` over SSE; gives the identity that the model was sent."""

    def ask(*, stream: bool = False, **changes: Any) -> str:
        stub.reply({"answer_md": "Nothing.", "evidence": []})
        address = "/api/v1/ai/chat/stream" if stream else "/api/v1/chat"
        answer = program.post(address, json={**ASK, **changes})
        assert answer.status_code == 200, answer.text
        return identity(stub)

    return ask


def identity(stub: StubModel) -> str:
    """Block 2 of the last request: what stands before the rules."""
    system = stub.requests[-1]["messages"][0]
    assert system["role"] == "system"
    found, rules, _ = str(system["content"]).partition(f"\n\n{EVIDENCE_RULES}")
    assert rules
    return found


def test_a_new_chat_is_answered_by_the_active_persona(
    spoken: Callable[..., str], program: Actor, pirate: Persona
) -> None:
    assert spoken() == BUILT_IN["assistant"].system_prompt
    program.post(f"/api/v1/personas/{pirate.id}/activate")
    assert spoken() == PIRATE.system_prompt


def test_without_a_persona_the_voice_is_neutral(spoken: Callable[..., str], database: Database) -> None:
    personas.activate(database, None)
    assert spoken() == NEUTRAL


@pytest.mark.parametrize("stream", [False, True])
def test_an_override_is_sent_byte_for_byte_whole_or_streamed(
    spoken: Callable[..., str], stream: bool
) -> None:
    assert spoken(stream=stream, system_prompt="  Speak like a clerk.\n ") == "  Speak like a clerk.\n "


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_blank_override_is_none(spoken: Callable[..., str], blank: str) -> None:
    assert spoken(system_prompt=blank) == spoken()


def test_a_note_stands_under_the_persona_for_one_turn(
    spoken: Callable[..., str], pirate: Persona, database: Database
) -> None:
    assert spoken(persona_id=pirate.id, style_note=" In rhyme. ") == f"{PIRATE.system_prompt}\n\nIn rhyme."
    assert personas.of_turn(database, 1, 1).style_note == "In rhyme."
    assert spoken(persona_id=pirate.id, chat_id=1) == PIRATE.system_prompt
    assert personas.of_turn(database, 1, 2).style_note == ""


def test_a_chat_keeps_the_voice_it_began_with_unless_a_turn_names_another(
    spoken: Callable[..., str], pirate: Persona, database: Database
) -> None:
    first = spoken()
    personas.activate(database, pirate.id)
    assert spoken(chat_id=1) == first
    assert spoken(chat_id=1, persona_id=pirate.id) == PIRATE.system_prompt
    assert spoken(chat_id=1) == first
    assert conversations.identity(database, 1) == first


def test_changing_a_persona_changes_no_transcript(
    spoken: Callable[..., str], pirate: Persona, database: Database
) -> None:
    spoken(persona_id=pirate.id)
    before = conversations.messages(database, 1)
    personas.update_persona(database, pirate.id, PersonaText("Pirate", "Voice: retired."), NOON_MS + 5)
    assert conversations.messages(database, 1) == before
    version = personas.of_turn(database, 1, 1).version
    assert version is not None and (version.version, version.system_prompt) == (1, PIRATE.system_prompt)


def test_a_persona_that_is_not_there_asks_nobody(program: Actor, stub: StubModel, database: Database) -> None:
    answer = program.post("/api/v1/chat", json={**ASK, "persona_id": 99})
    assert (answer.status_code, answer.get_json()["code"]) == (404, "persona_not_found")
    answer = program.post("/api/v1/chat", json={**ASK, "style_note": "x" * 201})
    assert answer.status_code == 422
    assert stub.requests == [] and conversations.list_chats(database) == []


# -- the page -----------------------------------------------------------------------------


def hidden(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"|name="{name}".*?value="([^"]*)" selected', html, re.S)
    assert found, name
    return found[1] or found[2] or ""


def test_every_turn_of_the_page_names_the_active_persona(
    app: Flask, browser: Actor, stub: StubModel, pirate: Persona, database: Database
) -> None:
    def send(path: str, note: str) -> str:
        page = browser.get(path).text
        assert f'href="/personas/{hidden(page, "persona_id")}"' in page
        assert hidden(page, "style_note") == ""
        stub.reply({"answer_md": "Nothing.", "evidence": []})
        form = {
            "csrf_token": csrf_of(app, browser), "message": "What did I do?", "model": "stub",
            "from_ms": str(NOON_MS), "to_ms": str(NOON_MS + 60_000), "when": "custom",
            "persona_id": hidden(page, "persona_id"), "style_note": note,
        }  # fmt: skip
        answer = browser.post(path, data=form)
        assert answer.status_code == 303, answer.text
        return str(answer.location)

    first = send("/chat", "In <b>rhyme</b>.")
    assert wait_for(stub, 1) == f"{BUILT_IN['assistant'].system_prompt}\n\nIn <b>rhyme</b>."
    personas.activate(database, pirate.id)
    send(first.partition("#")[0], "")
    assert wait_for(stub, 2) == PIRATE.system_prompt
    page = browser.get("/chat/1").text
    assert "Asked as Assistant, version 1" in page and "Asked as Pirate, version 1" in page
    assert "In &lt;b&gt;rhyme&lt;/b&gt;." in page and "<b>rhyme" not in page


@pytest.mark.parametrize("begun_by", ["", "1"])
def test_no_voice_is_nobody_and_a_note_does_not_come_back(
    app: Flask, browser: Actor, stub: StubModel, begun_by: str, spoken: Callable[..., str]
) -> None:
    """Whoever began the chat, and whoever is active; also where a program goes on with it."""
    form = {
        "csrf_token": csrf_of(app, browser), "message": "What did I do?", "model": "stub", "when": "custom",
        "from_ms": str(NOON_MS), "to_ms": str(NOON_MS + 60_000), "persona_id": begun_by,
    }  # fmt: skip
    stub.reply({"answer_md": "Nothing.", "evidence": []}).reply({"answer_md": "Nothing.", "evidence": []})
    assert browser.post("/chat", data={**form, "style_note": "In rhyme."}).status_code == 303
    words = BUILT_IN["assistant"].system_prompt if begun_by else NEUTRAL
    assert wait_for(stub, 1) == f"{words}\n\nIn rhyme."
    assert browser.post("/chat/1", data={**form, "persona_id": ""}).status_code == 303
    assert wait_for(stub, 2) == NEUTRAL
    assert spoken(chat_id=1) == words


def wait_for(stub: StubModel, requests: int) -> str:
    """The identity of the request of this number, once it is there."""
    deadline = time.monotonic() + 60
    while len(stub.requests) < requests and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(stub.requests) == requests
    return identity(stub)


def test_the_stored_transcript_comes_back_unchanged(
    spoken: Callable[..., str], program: Actor, database: Database
) -> None:
    spoken(style_note="In rhyme.")
    told = program.get("/api/v1/chats/1").get_json()["messages"]
    stored = conversations.messages(database, 1)
    assert [each["content"] for each in told] == [each.content for each in stored]
