"""Tools over HTTP: the same turn as JSON and as a stream, decisions, and how each tool runs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from store.chats import tool_calls
from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.sources import message, put_messages
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services

POLICY = "the retention policy was changed to ninety days"
ASK = {"message": "Which policy did I read about?", "timezone": "Asia/Shanghai", "mode": "agent"}


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


def events_of(body: bytes) -> list[dict[str, Any]]:
    blocks = body.decode().strip().split("\n\n")
    return [json.loads(block.split("data: ", 1)[1]) for block in blocks]


def finished(program: Actor, chat_id: int, turn_id: int) -> Any:
    """The turn's own address, asked until it has an answer."""
    for _ in range(1200):
        answer = program.get(f"/api/v1/chats/{chat_id}/turns/{turn_id}")
        if answer.status_code != 202:
            return answer
        time.sleep(0.05)
    raise AssertionError("the turn did not end")


def waiting(program: Actor, stub: StubModel, folder: Path) -> dict[str, Any]:
    stub.call(("read_file", {"path": str(folder / "plan.txt")})).reply("It is for monday.")
    answer = program.post("/api/v1/chat", json=ASK)
    assert answer.status_code == 202
    body: dict[str, Any] = answer.get_json()
    return body


def test_json_and_stream_tell_the_same_turn(
    program: Actor, stub: StubModel, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, NOON_MS + 1_000, text=POLICY)
    answer = {"answer_md": "Ninety days [[e1]].", "evidence": [{"id": "e1", "quote": POLICY}]}
    for _ in range(2):
        stub.call(("search_ocr", {"query": "policy"}), text="Let me look.").reply(answer)
    whole = program.post("/api/v1/chat", json=ASK)
    window = {"session_id": "one", "context_version": "v2"}
    streamed = program.post("/api/v1/ai/chat/stream", json={**ASK, **window})
    assert streamed.content_type.startswith("text/event-stream")
    events = events_of(streamed.data)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events if event["type"] in ("tool", "block", "final")] == [
        "tool", "tool", "tool", "block", "final",
    ]  # fmt: skip
    final = events[-1]["answer"]
    unlike = {"chat_id", "usage"}
    assert {k: v for k, v in final.items() if k not in unlike} == {
        k: v for k, v in whole.get_json().items() if k not in unlike
    }
    said = "".join(event["text"] for event in events if event["type"] == "text" and event["part"] == 2)
    assert said == "Ninety days."
    unknown = program.post("/api/v1/ai/chat/stream", json={**ASK, "context_version": "v1"})
    assert (unknown.status_code, unknown.get_json()["code"]) == (422, "invalid_context_version")


def test_a_waiting_call_goes_on_after_approval(
    program: Actor, stub: StubModel, folder: Path, database: Database
) -> None:
    body = waiting(program, stub, folder)
    assert body["status"] == "awaiting_approval"
    [call] = body["approvals"]
    assert call["tool"] == "read_file"
    assert call["arguments"] == {"path": str(folder / "plan.txt")}
    again = program.get(f"/api/v1/chats/{body['chat_id']}/turns/{body['turn_id']}")
    assert (again.status_code, again.get_json()) == (202, body)
    decided = program.post(f"/api/v1/tool-calls/{call['id']}/approve", json={"scope": "once"})
    assert decided.get_json()["state"] in ("approved", "executing", "completed")
    answer = finished(program, body["chat_id"], body["turn_id"]).get_json()
    assert "monday" in answer["answer_md"]
    replayed = program.post(f"/api/v1/tool-calls/{call['id']}/approve", json={})
    assert (replayed.status_code, replayed.get_json()["code"]) == (409, "tool_call_decided")


def test_a_denied_call_is_told(program: Actor, stub: StubModel, folder: Path) -> None:
    body = waiting(program, stub, folder)
    assert (
        program.post(f"/api/v1/tool-calls/{body['approvals'][0]['id']}/deny").get_json()["state"] == "denied"
    )
    assert finished(program, body["chat_id"], body["turn_id"]).status_code == 200
    assert "denied by user" in stub.requests[-1]["messages"][-1]["content"]
    assert program.post("/api/v1/tool-calls/999/deny").status_code == 404


def test_a_waiting_turn_can_be_stopped(program: Actor, stub: StubModel, folder: Path) -> None:
    body = waiting(program, stub, folder)
    address = f"/api/v1/chats/{body['chat_id']}/turns/{body['turn_id']}"
    assert program.post(f"{address}/stop").status_code == 202
    ended = finished(program, body["chat_id"], body["turn_id"])
    assert (ended.status_code, ended.get_json()["code"]) == (503, "stopped")
    assert program.post(f"{address}/stop").get_json()["code"] == "turn_finished"
    late = program.post(f"/api/v1/tool-calls/{body['approvals'][0]['id']}/approve", json={})
    assert late.get_json()["code"] == "tool_call_decided"


