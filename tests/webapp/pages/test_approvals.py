"""Approval is the server's: by call, once, for what was shown; anything else is refused and on record."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from assistant.tools.registry import APPROVAL_LIFETIME_MS
from store.chats import tool_calls
from store.core.database import Database
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock, csrf_of

ASK = {"message": "What is my plan?", "timezone": "UTC", "mode": "agent"}


@pytest.fixture
def app(agent_app: Flask, folder: Path) -> Flask:
    (folder / "other.txt").write_text("another secret", encoding="utf-8")
    return agent_app


@pytest.fixture
def waiting(program: Actor, stub: StubModel, folder: Path) -> Iterator[dict[str, Any]]:
    """A turn with one call that waits; ended at the end, whatever became of it."""
    stub.call(("read_file", {"path": str(folder / "plan.txt")})).reply("It is for monday.")
    body: dict[str, Any] = program.post("/api/v1/chat", json=ASK).get_json()
    assert body["status"] == "awaiting_approval"
    yield body
    address = f"/api/v1/chats/{body['chat_id']}/turns/{body['turn_id']}"
    program.post(f"{address}/stop")
    finished(program, body)


def finished(program: Actor, body: dict[str, Any]) -> Any:
    for _ in range(1200):
        answer = program.get(f"/api/v1/chats/{body['chat_id']}/turns/{body['turn_id']}")
        if answer.status_code != 202:
            return answer
        time.sleep(0.05)
    raise AssertionError("the turn did not end")


def call_of(body: dict[str, Any]) -> int:
    return int(body["approvals"][0]["id"])


def state(database: Database, body: dict[str, Any]) -> str:
    call = tool_calls.get(database, call_of(body))
    assert call
    return call.state


def events(database: Database) -> list[str]:
    return [event.event for event in tool_calls.latest_events(database)]


def test_the_question_says_what_it_does_and_where_that_goes(waiting: dict[str, Any], folder: Path) -> None:
    [asked] = waiting["approvals"]
    path = folder / "plan.txt"
    assert asked["reason"] == (
        f"Reads {path}, within its first 262,144 bytes. Its results stay on this computer."
    )
    assert asked["scope"] == f"files below {folder}; results stay on this computer"
    assert asked["expires_at"] - asked["created_at"] == APPROVAL_LIFETIME_MS / 1000


def test_there_is_no_way_to_run_a_call_but_to_decide_about_it(app: Flask) -> None:
    """What runs is what a turn claims; no address runs anything."""
    rules = [rule for rule in app.url_map.iter_rules() if "tool-calls" in rule.rule or "/calls/" in rule.rule]
    assert {(rule.rule.rpartition("/")[2], *sorted(rule.methods or ())) for rule in rules} == {
        ("approve", "OPTIONS", "POST"),
        ("deny", "OPTIONS", "POST"),
        ("<id:call_id>", "OPTIONS", "POST"),  # the decision of the page
        ("retry", "OPTIONS", "POST"),  # a new turn with a new call, which is decided about like any
    }


@pytest.mark.parametrize(
    "body",
    [
        {"scope": "once", "arguments": {"path": "/etc/passwd"}},
        {"scope": "once", "tool": "list_directory"},
        {"scope": "for ever"},
        {"scope": None},
        [],
    ],
)
def test_nothing_but_a_decision_is_taken(
    program: Actor, database: Database, waiting: dict[str, Any], body: Any
) -> None:
    """Changed arguments: there is no place to put them, and the call goes on waiting."""
    answer = program.post(f"/api/v1/tool-calls/{call_of(waiting)}/approve", json=body)
    assert answer.status_code in (400, 422)
    assert state(database, waiting) == "pending"


def test_arguments_beside_a_decision_of_the_page_change_nothing(
    app: Flask, browser: Actor, program: Actor, stub: StubModel, waiting: dict[str, Any], folder: Path
) -> None:
    address = f"/chat/{waiting['chat_id']}/turns/{waiting['turn_id']}/calls/{call_of(waiting)}"
    form = {"csrf_token": csrf_of(app, browser), "decision": "once"}
    browser.post(address, data={**form, "arguments": str(folder / "other.txt"), "path": "other.txt"})
    finished(program, waiting)
    told = stub.requests[-1]["messages"][-1]["content"]
    assert "for monday" in told and "another secret" not in told


@pytest.mark.parametrize("moved", [(1, 0), (0, 1)])
def test_a_decision_has_to_name_the_turn_of_the_call(
    app: Flask, browser: Actor, database: Database, waiting: dict[str, Any], moved: tuple[int, int]
) -> None:
    chat, turn = waiting["chat_id"] + moved[0], waiting["turn_id"] + moved[1]
    form = {"csrf_token": csrf_of(app, browser), "decision": "once"}
    address = f"/chat/{chat}/turns/{turn}/calls/{call_of(waiting)}"
    assert browser.post(address, data=form).status_code == 404
    assert state(database, waiting) == "pending"


def test_a_decision_comes_once(
    program: Actor, database: Database, waiting: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Replayed approval: refused, on record and in the log; the tool has run once."""
    address = f"/api/v1/tool-calls/{call_of(waiting)}"
    assert program.post(f"{address}/approve").status_code == 200
    finished(program, waiting)
    for again in ("approve", "deny", "approve"):
        answer = program.post(f"{address}/{again}")
        assert (answer.status_code, answer.get_json()["code"]) == (409, "tool_call_decided")
    assert events(database) == ["refused"] * 3 + ["completed", "approved"]
    assert caplog.text.count(f"refused a decision about tool call {call_of(waiting)}: it is completed") == 3


