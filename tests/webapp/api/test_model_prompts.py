"""System prompts over HTTP: by model, and for one question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask

from store.chats import prompts
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, Settings
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import Actor, csrf_of

API = "/api/v1"
IDS = ("stub", "library/qwen3:8b", "org/team/model:latest", "名 (2)", "a%2Fb", "..", "x?y#z", "'; drop table")


def path(model: str) -> str:
    return f"{API}/models/{quote(model, safe='/:')}/system-prompt"


@pytest.mark.parametrize("model", IDS)
def test_put_get_and_delete(program: Actor, database: Database, model: str) -> None:
    nothing = {"model_id": model, "system_prompt": None}
    assert program.get(path(model)).get_json() == nothing
    kept = {"model_id": model, "system_prompt": " Be brief.\r\n"}
    put = program.ask("PUT", path(model), json={"system_prompt": " Be brief.\r\n"})
    assert (put.status_code, put.get_json()) == (200, kept)
    assert program.get(path(model)).get_json() == kept
    assert program.get(f"{API}/models/{quote(model, safe='')}/system-prompt").get_json() == kept
    assert program.ask("DELETE", path(model)).get_json() == nothing
    assert program.get(path(model)).get_json() == nothing
    history = [(each.version, each.content, each.saved_by) for each in prompts.versions(database, model)]
    assert history == [(2, "", "program"), (1, " Be brief.\r\n", "program")]


@for_each(
    ("body", "status", "code"),
    [
        ({}, 422, "system_prompt_required"),
        ({"system_prompt": None}, 422, "invalid_system_prompt"),
        ({"system_prompt": 7}, 422, "invalid_system_prompt"),
        ({"system_prompt": "x" * 8_001}, 422, "invalid_system_prompt"),
        ({"system_prompt": "a\0b"}, 422, "invalid_system_prompt"),
        ({"system_prompt": "x", "model": "y"}, 422, "unknown_field"),
    ],
)
def test_what_is_no_prompt_is_refused(program: Actor, body: Any, status: int, code: str) -> None:
    answer = program.ask("PUT", path("stub"), json=body)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert answer.mimetype == "application/problem+json"
    assert program.get(path("stub")).get_json()["system_prompt"] is None


@for_each("model", ["m" * 201, "%0A", "a%00b", "/x"])
def test_what_is_no_name_is_not_there(program: Actor, model: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = program.ask(method, f"{API}/models/{model}/system-prompt", json={"system_prompt": "x"})
        assert answer.status_code == 404, (method, answer.text)


# -- for one question ---------------------------------------------------------------------


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        running.reply({"answer_md": "It said hello [[e1]].", "evidence": [{"id": "e1", "quote": "hello"}]})
        yield running


@pytest.fixture
def settings(stub: StubModel) -> Settings:
    entry = ChatModelSettings("stub", stub.base_url, "stub", supports_tools=True)
    return Settings(chat=ChatSettings(models=(entry,)))


@pytest.fixture
def app(make_app: Any, settings: Settings, database: Database, data_dir: DataDir) -> Flask:
    store_frame(database, data_dir, NOON_MS, text="hello")
    made: Flask = make_app(settings)
    return made


ASK = {
    "message": "What did I read?", "start_time": NOON_MS / 1000 - 1, "end_time": NOON_MS / 1000 + 1,
    "timezone": "UTC", "system_prompt": "Speak like a pirate.",
}  # fmt: skip
FORM = {
    "message": "What did I read?", "from_ms": str(NOON_MS - 1000), "to_ms": str(NOON_MS + 1000), "tz": "UTC",
}  # fmt: skip


def test_every_mouth_takes_a_prompt_for_one_question(
    program: Actor, browser: Actor, app: Flask, stub: StubModel
) -> None:
    program.ask("PUT", path("stub"), json={"system_prompt": "Model's own."})
    assert program.post(f"{API}/chat", json=ASK).status_code == 200
    streamed = program.post(f"{API}/ai/chat/stream", json=ASK)
    final = json.loads(streamed.text.rpartition("data: ")[2])
    assert final["type"] == "final" and final["status"] == "done"
    posted = browser.post(
        "/chat",
        data={**FORM, "system_prompt": "Speak like a pirate.", "csrf_token": csrf_of(app, browser)},
    )
    assert posted.status_code == 303
    assert browser.get(posted.headers["Location"]).status_code == 200
    assert len(stub.requests) == 3
    systems = [request["messages"][0]["content"] for request in stub.requests]
    assert len(set(systems)) == 1
    assert systems[0].startswith("Model's own.\n\nSpeak like a pirate.\n\nRules that nothing else")
    transcripts = [program.get(f"{API}/chats/{n}").get_json()["messages"] for n in (1, 2, 3)]
    said = [[(m["role"], m["content"]) for m in messages] for messages in transcripts]
    assert said[0] == said[1] == said[2]
    assert said[0][0] == ("system", "Speak like a pirate.")


def test_each_model_is_sent_its_own_prompt(program: Actor, stub: StubModel) -> None:
    program.ask("PUT", path("other"), json={"system_prompt": "Another's."})
    program.post(f"{API}/chat", json={**ASK, "model": "stub"})
    assert "Another's." not in stub.prompt()


def test_the_longest_override_is_taken_and_a_longer_one_refused(program: Actor) -> None:
    refused = program.post(f"{API}/chat", json={**ASK, "system_prompt": "x" * 20_001})
    assert (refused.status_code, refused.get_json()["code"]) == (422, "invalid_system_prompt")
    taken = program.post(f"{API}/chat", json={**ASK, "system_prompt": "x" * 20_000})
    assert taken.status_code == 200


def test_a_longer_override_is_refused_on_the_page_too(app: Flask, browser: Actor, stub: StubModel) -> None:
    form = {**FORM, "system_prompt": "x" * 20_001, "csrf_token": csrf_of(app, browser)}
    answer = browser.post("/chat", data=form)
    assert answer.status_code == 422
    assert "longer than 20000 characters" in answer.text
    assert stub.requests == []
