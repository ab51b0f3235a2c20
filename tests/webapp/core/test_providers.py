"""Providers over the API: keys go in and never come out, and nothing leaves before it was allowed."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.egress import egress_log, providers
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import Actor

KEY = "sk-very-secret-1234"
CLOUD = {"name": "cloud", "base_url": "https://api.example/v1", "model": "big", "api_key": KEY}


def add(program: Actor, **changes: Any) -> dict[str, Any]:
    answer = program.post("/api/v1/providers", json={**CLOUD, **changes})
    assert answer.status_code == 201, answer.get_json()
    added: dict[str, Any] = answer.get_json()
    return added


def put(program: Actor, provider_id: int, **body: Any) -> dict[str, Any]:
    answer = program.ask("PUT", f"/api/v1/providers/{provider_id}", json=body)
    assert answer.status_code == 200, answer.get_json()
    changed: dict[str, Any] = answer.get_json()
    return changed


def test_a_key_goes_in_and_never_comes_out(
    program: Actor, data_dir: DataDir, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with StubModel(key="another") as stub:
        own = add(program, base_url=stub.base_url)
        answers = [
            json.dumps(own),
            program.get("/api/v1/providers").get_data(as_text=True),
            program.get("/api/v1/models").get_data(as_text=True),
            program.post(f"/api/v1/providers/{own['id']}/test").get_data(as_text=True),
            program.get(f"/api/v1/providers/{own['id']}/models").get_data(as_text=True),
            program.ask("PUT", f"/api/v1/providers/{own['id']}", json={**CLOUD, "base_url": "x"}).get_data(
                True
            ),
            program.get("/api/v1/sent").get_data(as_text=True),
        ]
        assert stub.listed[0]["authorization"] == f"Bearer {KEY}"
    assert own["has_key"] is True
    assert KEY not in " ".join(answers) + caplog.text
    assert KEY in data_dir.providers.read_text()
    assert KEY.encode() not in data_dir.database.read_bytes()


def test_a_provider_on_this_machine_can_be_asked_at_once(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, NOON_MS, text="hello")
    with StubModel() as stub:
        stub.reply({"answer_md": "It said hello [[e1]].", "evidence": [{"id": "e1", "quote": "hello"}]})
        own = add(program, name="here", base_url=stub.base_url, api_key=None)
        assert (own["local"], own["ready"], own["is_default"]) == (True, True, True)
        body = {"message": "what?", "start_time": NOON_MS / 1000 - 60, "timezone": "UTC"}
        answer = program.post("/api/v1/chat", json=body).get_json()
    assert answer["model"] == "here"
    assert answer["usage"]["is_estimated"] is False
    kept = program.get(f"/api/v1/chats/{answer['chat_id']}/turns/{answer['turn_id']}/sent").get_json()["data"]
    assert [json.loads(each["text"]) for each in kept] == stub.requests
    assert (kept[0]["outcome"], kept[0]["local"], kept[0]["turn_id"]) == ("answered", True, 1)


def test_another_machine_is_asked_nothing_before_its_host_was_allowed(
    program: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("assistant.core.endpoints", "engines.chat.network"):
        monkeypatch.setattr(f"{place}.is_local", lambda _: False)  # as if it were another
    with StubModel() as stub:
        own = add(program, base_url=stub.base_url)
        address = f"/api/v1/providers/{own['id']}"
        assert (own["allowed"], own["ready"]) == (False, False)
        for refused in (program.get(f"{address}/models"), program.post(f"{address}/test")):
            assert (refused.status_code, refused.get_json()["code"]) == (409, "host_not_allowed")
        chat = {"message": "what?", "start_time": 1, "timezone": "UTC", "model": "cloud"}
        assert program.post("/api/v1/chat", json=chat).get_json()["code"] == "model_not_found"
        assert stub.listed == stub.headers == []
        wrong = program.post(f"{address}/allow", json={"host": "api.example"})
        assert (wrong.status_code, wrong.get_json()["errors"][0]["field"]) == (422, "host")
        allowed = program.post(f"{address}/allow", json={"host": own["host"]}).get_json()
        assert (allowed["allowed"], allowed["ready"]) == (True, True)
        assert program.post(f"{address}/test").get_json()["works"] is True


def test_a_new_address_takes_key_and_permission_away(program: Actor, data_dir: DataDir) -> None:
    own = add(program)
    program.post(f"/api/v1/providers/{own['id']}/allow", json={"host": "api.example"})
    same = {**CLOUD, "api_key": None}
    kept = put(program, own["id"], **{**same, "base_url": "https://api.example/v2"})
    assert (kept["has_key"], kept["allowed"]) == (True, True)
    for other in ("https://evil.example/v1", "http://evil.example/v1", "https://evil.example:8443/v1"):
        moved = put(program, own["id"], **{**same, "base_url": other})
        assert (moved["has_key"], moved["allowed"], moved["ready"]) == (False, False, False)
    assert KEY not in data_dir.providers.read_text()


def test_a_key_is_kept_replaced_or_removed(program: Actor, data_dir: DataDir) -> None:
    own = add(program)
    without = {name: value for name, value in CLOUD.items() if name != "api_key"}
    assert put(program, own["id"], **without)["has_key"] is True
    put(program, own["id"], **without, api_key="sk-new")
    assert providers.load(data_dir).entries[0].api_key == "sk-new"
    assert put(program, own["id"], **without, api_key="")["has_key"] is False


def test_a_key_may_be_in_a_variable(program: Actor) -> None:
    own = add(program, api_key="env:WORK_KEY")
    assert (own["key_source"], own["has_key"], "WORK_KEY" in own["key_problem"]) == ("WORK_KEY", False, True)


@for_each(
    ("changes", "field"),
    [
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"base_url": "https://user:pw@api.example"}, "base_url"),
        ({"base_url": "http://[::bad", "name": "", "model": ""}, "base_url"),
        ({"name": "extractive"}, "name"),
        ({"api_key": "env:"}, "api_key"),
        ({"api_key": "sk\r\nHost: evil"}, "api_key"),
        ({"currency": "<b>"}, "currency"),
    ],
)
def test_what_cannot_be_is_refused_by_field(program: Actor, changes: dict[str, Any], field: str) -> None:
    answer = program.post("/api/v1/providers", json={**CLOUD, **changes})
    assert (answer.status_code, answer.get_json()["code"]) == (422, "invalid_provider")
    assert [error["field"] for error in answer.get_json()["errors"]] == [field]
    assert program.get("/api/v1/providers").get_json()["data"] == []


def test_a_name_is_made_where_none_is_given(program: Actor) -> None:
    names = [add(program, name="")["name"] for _ in range(2)] + [add(program, name="", model="")["name"]]
    assert names == ["big", "big 2", "api.example"]


def test_a_removed_provider_is_gone_with_its_key(program: Actor, data_dir: DataDir) -> None:
    own = add(program)
    address = f"/api/v1/providers/{own['id']}"
    assert program.ask("DELETE", address).get_json() == {"id": own["id"], "deleted": True}
    assert KEY not in data_dir.providers.read_text()
    for method, path in (("DELETE", ""), ("GET", "/models"), ("POST", "/test")):
        answer = program.ask(method, address + path)
        assert (answer.status_code, answer.get_json()["code"]) == (404, "provider_not_found")


def test_the_default_can_be_chosen(program: Actor) -> None:
    add(program, name="one", base_url="http://127.0.0.1:9/v1")
    add(program, name="two", base_url="http://127.0.0.1:9/v1")
    assert program.ask("PUT", "/api/v1/models/default", json={"name": "two"}).get_json() == {"name": "two"}
    assert program.get("/api/v1/models").get_json()["data"][0]["name"] == "two"
    refused = program.ask("PUT", "/api/v1/models/default", json={"name": "three"})
    assert (refused.status_code, refused.get_json()["code"]) == (422, "model_not_found")


def test_a_test_says_what_works_and_what_to_do(program: Actor, database: Database) -> None:
    with StubModel(key="sk-right") as stub:
        own = add(program, base_url=stub.base_url, api_key="sk-right", model="stub")
        report = program.post(f"/api/v1/providers/{own['id']}/test").get_json()
        assert [(step["name"], step["verdict"]) for step in report["steps"]][-4:] == [
            ("tools", "failed"), ("vision", "failed"), ("json_schema", "ok"), ("window", "unknown"),
        ]  # fmt: skip
        shown = program.get("/api/v1/models").get_json()["data"][0]
        assert shown["found"] == {
            "supports_tools": False, "tool_format": None, "supports_vision": False,
            "supports_json_schema": True, "context_tokens": None,
        }  # fmt: skip
        assert set(shown["chosen"].values()) == {None}
        noted = egress_log.latest(database)
        assert {(each.purpose, each.url.rpartition("/")[2]) for each in noted} == {("test", "completions")}
        put(program, own["id"], **{**CLOUD, "base_url": stub.base_url, "api_key": "sk-wrong"})
        report = program.post(f"/api/v1/providers/{own['id']}/test").get_json()
        assert (report["works"], report["code"]) == (False, "model_unauthorized")
        assert "Settings" in report["action"]


def test_a_list_that_cannot_be_had_says_why(program: Actor) -> None:
    own = add(program, base_url="http://127.0.0.1:9/v1")
    answer = program.get(f"/api/v1/providers/{own['id']}/models")
    assert (answer.status_code, answer.get_json()["code"]) == (502, "model_unreachable")


def test_a_file_that_cannot_be_read_is_told_and_left_alone(program: Actor, data_dir: DataDir) -> None:
    data_dir.providers.write_text("{")
    answer = program.post("/api/v1/providers", json=CLOUD)
    assert (answer.status_code, answer.get_json()["code"]) == (503, "providers_unreadable")
    assert data_dir.providers.read_text() == "{"


def test_what_was_sent_comes_page_by_page(program: Actor, database: Database) -> None:
    for n in range(3):
        egress_log.record(
            database, egress_log.OutgoingRequest("test", NOON_MS + n, "a", "m", "http://x/", True, "{}", 2)
        )
    page = program.get("/api/v1/sent?limit=2").get_json()
    assert len(page["data"]) == 2
    rest = program.get(f"/api/v1/sent?limit=2&cursor={page['next_cursor']}").get_json()
    assert (len(rest["data"]), rest["next_cursor"]) == (1, None)