def test_a_denied_call_cannot_be_approved_later(
    program: Actor, database: Database, waiting: dict[str, Any]
) -> None:
    address = f"/api/v1/tool-calls/{call_of(waiting)}"
    program.post(f"{address}/deny")
    finished(program, waiting)
    assert program.post(f"{address}/approve").status_code == 409
    assert (state(database, waiting), events(database)) == ("denied", ["refused", "denied"])


def test_a_decision_after_its_time_is_refused(
    program: Actor, database: Database, waiting: dict[str, Any], now: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    now.now_ms += APPROVAL_LIFETIME_MS
    answer = program.post(f"/api/v1/tool-calls/{call_of(waiting)}/approve")
    assert (answer.status_code, answer.get_json()["code"]) == (409, "tool_call_decided")
    assert "refused a decision" in caplog.text and "refused" in events(database)
    finished(program, waiting)
    assert state(database, waiting) == "expired"


def test_a_call_that_there_is_not_is_refused_and_logged(
    program: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    assert program.post("/api/v1/tool-calls/999/approve").status_code == 404
    assert "refused a decision about tool call 999: there is none" in caplog.text


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_another_site_decides_nothing_and_is_logged(
    app: Flask,
    browser: Actor,
    program: Actor,
    database: Database,
    waiting: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    headers: dict[str, str],
) -> None:
    """Neither by the API, nor by the page's form, nor by a socket, whoever is signed in."""
    number = call_of(waiting)
    page = f"/chat/{waiting['chat_id']}/turns/{waiting['turn_id']}/calls/{number}"
    form = {"csrf_token": csrf_of(app, browser), "decision": "once"}
    caplog.set_level(logging.WARNING)
    assert program.post(f"/api/v1/tool-calls/{number}/approve", headers=headers).status_code == 403
    assert browser.post(page, data=form, headers=headers).status_code == 403
    socket = f"/ws/chat/{waiting['chat_id']}"
    assert browser.get(socket, headers={**headers, "Upgrade": "websocket"}).status_code == 403
    assert state(database, waiting) == "pending"
    for method, path in (("POST", f"/api/v1/tool-calls/{number}/approve"), ("POST", page), ("GET", socket)):
        assert f"refused {method} '{path}': another site asked" in caplog.text


def test_what_another_site_asks_begins_no_line_of_the_log(
    browser: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    browser.get("/x%0Aforged", headers={"Origin": "https://evil.example"})
    assert "refused GET '/x\\nforged'" in caplog.text
