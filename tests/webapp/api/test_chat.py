"""POST /chat: the whole answer in one body, and every refusal with its code."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.context.background import NO_CONTEXT
from assistant.core.errors import UnknownChat
from assistant.core.records import TurnError
from assistant.turns.live import LiveTurn
from engines.cancellation import CancelToken
from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor
from webapp.api.questions import failure_problem, wait_for_turn

NOON = NOON_MS / 1000
ASK = {
    "message": "What did I do?",
    "start_time": NOON,
    "end_time": NOON + 60,
    "timezone": "Asia/Shanghai",
}


def test_an_answer_has_the_shape_of_the_contract(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS + 1_000, text="the retention policy was changed")
    answer = program.post("/api/v1/chat", json=ASK)
    body = answer.get_json()
    assert answer.status_code == 200
    assert set(body) == {
        "chat_id", "turn_id", "mode", "model", "answer_md", "time_range", "evidence", "claims", "coverage",
        "sources", "usage", "warnings", "dropped_citations", "attachments", "scope", "way",
        "retrieved", "second_readings", "cut_off", "error",
    }  # fmt: skip
    assert body["time_range"] == {
        "start_time": NOON,
        "end_time": NOON + 60,
        "timezone": "Asia/Shanghai",
    }
    item = next(each for each in body["evidence"] if each["frame_id"] == frame.id)
    assert set(item) == {
        "n", "frame_id", "timestamp", "local_time", "app_name", "window_name", "focused", "browser_url",
        "ocr_snippet", "quote", "boxes", "state", "confidence", "frame_url",
    }  # fmt: skip
    assert item["timestamp"] == NOON + 1
    assert "20:00:01" in item["local_time"]
    assert item["frame_url"] == f"/api/v1/frames/{frame.id}"
    assert body["coverage"]["frames_in_range"] == 1


def test_a_stored_turn_is_the_same_body(program: Actor, database: Database, data_dir: DataDir) -> None:
    store_frame(database, data_dir, NOON_MS + 1_000, text="the retention policy was changed")
    body = program.post("/api/v1/chat", json=ASK).get_json()
    again = program.get(f"/api/v1/chats/{body['chat_id']}/turns/{body['turn_id']}")
    assert again.get_json() == body
    chat = program.get(f"/api/v1/chats/{body['chat_id']}").get_json()
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant"]
    assert chat["messages"][1]["content"] == ASK["message"]


def test_a_chat_goes_on(program: Actor) -> None:
    first = program.post("/api/v1/chat", json=ASK).get_json()
    second = program.post("/api/v1/chat", json={**ASK, "chat_id": first["chat_id"]}).get_json()
    assert (second["chat_id"], second["turn_id"]) == (first["chat_id"], first["turn_id"] + 1)


def test_a_range_without_frames_is_answered_honestly(program: Actor) -> None:
    body = program.post("/api/v1/chat", json=ASK).get_json()
    assert (body["evidence"], body["claims"]) == ([], [])
    assert body["coverage"]["frames_in_range"] == 0
    assert body["answer_md"]


@for_each(
    ("change", "status", "code"),
    [
        ({"message": ""}, 422, "invalid_message"),
        ({"message": "x" * 8_001}, 422, "invalid_message"),
        ({"message": 7}, 422, "invalid_message"),
        ({"message": None}, 422, "invalid_message"),
        ({"timezone": "Mars/Olympus"}, 400, "invalid_timezone"),
        ({"timezone": "../../etc/passwd"}, 400, "invalid_timezone"),
        ({"timezone": ""}, 400, "invalid_timezone"),
        ({"start_time": 1795176000000}, 400, "invalid_time"),
        ({"start_time": NOON + 60}, 400, "invalid_time_range"),
        ({"end_time": NOON - 1}, 400, "invalid_time_range"),
        ({"start_time": None, "end_time": None, "mode": "evidence"}, 422, "time_range_required"),
        ({"mode": "agent"}, 422, "mode_unavailable"),
        ({"mode": "magic"}, 422, "invalid_mode"),
        ({"model": "no-such-model"}, 422, "model_not_found"),
        ({"chat_id": 999}, 404, "chat_not_found"),
        ({"chat_id": 0}, 422, "invalid_chat_id"),
        ({"chat_id": 2**63}, 422, "invalid_chat_id"),
        ({"filters": {"app": "x"}}, 422, "unknown_field"),
        ({"filters": []}, 422, "invalid_filters"),
        ({"persona_id": 999}, 404, "persona_not_found"),
        ({"persona_id": "1"}, 422, "invalid_persona_id"),
        ({"persona": 1}, 422, "unknown_field"),
        ({"tools": []}, 422, "unknown_field"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(
    program: Actor, change: dict[str, Any], status: int, code: str
) -> None:
    answer = program.post("/api/v1/chat", json={**ASK, **change})
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert program.get("/api/v1/chats").get_json()["data"] == []


def test_what_was_understood_of_a_time_comes_back(program: Actor) -> None:
    body = {"message": "What did I do on 30 February?", "timezone": "UTC"}
    problem = program.post("/api/v1/chat", json=body).get_json()
    assert problem["code"] == "time_range_required"
    assert (problem["problem"], "30 February" in problem["understood"]) == ("no_such_date", True)


def test_a_question_without_a_time_is_about_everything(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, NOON_MS + 1_000, text="the retention policy was changed")
    body = {"message": "What happened?", "timezone": "UTC"}
    answer = program.post("/api/v1/chat", json=body).get_json()
    assert [item["frame_id"] for item in answer["evidence"]] == [frame.id]
    assert answer["scope"] == {
        "text": "everything, Friday 20 Nov, 1 frame", "start_time": NOON + 1, "end_time": NOON + 3600,
        "everything": True, "phrase": "", "is_so_far": False, "unread": "", "also": [],
    }  # fmt: skip
    assert answer["way"] == {
        "text": "searched everything · 1 frame read · 0.0 s", "frames_read": 1, "tools": 0, "seconds": 0.0,
    }  # fmt: skip


def test_a_time_phrase_in_the_message_is_a_range(program: Actor) -> None:
    """The clock of these tests stands at 13:00 UTC."""
    body = {"message": "what did I do today 09:00-11:00?", "timezone": "UTC"}
    found = program.post("/api/v1/chat", json=body).get_json()
    assert found["time_range"] == {
        "start_time": NOON - 3 * 3600,
        "end_time": NOON - 3600,
        "timezone": "UTC",
    }
    later = program.post("/api/v1/chat", json={**body, "message": "what did I do today 14:00-17:00?"})
    assert "nothing of it is recorded" in later.get_json()["scope"]["text"]
    assert later.get_json()["evidence"] == []


@for_each(
    ("code", "status"),
    [
        ("model_unauthorized", 502),
        ("model_rate_limited", 503),
        ("model_timeout", 504),
        ("model_unreachable", 502),
        ("model_failed", 502),
        ("model_refused", 502),
        ("context_too_long", 422),
        ("model_malformed", 502),
        ("retrieval_timeout", 503),
        ("interrupted", 503),
    ],
)
def test_each_failure_of_a_model_has_its_status(code: str, status: int) -> None:
    """A failure names the turn, which is kept."""
    problem = failure_problem(TurnError(code, "It failed.", "Try again.", retry_after_s=2.4), 7, 3)
    assert (problem.status, problem.code, problem.detail) == (status, code, "It failed. Try again.")
    assert (problem.headers["Retry-After"], problem.extra) == ("2", {"chat_id": 7, "turn_id": 3})


def test_a_chat_that_is_deleted_while_it_is_answered_is_unknown() -> None:
    live = LiveTurn(CancelToken(), NO_CONTEXT)
    live.close()
    with pytest.raises(UnknownChat):
        wait_for_turn(live)
