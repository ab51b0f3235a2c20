"""Insights over HTTP: told, told again, asked about, amended on every mouth, compared, put back, exported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from store.chats import conversations
from store.chats.personas import BUILT_IN
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.memory import insights
from store.memory.insights import Insight
from tests.assistant.helpers import reply
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock, agent_settings
from tests.webapp.mouths import Running, mouths, serve

ZONE = "UTC"
MOUTHS = range(4)


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    return store_frame(database, data_dir, NOON_MS, "retention set to 14 days")


def told(program: Actor, stub: StubModel, frame: FrameRow, title: str = "Retention", **more: Any) -> Any:
    stub.reply(reply("You set retention to 14 days [[e1]].", ("e1", "retention set to 14 days"))).reply(title)
    answer = program.post("/api/v1/insights", json={"frame_id": frame.id, "timezone": ZONE, **more})
    assert answer.status_code == 201, answer.text
    stub.anew()
    return answer.get_json()


def test_an_insight_is_told_read_listed_and_deleted(program: Actor, stub: StubModel, frame: FrameRow) -> None:
    made = told(program, stub, frame)
    assert (made["title"], made["anchor"], made["frame_id"], made["current"], made["version"]) == (
        "Retention", "frame", frame.id, True, 1,
    )  # fmt: skip
    assert [(each["n"], each["frame_id"], each["state"]) for each in made["turn"]["evidence"]] == [
        (1, frame.id, "found")
    ]
    assert [claim["state"] for claim in made["turn"]["claims"]] == ["cited"]
    assert made["persona"] == BUILT_IN["assistant"].name
    assert program.get(f"/api/v1/insights/{made['id']}").get_json() == made
    queries = {
        f"frame_id={frame.id}": 1,
        "frame_id=1": 0,
        f"start_time={NOON_MS / 1000}&end_time={NOON_MS / 1000 + 1}": 1,
        "start_time=0&end_time=1": 0,
        f"persona_id={made['persona_id']}": 1,
    }
    for query, number in queries.items():
        assert len(program.get(f"/api/v1/insights?{query}").get_json()["data"]) == number, query
    found = program.get("/api/v1/memory/search?q=retention&types=insight").get_json()["data"]
    assert [(each["type"], each["id"], each["body"]["title"]) for each in found] == [
        ("insight", made["id"], "Retention")
    ]
    gone = program.ask("DELETE", f"/api/v1/insights/{made['id']}")
    assert gone.get_json() == {"id": made["id"], "deleted": True}
    assert program.get(f"/api/v1/insights/{made['id']}").get_json()["code"] == "insight_not_found"


def test_a_moment_is_told_and_pages_of_the_list_follow_each_other(
    program: Actor, stub: StubModel, frame: FrameRow
) -> None:
    stub.reply("Done.")
    for n in range(3):
        body = {"start_time": NOON_MS / 1000 + n, "end_time": NOON_MS / 1000 + n + 60, "timezone": ZONE}
        assert program.post("/api/v1/insights", json=body).status_code == 201
    first = program.get("/api/v1/insights?limit=2").get_json()
    rest = program.get(f"/api/v1/insights?limit=2&cursor={first['pagination']['next_cursor']}").get_json()
    starts = [each["start_time"] - NOON_MS / 1000 for each in [*first["data"], *rest["data"]]]
    assert starts == [2, 1, 0] and rest["pagination"]["next_cursor"] is None
    assert first["pagination"]["total"] == rest["pagination"]["total"] == 3


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_anchor"),
        ({"frame_id": 1, "start_time": 1, "end_time": 2}, 422, "invalid_anchor"),
        ({"start_time": 1}, 422, "invalid_anchor"),
        ({"start_time": 2, "end_time": 1}, 400, "invalid_time_range"),
        ({"frame_id": 4711}, 404, "frame_not_found"),
        ({"start_time": 1, "end_time": 2, "model": "none"}, 422, "model_not_found"),
        ({"start_time": 1, "end_time": 2, "persona_id": 99}, 404, "persona_not_found"),
    ],
)
def test_what_cannot_be_told_is_refused_and_leaves_nothing(
    program: Actor, stub: StubModel, database: Database, body: dict[str, Any], status: int, code: str
) -> None:
    answer = program.post("/api/v1/insights", json={"timezone": ZONE, **body})
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert stub.requests == [] and conversations.list_chats(database) == []


def test_a_telling_that_failed_is_kept_as_a_turn_and_no_insight(
    program: Actor, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    stub.fail(500, "broken")
    answer = program.post("/api/v1/insights", json={"frame_id": frame.id, "timezone": ZONE})
    assert answer.status_code >= 500 and answer.get_json()["turn_id"] == 1
    assert insights.list_insights(database) == []


def test_told_again(program: Actor, stub: StubModel, frame: FrameRow, database: Database) -> None:
    first = told(program, stub, frame)
    stub.reply("Dear diary: I chose 14 days [[e1]].").reply("Diary")
    body = {"frame_id": frame.id, "timezone": ZONE, "system_prompt": BUILT_IN["journal"].system_prompt}
    again = program.post("/api/v1/insights", json=body).get_json()
    assert (again["title"], again["version"], again["current"]) == ("Diary", 2, True)
    system, *rest = stub.requests[0]["messages"]
    assert system["content"].startswith(BUILT_IN["journal"].system_prompt)
    assert rest == [insights.messages(database, first["id"])[1]], "from the beginning"
    both = program.get("/api/v1/insights?all_versions=true").get_json()["data"]
    assert [(each["version"], each["current"]) for each in both] == [(2, True), (1, False)]


def test_asking_about_an_insight_amends_nothing_unless_it_is_said(
    program: Actor, stub: StubModel, frame: FrameRow
) -> None:
    made = told(program, stub, frame)
    stub.reply("Because of the disk.")
    answer = program.post(
        f"/api/v1/insights/{made['id']}/chat", json={"message": "Why?", "timezone": ZONE}
    ).get_json()
    assert (answer["chat_id"], answer["turn_id"]) == (made["chat_id"], 2)
    assert program.get(f"/api/v1/insights/{made['id']}").get_json() == made


def test_the_messages_begin_with_the_prompt_as_it_was_sent(
    program: Actor, stub: StubModel, frame: FrameRow, database: Database
) -> None:
    prompt = " Voice: calm.\n"
    made = told(program, stub, frame, system_prompt=prompt)
    data = insights.messages(database, made["id"])
    assert data[0] == {"role": "system", "content": prompt}
    assert data[1]["content"].endswith("then respond.")


def test_only_the_chat_of_an_insight_is_amended(program: Actor, database: Database) -> None:
    chat_id = conversations.create(database, "plain", NOON_MS)
    answer = program.post(
        "/api/v1/chat", json={"message": "x", "timezone": ZONE, "chat_id": chat_id, "amend": True}
    )
    assert (answer.status_code, answer.get_json()["code"]) == (422, "not_an_insight")


# -- every mouth: JSON, event stream, socket, form -----------------------------------------


@pytest.fixture
def running(database: Database, stub: StubModel, folder: Path, now: Clock) -> Iterator[Running]:
    with serve(database, agent_settings(stub, folder), now) as found:
        yield found


def made_on(running: Running, stub: StubModel, frame: FrameRow) -> Insight:
    stub.reply(reply("You set retention [[e1]].", ("e1", "retention set to 14 days"))).reply("Retention")
    body = {"frame_id": frame.id, "timezone": ZONE, "system_prompt": "Voice: calm."}
    answer = running.api("POST", "/insights", body)
    assert answer.status == 201, answer.body
    stub.anew()
    return insights.get(running.own.database, answer.json()["id"])


@pytest.mark.parametrize("mouth", MOUTHS)
def test_every_mouth_amends(
    running: Running, stub: StubModel, frame: FrameRow, database: Database, mouth: int
) -> None:
    first = made_on(running, stub, frame)
    stub.reply("Arr, 14 days.")
    override = "Voice: a pirate's.\n\nIn one line."
    chat_id, n = mouths(running)[mouth].ask(
        "As a pirate.", chat_id=first.chat_id, system_prompt=override, amend=True
    )
    second = insights.of_chat(database, chat_id)
    assert second is not None and (second.n, second.title, second.amends_id) == (n, first.title, first.id)
    assert insights.messages(database, second.id)[0] == {"role": "system", "content": override}
    assert [each.id for each in insights.list_insights(database)] == [second.id]
    assert not insights.get(database, first.id).is_current


BREAKS = (
    ("assistant.turns.asking._generate", False),
    ("assistant.turns.tool_execution._outcome", False),
    ("assistant.turns.asking.check", False),
    ("assistant.turns.asking._generate", True),
)


@pytest.mark.parametrize(("step", "amend"), BREAKS)
@pytest.mark.parametrize("mouth", MOUTHS)
def test_on_every_mouth_a_turn_that_breaks_leaves_the_insight_as_it_was(
    running: Running, stub: StubModel, frame: FrameRow, database: Database,
    monkeypatch: pytest.MonkeyPatch, mouth: int, step: str, amend: bool,
) -> None:  # fmt: skip
    first = made_on(running, stub, frame)
    before = conversations.messages(database, first.chat_id)
    made = insights.messages(database, first.id)
    stub.call(("calculator", {"expression": "2+2"})).reply("Four.").reply("Four")

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken on purpose")

    more = {"amend": True} if amend else {}
    with monkeypatch.context() as patched:
        patched.setattr(step, broken)
        mouths(running)[mouth].ask(
            "Again?", chat_id=first.chat_id, system_prompt="Voice: a pirate's.", **more
        )
    after = conversations.messages(database, first.chat_id)
    assert after[: len(before)] == before
    assert [(each.role, each.content) for each in after[len(before) :]] == (
        [] if amend else [("user", "Again?")]
    )
    assert insights.messages(database, first.id) == made
    assert insights.list_insights(database) == [first]
