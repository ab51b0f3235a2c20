"""Both transports of a chat model keep one contract, against a real server that speaks both."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from engines.chat.completions import OpenAIChatModel
from engines.chat.protocol import (
    ChatModel,
    Completion,
    ContextTooLong,
    Message,
    ModelFailed,
    ModelMalformed,
    ModelRefused,
    ModelUnauthorized,
    ModelUnreachable,
    OutgoingRequest,
    Picture,
    RequestedCall,
)
from engines.chat.responses import OpenAIResponsesModel
from tests import documents
from tests.stub_model import StubModel

BOTH = (OpenAIChatModel, OpenAIResponsesModel)
QUESTION = [Message("system", "Be brief."), Message("user", "What did I do?")]
TOOL = {"name": "calculator", "description": "Works out.", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(has_responses=True) as running:
        yield running


def made(kind: type[OpenAIChatModel], stub: StubModel, key: str = "") -> OpenAIChatModel:
    return kind("stub", stub.base_url, "stub", key, waits_s=())


def read(model: ChatModel, messages: list[Message], **options: Any) -> tuple[list[str], Completion]:
    """(the pieces, the whole)"""
    *pieces, last = model.stream(messages, timeout_s=60, **options)
    assert isinstance(last, Completion)
    return [each for each in pieces if isinstance(each, str)], last


@pytest.mark.parametrize("kind", BOTH)
def test_text_comes_in_pieces_and_then_as_a_whole_with_its_tokens(
    stub: StubModel, kind: type[OpenAIChatModel]
) -> None:
    stub.reply("You wrote code all day, 写代码。")
    sent: list[OutgoingRequest] = []
    model = made(kind, stub)
    pieces, whole = read(model, QUESTION, on_send=sent.append)
    assert len(pieces) > 3 and "".join(pieces) == whole.text == "You wrote code all day, 写代码。"
    assert whole.usage and whole.usage.input_tokens and whole.usage.output_tokens
    assert (whole.finish_reason, whole.tool_calls) == ("stop", ())
    assert [each.is_local for each in sent] == [True] and b"What did I do?" in sent[0].body
    again = model.complete(QUESTION, timeout_s=60)
    assert (again.text, again.finish_reason) == (whole.text, "stop")


@pytest.mark.parametrize("kind", BOTH)
def test_calls_are_asked_for_and_their_results_told(stub: StubModel, kind: type[OpenAIChatModel]) -> None:
    stub.call(("calculator", {"expression": "1+1"}), text="Let me see.").reply("Two.")
    model = made(kind, stub)
    pieces, whole = read(model, QUESTION, tools=[TOOL])
    assert "".join(pieces) == "Let me see."
    assert whole.finish_reason == "tool_calls"
    [call] = whole.tool_calls
    assert call["function"] == {"name": "calculator", "arguments": '{"expression": "1+1"}'}
    told = [
        *QUESTION,
        Message(
            "assistant", "Let me see.", (RequestedCall(call["id"], "calculator", '{"expression": "1+1"}'),)
        ),
        Message("tool", '{"result": 2}', call_id=call["id"]),
    ]
    assert read(model, told, tools=[TOOL])[1].text == "Two."
    assert '{"result": 2}' in stub.prompt()


@pytest.mark.parametrize("kind", BOTH)
def test_a_looser_format_is_asked_for_where_one_is_refused(
    stub: StubModel, kind: type[OpenAIChatModel]
) -> None:
    stub.refuses = ("json_schema",)
    stub.reply('{"a": "b"}')
    model = made(kind, stub)
    assert read(model, QUESTION, schema=SCHEMA)[1].text == '{"a": "b"}'
    asked = stub.requests[0]
    assert (asked.get("response_format") or asked["text"]["format"])["type"] == "json_object"
    assert len(stub.refused) == 1


@pytest.mark.parametrize("kind", BOTH)
def test_a_server_that_answers_as_a_whole_is_read(stub: StubModel, kind: type[OpenAIChatModel]) -> None:
    stub.streams = False
    stub.reply("All at once.")
    model = made(kind, stub)
    pieces, whole = read(model, QUESTION)
    assert (pieces, whole.text) == (["All at once."], "All at once.")


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("script", "error"),
    [
        (lambda stub: stub.reply("word " * 50, breaks_after=900), ModelUnreachable),
        (lambda stub: stub.reply(""), ModelMalformed),
        (lambda stub: stub.fail(401, "no such key"), ModelUnauthorized),
        (
            lambda stub: stub.fail(400, "maximum context length", code="context_length_exceeded"),
            ContextTooLong,
        ),
        (lambda stub: stub.fail(500, "broken"), ModelFailed),
        (lambda stub: stub.raw(b'{"neither": 1}'), ModelMalformed),
    ],
)
def test_what_goes_wrong_is_the_same_error(
    stub: StubModel, kind: type[OpenAIChatModel], script: Any, error: type[Exception]
) -> None:
    script(stub)
    model = made(kind, stub, "a key")
    with pytest.raises(error):
        read(model, QUESTION)


@pytest.mark.parametrize("kind", BOTH)
def test_images_are_parts_of_the_message(stub: StubModel, kind: type[OpenAIChatModel]) -> None:
    stub.reply("Red.")
    images = tuple(Picture(documents.image(size=(n, n)), "image/png") for n in (3, 4))
    model = made(kind, stub)
    read(model, [Message("user", "What is it?", pictures=images)])
    asked = stub.requests[0]
    parts = (asked.get("messages") or asked["input"])[0]["content"]
    assert len(parts) == 3
    for part, image in zip(parts[1:], images, strict=True):
        address = part["image_url"] if isinstance(part["image_url"], str) else part["image_url"]["url"]
        assert base64.b64decode(address.partition(",")[2]) == image.content


# -- what only Responses has ------------------------------------------------------------------------


def test_what_a_response_is_asked(stub: StubModel) -> None:
    stub.reply("Yes.")
    model = made(OpenAIResponsesModel, stub)
    read(model, QUESTION, schema=SCHEMA, tools=[TOOL])
    asked = stub.requests[0]
    assert asked["instructions"] == "Be brief."
    assert asked["input"] == [{"role": "user", "content": "What did I do?"}]
    assert asked["text"]["format"]["type"] == "json_schema" and asked["text"]["format"]["schema"] == SCHEMA
    assert asked["tools"] == [{"type": "function", "strict": False, **TOOL}]
    assert "messages" not in asked and "previous_response_id" not in asked


def test_a_conversation_goes_on_from_a_response(stub: StubModel) -> None:
    stub.reply("First.").reply("Second.")
    model = made(OpenAIResponsesModel, stub)
    _, first = read(model, QUESTION)
    assert first.response_id == "resp_1"
    history = [Message("user", "What did I do?"), Message("assistant", "First.")]
    asked = [QUESTION[0], *history, Message("user", "And then?")]
    pieces, second = read(model.after(first.response_id, history), asked)
    assert "".join(pieces) == second.text == "Second."
    request = stub.requests[1]
    assert request["previous_response_id"] == "resp_1"
    assert request["input"] == [{"role": "user", "content": "And then?"}]
    assert request["instructions"] == "Be brief."


def test_a_response_that_is_forgotten_is_told_all_of_it_again(stub: StubModel) -> None:
    stub.reply("Second.")
    model = made(OpenAIResponsesModel, stub)
    history = [Message("user", "What did I do?"), Message("assistant", "First.")]
    going_on = model.after("resp_gone", history)
    assert going_on.complete([*history, Message("user", "And then?")], timeout_s=60).text == "Second."
    assert len(stub.refused) == 1 and len(stub.requests) == 1
    assert [item["content"] for item in stub.requests[0]["input"]] == [
        "What did I do?",
        "First.",
        "And then?",
    ]
    assert "previous_response_id" not in stub.requests[0]
    assert going_on.response_id == "", "it is not tried again"


def test_another_refusal_is_no_reason_to_send_everything(stub: StubModel) -> None:
    stub.known.add("resp_1")
    stub.fail(400, "this model does not take images")
    model = made(OpenAIResponsesModel, stub)
    with pytest.raises(ModelRefused, match="images"):
        read(model.after("resp_1", []), QUESTION)


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "response.failed", "response": {"status": "failed", "output": []}}, ModelFailed),
        ({"type": "response.completed", "response": {"output": [{"type": "message", "content": [
            {"type": "refusal", "refusal": "I will not."}]}]}}, ModelRefused),
        ({"type": "response.completed", "response": {"output": "none"}}, ModelMalformed),
        ({"type": "response.created", "response": {}}, ModelUnreachable),
    ],
)  # fmt: skip
def test_how_a_stream_of_events_can_end_badly(
    stub: StubModel, event: dict[str, Any], error: type[Exception]
) -> None:
    stub.raw(b"data: %s\n\n" % json.dumps(event).encode(), "text/event-stream")
    model = made(OpenAIResponsesModel, stub)
    with pytest.raises(error):
        read(model, QUESTION)


def test_an_answer_that_was_cut_says_so(stub: StubModel) -> None:
    part = {"type": "output_text", "text": "As far as"}
    whole = {"status": "incomplete", "output": [{"type": "message", "content": [part]}]}
    stub.raw(json.dumps(whole).encode())
    model = made(OpenAIResponsesModel, stub)
    assert model.complete(QUESTION, timeout_s=60).finish_reason == "length"
