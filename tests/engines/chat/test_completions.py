"""What a chat model does, against a real server that speaks its protocol."""

from __future__ import annotations

import base64
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
    ModelUnauthorized,
    ModelUnreachable,
    OutgoingRequest,
    Picture,
    RequestedCall,
)
from tests import documents
from tests.stub_model import StubModel

QUESTION = [Message("system", "Be brief."), Message("user", "What did I do?")]
TOOL = {"name": "calculator", "description": "Works out.", "parameters": {"type": "object", "properties": {}}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        yield running


def made(stub: StubModel, key: str = "") -> OpenAIChatModel:
    return OpenAIChatModel("stub", stub.base_url, "stub", key, waits_s=())


def read(model: ChatModel, messages: list[Message], **options: Any) -> tuple[list[str], Completion]:
    """(the pieces, the whole)"""
    *pieces, last = model.stream(messages, timeout_s=60, **options)
    assert isinstance(last, Completion)
    return [each for each in pieces if isinstance(each, str)], last


def test_text_comes_in_pieces_and_then_as_a_whole_with_its_tokens(stub: StubModel) -> None:
    stub.reply("You wrote code all day, 写代码。")
    sent: list[OutgoingRequest] = []
    model = made(stub)
    pieces, whole = read(model, QUESTION, on_send=sent.append)
    assert len(pieces) > 3 and "".join(pieces) == whole.text == "You wrote code all day, 写代码。"
    assert whole.usage and whole.usage.input_tokens and whole.usage.output_tokens
    assert (whole.finish_reason, whole.tool_calls) == ("stop", ())
    assert [each.is_local for each in sent] == [True] and b"What did I do?" in sent[0].body
    again = model.complete(QUESTION, timeout_s=60)
    assert (again.text, again.finish_reason) == (whole.text, "stop")


def test_calls_are_asked_for_and_their_results_told(stub: StubModel) -> None:
    stub.call(("calculator", {"expression": "1+1"}), text="Let me see.").reply("Two.")
    model = made(stub)
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


def test_a_looser_format_is_asked_for_where_one_is_refused(stub: StubModel) -> None:
    stub.refuses = ("json_schema",)
    stub.reply('{"a": "b"}')
    model = made(stub)
    assert read(model, QUESTION, schema=SCHEMA)[1].text == '{"a": "b"}'
    asked = stub.requests[0]
    assert asked["response_format"]["type"] == "json_object"
    assert len(stub.refused) == 1


def test_a_server_that_answers_as_a_whole_is_read(stub: StubModel) -> None:
    stub.streams = False
    stub.reply("All at once.")
    model = made(stub)
    pieces, whole = read(model, QUESTION)
    assert (pieces, whole.text) == (["All at once."], "All at once.")


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
def test_what_goes_wrong_is_the_same_error(stub: StubModel, script: Any, error: type[Exception]) -> None:
    script(stub)
    model = made(stub, "a key")
    with pytest.raises(error):
        read(model, QUESTION)


def test_images_are_parts_of_the_message(stub: StubModel) -> None:
    stub.reply("Red.")
    images = tuple(Picture(documents.image(size=(n, n)), "image/png") for n in (3, 4))
    model = made(stub)
    read(model, [Message("user", "What is it?", pictures=images)])
    asked = stub.requests[0]
    parts = asked["messages"][0]["content"]
    assert len(parts) == 3
    for part, image in zip(parts[1:], images, strict=True):
        assert base64.b64decode(part["image_url"]["url"].partition(",")[2]) == image.content
