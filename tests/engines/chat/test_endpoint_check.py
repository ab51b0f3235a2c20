"""The test of an endpoint against a real server: what works is found out, faults stand where they are."""

from __future__ import annotations

import socket
from typing import Any

from engines.chat.endpoint_check import Report, check
from engines.chat.protocol import (
    ModelNoKey,
    ModelUnauthorized,
    ModelUnknown,
    ModelUnreachable,
    OutgoingRequest,
)
from tests.stub_model import StubModel
from tests.tables import for_each

READY = {"ready": True}


def verdicts(report: Report) -> dict[str, str]:
    return {step.name: step.verdict for step in report.steps}


ALL_OK = {
    **dict.fromkeys(("address", "key", "model", "answer", "json_schema", "streaming"), "ok"),
    "responses": "unknown",
}


def test_one_small_call_finds_out_what_works() -> None:
    with StubModel(key="sk-1") as stub:
        stub.reply(READY)
        sent: list[OutgoingRequest] = []
        report = check(stub.base_url, "stub", "sk-1", on_send=sent.append)
        assert verdicts(report) == ALL_OK
        assert report.works and report.error is None
        assert [model.id for model in report.models] == ["stub"]
        assert [each.url.rpartition("/v1/")[2] for each in sent] == ["responses", "chat/completions"]
        assert len(stub.requests) == 1
        assert len(sent[0].body) < 600


@for_each(
    ("options", "reply", "differs"),
    [
        ({"streams": False}, READY, {"streaming": "failed"}),
        ({"refuses": ("json_schema",)}, READY, {"json_schema": "failed"}),
        ({"refuses": ("json_schema", "json_object")}, READY, {"json_schema": "failed"}),
        ({}, "Yes, I am ready!", {"json_schema": "failed"}),
        ({}, '{"ready": "yes"}', {"json_schema": "failed"}),
    ],
)
def test_what_an_endpoint_lacks_is_said_and_the_rest_works(
    options: dict[str, Any], reply: Any, differs: dict[str, str]
) -> None:
    with StubModel(**options) as stub:
        stub.reply(reply)
        report = check(stub.base_url, "stub")
        assert verdicts(report) == {**ALL_OK, **differs}
        assert report.works


def test_an_endpoint_that_refuses_to_stream_is_asked_without() -> None:
    with StubModel() as stub:
        stub.fail(400, "stream is not supported").fail(400, "stream is not supported").reply(READY)
        assert verdicts(check(stub.base_url, "stub"))["streaming"] == "failed"


def test_a_wrong_key_is_found_before_anything_is_asked() -> None:
    with StubModel(key="sk-1") as stub:
        wrong, missing = check(stub.base_url, "stub", "sk-2"), check(stub.base_url, "stub")
        assert verdicts(wrong) == verdicts(missing) == {"address": "ok", "key": "failed"}
        assert isinstance(wrong.error, ModelUnauthorized)
        assert isinstance(missing.error, ModelNoKey)
        assert stub.headers == []


def test_a_model_that_is_not_there_is_named() -> None:
    with StubModel() as stub:
        stub.fail(404, "model 'x' not found")
        report = check(stub.base_url, "x")
        assert verdicts(report)["model"] == "failed"
        assert isinstance(report.error, ModelUnknown)


def test_without_a_model_the_list_is_all() -> None:
    with StubModel() as stub:
        report = check(stub.base_url, "")
        assert verdicts(report) == {"address": "ok", "model": "unknown"}
        assert not report.works and stub.headers == []


def test_a_failing_call_keeps_its_cause() -> None:
    with StubModel() as stub:
        stub.fail(500, "CUDA out of memory")
        report = check(stub.base_url, "stub")
        assert "CUDA out of memory" in report.steps[-1].detail
        assert verdicts(report)["answer"] == "failed"


def test_a_closed_port_is_the_address_at_fault() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        report = check(f"http://127.0.0.1:{closed.getsockname()[1]}/v1", "stub")
    assert verdicts(report) == {"address": "failed"}
    assert isinstance(report.error, ModelUnreachable)


def test_the_responses_protocol_is_found_where_it_is() -> None:
    with StubModel(has_responses=True) as stub:
        stub.reply(READY)
        assert verdicts(check(stub.base_url, "stub"))["responses"] == "ok"
        assert [("input" in request) for request in stub.requests] == [True, False]
