"""Streamed answers of a real server: pieces, tool calls, and every way to break off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engines.chat import completions
from engines.chat.completions import OpenAIChatModel
from engines.chat.protocol import (
    Completion,
    Message,
    ModelBrokeOff,
    ModelError,
    ModelFailed,
    ModelGarbled,
    ModelSilent,
    ModelTimeout,
    RequestedCall,
)
from tests.stub_model import StubModel

QUESTION = [Message("user", "What did I do?")]
TOOL = {"name": "calculator", "description": "Works out.", "parameters": {"type": "object", "properties": {}}}


def model(stub: StubModel, key: str = "") -> OpenAIChatModel:
    return OpenAIChatModel("stub", stub.base_url, "stub", key, waits_s=())


def read(
    stub: StubModel,
    messages: Sequence[Message] = QUESTION,
    key: str = "",
    timeout_s: float = 60,
    **options: Any,
) -> tuple[list[str], Completion]:
    *pieces, whole = model(stub, key).stream(messages, timeout_s=timeout_s, **options)
    assert isinstance(whole, Completion)
    return [str(piece) for piece in pieces], whole


def test_what_no_page_can_show_is_dropped(stub: StubModel) -> None:
    stub.reply("a\x00b\x1b[1m\tc\r\nd\x85\ud83d 写🙂\u202e\u2066")
    pieces, whole = read(stub)
    assert "".join(pieces) == whole.text == "ab[1m\tc\nd 写🙂"


def test_tool_calls_are_put_together(stub: StubModel) -> None:
    stub.call(("calculator", {"expression": "2*(3+4)"}), ("calculator", "{broken"), text="Let me see.")
    pieces, whole = read(stub, tools=[TOOL])
    assert "".join(pieces) == "Let me see."
    assert [call["function"] for call in whole.tool_calls] == [
        {"name": "calculator", "arguments": '{"expression": "2*(3+4)"}'},
        {"name": "calculator", "arguments": "{broken"},
    ]
    assert whole.finish_reason == "tool_calls"
    assert stub.requests[0]["tools"] == [{"type": "function", "function": TOOL}]


def test_a_server_that_does_not_stream_is_read_as_a_whole() -> None:
    with StubModel(streams=False) as stub:
        stub.call(("calculator", {"expression": "1"})).reply("Two.")
        assert read(stub)[1].tool_calls[0]["function"]["name"] == "calculator"
        assert read(stub)[0] == ["Two."]


def test_calls_and_results_are_sent_in_the_protocols_shape(stub: StubModel) -> None:
    stub.reply("Four.")
    asked = Message("assistant", "", (RequestedCall("a1", "calculator", '{"expression": "2+2"}'),))
    told = Message("tool", '{"result": 4}', call_id="a1")
    read(stub, [*QUESTION, asked, told])
    _, call, result = stub.requests[0]["messages"]
    function = {"name": "calculator", "arguments": '{"expression": "2+2"}'}
    assert call["tool_calls"] == [{"id": "a1", "type": "function", "function": function}]
    assert result == {"role": "tool", "tool_call_id": "a1", "content": '{"result": 4}'}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: [DONE]\n\n", ModelBrokeOff),
        (b'data: {"choices": [{"delta": {"content": "You "}}]}\n\n', ModelBrokeOff),
        (b'data: {"choices": [{"delta": {"content": "You "}}]}\n\ndata: {broken\n\n', ModelGarbled),
        (b'data: {"error": {"message": "out of memory"}}\n\n', ModelFailed),
        (b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n', ModelSilent),
        (b'data: {"choices": {"no": "list"}}\n\ndata: 17\n\ndata: [DONE]\n\n', ModelBrokeOff),
    ],
)
def test_a_broken_stream_is_an_error_and_no_answer(
    stub: StubModel, body: bytes, expected: type[ModelError]
) -> None:
    stub.raw(body, "text/event-stream")
    with pytest.raises(expected):
        read(stub)


def test_a_dropped_connection_is_told_after_what_came(stub: StubModel) -> None:
    stub.reply("You wrote the report and then went for a walk.", breaks_after=700)
    answer = model(stub).stream(QUESTION, timeout_s=60)
    assert next(answer) == "You w"
    with pytest.raises(ModelBrokeOff):
        list(answer)


def test_time_that_is_up_ends_a_stream(stub: StubModel) -> None:
    stub.reply("Never seen.")
    with pytest.raises(ModelTimeout):
        read(stub, timeout_s=0)


def test_the_time_of_a_model_begins_anew_with_each_piece(stub: StubModel) -> None:
    text = "A slow computer takes longer for all of it than anybody waits for a word. " * 3
    stub.reply(text, pace_s=0.1)
    pieces, whole = read(stub, timeout_s=3)
    assert len(pieces) * 0.1 > 3
    assert whole.text == text


def test_a_model_without_an_end_is_cut_off(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "LONGEST", 0.2)  # the first piece has five times as long
    stub.reply("again and again, " * 400, pace_s=0.1)
    with pytest.raises(ModelTimeout, match="no end within 2 s"):
        read(stub, timeout_s=10)


def test_a_reader_that_leaves_ends_the_request(stub: StubModel) -> None:
    stub.reply("A long answer. " * 1_000)
    answer = model(stub).stream(QUESTION, timeout_s=60)
    assert next(answer)
    answer.close()  # type: ignore[attr-defined]
    assert list(answer) == []


def test_what_is_no_json_is_told_in_the_servers_words_and_without_the_key(stub: StubModel) -> None:
    stub.key = "sk-secret"
    stub.raw(b'data: upstream "sk-secret" timed out\n\n', "text/event-stream")
    with pytest.raises(ModelGarbled, match=r'not JSON: upstream "\*\*\*" timed out') as caught:
        read(stub, key="sk-secret")
    assert "base URL" not in caught.value.detail


def test_an_answer_is_asked_for_as_a_whole_where_that_is_wanted(stub: StubModel) -> None:
    stub.reply("Two.")
    assert read(stub, in_pieces=False)[0] == ["Two."]
    assert "stream" not in stub.requests[0]


def test_who_shows_no_pieces_asks_again_as_a_whole_where_the_stream_broke(stub: StubModel) -> None:
    stub.raw(b"data: upstream died\n\n", "text/event-stream").reply("A title")
    assert model(stub).complete(QUESTION, timeout_s=60).text == "A title"
    assert "stream" not in stub.requests[0]
