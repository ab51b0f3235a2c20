"""The endpoint's protocol against a real HTTP server: formats, answers of all kinds, typed errors."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from engines.chat.client import MAX_WAIT_S
from engines.chat.completions import OpenAIChatModel
from engines.chat.protocol import (
    ContextTooLong,
    Message,
    ModelBusy,
    ModelError,
    ModelFailed,
    ModelMalformed,
    ModelNoCredit,
    ModelNoKey,
    ModelRateLimited,
    ModelRefused,
    ModelTimeout,
    ModelUnauthorized,
    ModelUnknown,
    ModelUnreachable,
    OutgoingRequest,
)
from tests.stub_model import StubModel
from tests.tables import for_each

QUESTION = [Message("system", "Be brief."), Message("user", "What did I do?")]
SCHEMA = {"type": "object", "properties": {"answer_md": {"type": "string"}}}


def ask(stub: StubModel, times: int = 1, **changes: Any) -> Any:
    model = OpenAIChatModel("work", stub.base_url, "stub-7b", **{"waits_s": (), **changes})
    return [model.complete(QUESTION, schema=SCHEMA, timeout_s=60) for _ in range(times)][-1]


@for_each(
    ("refuses", "last_format"),
    [
        ((), "json_schema"),
        (("json_schema",), "json_object"),
        (("json_object",), "json_schema"),
        (("json_schema", "json_object"), None),
    ],
)
def test_a_refused_format_is_tried_once_and_remembered(
    refuses: tuple[str, ...], last_format: str | None
) -> None:
    with StubModel(refuses=refuses) as stub:
        stub.reply("ok")
        ask(stub, times=3)
        used = [(request.get("response_format") or {}).get("type") for request in stub.requests]
        assert used == [last_format] * 3
        assert len(stub.refused) == (0 if last_format == "json_schema" else len(refuses))


@pytest.mark.parametrize("status", [400, 422, 500, 501])
def test_a_format_may_be_refused_in_any_words_or_by_a_failure(status: int) -> None:
    with StubModel(refuses=("json_schema", "json_object")) as stub:
        stub.refuse_status = status
        stub.reply("ok")
        assert ask(stub, times=2).text == "ok"
        assert (len(stub.refused), len(stub.requests)) == (2, 2)


def test_what_fails_without_a_format_too_is_told_in_the_servers_words_and_nothing_is_remembered(
    stub: StubModel,
) -> None:
    stub.fail(500, "first").fail(500, "second").fail(500, "CUDA out of memory").reply("ok")
    model = OpenAIChatModel("work", stub.base_url, "stub-7b", waits_s=())
    with pytest.raises(ModelFailed, match="CUDA out of memory"):
        model.complete(QUESTION, schema=SCHEMA, timeout_s=60)
    model.complete(QUESTION, schema=SCHEMA, timeout_s=60)
    assert stub.requests[-1]["response_format"]["type"] == "json_schema"


def test_without_a_schema_no_format_is_asked_for(stub: StubModel) -> None:
    stub.reply("ok")
    model = OpenAIChatModel("work", stub.base_url, "stub-7b")
    model.complete(QUESTION, timeout_s=60)
    assert "response_format" not in stub.requests[0]


ERRORS = [
    (401, "Incorrect API key", None, ModelUnauthorized),
    (403, "Not allowed", None, ModelUnauthorized),
    (402, "Payment required", None, ModelNoCredit),
    (429, "Slow down", None, ModelRateLimited),
    (429, "You exceeded your current quota", "insufficient_quota", ModelNoCredit),
    (404, "The model `x` does not exist", "model_not_found", ModelUnknown),
    (404, "model 'qwen9' not found, try pulling it first", None, ModelUnknown),
    (404, "Not Found", None, ModelRefused),
    (400, "Unsupported parameter: messages", None, ModelRefused),
    (400, "maximum context length is 8192 tokens", "context_length_exceeded", ContextTooLong),
    (400, "the request exceeds the available context size", None, ContextTooLong),
    (413, "Request entity too large", None, ContextTooLong),
    (500, "CUDA out of memory", None, ModelFailed),
    (503, "Loading model", None, ModelBusy),
    (529, "Overloaded", None, ModelBusy),
    (504, "Gateway timeout", None, ModelTimeout),
]


@pytest.mark.parametrize(("status", "message", "code", "kind"), ERRORS)
def test_each_failure_has_its_own_kind_and_keeps_the_cause(
    status: int, message: str, code: str | None, kind: type[ModelError], stub: StubModel
) -> None:
    stub.fail(status, message, code=code)
    with pytest.raises(kind) as caught:
        ask(stub, api_key="sk-1")
    assert type(caught.value) is kind
    assert message in caught.value.detail
    assert str(status) in caught.value.detail


@for_each(
    ("message", "window"),
    [
        ("This model's maximum context length is 2,048 tokens. However, you requested 5000 tokens.", 2048),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("However, the model is loaded with context length of only 4096 tokens, which is not enough.", 4096),
        ("Requested tokens (5000) exceed context window of 2048", 2048),
        ("prompt is too long: 5000 tokens > 4096", 0),
    ],
)
def test_a_refusal_tells_the_window_that_it_names(message: str, window: int) -> None:
    stream = json.dumps({"error": {"message": message}}).encode()
    event = b"event: error\ndata: %s\n\n" % stream
    for body, content_type, status in (
        (stream, "application/json", 400),
        (event, "text/event-stream", 200),
    ):
        with StubModel() as stub:
            stub.raw(body, content_type, status)
            model = OpenAIChatModel("m", stub.base_url, "stub", waits_s=())
            with pytest.raises(ModelError) as caught:
                model.complete([Message("user", "?")], timeout_s=60)
            assert getattr(caught.value, "window", 0) == window


def test_a_rate_limit_says_when_to_come_back(stub: StubModel) -> None:
    stub.fail(429, "Slow down", headers={"retry-after": "7"})
    with pytest.raises(ModelRateLimited) as caught:
        ask(stub)
    assert caught.value.retry_after_s == 7


@for_each(
    ("header", "waits"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", lambda wait_s: wait_s == 0),
        ("Fri, 06 Nov 2393 08:49:37 GMT", lambda wait_s: wait_s > MAX_WAIT_S),
        ("-3", lambda wait_s: wait_s == 0),
        ("soon", lambda wait_s: wait_s is None),
    ],
)
def test_when_to_come_back_may_be_a_date(header: str, waits: Callable[[float | None], bool]) -> None:
    with StubModel() as stub:
        stub.fail(429, "Slow down", headers={"retry-after": header})
        with pytest.raises(ModelRateLimited) as caught:
            ask(stub, waits_s=(60.0,) if header.startswith("Fri") else ())
        assert waits(caught.value.retry_after_s) and len(stub.headers) == 1


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>It works!</html>", "text/html"),
        (b"{", "application/json"),
        (b"{}", "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": [{"message": {"content": null}}]}', "application/json"),
        (b'{"choices": [{"message": {"content": "  "}}]}', "application/json"),
        (b'{"choices": "no"}', "application/json"),
        (b"[]", "application/json"),
        (b"", "application/json"),
    ],
)
def test_what_is_no_completion_is_malformed(body: bytes, content_type: str, stub: StubModel) -> None:
    stub.raw(body, content_type)
    with pytest.raises(ModelMalformed):
        ask(stub)


def test_a_completion_without_usage_is_still_an_answer(stub: StubModel) -> None:
    stub.raw(b'{"choices": [{"message": {"role": "assistant", "content": "hi"}}]}')
    answer = ask(stub)
    assert (answer.text, answer.usage, answer.model) == ("hi", None, "stub-7b")


def test_a_silent_endpoint_is_a_timeout(stub: StubModel) -> None:
    release = threading.Event()
    stub.reply("late", wait_for=release)
    model = OpenAIChatModel("work", stub.base_url, "stub-7b")
    with pytest.raises(ModelTimeout, match=r"0\.2 s"):
        model.complete(QUESTION, timeout_s=0.2)
    release.set()


def test_a_closed_port_is_unreachable_and_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        model = OpenAIChatModel("work", url, "m", waits_s=())
        with pytest.raises(ModelUnreachable, match=url):
            model.complete(QUESTION, timeout_s=60)


def test_a_local_endpoint_needs_no_key_and_a_key_is_sent_when_there_is_one() -> None:
    with StubModel() as stub:
        stub.reply("ok")
        ask(stub)
        ask(stub, api_key="sk-secret")
        assert [h.get("authorization") for h in stub.headers] == [None, "Bearer sk-secret"]


def test_a_local_endpoint_is_asked_without_a_detour(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    stub.reply("ok")
    assert ask(stub).text == "ok"


def test_a_key_is_never_shown(stub: StubModel) -> None:
    model = OpenAIChatModel("work", stub.base_url, "m", "sk-secret")
    assert "sk-secret" not in repr(model)
    stub.fail(401, "Incorrect API key provided: sk-secret")
    with pytest.raises(ModelUnauthorized) as caught:
        ask(stub, api_key="sk-secret")
    assert "sk-secret" not in caught.value.detail


def test_a_missing_key_is_told_apart_from_a_wrong_one(stub: StubModel) -> None:
    stub.fail(401, "You didn't provide an API key")
    with pytest.raises(ModelNoKey):
        ask(stub)


def test_a_key_that_cannot_be_had_sends_nothing(stub: StubModel) -> None:
    stub.reply("ok")
    with pytest.raises(ModelNoKey, match="WORK_KEY"):
        ask(stub, key_problem="the variable WORK_KEY is not set")
    assert stub.headers == []


# -- asking again ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_passes_is_asked_again(status: int, stub: StubModel) -> None:
    stub.fail(status, "a moment").fail(status, "a moment").reply("Hello")
    assert ask(stub, waits_s=(0.0, 0.0)).text == "Hello"
    assert len(stub.headers) == 3


def test_asking_again_ends(stub: StubModel) -> None:
    stub.fail(503, "loading")
    with pytest.raises(ModelBusy):
        ask(stub, waits_s=(0.0, 0.0))
    assert len(stub.headers) == 3


@pytest.mark.parametrize("status", [401, 402, 413])
def test_what_does_not_pass_by_itself_is_asked_once(status: int, stub: StubModel) -> None:
    stub.fail(status, "no")
    with pytest.raises(ModelError):
        ask(stub, waits_s=(0.0, 0.0))
    assert len(stub.headers) == 1


# -- what leaves ------------------------------------------------------------------------------


def sent_by(stub: StubModel, **changes: Any) -> list[OutgoingRequest]:
    model = OpenAIChatModel("work", stub.base_url, "stub-7b", "sk-secret", **{"waits_s": (0.0,), **changes})
    sent: list[OutgoingRequest] = []
    model.complete(QUESTION, schema=SCHEMA, timeout_s=60, on_send=sent.append)
    return sent


def test_what_is_announced_is_what_arrives(stub: StubModel) -> None:
    stub.reply("ok")
    (sending,) = sent_by(stub)
    assert json.loads(sending.body) == stub.requests[0]
    assert len(sending.body) == int(stub.headers[0]["content-length"])
    assert sending.url == f"{stub.base_url}/chat/completions"
    assert b"sk-secret" not in sending.body


def test_every_request_is_announced_also_refused_and_repeated_ones() -> None:
    with StubModel(refuses=("json_schema",)) as stub:
        stub.fail(503, "a moment").reply("ok")
        assert len(sent_by(stub)) == len(stub.headers) == 3


def test_a_redirect_is_not_followed_with_key_and_text() -> None:
    with StubModel() as elsewhere, StubModel() as stub:
        elsewhere.reply("stolen")
        stub.fail(307, "", headers={"location": f"{elsewhere.base_url}/chat/completions"})
        with pytest.raises(ModelRefused, match=r"leads on to 127\.0\.0\.1; not followed"):
            ask(stub, api_key="sk-secret")
        assert elsewhere.headers == []