def test_after_a_restart_nothing_waits(
    program: Actor, stub: StubModel, folder: Path, database: Database, own: Services, now: Clock
) -> None:
    """A decision after it is refused: nothing would go on."""
    body = waiting(program, stub, folder)
    assert tool_calls.expire_all(database, now()) == 1
    late = program.post(f"/api/v1/tool-calls/{body['approvals'][0]['id']}/approve", json={})
    assert (late.status_code, late.get_json()["code"]) == (409, "tool_call_decided")
    assert finished(program, body["chat_id"], body["turn_id"]).status_code == 200


def test_a_model_says_whether_and_how_it_calls_tools(program: Actor) -> None:
    listed = {each["name"]: each for each in program.get("/api/v1/models").get_json()["data"]}
    assert {name: (each["supports_tools"], each["tool_format"]) for name, each in listed.items()} == {
        "stub": (True, ""),
        "extractive": (False, ""),
    }


def test_the_page_names_what_was_looked_at_beside_the_screen(
    program: Actor, browser: Actor, database: Database, stub: StubModel
) -> None:
    """As sources, with what quotes them marked so, and never among the evidence."""
    put_messages(database, [message("dinner at eight", NOON_MS, name="Anna")])
    stub.call(("search_messages", {"query": "dinner"})).reply("Anna wrote “dinner at eight”.")
    asked = {"message": "When do we eat?", "timezone": "UTC", "mode": "agent"}
    body = program.post("/api/v1/chat", json=asked).get_json()
    assert (body["sources"], body["evidence"]) == (["messages"], [])
    assert [claim["state"] for claim in body["claims"]] == ["from_source"]
    page = browser.get(f"/chat/{body['chat_id']}").text
    assert "Also looked at, beside your screen: your messages." in page
    assert "from your messages</span>" in page and "no source" not in page


def test_tools_are_listed_changed_and_revoked(program: Actor, stub: StubModel, folder: Path) -> None:
    listed = {tool["name"]: tool for tool in program.get("/api/v1/tools").get_json()["data"]}
    assert {"search_ocr", "get_frame", "activity_summary", "calculator", "read_file"} <= set(listed)
    assert (listed["read_file"]["mode"], listed["search_ocr"]["mode"]) == ("ask", "auto")
    offered = {name for name, tool in listed.items() if tool["is_offered"]}
    assert {name: tool["lacks"] for name, tool in listed.items() if name not in offered} == {
        "describe_frame": "None of your models can look at pictures",
        "get_calendar_events": "No calendar is imported",
        "get_location_history": "No location history is imported",
        "get_place_at": "No places are imported, or they are switched off",
        "search_chats": "No chat has a summary yet, or models are given none",
        "search_rag": "No day is summed up yet",
        "web_search": "Set `tools.web_search` to true and `tools.web_search_url` to an endpoint, "
        "as of a SearXNG.",
    }
    assert "search_ocr" in offered and all(listed[name]["lacks"] == "" for name in offered)
    body = waiting(program, stub, folder)
    program.post(f"/api/v1/tool-calls/{body['approvals'][0]['id']}/approve", json={"scope": "chat"})
    finished(program, body["chat_id"], body["turn_id"])
    listed = {tool["name"]: tool for tool in program.get("/api/v1/tools").get_json()["data"]}
    [rule] = listed["read_file"]["rules"]
    assert (rule["chat_id"], rule["scope"]) == (
        body["chat_id"],
        f"files below {folder}; results stay on this computer",
    )
    assert listed["read_file"]["last_used"] is not None
    assert program.ask("DELETE", f"/api/v1/tools/list_directory/rules/{rule['id']}").status_code == 404
    revoked = program.ask("DELETE", f"/api/v1/tools/read_file/rules/{rule['id']}")
    assert revoked.get_json()["rules"] == []
    assert program.ask("DELETE", f"/api/v1/tools/read_file/rules/{rule['id']}").status_code == 404
    changed = program.ask("PATCH", "/api/v1/tools/search_ocr", json={"mode": "off"})
    assert (changed.get_json()["mode"], changed.get_json()["default_mode"]) == ("off", "auto")
    assert (changed.get_json()["is_offered"], changed.get_json()["lacks"]) == (False, "It is switched off.")
    assert program.ask("PATCH", "/api/v1/tools/search_ocr", json={"mode": "never"}).status_code == 422
    assert program.ask("PATCH", "/api/v1/tools/shell", json={"mode": "auto"}).status_code == 404


def test_a_stranger_and_another_site_decide_nothing(
    stranger: Actor, browser: Actor, program: Actor, stub: StubModel, folder: Path
) -> None:
    body = waiting(program, stub, folder)
    address = f"/api/v1/tool-calls/{body['approvals'][0]['id']}/approve"
    assert stranger.post(address).status_code == 401
    assert browser.post(address).status_code == 403  # without the CSRF token
    assert browser.post(address, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    program.post(address.replace("approve", "deny"))
    finished(program, body["chat_id"], body["turn_id"])
